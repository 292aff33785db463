/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The out-of-band protocol between two probes, as bytes. Pure.
 *
 *	each	greeting: magic, version, a random nonce
 *	dialer	proof that it knows the token
 *	other	its own proof, or zeros: refused
 *	each	frames: length, MAC, body
 *
 * The token is never sent. One key per direction is derived from it and both nonces. A proof is the
 * MAC of a fixed word under that key, and the MAC of a frame covers its number, so nothing can be
 * reflected, replayed or dropped.
 *
 * HMAC: RFC 2104. All numbers are big-endian.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/base/sha256.h"

struct err;

enum {
	OOB_VERSION = 1,
	OOB_NONCE_SIZE = 32,
	OOB_GREETING_SIZE = 8 + 4 + OOB_NONCE_SIZE,
	OOB_HEADER_SIZE = 4 + SHA256_SIZE,
	OOB_BODY_MAX = 64 * 1024,
};

struct oob_greeting {
	uint32_t version;
	unsigned char nonce[OOB_NONCE_SIZE];
};

void oob_greeting_encode(const struct oob_greeting *greeting,
			 unsigned char ret_bytes[static OOB_GREETING_SIZE]);

/* -EPROTO: not this protocol; -EPROTONOSUPPORT: another version. */
int oob_greeting_decode(const unsigned char bytes[static OOB_GREETING_SIZE],
			struct oob_greeting *ret, struct err *err);

/* HMAC-SHA256 of the `n` pieces, concatenated. */
struct oob_piece {
	const void *bytes;
	size_t length;
};
void oob_hmac(const void *key, size_t key_length, const struct oob_piece *pieces, size_t n,
	      unsigned char ret_mac[static SHA256_SIZE]);

/* Constant-time comparison. */
bool oob_same(const unsigned char a[static SHA256_SIZE], const unsigned char b[static SHA256_SIZE]);

/* The key for what the dialer (or the other side) sends. */
void oob_key(const char *token, bool of_dialer, const unsigned char *dialer_nonce,
	     const unsigned char *other_nonce, unsigned char ret_key[static SHA256_SIZE]);
void oob_proof(const unsigned char key[static SHA256_SIZE],
	       unsigned char ret_proof[static SHA256_SIZE]);

/* Make the header of frame `number` with this body. */
void oob_header_encode(const unsigned char key[static SHA256_SIZE], uint64_t number,
		       const void *body, size_t length,
		       unsigned char ret_bytes[static OOB_HEADER_SIZE]);

/* Length of the body that follows a header. -EMSGSIZE if over OOB_BODY_MAX. */
int oob_header_length(const unsigned char bytes[static OOB_HEADER_SIZE], size_t *ret_length);
