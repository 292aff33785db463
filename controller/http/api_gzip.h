/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are packed on their way: api_gzip.c, or api_gzip_none.c without zlib. Pure. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

/*
 * New memory, or NULL: it would not become smaller, or cannot be packed. `level` 1: the least work,
 * for one answer; 6: for one that many take.
 */
char *api_gzip(const char *bytes, size_t length, int level, size_t *ret_length);
