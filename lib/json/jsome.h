/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values that must not be nothing, for J_CUSTOM in tables of files that people write:
 * an empty text matches nothing, and a limit per 0s limits nothing, both in silence.
 */
#pragma once

#include "lib/json/json.h"

/* Into a char *, as J_STRING does: a text that is not empty. -EINVAL. */
int jsome_text(const struct jval *v, void *member, struct err *err);

/* Into uint64_t microseconds, as J_DURATION does: longer than 0. -EINVAL. */
int jsome_time(const struct jval *v, void *member, struct err *err);
