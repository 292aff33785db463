/* SPDX-License-Identifier: Apache-2.0 */
/* Names and constants are those of FIPS 180-4, sections 4.1.2, 4.2.2, 5.3.3 and 6.2. */
#include "lib/base/sha256.h"

/* Section 4.2.2: fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n)
{
	return (x >> n) | (x << (32 - n));
}

static uint32_t load_be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void store_be32(unsigned char *p, uint32_t x)
{
	p[0] = (unsigned char)(x >> 24);
	p[1] = (unsigned char)(x >> 16);
	p[2] = (unsigned char)(x >> 8);
	p[3] = (unsigned char)x;
}

/* The message schedule of one block, section 6.2.2 step 1. */
static void schedule(const unsigned char block[static SHA256_BLOCK], uint32_t w[static 64])
{
	size_t t;

	for (t = 0; t < 16; t++)
		w[t] = load_be32(block + 4 * t);
	for (; t < 64; t++) {
		uint32_t a = w[t - 15], b = w[t - 2];
		uint32_t s0 = rotr(a, 7) ^ rotr(a, 18) ^ (a >> 3);
		uint32_t s1 = rotr(b, 17) ^ rotr(b, 19) ^ (b >> 10);

		w[t] = s1 + w[t - 7] + s0 + w[t - 16];
	}
}

/* Section 6.2.2 steps 2 to 4; v[0..7] are a..h. */
static void compress(uint32_t state[static 8], const unsigned char block[static SHA256_BLOCK])
{
	uint32_t w[64], v[8];
	size_t t;

	schedule(block, w);
	memcpy(v, state, sizeof(v));
	for (t = 0; t < 64; t++) {
		uint32_t s1 = rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25);
		uint32_t ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t t1 = v[7] + s1 + ch + K[t] + w[t];
		uint32_t s0 = rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22);
		uint32_t maj = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += t1;
		v[0] = t1 + s0 + maj;
	}
	for (t = 0; t < 8; t++)
		state[t] += v[t];
}

void sha256_init(struct sha256 *s)
{
	/* Section 5.3.3. */
	*s = (struct sha256){
		.state = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
			   0x1f83d9ab, 0x5be0cd19 },
	};
}

void sha256_add(struct sha256 *s, const void *bytes, size_t n)
{
	const unsigned char *from = bytes;

	while (n > 0) {
		size_t used = (size_t)(s->length % SHA256_BLOCK);
		size_t take = MIN(n, SHA256_BLOCK - used);

		memcpy(s->block + used, from, take);
		s->length += take;
		from += take;
		n -= take;
		if (used + take == SHA256_BLOCK)
			compress(s->state, s->block);
	}
}

void sha256_add_text(struct sha256 *s, const char *text)
{
	sha256_add(s, text ? text : "", text ? strlen(text) + 1 : 1);
}

void sha256_digest(struct sha256 *s, unsigned char ret_digest[static SHA256_SIZE])
{
	static const unsigned char padding[SHA256_BLOCK] = { 0x80 };
	uint64_t bits = s->length * 8;
	size_t used = (size_t)(s->length % SHA256_BLOCK);
	unsigned char tail[8];
	size_t i;

	/*
	 * Padding, section 5.1.1: a one bit, zeros up to 8 bytes before a block's end, the length.
	 */
	sha256_add(s, padding, used < 56 ? 56 - used : 120 - used);
	store_be32(tail, (uint32_t)(bits >> 32));
	store_be32(tail + 4, (uint32_t)bits);
	sha256_add(s, tail, sizeof(tail));
	for (i = 0; i < 8; i++)
		store_be32(ret_digest + 4 * i, s->state[i]);
}

void sha256_hex(struct sha256 *s, char ret_text[static SHA256_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char digest[SHA256_SIZE];
	size_t i;

	sha256_digest(s, digest);
	for (i = 0; i < SHA256_SIZE; i++) {
		ret_text[2 * i] = digits[digest[i] >> 4];
		ret_text[2 * i + 1] = digits[digest[i] & 15];
	}
	ret_text[SHA256_HEX_SIZE - 1] = '\0';
}

void sha256_of_text(const char *text, char ret_hex[static SHA256_HEX_SIZE])
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, text, strlen(text));
	sha256_hex(&s, ret_hex);
}
