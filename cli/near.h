/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": names that differ from a mistyped one by little. Pure. */
#pragma once

#include <jansson.h>

enum { NEAR_SHOWN = 3 };

/*
 * "gpu-17, gpu-07": the member `key` of the items that is nearest to `name`, at
 * most NEAR_SHOWN, clean; "" when none is near. New memory.
 */
char *near_names(const json_t *items, const char *key, const char *name);
