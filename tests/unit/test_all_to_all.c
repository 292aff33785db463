/* SPDX-License-Identifier: Apache-2.0 */
/* Which GPU the matrix of pairs blames. */
#include "probes/all_to_all/all_to_all.h"
#include "probes/all_to_all/all_to_all_pairs.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum { N = 8 };

/* Good cells differ by half a percent; what goes from or to `slow` is a part of that. */
static void make(double *pairs, unsigned n, int slow, double part, struct random *random)
{
	unsigned i, j;

	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++)
			pairs[i * n + j] = random_normal(random, 100e9, 0.5e9) *
					   ((int)i == slow || (int)j == slow ? part : 1);
	}
}

static void the_gpu_whose_row_and_column_are_low_is_named(void)
{
	struct random random = random_seeded(1);
	double pairs[N * N], part;
	int slow;

	for (slow = 0; slow < N; slow++) {
		make(pairs, N, slow, 17.0 / 18, &random); /* one NVLink of an H100 less */
		CHECK_EQ(all_to_all_slow(pairs, N, &part), slow);
		CHECK(part > 0.93 && part < 0.96);
	}
}

static void nobody_is_named_among_good_ones(void)
{
	struct random random = random_seeded(2);
	double pairs[N * N], part;
	unsigned i;

	for (i = 0; i < 1000; i++) {
		make(pairs, N, COLL_NOBODY, 1, &random);
		CHECK_EQ(all_to_all_slow(pairs, N, &part), COLL_NOBODY);
	}
}

static void one_low_cell_is_no_gpu(void)
{
	struct random random = random_seeded(3);
	double pairs[N * N], part;

	make(pairs, N, COLL_NOBODY, 1, &random);
	pairs[2 * N + 5] *= 0.5;
	CHECK_EQ(all_to_all_slow(pairs, N, &part), COLL_NOBODY);
}

static void the_one_low_cell_is_a_pair(void)
{
	struct random random = random_seeded(4);
	struct coll_move pair = { 0, 0 };
	double pairs[N * N], part;
	unsigned i;

	for (i = 0; i < 1000; i++) {
		make(pairs, N, COLL_NOBODY, 1, &random);
		CHECK(!all_to_all_slow_pair(pairs, N, &pair, &part));
	}
	pairs[5 * N + 2] *= 0.5;
	CHECK(all_to_all_slow_pair(pairs, N, &pair, &part));
	CHECK_EQ(pair.from, 5);
	CHECK_EQ(pair.to, 2);
	CHECK_NEAR(part, 0.5, 0.05);
	/* An end that is slow explains its cells. */
	make(pairs, N, 5, 0.9, &random);
	CHECK(!all_to_all_slow_pair(pairs, N, &pair, &part));
	CHECK(!all_to_all_slow_pair(pairs, 2, &pair, &part));
}

static void of_two_it_cannot_be_told(void)
{
	double pairs[] = { 0, 50e9, 100e9, 0 }, part;

	CHECK_EQ(all_to_all_slow(pairs, 2, &part), COLL_NOBODY);
}

static const struct test tests[] = {
	TEST(the_gpu_whose_row_and_column_are_low_is_named),
	TEST(nobody_is_named_among_good_ones),
	TEST(one_low_cell_is_no_gpu),
	TEST(the_one_low_cell_is_a_pair),
	TEST(of_two_it_cannot_be_told),
};

TEST_SUITE(tests);
