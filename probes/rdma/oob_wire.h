/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What two probes say to each other beside the fabric, as bytes. Pure.
 *
 *	each   greeting: magic, version, a nonce of its own
 *	dialer proof that it knows the token
 *	other  its own proof, or zeros: refused
 *	each   frames: length, MAC, body
 *
 * The token is never sent. From it and both nonces comes one key each way; a
 * proof is the MAC of a fixed word by that key, a frame's MAC covers its number,
 * so that nothing can be answered with its own words, repeated or left out.
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

/* -EPROTO: not of these probes; -EPROTONOSUPPORT: another version. */
int oob_greeting_decode(const unsigned char bytes[static OOB_GREETING_SIZE],
			struct oob_greeting *ret, struct err *err);

/* HMAC-SHA256 of the `n` pieces one after the other. */
struct oob_piece {
	const void *bytes;
	size_t length;
};
void oob_hmac(const void *key, size_t key_length, const struct oob_piece *pieces, size_t n,
	      unsigned char ret_mac[static SHA256_SIZE]);

/* Equal, in a time that does not tell where they differ. */
bool oob_same(const unsigned char a[static SHA256_SIZE], const unsigned char b[static SHA256_SIZE]);

/* The key of what the dialer (or the other) sends. */
void oob_key(const char *token, bool of_dialer, const unsigned char *dialer_nonce,
	     const unsigned char *other_nonce, unsigned char ret_key[static SHA256_SIZE]);
void oob_proof(const unsigned char key[static SHA256_SIZE],
	       unsigned char ret_proof[static SHA256_SIZE]);

/* The header of frame `number` with this body. */
void oob_header_encode(const unsigned char key[static SHA256_SIZE], uint64_t number,
		       const void *body, size_t length,
		       unsigned char ret_bytes[static OOB_HEADER_SIZE]);

/* Bytes that follow a header. -EMSGSIZE when they are more than OOB_BODY_MAX. */
int oob_header_length(const unsigned char bytes[static OOB_HEADER_SIZE], size_t *ret_length);
