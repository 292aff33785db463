/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jval_decode() for text that is scanned: the same tables fill the same
 * structs and refuse the same values, without a tree and without a sentence.
 * What a struct would own alone is in the pool of the scan, where objects may share a text; only
 * json_t is owned as ever. J_CUSTOM and J_DURATION are not read.
 */
#pragma once

#include <jansson.h>

#include "lib/json/jmemo.h"
#include "lib/json/jscan.h"
#include "lib/report/report_tables.h"

/* Objects written alike share one json_t and its canonical text: of so many, the newest. */
enum { JREAD_SHARED_MAX = 8 };

/* Objects of a list say much the same one after the other: of so many members, the last text. */
enum { JREAD_TEXTS = 32 };

struct jread {
	struct jscan scan;
	struct jmemo *memo; /* of texts before this one; NULL: none */
	struct {
		struct jtext text;
		unsigned depth; /* where it was read: deeper it may be too deep */
		json_t *value;
		const char *canonical; /* NULL: nobody has asked yet */
	} shared[JREAD_SHARED_MAX];
	size_t n_shared; /* ever */
	struct {
		char *text; /* in the pool */
		size_t length;
	} texts[JREAD_TEXTS];
};

/* `memo` may be NULL: what is in it is not built again, and what is new is kept there. */
struct jread jread_of(const char *text, size_t length, struct pool *pool, struct jmemo *memo);
void jread_release(struct jread *r);

/*
 * The text of the object that was read last, compact and with its keys in order; in
 * the pool. NULL when it is `value` no more.
 */
const char *jread_canonical(struct jread *r, const json_t *value);

/* Read the value of a key that the table has not; `context` as given. */
typedef int jread_other(struct jread *r, const struct jtext *key, void *context);

/*
 * Fill `out` from the object that comes next. Members that are absent keep
 * what they hold. On failure, -EINVAL, `out` is half-filled.
 */
int jread_object(struct jread *r, const struct jtable *table, void *out, jread_other *other,
		 void *context);
