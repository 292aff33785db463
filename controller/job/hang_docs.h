/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last document about one job's ranks from each of its hosts, in memory only: after a restart
 * of the controller they are sent again within a minute. Pure except for memory.
 *
 * The state of the job is that of the host that reports most: it stands still since the first host
 * saw a standstill, and moves as long as any host sees a position move.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/job/hang_doc.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"
#include "lib/base/map.h"
#include "lib/hang/hang_part.h"
#include "lib/policy/hung.h"

/* Older documents say nothing about the present. */
#define HANG_DOCS_AGE_US (10 * USEC_PER_MIN)

/* What hang_doc_cut() left of a document, decoded, as it is judged more often than it arrives. */
struct hang_docs_words {
	struct hang_part own, told; /* of the host's own ranks; of other hosts' */
	json_t *logs;		    /* see hang_logs_read(); NULL: none */
	size_t bytes;
};

/* One host. */
struct hang_said {
	char *name; /* of the host */
	struct hang_docs_words words;
	uint64_t came_us, seen_us; /* arrival; time of observation according to the host */
	uint64_t moved_us; /* its positions moved since the previous document; 0: not seen */
	struct hang_doc_facts facts;
};

struct hang_docs {
	struct map hosts; /* struct hang_said */
	size_t bytes;
	uint64_t changed; /* counts additions and removals */
};

struct err;

/* Decode what hang_doc_cut() left. Returns -EINVAL or -ENOMEM with a sentence; otherwise the caller
 * releases `ret`. */
int hang_docs_read(const json_t *doc, struct hang_docs_words *ret, struct err *err);
void hang_docs_words_release(struct hang_docs_words *words);

/* Replace a host's document and summary. Takes ownership of `words`. */
void hang_docs_put(struct hang_docs *d, const char *node, struct hang_docs_words *words,
		   const struct hang_doc_facts *facts, uint64_t now_us);

/* Memory used by the documents of `node`. */
size_t hang_docs_bytes(const struct hang_docs *d, const char *node);

/* Drop documents that are too old, and those of other runs if `run` is not 0. */
void hang_docs_drop(struct hang_docs *d, int64_t run, uint64_t now_us);

/* Summary of the recent documents. */
struct hung_sight hang_docs_sight(const struct hang_docs *d, uint64_t now_us);

void hang_docs_release(struct hang_docs *d);
