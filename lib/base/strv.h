/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors of strings, ended by NULL like argv. The vector owns its strings. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

/* In all of these, NULL is an empty vector. */
void strv_free(char **strv);
size_t strv_len(char *const *strv);

/* A deep copy in new memory; an empty vector for NULL. */
char **strv_copy(char *const *strv);

DEFINE_CLEANUP(char **, strv_free, strv_freep);
