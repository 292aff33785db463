/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/gemm/gemm_check.h"
#include "tests/unit/gemm_fixture.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

/* Two cores, hardly any rate: a run is quick, the check is what counts. */
static struct accel_sim small_sim(uint64_t seed)
{
	struct accel_sim sim = sim_make_8(seed);

	sim.n_devices = 2;
	return sim;
}

static struct gemm_plan short_plan(enum accel_dtype dtype, uint64_t check_us)
{
	struct gemm_plan plan = sim_plan();

	plan.warm_us = 0;
	plan.rate_us = 100 * USEC_PER_MSEC;
	plan.check_us = check_us;
	plan.shape.dtype = plan.shape.out = dtype;
	return plan;
}

static void clean_cores_are_correct(void)
{
	unsigned seed, n = (unsigned)test_times(2000, 200), wrong = 0;

	for (seed = 0; seed < n; seed++) {
		struct accel_sim sim = small_sim(seed);
		struct gemm_plan plan = short_plan(seed % 2 ? ACCEL_F32 : ACCEL_F64, 0);
		CLEANUP(ran_release) struct ran ran = { 0 };
		const struct sample *s;

		plan.seed = seed;
		ran = sim_run_plan(&sim, plan);
		s = ran_sample(&ran, "gemm.correct", "cpu:1");
		wrong += ran.r != 0 || !s || s->ok != TRI_YES || s->value != 0 || s->note ||
			 sim.alive != 0;
	}
	CHECK_EQ(wrong, 0);
}

static void the_sample_says_how_many_products_were_verified(void)
{
	struct accel_sim sim = small_sim(1);
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *s;

	ran = sim_run_plan(&sim, short_plan(ACCEL_F64, USEC_PER_SEC));
	s = ran_sample(&ran, "gemm.correct", "cpu:0");
	CHECK(s != NULL);
	if (!s)
		return;
	CHECK_EQ(s->n, GEMM_ROUNDS_MAX);
	CHECK_STR(s->unit, "1");
	CHECK_EQ(s->better, BETTER_LOWER);
	CHECK_EQ(s->severity, SEVERITY_FAIL);
	CHECK_STR(s->locality, "self");
}

/* The bit that is flipped, never the sign alone of a zero: minus zero is zero. */
static uint64_t some_bits(struct random *rng, enum accel_dtype dtype, unsigned how)
{
	unsigned mantissa = dtype == ACCEL_F64 ? 52 : 23, width = dtype == ACCEL_F64 ? 63 : 31;
	uint64_t exponent = dtype == ACCEL_F64 ? UINT64_C(0x7ff) << 52 : UINT64_C(0xff) << 23;

	switch (how) {
	case 0: /* a low mantissa bit */
		return UINT64_C(1) << random_below(rng, 8);
	case 1: /* any bit but the sign */
		return UINT64_C(1) << random_below(rng, width);
	case 2: /* the sign, and a mantissa bit so that a zero changes too */
		return (UINT64_C(1) << width) | (UINT64_C(1) << random_below(rng, mantissa));
	case 3: /* the exponent: towards NaN and infinities */
		return exponent;
	default: /* several */
		return (random_next(rng) >> (64 - width)) | 1;
	}
}

static bool is_found(const struct ran *ran, const struct accel_sim *sim,
		     const struct gemm_plan *plan)
{
	CLEANUP(freep) char *subject = xasprintf("cpu:%u", sim->fault.device);
	CLEANUP(freep)
	char *place = xasprintf("product 1: row %zu, column %zu of 48x40 is ",
				sim->fault.row % plan->shape.m, sim->fault.col % plan->shape.n);
	const char *other = sim->fault.device ? "cpu:0" : "cpu:1";
	const struct sample *bad = ran_sample(ran, "gemm.correct", subject);
	const struct sample *good = ran_sample(ran, "gemm.correct", other);

	return bad && bad->state == SAMPLE_MEASURED && bad->ok == TRI_NO && bad->value == 1 &&
	       bad->severity == SEVERITY_WARN && streq(bad->code, "wrong-product") &&
	       starts_with(bad->note, place) && good && good->ok == TRI_YES;
}

/* Issue text: a wrong element at any position is caught in 1,000 of 1,000 injections. */
static void each_of_1000_injected_wrong_elements_is_caught(void)
{
	struct random rng = random_seeded(3);
	unsigned i, found = 0;

	for (i = 0; i < 1000; i++) {
		enum accel_dtype dtype = i % 2 ? ACCEL_F32 : ACCEL_F64;
		struct gemm_plan plan = short_plan(dtype, 0);
		struct accel_sim sim = small_sim(i);
		CLEANUP(ran_release) struct ran ran = { 0 };

		plan.seed = i;
		sim.fault = (struct accel_sim_fault){
			.on = true,
			.device = i % 3 == 0,
			.count = 1,
			.row = random_below(&rng, 48),
			.col = random_below(&rng, 40),
			.bits = some_bits(&rng, dtype, i / 2 % 5),
		};
		ran = sim_run_plan(&sim, plan);
		found += is_found(&ran, &sim, &plan);
	}
	CHECK_EQ(found, 1000);
}

static void wrong_again_elsewhere_is_fatal_and_once_is_a_warning(void)
{
	static const struct {
		unsigned first, count;
		int severity;
		double value;
		const char *words;
	} cases[] = {
		{ 0, 1, SEVERITY_WARN, 1, "product 1: row 7, column 9 of 48x40 is " },
		{ 0, 1, SEVERITY_WARN, 1,
		  "1 wrong; correct in other memory and with another shape" },
		{ 3, 1, SEVERITY_WARN, 1, "product 4: row 7, column 9" },
		{ 0, 0, SEVERITY_FATAL, 2,
		  "1 wrong; wrong again in other memory and with another shape" },
		{ 5, 2, SEVERITY_FATAL, 2, "product 6: " },
		/* Right on the second product, wrong on the fourth: it is tried more than once. */
		{ 15, 0, SEVERITY_FATAL, 2, "product 16: " },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct accel_sim sim = small_sim(2);
		CLEANUP(ran_release) struct ran ran = { 0 };
		const struct sample *s;

		sim.fault = (struct accel_sim_fault){
			.on = true,
			.first = cases[i].first,
			.count = cases[i].count,
			.row = 7,
			.col = 9,
			.bits = UINT64_C(1) << 51,
		};
		ran = sim_run_plan(&sim, short_plan(ACCEL_F64, USEC_PER_SEC));
		s = ran_sample(&ran, "gemm.correct", "cpu:0");
		CHECK(s != NULL);
		if (!s)
			continue;
		CHECK_EQ(s->ok, TRI_NO);
		CHECK_EQ(s->severity, cases[i].severity);
		CHECK_NEAR(s->value, cases[i].value, 0);
		CHECK_HAS(s->note, cases[i].words);
		CHECK_EQ(sim.alive, 0);
	}
}

static void damaged_factors_are_told_from_wrong_arithmetic(void)
{
	struct accel_sim sim = small_sim(3);
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *s;

	sim.damage_upload = true;
	sim.fault.device = 1;
	ran = sim_run_plan(&sim, short_plan(ACCEL_F64, 0));
	s = ran_sample(&ran, "gemm.correct", "cpu:1");
	CHECK(s && s->ok == TRI_NO && s->severity == SEVERITY_FATAL);
	CHECK_STR(s ? s->code : NULL, "wrong-input");
	CHECK_HAS(s ? s->note : NULL, "its input was damaged");
	s = ran_sample(&ran, "gemm.correct", "cpu:0");
	CHECK(s && s->ok == TRI_YES);
}

static void a_core_that_hangs_in_the_check_is_a_timeout(void)
{
	struct accel_sim sim = small_sim(4);
	struct gemm_plan plan = short_plan(ACCEL_F64, 0);
	CLEANUP(ran_release) struct ran before = sim_run_plan(&sim, plan);
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *s;

	/* After the rate: the first run told when that ends. */
	s = ran_sample(&before, "gemm.correct", "cpu:0");
	CHECK(s != NULL);
	if (!s)
		return;
	sim.hang_at_us[0] = (uint64_t)(s->start * 1e6) + 1;
	ran = sim_run_plan(&sim, plan);
	s = ran_sample(&ran, "gemm.rate", "cpu:0");
	CHECK(s && s->state == SAMPLE_MEASURED);
	s = ran_sample(&ran, "gemm.correct", "cpu:0");
	CHECK(s && s->state == SAMPLE_TIMEOUT && isnan(s->value) && s->ok == TRI_UNKNOWN);
	s = ran_sample(&ran, "gemm.correct", "cpu:1");
	CHECK(s && s->ok == TRI_YES);
	CHECK_EQ(sim.alive, 0);
}

static int refuse(void *context, struct sample *s)
{
	unsigned *left = context;

	sample_release(s);
	return (*left)-- ? 0 : -32;
}

static void a_reader_that_is_gone_ends_the_run(void)
{
	unsigned left;

	for (left = 0; left < 4; left++) {
		struct accel_sim sim = small_sim(5);
		struct gemm_plan plan = short_plan(ACCEL_F64, 0);
		unsigned counter = left;
		struct err err = ERR_INIT;

		plan.ops = accel_sim_ops(&sim);
		plan.sink = (struct gemm_sink){ refuse, &counter };
		CHECK_EQ(plan.ops->open(&plan.accel, &err), 0);
		plan.deadline_us += plan.ops->now_us(plan.accel);
		CHECK_EQ(gemm_run(&plan, &err), -32);
		CHECK_HAS(err.msg, "cannot print samples");
		plan.ops->close(plan.accel);
		CHECK_EQ(sim.alive, 0);
	}
}

static const struct test tests[] = {
	TEST(clean_cores_are_correct),
	TEST(the_sample_says_how_many_products_were_verified),
	TEST(each_of_1000_injected_wrong_elements_is_caught),
	TEST(wrong_again_elsewhere_is_fatal_and_once_is_a_warning),
	TEST(damaged_factors_are_told_from_wrong_arithmetic),
	TEST(a_core_that_hangs_in_the_check_is_a_timeout),
	TEST(a_reader_that_is_gone_ends_the_run),
};

TEST_SUITE(tests);
