/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain data as a pickle or JSON holds it: none, truth, numbers, text, lists, dictionaries. It
 * lives in a pool and is freed with it. What is in a list or dictionary never changes any more, so
 * there is no circle; one value may stand in several places. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/pool.h"

enum {
	HANG_VALUE_DEPTH_MAX = 32,
	HANG_VALUE_KEYS_MAX =
		64, /* that hang_value_get() looks at: one dictionary may stand in many places */
};

enum hang_value_kind {
	HANG_VALUE_NONE,
	HANG_VALUE_BOOL,
	HANG_VALUE_INT,
	HANG_VALUE_REAL,
	HANG_VALUE_TEXT,
	HANG_VALUE_LIST, /* a tuple is one too */
	HANG_VALUE_DICT,
};

struct hang_value {
	uint8_t kind;
	uint8_t depth;	/* of containers below it and itself */
	bool closed;	/* it is in a container, so nothing more goes into it */
	int64_t number; /* of truth, too */
	double real;
	const char *text;		 /* with a NUL behind it */
	size_t n, alloc;		 /* bytes of a text; items; keys and values together */
	const struct hang_value **items; /* of a dictionary: key, value, key, value ... */
};

/* The value of a key; NULL: it is not among the first HANG_VALUE_KEYS_MAX, or `dict` is none. */
const struct hang_value *hang_value_get(const struct hang_value *dict, const char *key);

/* How many items a list has, or pairs a dictionary; 0 for all else and NULL. */
size_t hang_value_size(const struct hang_value *v);

/* An item of a list; NULL: none. */
const struct hang_value *hang_value_at(const struct hang_value *list, size_t i);

/* Key and value of a pair. */
const struct hang_value *hang_value_key(const struct hang_value *dict, size_t i);
const struct hang_value *hang_value_of(const struct hang_value *dict, size_t i);

/* "" when it is no text, or NULL. */
const char *hang_value_text(const struct hang_value *v);

/* The number, written as a number or as a text; false: it is none. `*ret` is as it was then. */
bool hang_value_number(const struct hang_value *v, int64_t *ret);

/* Is it true, or a number that is not 0? */
bool hang_value_is_true(const struct hang_value *v);

/* Room for `more` items; the list doubles, so that no row of small additions costs a square. */
void hang_value_reserve(struct pool *pool, struct hang_value *list, size_t more);

/* The same data out of JSON, which was parsed with a limit of depth (json_parse()). */
const struct hang_value *hang_value_json(struct pool *pool, json_t *json);
