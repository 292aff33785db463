/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain data from a pickle or JSON: none, booleans, numbers, text, lists, dictionaries. It lives in
 * a pool and is freed with it. Values in a list or dictionary never change again, so there are no
 * cycles; one value may be in several places. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/pool.h"

enum {
	HANG_VALUE_DEPTH_MAX = 32,
	HANG_VALUE_KEYS_MAX = 64, /* that hang_value_get() searches */
};

enum hang_value_kind {
	HANG_VALUE_NONE,
	HANG_VALUE_BOOL,
	HANG_VALUE_INT,
	HANG_VALUE_REAL,
	HANG_VALUE_TEXT,
	HANG_VALUE_LIST, /* or tuple */
	HANG_VALUE_DICT,
};

struct hang_value {
	uint8_t kind;
	uint8_t depth;	/* levels of containers, including itself */
	bool closed;	/* it is in a container, so nothing more is added to it */
	int64_t number; /* for booleans too */
	double real;
	const char *text;		 /* NUL-terminated */
	size_t n, alloc;		 /* bytes of a text; items; keys and values together */
	const struct hang_value **items; /* of a dictionary: key, value, key, value ... */
};

/* The value of a key; NULL: not in the first HANG_VALUE_KEYS_MAX, or not a dictionary. */
const struct hang_value *hang_value_get(const struct hang_value *dict, const char *key);

/* Number of items of a list, or pairs of a dictionary; 0 for anything else and NULL. */
size_t hang_value_size(const struct hang_value *v);

/* An item of a list; NULL if there is none. */
const struct hang_value *hang_value_at(const struct hang_value *list, size_t i);

/* Key and value of pair number `i`. */
const struct hang_value *hang_value_key(const struct hang_value *dict, size_t i);
const struct hang_value *hang_value_of(const struct hang_value *dict, size_t i);

/* "" if it is not a text, or NULL. */
const char *hang_value_text(const struct hang_value *v);

/* The number, given as a number or as text; false if it is neither, and `*ret` is unchanged. */
bool hang_value_number(const struct hang_value *v, int64_t *ret);

/* True if it is true, or a number other than 0. */
bool hang_value_is_true(const struct hang_value *v);

/* Makes room for `more` items. The list doubles, so that many small additions stay linear. */
void hang_value_reserve(struct pool *pool, struct hang_value *list, size_t more);

/* Converts JSON that was parsed with a depth limit (json_parse()). */
const struct hang_value *hang_value_json(struct pool *pool, json_t *json);
