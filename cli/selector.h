/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label selectors as in kubectl: comma-separated terms that must all match: key=value (or ==),
 * key!=value (also matches a host without the label), key (the label exists), !key (it does not).
 * Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct err;

enum { SELECTOR_TERMS_MAX = 16 };

enum selector_kind { SELECTOR_EQUAL, SELECTOR_DIFFERS, SELECTOR_HAS, SELECTOR_LACKS };

/* Borrowed, not NUL-terminated. */
struct selector_term {
	enum selector_kind kind;
	const char *key, *value;
	size_t key_length, value_length;
};

struct selector {
	struct selector_term terms[SELECTOR_TERMS_MAX];
	size_t n; /* 0: selects everything */
};

/* Parse `text`, which `ret` borrows. -EINVAL with the invalid term. */
int selector_parse(const char *text, struct selector *ret, struct err *err);

/* Do the labels (an object of strings, or NULL) match all terms? */
bool selector_matches(const struct selector *selector, const json_t *labels);
