/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648 section 4). */
#pragma once

#include <stddef.h>

/*
 * Decodes `text` into new memory and appends a NUL. Line ends within it are skipped, as Go does.
 * -EINVAL if it is not base64, -ENOMEM.
 */
int base64_decode(const char *text, char **ret_bytes, size_t *ret_len);

/* `len` bytes as base64, with padding and without line ends; new memory. */
char *base64_encode(const void *bytes, size_t len);
