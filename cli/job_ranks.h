/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the ranks of a job stand: `assayctl job NAME --ranks`, and the line of its hang in
 * `assayctl job NAME`. Who is said to have stopped comes first. A job of many ranks is shown by
 * what they wait for ("ranks 0-7, 16-23 wait for rank 9"), each rank by itself with -o wide.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;
struct link;
struct page;

enum {
	JOB_RANKS_EACH = 64, /* more are put together */
	JOB_RANKS_ROWS = 64, /* of those that were put together */
};

/* All pages of the job's ranks as one document, new reference. Errors as link_get(). */
int job_ranks_fetch(struct link *link, const char *id, json_t **ret, struct err *err);

/* Is it what job_ranks_fetch() got? */
bool job_ranks_is(const json_t *document);

/* "16 ranks: hung", new memory. */
char *job_ranks_summary(const json_t *document);

void job_ranks_show(const json_t *document, struct page *page);

/* "hung since 06:23Z: own-gpu-stopped: ..." in lines with labels, of the "hang" of a job; nothing
 * where there is none. */
void job_ranks_put_hang(const json_t *hang, const struct page *page);
