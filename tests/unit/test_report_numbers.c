/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a report, compared with strtod(). */
#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/both_readers.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

/* A decimal as programs and strangers write it. */
static char *random_number(struct random *chance)
{
	static const double scales[] = { 1e-9, 1e-3, 1, 1e3, 70e9, 1.8e9, 1e21, 1e300, 1e-300 };
	double value =
		random_normal(chance, 1, 0.3) * scales[random_below(chance, ARRAY_SIZE(scales))];
	int digits = (int)random_below(chance, 21);
	double any;
	uint64_t bits;

	switch (random_below(chance, 5)) {
	case 0:
		return xasprintf("%.*g", digits, value);
	case 1:
		return xasprintf("%.*f", digits, fmod(value, 1e20));
	case 2:
		return xasprintf("%.*e", digits, value);
	case 3: /* any bits that are a number */
		do {
			bits = random_next(chance);
			memcpy(&any, &bits, sizeof(any));
		} while (!isfinite(any));
		return xasprintf("%.*g", 15 + (int)random_below(chance, 6), any);
	default: /* any digits and a small exponent: halves between two doubles among them */
		bits = random_next(chance) >> random_below(chance, 64);
		return xasprintf("%llu.%lluE%d",
				 (unsigned long long)(bits >> random_below(chance, 20)),
				 (unsigned long long)random_below(chance, 1000),
				 (int)random_below(chance, 50) - 25);
	}
}

static void numbers_are_those_of_strtod_to_the_bit(void)
{
	struct random chance = random_seeded(4);
	size_t rounds = test_full() ? 2000000 : 20000, i;

	for (i = 0; i < rounds; i++) {
		CLEANUP(freep) char *number = random_number(&chance);
		CLEANUP(freep) char *text = xasprintf(HEAD ",\"uptime_s\":%s}", number);

		(void)both_read(text, strlen(text));
	}
}

static void halves_between_two_doubles_go_to_the_even_one(void)
{
	/* 2^53 + 1, + 3 and such, with one more digit to either side. */
	static const char *const numbers[] = {
		"9007199254740993.0",
		"9007199254740993.1",
		"9007199254740992.9",
		"9007199254740995.0",
		"9007199254740994.99",
		"900719925474099.3",
		"9007199254740993e0",
		"9007199254740993e3",
		"9007199254740993e19",
		"9007199254740993e-19",
		"18014398509481989e-1",
		"1801439850948198501e-2",
		"9223372036854775807.0",
		"18446744073709551615.0",
		"9999999999999999999e0",
		"0.1",
		"0.3",
		"123456789012345678e-19",
		"1e23",
		"8.5e22",
		"9007199254740992e22",
		/* What is left of a half decides. */
		"7951237774705030759e1",
		"1731268564397829400e19",
		"7252631206459757937e12",
		"3109166567074626427e15",
		"4445507527079004817e-19",
		"1084399285613517408e-19",
		"2992382000607320125e-19",
		"8415760643723491641e-19",
		"4503599627370496.5",
		"4503599627370497.5",
		"2.2250738585072011e-308",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		CLEANUP(freep)
		char *text = xasprintf(HEAD ",\"uptime_s\":%s}", numbers[i]);

		both_read_as(text, true);
	}
}

static void an_exponent_that_is_too_long_to_count_is_not_cut_short(void)
{
	static const struct {
		size_t zeros;
		int exponent;
		bool good;
	} rows[] = {
		{ 20000, 20001, true }, /* 1 */
		{ 20000, 20300, true },	 { 10000, 20000, false }, { 10000, 10005, true },
		{ 9995, 10000, true },	 { 20000, -20000, true }, { 0, 99999, false },
		{ 1, -999999999, true }, { 9990, 10310, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *zeros = repeated_byte('0', rows[i].zeros);
		CLEANUP(freep)
		char *text = xasprintf(HEAD ",\"uptime_s\":0.%s1e%d}", zeros, rows[i].exponent);

		both_read_as(text, rows[i].good);
	}
}

static const struct test tests[] = {
	TEST(numbers_are_those_of_strtod_to_the_bit),
	TEST(halves_between_two_doubles_go_to_the_even_one),
	TEST(an_exponent_that_is_too_long_to_count_is_not_cut_short),
};

TEST_SUITE(tests);
