/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "probes/gemm/gemm_rate.h"
#include "tests/unit/gemm_fixture.h"
#include "tests/unit/test.h"

static void check_rate_sample(const struct sample *s, double expected)
{
	if (!s) {
		CHECK(s != NULL);
		return;
	}
	CHECK_EQ(s->state, SAMPLE_MEASURED);
	CHECK_NEAR(s->value, expected, 0.05 * expected);
	CHECK_STR(s->unit, "FLOP/s");
	CHECK_EQ(s->better, BETTER_HIGHER);
	CHECK_EQ(s->ok, TRI_UNKNOWN);
	CHECK_STR(s->locality, "self");
	CHECK_EQ(s->n, GEMM_WINDOWS);
	CHECK_EQ(s->w.n, GEMM_WINDOWS);
	CHECK(s->min <= s->p50 && s->p50 <= s->max);
	CHECK_NEAR(s->seconds, 4.5, 0.5);
	CHECK(s->note == NULL);
}

static void every_core_gets_its_rate(void)
{
	struct accel_sim sim = sim_make_8(1);
	CLEANUP(ran_release) struct ran ran = sim_run(&sim);
	CLEANUP(freep) char *params = NULL;
	unsigned i;

	CHECK_EQ(ran.r, 0);
	CHECK_EQ(ran.report.n_samples, 16);
	for (i = 0; i < 8; i++) {
		CLEANUP(freep) char *subject = xasprintf("cpu:%u", i);

		check_rate_sample(ran_sample(&ran, "gemm.rate", subject), 4.3e7);
	}
	params = json_line(ran.report.samples[0].params);
	CHECK_STR(params,
		  "{\"engine\":\"sim\",\"dtype\":\"f64\",\"shape\":\"48x40x56\","
		  "\"data\":\"uniform\",\"version\":\"simblas 1.0\",\"algorithm\":\"triple loop\","
		  "\"capacity\":1024}");
	CHECK(ran.seconds < 10);
	CHECK_EQ(sim.alive, 0);
}

static void the_warm_up_lasts_at_least_its_second(void)
{
	struct accel_sim sim = sim_make_8(2);
	CLEANUP(ran_release) struct ran ran = sim_run(&sim);
	double flop = 2.0 * 48 * 40 * 56;
	const struct sample *s = ran_sample(&ran, "gemm.rate", "cpu:0");

	CHECK(s && s->start >= 1.0);
	/* 1 s of warm-up and 4.5 s of measurement are at least 5.4 s of products. */
	CHECK((double)sim.products[0] * flop / 4.3e7 >= 5.4);
}

static void a_very_slow_product_still_gets_eight_windows(void)
{
	struct accel_sim sim = sim_make_8(3);
	CLEANUP(ran_release) struct ran ran = { 0 };
	struct gemm_plan plan = sim_plan();
	const struct sample *s;

	sim.flop_per_s = 2.0 * 48 * 40 * 56 / 0.8; /* 0.8 s each: 16 would take 12.8 s */
	plan.deadline_us = 30 * USEC_PER_SEC;
	ran = sim_run_plan(&sim, plan);
	s = ran_sample(&ran, "gemm.rate", "cpu:7");
	CHECK_EQ(ran.r, 0);
	CHECK(s && s->state == SAMPLE_MEASURED && s->n >= SAMPLE_WINDOWS_MIN && s->n < 12);
	CHECK_EQ(sim.alive, 0);
}

static void a_core_that_hangs_is_a_timeout_and_the_others_are_measured(void)
{
	struct accel_sim sim = sim_make_8(4);
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *s;

	sim.hang_at_us[5] = 1000000000 + 3000000; /* its clock starts at 1e9 */
	ran = sim_run(&sim);
	CHECK_EQ(ran.r, 0);
	s = ran_sample(&ran, "gemm.rate", "cpu:5");
	CHECK(s && s->state == SAMPLE_TIMEOUT && isnan(s->value));
	CHECK_HAS(s ? s->note : NULL, "cpu:5");
	s = ran_sample(&ran, "gemm.correct", "cpu:5");
	CHECK(s && s->state == SAMPLE_TIMEOUT && s->ok == TRI_UNKNOWN);
	s = ran_sample(&ran, "gemm.rate", "cpu:4");
	CHECK(s && s->state == SAMPLE_MEASURED);
	CHECK_NEAR(s ? s->value : 0, 4.3e7, 0.05 * 4.3e7);
	s = ran_sample(&ran, "gemm.correct", "cpu:4");
	CHECK(s && s->ok == TRI_YES);
	CHECK(ran.seconds <= 10);
	CHECK_EQ(sim.alive, 0);
}

static void a_core_that_hangs_at_once_leaves_the_others_their_time(void)
{
	struct accel_sim sim = sim_make_8(5);
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *s;

	sim.hang_at_us[0] = 1;
	ran = sim_run(&sim);
	s = ran_sample(&ran, "gemm.rate", "cpu:0");
	CHECK(s && s->state == SAMPLE_TIMEOUT);
	s = ran_sample(&ran, "gemm.rate", "cpu:1");
	CHECK(s && s->state == SAMPLE_MEASURED && s->n == GEMM_WINDOWS);
	CHECK(ran.seconds <= 10);
	CHECK_EQ(sim.alive, 0);
}

/* A hog comes after the warm-up: windows take ten times what was planned. */
static void a_core_that_turns_slow_is_measured_to_the_end(void)
{
	struct accel_sim sim = sim_make_8(12);
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *s;

	sim.later[3] = 0.1;
	sim.later_us = 1000000000 + 1100000; /* its clock starts at 1e9 */
	ran = sim_run(&sim);
	s = ran_sample(&ran, "gemm.rate", "cpu:3");
	CHECK(s && s->state == SAMPLE_MEASURED && s->n >= SAMPLE_WINDOWS_MIN);
	CHECK_NEAR(s ? s->value : 0, 4.3e6, 0.05 * 4.3e6);
	s = ran_sample(&ran, "gemm.rate", "cpu:2");
	CHECK(s && s->n == GEMM_WINDOWS);
	s = ran_sample(&ran, "gemm.correct", "cpu:3");
	CHECK(s && s->ok == TRI_YES);
	CHECK(ran.seconds <= 10);
	CHECK_EQ(sim.alive, 0);
}

static void a_failing_device_is_a_sample_and_no_error(void)
{
	static const struct {
		int fail, state, ok, severity;
		const char *code;
	} cases[] = {
		{ -EIO, SAMPLE_MEASURED, TRI_NO, SEVERITY_WARN, "device-error" },
		{ -ENODEV, SAMPLE_MEASURED, TRI_NO, SEVERITY_FATAL, "device-lost" },
		{ -ENOMEM, SAMPLE_SET_UP, TRI_UNKNOWN, SEVERITY_FAIL, NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct accel_sim sim = sim_make_8(6);
		CLEANUP(ran_release) struct ran ran = { 0 };
		const struct sample *s;

		sim.fail[2] = cases[i].fail;
		ran = sim_run(&sim);
		CHECK_EQ(ran.r, 0);
		s = ran_sample(&ran, "gemm.rate", "cpu:2");
		if (!s) {
			CHECK(s != NULL);
			continue;
		}
		CHECK_EQ(s->state, cases[i].state);
		CHECK_EQ(s->ok, cases[i].ok);
		CHECK_EQ(s->severity, cases[i].severity);
		CHECK_STR(s->code, cases[i].code);
		CHECK_STR(s->note, "simulated failure");
		CHECK(isnan(s->value));
		check_rate_sample(ran_sample(&ran, "gemm.rate", "cpu:3"), 4.3e7);
	}
}

/* What others take: the state of the rate and of the check, and the words. */
static const struct {
	double delay, steal, sibling, share;
	bool run_busy;
	int rate_state, correct_state;
	const char *note;
} contended[] = {
	{ 0.029, 0, 0, 0, false, SAMPLE_MEASURED, SAMPLE_MEASURED, NULL },
	{ 0, 0.029, 0, 0, false, SAMPLE_MEASURED, SAMPLE_MEASURED, NULL },
	{ 0, 0, 0.059, 0, false, SAMPLE_MEASURED, SAMPLE_MEASURED, NULL },
	{ 0.12, 0, 0, 0, false, SAMPLE_BUSY, SAMPLE_MEASURED, "pid 77 (stress) took 12 % of cpu 3" },
	{ 0, 0.07, 0, 0, false, SAMPLE_BUSY, SAMPLE_MEASURED, "the hypervisor took 7 % of cpu 3" },
	{ 0.02, 0.31, 0, 0, false, SAMPLE_BUSY, SAMPLE_MEASURED,
	  "the hypervisor took 31 % of cpu 3" },
	{ 0, 0, 0.25, 0, false, SAMPLE_BUSY, SAMPLE_MEASURED,
	  "pid 77 (stress) took 25 % of another hardware thread of cpu 3" },
	/* Whoever takes this much has a job there: it is left alone altogether. */
	{ 0.5, 0, 0, 0, false, SAMPLE_BUSY, SAMPLE_BUSY, "pid 77 (stress) took 50 % of cpu 3" },
	{ 0, 0, 0, 1, false, SAMPLE_BUSY, SAMPLE_BUSY, "pid 77 (stress) took 100 % of cpu 3" },
	{ 0.5, 0, 0, 0, true, SAMPLE_MEASURED, SAMPLE_MEASURED,
	  "measured although pid 77 (stress) took 50 % of cpu 3" },
};

static void a_contended_core_is_busy_and_says_by_whom(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(contended); i++) {
		struct accel_sim sim = sim_make_8(7);
		struct gemm_plan plan = sim_plan();
		CLEANUP(ran_release) struct ran ran = { 0 };
		const struct sample *rate, *correct;

		sim.delay[3] = contended[i].delay;
		sim.steal[3] = contended[i].steal;
		sim.sibling[3] = contended[i].sibling;
		sim.user_pid[3] = 77;
		sim.user_share[3] = contended[i].share > 0 ? contended[i].share : NAN;
		plan.run_busy = contended[i].run_busy;
		ran = sim_run_plan(&sim, plan);
		rate = ran_sample(&ran, "gemm.rate", "cpu:3");
		correct = ran_sample(&ran, "gemm.correct", "cpu:3");
		CHECK(rate && correct);
		if (!rate || !correct)
			continue;
		CHECK_EQ(rate->state, contended[i].rate_state);
		CHECK_EQ(correct->state, contended[i].correct_state);
		CHECK_STR(rate->note, contended[i].note);
		CHECK_EQ(isnan(rate->value) != 0, rate->state == SAMPLE_BUSY);
		check_rate_sample(ran_sample(&ran, "gemm.rate", "cpu:2"), 4.3e7);
	}
}

static void a_device_that_others_use_is_not_loaded_at_all(void)
{
	struct accel_sim sim = sim_make_8(8);
	CLEANUP(ran_release) struct ran ran = { 0 };

	sim.user_pid[6] = 4711;
	sim.user_share[6] = 1;
	ran = sim_run(&sim);
	CHECK_EQ(ran.r, 0);
	CHECK_EQ(sim.products[6], 0);
	CHECK(sim.products[5] > 0);
}

static void a_competitor_that_nobody_can_see_is_still_busy(void)
{
	struct accel_sim sim = sim_make_8(9);
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *s;

	sim.delay[1] = 0.1;
	ran = sim_run(&sim);
	s = ran_sample(&ran, "gemm.rate", "cpu:1");
	CHECK(s && s->state == SAMPLE_BUSY);
	CHECK_STR(s ? s->note : NULL, "short-lived or hidden processes took 10 % of cpu 1");
}

static void run_busy_shows_the_contended_core_lowest(void)
{
	struct accel_sim sim = sim_make_8(10);
	struct gemm_plan plan = sim_plan();
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *slow;
	size_t i;

	sim.delay[3] = 0.5;
	plan.run_busy = true;
	ran = sim_run_plan(&sim, plan);
	slow = ran_sample(&ran, "gemm.rate", "cpu:3");
	for (i = 0; slow && i < ran.report.n_samples; i++) {
		const struct sample *s = &ran.report.samples[i];

		CHECK(s == slow || !streq(s->check, "gemm.rate") || s->value > 1.5 * slow->value);
	}
	CHECK(slow != NULL);
}

static void what_does_not_fit_is_refused_before_any_work(void)
{
	struct accel_sim sim = sim_make_8(11);
	struct gemm_plan big = sim_plan(), odd = sim_plan();
	CLEANUP(ran_release) struct ran first = { 0 };
	CLEANUP(ran_release) struct ran second = { 0 };
	CLEANUP(ran_release) struct ran none = { 0 };

	big.shape.m = big.shape.n = big.shape.k = 65536;
	first = sim_run_plan(&sim, big);
	CHECK_EQ(first.r, -EINVAL);
	CHECK_HAS(first.err.msg, "--shape: 65536,65536,65536 takes 98304 MiB");
	odd.shape.dtype = ACCEL_FP8;
	odd.shape.out = ACCEL_F32;
	second = sim_run_plan(&sim, odd);
	CHECK_EQ(second.r, -EINVAL);
	CHECK_STR(second.err.msg, "--dtype: not fp8 on the sim engine");
	CHECK_EQ(sim.products[0], 0);
	CHECK_EQ(sim.alive, 0);
	sim.n_devices = 0;
	none = sim_run(&sim);
	CHECK_EQ(none.r, -ENODEV);
}

static const char *worst_rate(const struct verdict *v, unsigned *ret_bad)
{
	const char *worst = NULL;
	size_t i;

	*ret_bad = 0;
	for (i = 0; i < v->n_items; i++) {
		if (!streq(v->items[i].check, "gemm.rate") || v->items[i].level == VERDICT_PASS)
			continue;
		(*ret_bad)++;
		worst = worst ? worst : v->items[i].subject;
	}
	return worst;
}

/* Issue text: 8 cores, 1 % noise; one 10 % slow is named in 19 of 20, none of 100 clean. */
static void the_judge_names_the_slow_core_and_no_other(void)
{
	const unsigned n_slow = (unsigned)test_times(400, 20);
	const unsigned n_clean = (unsigned)test_times(2000, 100);
	unsigned seed, named = 0, false_alarms = 0, bad;

	for (seed = 0; seed < n_slow; seed++) {
		struct accel_sim sim = sim_make_8(1000 + seed);
		CLEANUP(freep) char *subject = xasprintf("cpu:%u", seed % 8);
		CLEANUP(ran_release) struct ran ran = { 0 };
		CLEANUP(verdict_release) struct verdict v = { 0 };

		sim.slow[seed % 8] = 0.9;
		ran = sim_run(&sim);
		verdict_judge(&ran.report, NULL, &v);
		named += streq(worst_rate(&v, &bad), subject) && bad == 1;
	}
	for (seed = 0; seed < n_clean; seed++) {
		struct accel_sim sim = sim_make_8(5000 + seed);
		CLEANUP(ran_release) struct ran ran = sim_run(&sim);
		CLEANUP(verdict_release) struct verdict v = { 0 };

		verdict_judge(&ran.report, NULL, &v);
		false_alarms += worst_rate(&v, &bad) != NULL;
	}
	CHECK(named * 20 >= n_slow * 19);
	CHECK_EQ(false_alarms, 0);
}

static const struct test tests[] = {
	TEST(every_core_gets_its_rate),
	TEST(the_warm_up_lasts_at_least_its_second),
	TEST(a_very_slow_product_still_gets_eight_windows),
	TEST(a_core_that_hangs_is_a_timeout_and_the_others_are_measured),
	TEST(a_core_that_hangs_at_once_leaves_the_others_their_time),
	TEST(a_core_that_turns_slow_is_measured_to_the_end),
	TEST(a_failing_device_is_a_sample_and_no_error),
	TEST(a_contended_core_is_busy_and_says_by_whom),
	TEST(a_device_that_others_use_is_not_loaded_at_all),
	TEST(a_competitor_that_nobody_can_see_is_still_busy),
	TEST(run_busy_shows_the_contended_core_lowest),
	TEST(what_does_not_fit_is_refused_before_any_work),
	TEST(the_judge_names_the_slow_core_and_no_other),
};

TEST_SUITE(tests);
