/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that must not be empty, for J_CUSTOM in tables of files that people write: an empty text
 * matches nothing, and a limit per 0s limits nothing, both silently.
 */
#pragma once

#include "lib/json/json.h"

/* Into a char *, like J_STRING, but rejects an empty text. -EINVAL. */
int jsome_text(const struct jval *v, void *member, struct err *err);

/* Into uint64_t microseconds, like J_DURATION, but rejects 0. -EINVAL. */
int jsome_time(const struct jval *v, void *member, struct err *err);
