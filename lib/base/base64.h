/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648 section 4). */
#pragma once

#include <stddef.h>

/*
 * The bytes of `text` in new memory with a NUL behind them; line ends within it are
 * passed over, as Go does. -EINVAL for anything else that is none, -ENOMEM.
 */
int base64_decode(const char *text, char **ret_bytes, size_t *ret_len);

/* `len` bytes as base64, with padding and without line ends; new memory. */
char *base64_encode(const void *bytes, size_t len);
