/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/gemm/gemm_vote.h"
#include "tests/unit/gemm_fixture.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum { EXACT = 1 }; /* products verified before the vote: no time for more */

static struct accel_sim make_sim(unsigned n, uint64_t seed)
{
	struct accel_sim sim = sim_make_8(seed);

	sim.n_devices = n;
	return sim;
}

/* Hardly any rate, one exact product, and a vote as long as it may be. */
static struct gemm_plan vote_plan(void)
{
	struct gemm_plan plan = sim_plan();

	plan.warm_us = 0;
	plan.rate_us = 100 * USEC_PER_MSEC;
	plan.check_us = 0;
	plan.vote_us = USEC_PER_SEC;
	return plan;
}

static const char *way_of(const struct sample *s)
{
	return json_string_value(json_object_get(s->params, "way"));
}

static void clean_devices_agree(void)
{
	unsigned seed, n = (unsigned)test_times(1000, 100), wrong = 0;

	for (seed = 0; seed < n; seed++) {
		struct accel_sim sim = make_sim(1 + seed % 4, seed);
		struct gemm_plan plan = vote_plan();
		CLEANUP(ran_release) struct ran ran = { 0 };
		const struct sample *s;

		plan.seed = seed;
		ran = sim_run_plan(&sim, plan);
		s = ran_sample(&ran, "gemm.correct", "cpu:0");
		wrong += ran.r != 0 || !s || s->ok != TRI_YES || s->note || sim.alive != 0 ||
			 s->n != EXACT + GEMM_RUNS_MAX || !streq(way_of(s), "exact+vote");
	}
	CHECK_EQ(wrong, 0);
}

/* `count` wrong results of the device from run `first` (from 0) on; 0: all. */
static struct accel_sim_fault fault_of(unsigned device, unsigned first, unsigned count)
{
	return (struct accel_sim_fault){
		.on = true,
		.device = device,
		.first = EXACT + first,
		.count = count,
		.row = 3,
		.col = 5,
		.bits = UINT64_C(1) << 40,
	};
}

static const struct {
	unsigned n, device, first, count;
	int severity;
	const char *words[3];
} odd_ones[] = {
	{ 4,
	  2,
	  0,
	  0,
	  SEVERITY_FATAL,
	  { "random product, run 1: row 3, column 5 of 48x40 is ", " where 3 others have ",
	    ", 1 such; in 16 of 16 runs; again in other memory and with another shape" } },
	/* The first that came is what others are held against, and yet it is the one. */
	{ 3, 0, 0, 0, SEVERITY_FATAL, { "row 3, column 5", " where 2 others have ", "16 of 16" } },
	{ 3,
	  1,
	  6,
	  1,
	  SEVERITY_WARN,
	  { "random product, run 7: row 3, column 5", "in 1 of 16 runs",
	    "; not again in other memory" } },
	{ 2, 1, 2, 3, SEVERITY_WARN, { "run 3: row 3, column 5", " where cpu:0 has ", "3 of 16" } },
	{ 1, 0, 4, 1, SEVERITY_WARN, { "run 5: row 3", " where its other runs gave ", "1 of 16" } },
};

static void the_odd_one_out_is_named_with_its_element(void)
{
	size_t i, j;
	unsigned k;

	for (i = 0; i < ARRAY_SIZE(odd_ones); i++) {
		struct accel_sim sim = make_sim(odd_ones[i].n, i);
		CLEANUP(ran_release) struct ran ran = { 0 };

		sim.fault = fault_of(odd_ones[i].device, odd_ones[i].first, odd_ones[i].count);
		ran = sim_run_plan(&sim, vote_plan());
		for (k = 0; k < odd_ones[i].n; k++) {
			CLEANUP(freep) char *subject = xasprintf("cpu:%u", k);
			const struct sample *s = ran_sample(&ran, "gemm.correct", subject);

			CHECK(s != NULL);
			if (!s)
				continue;
			CHECK_EQ(s->ok, k == odd_ones[i].device ? TRI_NO : TRI_YES);
			if (k != odd_ones[i].device)
				continue;
			CHECK_NEAR(s->value, 1, 0);
			CHECK_EQ(s->severity, odd_ones[i].severity);
			CHECK_STR(s->code, "wrong-product");
			CHECK_STR(way_of(s), "vote");
			CHECK(s->with == NULL);
			for (j = 0; j < ARRAY_SIZE(odd_ones[i].words); j++)
				CHECK_HAS(s->note, odd_ones[i].words[j]);
		}
		CHECK_EQ(sim.alive, 0);
	}
}

static void two_that_differ_are_undecided_and_never_fatal(void)
{
	struct accel_sim sim = make_sim(2, 7);
	CLEANUP(ran_release) struct ran ran = { 0 };
	unsigned k;

	sim.fault = fault_of(1, 0, 0);
	ran = sim_run_plan(&sim, vote_plan());
	for (k = 0; k < 2; k++) {
		const struct sample *s = ran_sample(&ran, "gemm.correct", k ? "cpu:1" : "cpu:0");

		CHECK(s && s->ok == TRI_NO && s->severity == SEVERITY_WARN && s->value == 1);
		CHECK_STR(s ? s->code : NULL, "undecided");
		CHECK_STR(s && s->with ? s->with[0] : NULL, k ? "cpu:0" : "cpu:1");
		CHECK_HAS(s ? s->note : NULL, k ? " where cpu:0 has " : " where cpu:1 has ");
		CHECK_HAS(s ? s->note : NULL, "16 of 16 runs; which of them is wrong is undecided; "
					      "again in other memory");
	}
	CHECK_EQ(sim.alive, 0);
}

/* Half of the runs so and half otherwise, and nobody to ask. */
static void a_device_that_differs_from_itself_as_often_as_not_is_not_judged(void)
{
	struct accel_sim sim = make_sim(1, 12);
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *s;

	sim.fault = fault_of(0, GEMM_RUNS_MAX / 2, 0);
	ran = sim_run_plan(&sim, vote_plan());
	s = ran_sample(&ran, "gemm.correct", "cpu:0");
	CHECK(s && s->ok == TRI_YES && s->value == 0);
	CHECK_STR(s ? s->note : NULL,
		  "no vote: random products differ from run to run on 1 of 1 GPUs");
	CHECK_EQ(sim.alive, 0);
}

/* What the exact check found needs no vote, and spoils none. */
static void who_is_wrong_exactly_has_no_voice(void)
{
	struct accel_sim sim = make_sim(2, 8);
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *s;

	sim.fault = fault_of(0, 0, 0);
	sim.fault.first = 0;
	ran = sim_run_plan(&sim, vote_plan());
	s = ran_sample(&ran, "gemm.correct", "cpu:0");
	CHECK(s && s->ok == TRI_NO && s->severity == SEVERITY_FATAL);
	CHECK_STR(s ? way_of(s) : NULL, "exact");
	CHECK_HAS(s ? s->note : NULL, "product 1: ");
	s = ran_sample(&ran, "gemm.correct", "cpu:1");
	CHECK(s && s->ok == TRI_YES && !s->note);
	CHECK_STR(s ? way_of(s) : NULL, "exact+vote");
	CHECK_EQ(sim.alive, 0);
}

/* Of a thousand flipped bits in one result each is seen, and the right device named. */
static void each_flipped_bit_is_seen(void)
{
	unsigned i, found = 0, n = (unsigned)test_times(1000, 100);
	struct random rng = random_seeded(11);

	for (i = 0; i < n; i++) {
		unsigned bad = (unsigned)random_below(&rng, 3);
		struct accel_sim sim = make_sim(3, i);
		CLEANUP(freep) char *subject = xasprintf("cpu:%u", bad);
		CLEANUP(ran_release) struct ran ran = { 0 };
		const struct sample *s;
		char place[64];

		sim.fault = fault_of(bad, (unsigned)random_below(&rng, GEMM_RUNS_MAX), 1);
		sim.fault.row = random_below(&rng, 48);
		sim.fault.col = random_below(&rng, 40);
		sim.fault.bits = UINT64_C(1) << random_below(&rng, 64);
		ran = sim_run_plan(&sim, vote_plan());
		s = ran_sample(&ran, "gemm.correct", subject);
		(void)snprintf(place, sizeof(place), "row %zu, column %zu of 48x40 is ",
			       sim.fault.row, sim.fault.col);
		found += s && s->ok == TRI_NO && strstr(s->note, place) &&
			 strstr(s->note, "1 such; in 1 of 16 runs");
	}
	CHECK_EQ(found, n);
}

static void a_device_that_hangs_in_the_vote_is_a_timeout_and_the_others_agree(void)
{
	struct accel_sim sim = make_sim(3, 9);
	CLEANUP(ran_release) struct ran before = sim_run_plan(&sim, vote_plan());
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *s = ran_sample(&before, "gemm.correct", "cpu:1");

	CHECK(s != NULL);
	if (!s)
		return;
	/* In the middle of what took 17 products. */
	sim.hang_at_us[1] = (uint64_t)((s->start + s->seconds / 2) * 1e6);
	ran = sim_run_plan(&sim, vote_plan());
	s = ran_sample(&ran, "gemm.correct", "cpu:1");
	CHECK(s && s->state == SAMPLE_TIMEOUT);
	CHECK_HAS(s ? s->note : NULL, "random product");
	s = ran_sample(&ran, "gemm.correct", "cpu:2");
	CHECK(s && s->ok == TRI_YES);
	CHECK(ran.seconds <= 10.1); /* it looks at the clock after its deadline */
	CHECK_EQ(sim.alive, 0);
}

static const struct test tests[] = {
	TEST(clean_devices_agree),
	TEST(the_odd_one_out_is_named_with_its_element),
	TEST(two_that_differ_are_undecided_and_never_fatal),
	TEST(a_device_that_differs_from_itself_as_often_as_not_is_not_judged),
	TEST(who_is_wrong_exactly_has_no_voice),
	TEST(each_flipped_bit_is_seen),
	TEST(a_device_that_hangs_in_the_vote_is_a_timeout_and_the_others_agree),
};

TEST_SUITE(tests);
