/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads JSON in one pass from left to right without building anything: for high-volume input.
 * Accepts exactly what json_parse() accepts: RFC 8259 in valid UTF-8 without \u0000, nested up to
 * JSON_DEPTH_MAX, integers of 64 bits, real numbers that fit a double, no duplicate keys in an
 * object.
 *
 *	r = jscan_open(s, '{', &list);
 *	while (r == 0 && (r = jscan_member(s, &list, &key)) == 1)
 *		r = jscan_skip(s);
 *
 * Every error is -EINVAL without a message, and ends the scan. Texts are borrowed from the input,
 * or from the pool if an escape had to be decoded.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct pool;

/* Bytes of a text, not NUL-terminated. */
struct jtext {
	const char *at;
	size_t length;
};

struct jscan {
	const char *at, *end;
	struct pool *pool;
	unsigned depth;
	struct jtext *keys; /* noted keys of the objects that are open */
	size_t n_keys, room;
};

/* An open object or list. */
struct jscan_list {
	bool begun;
	size_t first_key;
};

struct jnumber {
	bool whole; /* no fraction or exponent: `integer` is set too */
	int64_t integer;
	double real;
};

struct jscan jscan_of(const char *text, size_t length, struct pool *pool);
void jscan_release(struct jscan *s);

/* The next byte after white space; -1 at the end of the text. */
static inline int jscan_peek(struct jscan *s)
{
	while (s->at < s->end &&
	       (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r'))
		s->at++;
	return s->at < s->end ? (unsigned char)*s->at : -1;
}

/* Enters an object '{' or a list '['. */
int jscan_open(struct jscan *s, char bracket, struct jscan_list *ret_list);

/*
 * Returns 1 if a member's key was read and its value is next, 0 at the end of the object. The
 * caller must reject duplicate keys: jscan_note().
 */
int jscan_member(struct jscan *s, struct jscan_list *list, struct jtext *ret_key);

/* Returns 1 if an item is next, 0 at the end of the list. */
int jscan_item(struct jscan *s, struct jscan_list *list);

/* Notes a key of the open object; if one was noted twice, the end of the object is an error. */
void jscan_note(struct jscan *s, const struct jtext *key);

/* Read a value of the type. A requested text contains no NUL. */
int jscan_string(struct jscan *s, struct jtext *ret_text);
int jscan_number(struct jscan *s, struct jnumber *ret_number);

/* "true", "false" or "null". */
int jscan_word(struct jscan *s, const char *word);

/* Skips any value; `ret_text` (may be NULL) receives its text. */
int jscan_skip(struct jscan *s, struct jtext *ret_text);

/* Returns 0 if only white space is left. */
int jscan_end(struct jscan *s);

/* True if the text is this word. A text may contain NULs. */
static inline bool jtext_is(const struct jtext *text, const char *word)
{
	size_t i;

	for (i = 0; i < text->length; i++) {
		if (!word[i] || word[i] != text->at[i])
			return false;
	}
	return !word[i];
}
