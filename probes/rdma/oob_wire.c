/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/oob_wire.h"

#include <endian.h>
#include <errno.h>

#include "lib/base/err.h"

enum { MAGIC_SIZE = 8, VERSION_SIZE = 4, INNER = 0x36, OUTER = 0x5c };

static const char magic[MAGIC_SIZE] = { 'A', 'S', 'S', 'A', 'Y', 'O', 'O', 'B' };

void oob_greeting_encode(const struct oob_greeting *greeting,
			 unsigned char ret_bytes[static OOB_GREETING_SIZE])
{
	uint32_t version = htobe32(greeting->version);

	memcpy(ret_bytes, magic, MAGIC_SIZE);
	memcpy(ret_bytes + MAGIC_SIZE, &version, VERSION_SIZE);
	memcpy(ret_bytes + MAGIC_SIZE + VERSION_SIZE, greeting->nonce, OOB_NONCE_SIZE);
}

int oob_greeting_decode(const unsigned char bytes[static OOB_GREETING_SIZE],
			struct oob_greeting *ret, struct err *err)
{
	uint32_t version;

	if (memcmp(bytes, magic, MAGIC_SIZE) != 0)
		return err_set(err, EPROTO, "does not speak this probe's protocol");
	memcpy(&version, bytes + MAGIC_SIZE, VERSION_SIZE);
	version = be32toh(version);
	if (version != OOB_VERSION)
		return err_set(err, EPROTONOSUPPORT,
			       "speaks version %u and this side version %d: install the same "
			       "version of Assay on both hosts",
			       version, OOB_VERSION);
	ret->version = version;
	memcpy(ret->nonce, bytes + MAGIC_SIZE + VERSION_SIZE, OOB_NONCE_SIZE);
	return 0;
}

/* Begin a hash with the padded key (RFC 2104, section 2). */
static void begin(struct sha256 *s, const unsigned char block[static SHA256_BLOCK],
		  unsigned char pad)
{
	unsigned char padded[SHA256_BLOCK];
	size_t i;

	for (i = 0; i < SHA256_BLOCK; i++)
		padded[i] = block[i] ^ pad;
	sha256_init(s);
	sha256_add(s, padded, sizeof(padded));
}

void oob_hmac(const void *key, size_t key_length, const struct oob_piece *pieces, size_t n,
	      unsigned char ret_mac[static SHA256_SIZE])
{
	unsigned char block[SHA256_BLOCK] = { 0 }, inner[SHA256_SIZE];
	struct sha256 s;
	size_t i;

	if (key_length > SHA256_BLOCK) {
		sha256_init(&s);
		sha256_add(&s, key, key_length);
		sha256_digest(&s, block);
	} else {
		memcpy(block, key, key_length);
	}
	begin(&s, block, INNER);
	for (i = 0; i < n; i++)
		sha256_add(&s, pieces[i].bytes, pieces[i].length);
	sha256_digest(&s, inner);
	begin(&s, block, OUTER);
	sha256_add(&s, inner, sizeof(inner));
	sha256_digest(&s, ret_mac);
}

bool oob_same(const unsigned char a[static SHA256_SIZE], const unsigned char b[static SHA256_SIZE])
{
	volatile unsigned char differ = 0;
	size_t i;

	for (i = 0; i < SHA256_SIZE; i++)
		differ = differ | (a[i] ^ b[i]);
	return differ == 0;
}

void oob_key(const char *token, bool of_dialer, const unsigned char *dialer_nonce,
	     const unsigned char *other_nonce, unsigned char ret_key[static SHA256_SIZE])
{
	const char *role = of_dialer ? "assay oob 1 dialer" : "assay oob 1 other";
	const struct oob_piece pieces[] = {
		{ role, strlen(role) },
		{ dialer_nonce, OOB_NONCE_SIZE },
		{ other_nonce, OOB_NONCE_SIZE },
	};

	oob_hmac(token, strlen(token), pieces, ARRAY_SIZE(pieces), ret_key);
}

void oob_proof(const unsigned char key[static SHA256_SIZE],
	       unsigned char ret_proof[static SHA256_SIZE])
{
	static const char word[] = "proof";
	const struct oob_piece piece = { word, sizeof(word) };

	oob_hmac(key, SHA256_SIZE, &piece, 1, ret_proof);
}

void oob_header_encode(const unsigned char key[static SHA256_SIZE], uint64_t number,
		       const void *body, size_t length,
		       unsigned char ret_bytes[static OOB_HEADER_SIZE])
{
	uint64_t sent_number = htobe64(number);
	uint32_t sent_length = htobe32((uint32_t)length);
	const struct oob_piece pieces[] = {
		{ &sent_number, sizeof(sent_number) },
		{ &sent_length, sizeof(sent_length) },
		{ body, length },
	};

	memcpy(ret_bytes, &sent_length, sizeof(sent_length));
	oob_hmac(key, SHA256_SIZE, pieces, ARRAY_SIZE(pieces), ret_bytes + sizeof(sent_length));
}

int oob_header_length(const unsigned char bytes[static OOB_HEADER_SIZE], size_t *ret_length)
{
	uint32_t length;

	memcpy(&length, bytes, sizeof(length));
	length = be32toh(length);
	if (length > OOB_BODY_MAX)
		return -EMSGSIZE;
	*ret_length = length;
	return 0;
}
