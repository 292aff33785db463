/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the controller's answers into a value, or an error line that says what to do. Pure. */
#pragma once

#include <jansson.h>

#include "cli/link.h"
#include "lib/base/macro.h"

struct err;
struct http_answer;

/* The object in an answer, new reference, or an error as in link_get(). */
int link_words_answer(const struct http_answer *answer, json_t **ret, struct err *err);

/* The rule that a refusal names, truncated to the size; "" if none. */
void link_words_rule(const struct http_answer *answer, char ret[static LINK_RULE_SIZE]);

/* Map a negative errno of the link to an enum status: what the user can fix is a usage error. */
int link_words_status(int r);

/* Scheme and host of `url`, without the path. -EINVAL if it is not an http or https URL. */
int link_words_base(const char *url, char **ret_base, struct err *err);
