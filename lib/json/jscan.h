/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON read once from left to right, without building anything: for what comes
 * in by the thousand. It takes exactly what json_parse() takes: RFC 8259 in
 * valid UTF-8 without \u0000, nested up to JSON_DEPTH_MAX, whole numbers of 64
 * bits, real ones that a double can hold, no key twice in one object.
 *
 *	r = jscan_open(s, '{', &list);
 *	while (r == 0 && (r = jscan_member(s, &list, &key)) == 1)
 *		r = jscan_skip(s);
 *
 * Every error is -EINVAL without a sentence, and ends the scan. Texts borrow
 * what is scanned, or the pool where an escape had to be decoded.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct pool;

/* Bytes that are no string: they end without a NUL. */
struct jtext {
	const char *at;
	size_t length;
};

struct jscan {
	const char *at, *end;
	struct pool *pool;
	unsigned depth;
	struct jtext *keys; /* noted ones of the objects that are open */
	size_t n_keys, room;
};

/* An object or list that is open. */
struct jscan_list {
	bool begun;
	size_t first_key;
};

struct jnumber {
	bool whole; /* without point and exponent: `integer` is set too */
	int64_t integer;
	double real;
};

struct jscan jscan_of(const char *text, size_t length, struct pool *pool);
void jscan_release(struct jscan *s);

/* The first byte of what comes next, -1 at the end of the text. */
static inline int jscan_peek(struct jscan *s)
{
	while (s->at < s->end &&
	       (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r'))
		s->at++;
	return s->at < s->end ? (unsigned char)*s->at : -1;
}

/* Go into an object '{' or a list '['. */
int jscan_open(struct jscan *s, char bracket, struct jscan_list *ret_list);

/*
 * 1: a member's key was read and its value comes next; 0: the object ended.
 * The caller sees to it that no key comes twice: jscan_note().
 */
int jscan_member(struct jscan *s, struct jscan_list *list, struct jtext *ret_key);

/* 1: an item comes next; 0: the list ended. */
int jscan_item(struct jscan *s, struct jscan_list *list);

/* Note a key of the object that is open; when it ends with one noted twice, that is an error. */
void jscan_note(struct jscan *s, const struct jtext *key);

/* Read a value of the type. Its bytes, where they are asked for, have no NUL among them. */
int jscan_string(struct jscan *s, struct jtext *ret_text);
int jscan_number(struct jscan *s, struct jnumber *ret_number);

/* "true", "false" or "null". */
int jscan_word(struct jscan *s, const char *word);

/* Read any value; `ret_text` (may be NULL) is what it was written as. */
int jscan_skip(struct jscan *s, struct jtext *ret_text);

/* 0 when nothing but white space is left. */
int jscan_end(struct jscan *s);

/* Is it this word? A text may have a NUL. */
static inline bool jtext_is(const struct jtext *text, const char *word)
{
	size_t i;

	for (i = 0; i < text->length; i++) {
		if (!word[i] || word[i] != text->at[i])
			return false;
	}
	return !word[i];
}
