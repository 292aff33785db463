/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the number of operations per step from their sequence. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/ring/ring_period.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum { TOKENS = 6000, MICRO_BATCHES = 8, SEEDS = 200, SEEDS_FULL = 3000 };

struct tokens {
	uint64_t list[TOKENS];
	size_t n;
};

static void add(struct tokens *t, uint64_t token)
{
	if (t->n < TOKENS)
		t->list[t->n++] = token;
}

static size_t period_of(const struct tokens *t)
{
	struct ring_period period = { 0, 0 };
	struct err err = ERR_INIT;

	return ring_period_find(t->list, t->n, &period, &err) == 0 ? period.n : 0;
}

/* Gathers of layers that look alike, gradients in buckets, a norm. */
static size_t add_step(struct tokens *t, size_t layers, size_t buckets)
{
	size_t i;

	for (i = 0; i < layers; i++)
		add(t, 1);
	for (i = 0; i < buckets; i++)
		add(t, 2 + i % 2);
	add(t, 9);
	return layers + buckets + 1;
}

static void a_step_is_found_though_most_of_it_looks_alike(void)
{
	struct tokens t = { .n = 0 };
	size_t step, n = 0;

	for (step = 0; step < 20; step++)
		n = add_step(&t, 40, 10);
	CHECK_EQ(period_of(&t), n);
}

/* Eight micro-batches of sixty gathers, all of their own size, and one norm. */
static void a_micro_batch_is_no_step(void)
{
	struct tokens t = { .n = 0 };
	size_t step, mb, i;

	for (step = 0; step < 10; step++) {
		for (mb = 0; mb < MICRO_BATCHES; mb++) {
			for (i = 0; i < 60; i++)
				add(&t, 1 + i);
		}
		add(&t, 99);
	}
	CHECK_EQ(period_of(&t), MICRO_BATCHES * 60 + 1);
}

/* What of the seed's steps, evaluations, warm-up and losses is found. */
static bool finds(uint64_t seed, double lost)
{
	struct random random = random_seeded(seed);
	struct tokens whole = { .n = 0 }, t = { .n = 0 };
	const size_t layers = 1 + random_below(&random, 60),
		     buckets = 1 + random_below(&random, 20);
	const size_t steps = 12 + random_below(&random, 20);
	size_t i, step, n = 0, evaluation = random_below(&random, 10);

	for (i = 0; i < random_below(&random, 30); i++)
		add(&whole, 100 + random_below(&random, 4));
	for (step = 0; step < steps; step++) {
		n = add_step(&whole, layers, buckets);
		for (i = 0; step == evaluation && i < layers; i++)
			add(&whole, 1);
		if (step == evaluation)
			evaluation += 5 + random_below(&random, 10);
	}
	for (i = random_below(&random, n); i + n / 2 < whole.n; i++) {
		if (random_unit(&random) > lost)
			add(&t, whole.list[i]);
	}
	return period_of(&t) == n;
}

static void evaluations_warm_up_and_lost_operations_do_not_hide_it(void)
{
	const size_t seeds = test_times(SEEDS_FULL, SEEDS);
	size_t found = 0, with_lost = 0, seed;

	for (seed = 0; seed < seeds; seed++) {
		found += finds(5710001 + seed, 0);
		with_lost += finds(5710001 + seed, 0.002);
	}
	printf("period found in %zu of %zu sequences, in %zu where 2 of 1000 operations are lost\n",
	       found, seeds, with_lost);
	CHECK(found * 100 >= seeds * 99);
	CHECK(with_lost * 100 >= seeds * 95);
}

static void where_nothing_repeats_it_is_said(void)
{
	struct random random = random_seeded(4);
	struct tokens t = { .n = 0 };
	struct ring_period period;
	struct err err = ERR_INIT;

	while (t.n < 2000)
		add(&t, 1 + random_below(&random, 50));
	CHECK_EQ(ring_period_find(t.list, t.n, &period, &err), -ENODATA);
	CHECK_HAS(err.msg, "no sequence of operations repeats in the last 2000");
	CHECK_EQ(ring_period_find(t.list, 2, &period, &err), -ENODATA);
	CHECK_HAS(err.msg, "2 operations are too few");
}

static const struct test tests[] = {
	TEST(a_step_is_found_though_most_of_it_looks_alike),
	TEST(a_micro_batch_is_no_step),
	TEST(evaluations_warm_up_and_lost_operations_do_not_hide_it),
	TEST(where_nothing_repeats_it_is_said),
};

TEST_SUITE(tests);
