/* SPDX-License-Identifier: Apache-2.0 */
/* Reports travel packed when zlib is there: one of two files is built. */
#pragma once

#include "lib/base/macro.h"

/*
 * `len` bytes as a gzip stream (RFC 1952) in new memory. -ENOTSUP when this
 * build has no zlib, -ENOMEM: the caller then sends them as they are.
 */
int gzip_pack(const char *bytes, size_t len, char **ret_packed, size_t *ret_len);
