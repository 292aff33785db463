/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "lib/json/json.h"
#include "probes/harness/counter.h"
#include "tests/unit/test.h"

#define TWO_32 (UINT64_C(1) << 32)

static void growth_is_taken_over_wraps_and_resets(void)
{
	static const struct {
		uint64_t last, now;
		unsigned bits;
		uint64_t growth;
	} cases[] = {
		{ 0, 0, 32, 0 },
		{ 5, 5, 64, 0 },
		{ 5, 9, 32, 4 },
		/* smaller than before: a reset, all of it is new */
		{ 9, 5, 32, 5 },
		{ 9, 0, 64, 0 },
		/* a 32-bit counter above 2^31 wrapped */
		{ TWO_32 - 1, 0, 32, 1 },
		{ TWO_32 - 10, 5, 32, 15 },
		{ TWO_32 / 2 + 1, 0, 32, TWO_32 / 2 - 1 },
		/* at 2^31 and below it was reset */
		{ TWO_32 / 2, 3, 32, 3 },
		/* a 64-bit counter does not wrap there */
		{ TWO_32 - 10, 5, 64, 5 },
		/* what no 32-bit counter can have held */
		{ TWO_32, 5, 32, 5 },
		{ 0, UINT64_MAX, 64, UINT64_MAX },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ(counter_delta(cases[i].last, cases[i].now, cases[i].bits), cases[i].growth);
}

static void a_rate_needs_an_hour(void)
{
	CHECK_NEAR(counter_per_hour(10, 3600), 10, 1e-9);
	CHECK_NEAR(counter_per_hour(10, 7200), 5, 1e-9);
	CHECK_NEAR(counter_per_hour(10, 1), 10, 1e-9);
	CHECK_NEAR(counter_per_hour(10, 0), 10, 1e-9);
	CHECK_NEAR(counter_per_hour(10, -5), 10, 1e-9);
	CHECK_NEAR(counter_per_hour(10, NAN), 10, 1e-9);
	CHECK_NEAR(counter_per_hour(0, 7200), 0, 1e-9);
}

static void counters_are_kept_and_grow_from_the_last_run(void)
{
	CLEANUP(json_freep) json_t *past = json_pack("{s:i}", "a", 7);
	CLEANUP(json_freep) json_t *next = json_object();
	struct counters c = { .past = past, .next = next };

	CHECK_EQ(counters_take(&c, "a", 9, 64), 2);
	CHECK_EQ(json_integer_value(json_object_get(next, "a")), 9);
	/* not known before: all since boot */
	CHECK_EQ(counters_take(&c, "b", 4, 64), 4);
	CHECK_EQ(json_integer_value(json_object_get(next, "b")), 4);
}

static void counters_of_another_boot_start_at_nothing(void)
{
	CLEANUP(json_freep) json_t *next = json_object();
	struct counters c = { .past = NULL, .next = next };

	CHECK_EQ(counters_take(&c, "a", 9, 64), 9);
}

static void a_spoilt_state_counts_as_none(void)
{
	CLEANUP(json_freep)
	json_t *past = json_pack("{s:s, s:i, s:n}", "a", "seven", "b", -7, "c");
	CLEANUP(json_freep) json_t *next = json_object();
	struct counters c = { .past = past, .next = next };

	CHECK_EQ(counters_take(&c, "a", 9, 64), 9);
	CHECK_EQ(counters_take(&c, "b", 9, 64), 9);
	CHECK_EQ(counters_take(&c, "c", 9, 64), 9);
}

static const struct test tests[] = {
	TEST(growth_is_taken_over_wraps_and_resets),
	TEST(a_rate_needs_an_hour),
	TEST(counters_are_kept_and_grow_from_the_last_run),
	TEST(counters_of_another_boot_start_at_nothing),
	TEST(a_spoilt_state_counts_as_none),
};

TEST_SUITE(tests);
