/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": names similar to a mistyped one. Pure. */
#pragma once

#include <jansson.h>

enum { NEAR_SHOWN = 3 };

/*
 * "gpu-17, gpu-07": the values of member `key` of the items nearest to `name`, at most
 * NEAR_SHOWN, clean; "" if none is similar. The caller frees it.
 */
char *near_names(const json_t *items, const char *key, const char *name);
