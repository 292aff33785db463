/* SPDX-License-Identifier: Apache-2.0 */
/* Compression of reports. Either this or a stub is built, depending on zlib. */
#pragma once

#include "lib/base/macro.h"

/*
 * Compress `len` bytes into a gzip stream (RFC 1952); the caller frees it. -ENOTSUP without zlib,
 * -ENOMEM: the caller then sends the bytes uncompressed.
 */
int gzip_pack(const char *bytes, size_t len, char **ret_packed, size_t *ret_len);
