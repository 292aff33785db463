/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/selector.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* Characters of label keys and values; a key may have a prefix and a slash. */
static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
static const char letters_of_key[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_./";

static int refuse(const char *term, struct err *err)
{
	return err_set(err, EINVAL,
		       "'%.*s' is not a selector like key=value, key!=value, key or !key",
		       (int)MIN(strcspn(term, ","), (size_t)80), term);
}

/* Parse a term; `*ret_after` is then at the comma after it or the end. */
static int read_term(const char *text, struct selector_term *ret, const char **ret_after,
		     struct err *err)
{
	const bool lacks = text[0] == '!';
	const char *key = text + lacks;
	const size_t key_length = strspn(key, letters_of_key);
	const char *at = key + key_length;
	struct selector_term term = { lacks ? SELECTOR_LACKS : SELECTOR_HAS, key, "", key_length,
				      0 };

	if (key_length == 0)
		return refuse(text, err);
	if (!lacks && (*at == '=' || (at[0] == '!' && at[1] == '='))) {
		term.kind = *at == '=' ? SELECTOR_EQUAL : SELECTOR_DIFFERS;
		at += *at == '=' && at[1] != '=' ? 1 : 2;
		term.value = at;
		term.value_length = strspn(at, letters);
		at += term.value_length;
	}
	if (*at && *at != ',')
		return refuse(text, err);
	*ret = term;
	*ret_after = at;
	return 0;
}

int selector_parse(const char *text, struct selector *ret, struct err *err)
{
	struct selector selector = { .n = 0 };
	const char *at = text;

	for (;;) {
		int r;

		if (selector.n == SELECTOR_TERMS_MAX)
			return err_set(err, EINVAL, "a selector has at most %d terms",
				       SELECTOR_TERMS_MAX);
		r = read_term(at, &selector.terms[selector.n++], &at, err);
		if (r < 0)
			return r;
		if (!*at)
			break;
		at++;
	}
	*ret = selector;
	return 0;
}

static bool meets(const struct selector_term *term, const json_t *labels)
{
	CLEANUP(freep) char *key = xstrndup(term->key, term->key_length);
	const json_t *label = json_object_get(labels, key);
	const char *value = json_string_value(label);
	bool equal = value && strlen(value) == term->value_length &&
		     memcmp(value, term->value, term->value_length) == 0;

	switch (term->kind) {
	case SELECTOR_EQUAL:
		return equal;
	case SELECTOR_DIFFERS:
		return !equal;
	case SELECTOR_HAS:
		return label;
	case SELECTOR_LACKS:
		break;
	}
	return !label;
}

bool selector_matches(const struct selector *selector, const json_t *labels)
{
	size_t i;

	for (i = 0; i < selector->n; i++) {
		if (!meets(&selector->terms[i], labels))
			return false;
	}
	return true;
}
