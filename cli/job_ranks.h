/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the ranks of a job stand: `assayctl job NAME --ranks`, and the hang line of `assayctl job
 * NAME`. Ranks that stopped come first. Large jobs are grouped by what they wait for ("ranks 0-7,
 * 16-23 wait for rank 9"), unless -o wide lists each rank.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;
struct link;
struct page;

enum {
	JOB_RANKS_EACH = 64, /* more are grouped */
	JOB_RANKS_ROWS = 64, /* groups listed */
};

/* Fetch all pages of the job's ranks as one document, new reference. Errors as link_get(). */
int job_ranks_fetch(struct link *link, const char *id, json_t **ret, struct err *err);

/* Is it a document of job_ranks_fetch()? */
bool job_ranks_is(const json_t *document);

/* "16 ranks: hung"; the caller frees it. */
char *job_ranks_summary(const json_t *document);

void job_ranks_show(const json_t *document, struct page *page);

/*
 * Print a job's "hang" as labelled lines: "hung since 06:23Z: own-gpu-stopped: ..."; nothing if
 * there is none.
 */
void job_ranks_put_hang(const json_t *hang, const struct page *page);
