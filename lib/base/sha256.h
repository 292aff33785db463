/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 (FIPS 180-4), to identify content and to compare tokens with their hashes.
 *
 *	struct sha256 s;
 *
 *	sha256_init(&s);
 *	sha256_add(&s, bytes, n);
 *	sha256_hex(&s, text);
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { SHA256_SIZE = 32, SHA256_HEX_SIZE = 2 * SHA256_SIZE + 1, SHA256_BLOCK = 64 };

struct sha256 {
	uint32_t state[8];
	uint64_t length; /* bytes added so far */
	unsigned char block[SHA256_BLOCK];
};

void sha256_init(struct sha256 *s);

/* Add `n` bytes; the digest does not depend on how the bytes are divided among calls. */
void sha256_add(struct sha256 *s, const void *bytes, size_t n);

/* Add a string and its NUL, so that "ab","c" and "a","bc" differ; NULL is "". */
void sha256_add_text(struct sha256 *s, const char *text);

/* Finish and write the digest; `s` needs sha256_init() before it is used again. */
void sha256_digest(struct sha256 *s, unsigned char ret_digest[static SHA256_SIZE]);

/* The same in lower-case hexadecimal. */
void sha256_hex(struct sha256 *s, char ret_text[static SHA256_HEX_SIZE]);

/* The hash of a whole string, without its NUL, in hexadecimal. */
void sha256_of_text(const char *text, char ret_hex[static SHA256_HEX_SIZE]);
