/* SPDX-License-Identifier: Apache-2.0 */
/* The transferred data, and how it is verified on arrival. */
#include <stdint.h>

#include "probes/loopback/data.h"
#include "tests/unit/test.h"

enum { BYTES = 65536 };

static char source[BYTES], target[BYTES];

static void every_flipped_bit_is_seen_and_named(void)
{
	char words[DATA_WORDS_SIZE] = "";
	size_t i;

	data_fill(source, BYTES, 1);
	memcpy(target, source, BYTES);
	CHECK(!data_differs(target, source, BYTES, words));
	CHECK_STR(words, "");
	for (i = 0; i < BYTES; i += 4099) {
		target[i] = (char)(target[i] ^ (1 << i % 8));
		CHECK(data_differs(target, source, BYTES, words));
		CHECK_HAS(words, "wrong data: 1 of 65536 bytes, from 0x");
		target[i] = source[i];
	}
	target[0x10] = (char)~source[0x10];
	target[BYTES - 1] = (char)~source[BYTES - 1];
	CHECK(data_differs(target, source, BYTES, words));
	CHECK_HAS(words, "2 of 65536 bytes, from 0x10 on (");
}

/* A request that lands elsewhere, or that was never made, is as wrong as a flipped bit. */
static void data_at_the_wrong_place_is_wrong(void)
{
	enum { REQUEST = 8192 };
	char words[DATA_WORDS_SIZE];
	size_t at;

	data_fill(source, BYTES, 7);
	for (at = REQUEST; at < BYTES; at += REQUEST)
		CHECK(memcmp(source, source + at, REQUEST) != 0);
	memcpy(target, source, BYTES);
	memset(target + REQUEST, 0, REQUEST);
	CHECK(data_differs(target, source, BYTES, words));
	CHECK(!data_differs(target, source, REQUEST, words));
}

static void seeds_differ(void)
{
	data_fill(source, BYTES, 1);
	data_fill(target, BYTES, 2);
	CHECK(memcmp(source, target, BYTES) != 0);
	data_fill(target, BYTES, 1);
	CHECK(memcmp(source, target, BYTES) == 0);
}

static const struct test tests[] = {
	TEST(every_flipped_bit_is_seen_and_named),
	TEST(data_at_the_wrong_place_is_wrong),
	TEST(seeds_differ),
};

TEST_SUITE(tests);
