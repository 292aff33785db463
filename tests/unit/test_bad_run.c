/* SPDX-License-Identifier: Apache-2.0 */
/* Which items of a verdict count against their part. */
#include "lib/policy/bad_run.h"

#include <math.h>

#include "lib/judge/verdict.h"
#include "tests/unit/test.h"

enum { F = 1 << SOURCE_FLEET, S = 1 << SOURCE_SKU, H = 1 << SOURCE_HISTORY, P = 1 << SOURCE_PEERS };

static struct verdict_item item_of(int level, unsigned known, unsigned low, int usual)
{
	static char check[] = "gemm.rate", subject[] = "gpu:3", unit[] = "FLOP/s";

	return (struct verdict_item){ .check = check,
				      .subject = subject,
				      .unit = unit,
				      .level = level,
				      .known_by = known,
				      .low_by = low,
				      .usual = usual,
				      .value = 90,
				      .expected = 100,
				      .floor = 95 };
}

static void two_of_three_references_convict_a_part(void)
{
	static const struct {
		int level;
		unsigned known, low;
		int usual;
		bool bad;
	} rows[] = {
		{ VERDICT_PASS, F | P, 0, USUAL_UNKNOWN, false },
		/* its probe says so */
		{ VERDICT_WARN, 0, 0, USUAL_UNKNOWN, true },
		/* it has been better */
		{ VERDICT_WARN, F | H | P, H, USUAL_DROPPED, true },
		{ VERDICT_WARN, H | P, H, USUAL_DROPPED, true },
		/* the fleet decides where it is known */
		{ VERDICT_WARN, F | H | P, P, USUAL_KEPT, false },
		{ VERDICT_FAIL, F | S | P, S | P, USUAL_UNKNOWN, false },
		{ VERDICT_WARN, F | P, F, USUAL_UNKNOWN, true },
		{ VERDICT_FAIL, F | H | P, F | P, USUAL_KEPT, true },
		/* without one, peers alone do not */
		{ VERDICT_WARN, P | H | S, P, USUAL_KEPT, false },
		{ VERDICT_WARN, P | S, P, USUAL_UNKNOWN, false },
		{ VERDICT_WARN, P, P, USUAL_UNKNOWN, false },
		{ VERDICT_FAIL, P | H, P, USUAL_KEPT, false },
		{ VERDICT_FAIL, P, P, USUAL_UNKNOWN, false },
		{ VERDICT_FAIL, P | S, P | S, USUAL_UNKNOWN, true },
		{ VERDICT_FAIL, P | H | S, P | S, USUAL_KEPT, true },
		{ VERDICT_WARN, S | P, S, USUAL_UNKNOWN, false },
		{ VERDICT_FAIL, S | P, S, USUAL_UNKNOWN, true },
		{ VERDICT_WARN, S, S, USUAL_UNKNOWN, true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct verdict_item item =
			item_of(rows[i].level, rows[i].known, rows[i].low, rows[i].usual);
		const struct verdict v = { .items = &item, .n_items = 1 };

		CHECK_EQ(bad_run(&v, 0), rows[i].bad);
	}
}

/* Alone, the history of a part has to say 7.5 %; that of a host has a limit of its own. */
static void a_host_that_dropped_is_bad_by_its_own_limit(void)
{
	static char host[] = "n001";
	struct verdict_item item = item_of(VERDICT_WARN, F | H, H, USUAL_DROPPED);
	struct verdict v = { .node = host, .items = &item, .n_items = 1 };

	item.value = 93.5;
	item.floor = 94;
	CHECK(!bad_run(&v, 0));
	item.subject = host;
	CHECK(bad_run(&v, 0));
}

static void one_item_speaks_for_what_was_measured_in_several_ways(void)
{
	struct verdict_item items[] = {
		item_of(VERDICT_FAIL, F | S | P, S | P, USUAL_UNKNOWN), /* usual in the fleet */
		item_of(VERDICT_FAIL, F | P, F | P, USUAL_UNKNOWN),
		item_of(VERDICT_WARN, F | P, F, USUAL_UNKNOWN),
		item_of(VERDICT_INCONCLUSIVE, 0, 0, USUAL_UNKNOWN),
		item_of(VERDICT_PASS, F | P, 0, USUAL_UNKNOWN),
	};
	const struct verdict v = { .items = items, .n_items = ARRAY_SIZE(items) };
	size_t i;

	for (i = 0; i < v.n_items; i++)
		CHECK_EQ(bad_run_speaks(&v, i), i == 1);
}

static void a_memory_channel_is_not_born_lost(void)
{
	static char memory[] = "memory.read_bw";
	struct verdict_item gpu = item_of(VERDICT_WARN, F | P, F, USUAL_UNKNOWN), channel = gpu;

	channel.check = memory;
	channel.value = gpu.value = 87.5;
	CHECK(bad_run_is_born(&gpu, false));
	CHECK(!bad_run_is_born(&channel, true));
	/* Without other hosts to compare it with nobody knows. */
	channel.low_by = channel.known_by = S;
	CHECK(bad_run_is_born(&channel, false));
}

static void the_file_is_blamed_when_it_is_alone(void)
{
	struct verdict_item alone = item_of(VERDICT_FAIL, F | S | P, S, USUAL_UNKNOWN);
	struct verdict_item with = item_of(VERDICT_FAIL, F | S | P, S | F, USUAL_UNKNOWN);

	CHECK(bad_run_by_file_alone(&alone));
	CHECK(!bad_run_by_file_alone(&with));
}

static void what_may_be_a_disturbance_or_was_always_so_takes_more_runs(void)
{
	static const struct {
		struct bad_run_facts facts;
		unsigned k, n;
	} rows[] = {
		{ { .check = "gemm.rate", .score = 0.7, .parts = 8, .parts_bad = 1 }, 2, 3 },
		{ { .check = "gemm.rate", .score = 0.9, .parts = 8, .parts_bad = 1 }, 3, 4 },
		{ { .check = "gemm.rate", .score = 0.7, .parts = 8, .parts_bad = 4 }, 3, 4 },
		{ { .check = "gemm.rate", .score = NAN, .parts = 8, .parts_bad = 1 }, 2, 3 },
		/* Less is better. */
		{ { .check = "rnic_pair.latency", .score = 1.1, .parts = 8, .parts_bad = 1 }, 3, 4 },
		{ { .check = "rnic_pair.latency", .score = 1.5, .parts = 8, .parts_bad = 1 }, 2, 3 },
		/* A part was always so, and no good one is: */
		{ { .check = "gemm.rate", .born = true, .score = 0.7, .parts = 8, .parts_bad = 1 },
		  6,
		  6 },
		{ { .check = "gemm.rate", .born = true, .score = 0.5, .parts = 8, .parts_bad = 1 },
		  2,
		  3 },
		{ { .check = "gemm.rate",
		    .born = true,
		    .deep = true,
		    .score = 0.9,
		    .parts = 8,
		    .parts_bad = 1 },
		  2,
		  3 },
		/* Links do not spread as silicon does. */
		{ { .check = "loopback.write_bw",
		    .born = true,
		    .score = 0.7,
		    .parts = 8,
		    .parts_bad = 1 },
		  2,
		  3 },
		/* No value. */
		{ { .check = "rnic.flapping", .score = 0.9, .parts = 8, .parts_bad = 1 }, 2, 3 },
	};
	const struct bad_run_facts once = { .check = "gemm.rate", .score = 0.9, .parts = 8 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct bad_run_proof proof = bad_run_proof(&rows[i].facts, 2, 3);

		CHECK_EQ(proof.k, rows[i].k);
		CHECK_EQ(proof.n, rows[i].n);
	}
	/* Who asks for one run only gets it. */
	CHECK_EQ(bad_run_proof(&once, 1, 1).k, 1);
}

static const struct test tests[] = {
	TEST(two_of_three_references_convict_a_part),
	TEST(a_host_that_dropped_is_bad_by_its_own_limit),
	TEST(one_item_speaks_for_what_was_measured_in_several_ways),
	TEST(a_memory_channel_is_not_born_lost),
	TEST(the_file_is_blamed_when_it_is_alone),
	TEST(what_may_be_a_disturbance_or_was_always_so_takes_more_runs),
};

TEST_SUITE(tests);
