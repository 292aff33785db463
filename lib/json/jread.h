/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jval_decode() for scanned text: the same tables fill the same structs and reject the same values,
 * but without building a tree and without error messages. Strings and lists of the structs are in
 * the pool of the scan, where objects may share a text; only json_t is owned as usual. J_CUSTOM and
 * J_DURATION are not supported.
 */
#pragma once

#include <jansson.h>

#include "lib/json/jmemo.h"
#include "lib/json/jscan.h"
#include "lib/report/report_tables.h"

/* Objects with the same text share one json_t and its canonical text, among this many of late. */
enum { JREAD_SHARED_MAX = 8 };

/* Objects of a list often repeat the same texts: the last one is kept for this many members. */
enum { JREAD_TEXTS = 32 };

struct jread {
	struct jscan scan;
	struct jmemo *memo; /* of earlier texts; may be NULL */
	struct {
		struct jtext text;
		unsigned depth; /* nesting where it was read: deeper down it may exceed the limit */
		json_t *value;
		const char *canonical; /* NULL: not needed so far */
	} shared[JREAD_SHARED_MAX];
	size_t n_shared; /* total so far */
	struct {
		char *text; /* in the pool */
		size_t length;
	} texts[JREAD_TEXTS];
};

/* `memo` may be NULL: objects found in it are not built again, and new ones are added. */
struct jread jread_of(const char *text, size_t length, struct pool *pool, struct jmemo *memo);
void jread_release(struct jread *r);

/*
 * The text of the last object read, compact and with sorted keys; in the pool. NULL if `value` is
 * no longer that object.
 */
const char *jread_canonical(struct jread *r, const json_t *value);

/* Reads the value of a key that is not in the table; `context` as given. */
typedef int jread_other(struct jread *r, const struct jtext *key, void *context);

/*
 * Fills `out` from the next object. Absent members stay unchanged. On failure (-EINVAL), `out` is
 * half-filled.
 */
int jread_object(struct jread *r, const struct jtable *table, void *out, jread_other *other,
		 void *context);
