/* SPDX-License-Identifier: Apache-2.0 */
/* What the controller answered, as a value or as one line that says what to do. Pure. */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;
struct http_answer;

/* The object in an answer, new reference, or an error as link_get() has it. */
int link_words_answer(const struct http_answer *answer, json_t **ret, struct err *err);

/* `url` without what stands after the host. -EINVAL when it is no http or https URL. */
int link_words_base(const char *url, char **ret_base, struct err *err);
