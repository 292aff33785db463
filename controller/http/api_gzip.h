/* SPDX-License-Identifier: Apache-2.0 */
/* Compression of answers: api_gzip.c, or api_gzip_none.c without zlib. Pure. */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

/*
 * Returns new memory, or NULL if it would not be smaller or cannot be compressed. `level` 1:
 * fastest, for a single answer; 6: for a shared one.
 */
char *api_gzip(const char *bytes, size_t length, int level, size_t *ret_length);
