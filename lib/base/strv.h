/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of strings: the last is NULL, as of argv. Vector and strings are their holder's. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

/* NULL is nothing, here and below. */
void strv_free(char **strv);
size_t strv_len(char *const *strv);

/* New memory; of NULL an empty one. */
char **strv_copy(char *const *strv);

DEFINE_CLEANUP(char **, strv_free, strv_freep);
