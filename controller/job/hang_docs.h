/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hosts of one job have said of its ranks, the last of each, in memory alone: a controller
 * that begins anew is told again within a minute. Pure but for memory.
 *
 * How a job stands is read from the host that says most of it: it stands still since the first of
 * them saw something stand still, and moves as long as any sees a position move.
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

/* One that is older says nothing of now. */
#define HANG_DOCS_AGE_US (10 * USEC_PER_MIN)

/* What hang_doc_cut() left of a document, decoded: it is judged more often than it comes. */
struct hang_docs_words {
	struct hang_part own, told; /* of the host's ranks; of others' */
	json_t *logs;		    /* as hang_logs_read() has them; NULL: none */
	size_t bytes;
};

/* Of a host. */
struct hang_said {
	char *name; /* the host's */
	struct hang_docs_words words;
	uint64_t came_us, seen_us; /* it came; it was so, as the host says */
	uint64_t moved_us;	   /* its positions moved since the one before; 0: not seen */
	struct hang_doc_facts facts;
};

struct hang_docs {
	struct map hosts; /* of struct hang_said */
	size_t bytes;
	uint64_t changed; /* counts what came and went */
};

struct err;

/* Decode what hang_doc_cut() left. -EINVAL, -ENOMEM with a sentence; else release `ret`. */
int hang_docs_read(const json_t *doc, struct hang_docs_words *ret, struct err *err);
void hang_docs_words_release(struct hang_docs_words *words);

/* Take what a host says, and what it comes to, in place of its last. `words` are taken. */
void hang_docs_put(struct hang_docs *d, const char *node, struct hang_docs_words *words,
		   const struct hang_doc_facts *facts, uint64_t now_us);

/* The bytes that `node` has there. */
size_t hang_docs_bytes(const struct hang_docs *d, const char *node);

/* Drop what is too old, and what is of another run when `run` is not 0. */
void hang_docs_drop(struct hang_docs *d, int64_t run, uint64_t now_us);

/* What those that were said lately come to. */
struct hung_sight hang_docs_sight(const struct hang_docs *d, uint64_t now_us);

void hang_docs_release(struct hang_docs *d);
