/* SPDX-License-Identifier: Apache-2.0 */
/* What the controller answered, as a value or as one line that says what to do. Pure. */
#pragma once

#include <jansson.h>

#include "cli/link.h"
#include "lib/base/macro.h"

struct err;
struct http_answer;

/* The object in an answer, new reference, or an error as link_get() has it. */
int link_words_answer(const struct http_answer *answer, json_t **ret, struct err *err);

/* The rule that a refusal names, cut to size; "" where it names none. */
void link_words_rule(const struct http_answer *answer, char ret[static LINK_RULE_SIZE]);

/* A negative errno of the link as an enum status: what the person who asks can mend is wrong use. */
int link_words_status(int r);

/* `url` without what stands after the host. -EINVAL when it is no http or https URL. */
int link_words_base(const char *url, char **ret_base, struct err *err);
