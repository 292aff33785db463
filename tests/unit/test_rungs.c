/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/rungs.h"

#include "lib/policy/blame.h"
#include "tests/unit/test.h"

/* All that may have run, one that nobody knows among them. */
static const char *const ran[] = { "rung-gemm", "rung-chain", "rung-load", RUNGS_WHOLE, "passive" };

/* The place of a profile in the ladder; RUNGS_MAX: all of it is over, or it is none of it. */
static size_t place(int class, const char *profile)
{
	size_t i;

	for (i = 0; i < RUNGS_MAX; i++) {
		if (streq(rungs_at(class, i), profile) && profile)
			return i;
	}
	return RUNGS_MAX;
}

static void a_ladder_begins_with_the_shortest_and_ends_with_what_measures_all(void)
{
	static const struct {
		int class;
		const char *rungs[RUNGS_MAX];
	} rows[] = {
		{ BLAME_COMPUTE, { "rung-gemm", "rung-load" } },
		{ BLAME_LAUNCH, { "rung-chain", "rung-load" } },
		{ BLAME_LINK, { RUNGS_WHOLE } },
		{ BLAME_FABRIC, { NULL } },
		{ BLAME_JOB, { NULL } },
		{ BLAME_UNCLEAR, { NULL } },
		{ BLAME_NOTHING, { NULL } },
		{ BLAME_CLASSES, { NULL } },
		{ -1, { NULL } },
	};
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (n = 0; n < RUNGS_MAX; n++)
			CHECK_STR(rungs_at(rows[i].class, n), rows[i].rungs[n]);
		CHECK(!rungs_at(rows[i].class, RUNGS_MAX));
		CHECK_STR(rungs_next(rows[i].class, NULL), rows[i].rungs[0]);
	}
}

/* All inputs: what failed and fits is repeated by what ran; all else goes on, or ends. */
static void every_ladder_ends_and_only_the_last_rung_ends_it_without_proof(void)
{
	int class;
	size_t i;
	unsigned bits;

	for (class = 0; class < BLAME_CLASSES; class ++) {
		for (i = 0; i < ARRAY_SIZE(ran); i++) {
			for (bits = 0; bits < 4; bits++) {
				const struct rungs_test test = { .profile = ran[i],
								 .repeat = bits & 1,
								 .proven = bits & 2 };
				const char *next = rungs_next(class, &test);

				if (!rungs_has(class, ran[i]))
					CHECK_STR(next, rungs_at(class, 0));
				else if (test.repeat)
					CHECK_STR(next, ran[i]);
				else if (test.proven || rungs_is_last(class, ran[i]))
					CHECK(!next);
				else
					CHECK(place(class, next) == place(class, ran[i]) + 1);
			}
		}
	}
}

static void what_failed_is_looked_at_by_the_last_rung_and_repeated_by_that_which_shows_it(void)
{
	struct rungs_test test = { .profile = "rung-gemm", .repeat = true, .has_time = true };

	CHECK_STR(rungs_next(BLAME_COMPUTE, &test), "rung-load");
	CHECK_STR(rungs_next(BLAME_LAUNCH, &(struct rungs_test){ .profile = "rung-chain",
								 .repeat = true,
								 .has_time = true }),
		  "rung-load");
	test.profile = "rung-load";
	CHECK_STR(rungs_next(BLAME_COMPUTE, &test), "rung-load");
	test.has_time = false;
	CHECK_STR(rungs_next(BLAME_COMPUTE, &test), "rung-load");
	test.shows = "rung-gemm";
	CHECK_STR(rungs_next(BLAME_COMPUTE, &test), "rung-gemm");
}

static void what_measures_all_is_the_last_rung_of_every_ladder(void)
{
	int class;

	for (class = 0; class < BLAME_CLASSES; class ++) {
		const bool tested = blame_tests_host(class);

		CHECK_EQ(rungs_has(class, RUNGS_WHOLE), tested);
		CHECK_EQ(rungs_is_last(class, RUNGS_WHOLE), tested);
		CHECK_EQ(rungs_at(class, 0) != NULL, tested);
	}
	CHECK(!rungs_has(BLAME_LINK, "rung-load"));
	CHECK(!rungs_is_last(BLAME_COMPUTE, "rung-gemm"));
	CHECK(!rungs_has(BLAME_COMPUTE, "rung-chain"));
	CHECK(!rungs_has(BLAME_COMPUTE, NULL));
}

/* What a short rung passed ends nothing that it did not measure. */
static void a_rung_says_something_only_of_what_it_measures(void)
{
	static const struct {
		const char *profile, *check;
		bool measured;
	} rows[] = {
		{ "rung-gemm", "gemm.rate", true },
		{ "rung-gemm", "gemm.chain", false },
		{ "rung-gemm", "gemm.overlap", false },
		{ "rung-gemm", "memory.h2d_bw", false },
		{ "rung-gemm", "gpu.xid", true },
		{ "rung-chain", "gemm.chain", true },
		{ "rung-chain", "memory.h2d_bw", false },
		{ "rung-load", "memory.h2d_bw", true },
		{ "rung-load", "gemm.overlap", true },
		{ "rung-load", "loopback.write_bw", false },
		{ RUNGS_WHOLE, "loopback.write_bw", true },
		{ "passive", "gpu.xid", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(rungs_measure(rows[i].profile, rows[i].check), rows[i].measured);
	CHECK_STR(rungs_find("rung-load"), "rung-load");
	CHECK(!rungs_find("quick") && !rungs_find(NULL));
	CHECK(rungs_is_short("rung-chain") && !rungs_is_short(RUNGS_WHOLE));
	CHECK(!rungs_is_short("quick") && !rungs_is_short(NULL));
}

/* Where the last rung of a class passed, all that can show the class was measured. */
static void the_last_rung_measures_all_that_clears_the_class(void)
{
	static const char *const checks[] = { "gemm.rate",     "gemm.chain", "gemm.overlap",
					      "memory.h2d_bw", "gpu.xid",    "host.steal" };
	static const int classes[] = { BLAME_COMPUTE, BLAME_LAUNCH };
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(classes); i++) {
		const char *last = rungs_at(classes[i], RUNGS_MAX - 1);

		for (n = 0; n < ARRAY_SIZE(checks); n++)
			CHECK(rungs_measure(last, checks[n]) || !blame_shows(classes[i], checks[n]));
	}
}

static const struct test tests[] = {
	TEST(a_ladder_begins_with_the_shortest_and_ends_with_what_measures_all),
	TEST(every_ladder_ends_and_only_the_last_rung_ends_it_without_proof),
	TEST(what_failed_is_looked_at_by_the_last_rung_and_repeated_by_that_which_shows_it),
	TEST(what_measures_all_is_the_last_rung_of_every_ladder),
	TEST(a_rung_says_something_only_of_what_it_measures),
	TEST(the_last_rung_measures_all_that_clears_the_class),
};

TEST_SUITE(tests);
