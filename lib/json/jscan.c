/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/json/jscan.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* Up to this many keys are compared pairwise; larger objects are sorted. */
enum { PAIRS_MAX = 12, KEYS_FIRST = 16 };

struct jscan jscan_of(const char *text, size_t length, struct pool *pool)
{
	return (struct jscan){ .at = text, .end = text + length, .pool = pool };
}

void jscan_release(struct jscan *s)
{
	free(s->keys);
	s->keys = NULL;
	s->n_keys = s->room = 0;
}

int jscan_end(struct jscan *s)
{
	return jscan_peek(s) < 0 ? 0 : -EINVAL;
}

int jscan_open(struct jscan *s, char bracket, struct jscan_list *ret_list)
{
	if (jscan_peek(s) != bracket || s->depth == JSON_DEPTH_MAX)
		return -EINVAL;
	s->at++;
	s->depth++;
	*ret_list = (struct jscan_list){ .first_key = s->n_keys };
	return 0;
}

/* After a comma something must follow: whoever reads it rejects a bracket. */
static int next(struct jscan *s, struct jscan_list *list, char close)
{
	int c = jscan_peek(s);

	if (c == close) {
		s->at++;
		s->depth--;
		return 0;
	}
	if (list->begun && c != ',')
		return -EINVAL;
	s->at += list->begun;
	list->begun = true;
	return 1;
}

int jscan_item(struct jscan *s, struct jscan_list *list)
{
	return next(s, list, ']');
}

static int compare_texts(const void *a, const void *b)
{
	const struct jtext *x = a, *y = b;

	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return memcmp(x->at, y->at, x->length);
}

static bool has_pair(const struct jtext *keys, size_t n)
{
	size_t i, j;

	for (i = 1; i < n; i++) {
		for (j = 0; j < i; j++) {
			if (compare_texts(&keys[i], &keys[j]) == 0)
				return true;
		}
	}
	return false;
}

static bool has_twice(struct jtext *keys, size_t n)
{
	size_t i;

	if (n <= PAIRS_MAX)
		return has_pair(keys, n);
	qsort(keys, n, sizeof(*keys), compare_texts);
	for (i = 1; i < n; i++) {
		if (compare_texts(&keys[i], &keys[i - 1]) == 0)
			return true;
	}
	return false;
}

void jscan_note(struct jscan *s, const struct jtext *key)
{
	if (s->n_keys == s->room) {
		s->room = MAX(2 * s->room, (size_t)KEYS_FIRST);
		s->keys = xrealloc(s->keys, s->room, sizeof(*s->keys));
	}
	s->keys[s->n_keys++] = *key;
}

int jscan_member(struct jscan *s, struct jscan_list *list, struct jtext *ret_key)
{
	int r = next(s, list, '}');

	if (r == 0 && s->n_keys > list->first_key) {
		bool twice = has_twice(s->keys + list->first_key, s->n_keys - list->first_key);

		s->n_keys = list->first_key;
		return twice ? -EINVAL : 0;
	}
	if (r <= 0)
		return r;
	if (jscan_string(s, ret_key) < 0 || jscan_peek(s) != ':')
		return -EINVAL;
	s->at++;
	return 1;
}

int jscan_word(struct jscan *s, const char *word)
{
	size_t length = strlen(word);

	(void)jscan_peek(s);
	if ((size_t)(s->end - s->at) < length || memcmp(s->at, word, length) != 0)
		return -EINVAL;
	s->at += length;
	return 0;
}

static int skip_object(struct jscan *s)
{
	struct jscan_list list;
	struct jtext key;
	int r = jscan_open(s, '{', &list);

	while (r == 0 && (r = jscan_member(s, &list, &key)) == 1) {
		jscan_note(s, &key);
		r = jscan_skip(s, NULL);
	}
	return r;
}

static int skip_list(struct jscan *s)
{
	struct jscan_list list;
	int r = jscan_open(s, '[', &list);

	while (r == 0 && (r = jscan_item(s, &list)) == 1)
		r = jscan_skip(s, NULL);
	return r;
}

static int skip_value(struct jscan *s, int first)
{
	struct jnumber number;
	struct jtext text;

	switch (first) {
	case '{':
		return skip_object(s);
	case '[':
		return skip_list(s);
	case '"':
		return jscan_string(s, &text);
	case 't':
		return jscan_word(s, "true");
	case 'f':
		return jscan_word(s, "false");
	case 'n':
		return jscan_word(s, "null");
	default:
		return jscan_number(s, &number);
	}
}

int jscan_skip(struct jscan *s, struct jtext *ret_text)
{
	int first = jscan_peek(s);
	const char *begin = s->at;
	int r = skip_value(s, first);

	if (r == 0 && ret_text)
		*ret_text = (struct jtext){ begin, (size_t)(s->at - begin) };
	return r;
}
