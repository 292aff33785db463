/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selectors of labels as kubectl has them: terms with commas between, all of which must hold:
 * key=value (or ==), key!=value (which a host without the label meets too), key (it has the
 * label), !key (it has not). Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct err;

enum { SELECTOR_TERMS_MAX = 16 };

enum selector_kind { SELECTOR_EQUAL, SELECTOR_DIFFERS, SELECTOR_HAS, SELECTOR_LACKS };

/* Borrowed, without a NUL at their ends. */
struct selector_term {
	enum selector_kind kind;
	const char *key, *value;
	size_t key_length, value_length;
};

struct selector {
	struct selector_term terms[SELECTOR_TERMS_MAX];
	size_t n; /* 0: it selects all */
};

/* Read `text`, which `ret` borrows. -EINVAL with the term that is none. */
int selector_parse(const char *text, struct selector *ret, struct err *err);

/* Do labels (an object of texts, or NULL) meet all of its terms? */
bool selector_matches(const struct selector *selector, const json_t *labels);
