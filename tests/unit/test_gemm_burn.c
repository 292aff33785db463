/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A burn: the samples of each GPU and the judge's results, for hosts with the variation of the
 * fakes and of published data; and the probe itself on a simulated engine.
 *
 * The variation of good hosts: rates of parts 3 % (good GPUs of one model vary by 5 to 8 %,
 * docs/gemm.md), slots of a rate 0.4 % (gpu_fake_cuda.c); loss of a warm GPU 0.5 to 2.5 %, per host
 * 1.5 +- 0.4 % and per part in it 0.4 %; memory 74 to 84 C (docs/burn.md), per host 79 +- 2 C, four
 * slots in front and four behind them 3 C apart, per part 1.2 C, sensors in whole degrees. Seeds
 * from 1,000 on are for judging; those below were used in development.
 */
#include <math.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "lib/judge/verdict.h"
#include "probes/accel/cuda_abi.h"
#include "probes/gemm/gemm_burn_tell.h"
#include "tests/unit/gemm_fixture.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum { GPUS = 8, FIRST_SEED = 1000, FAULTS = 100, CLEAN = 1000 };

enum fault { WELL, THROTTLED, HOT_MEMORY, HOT_AISLE, NO_FAN_AT_ALL };

static const double burn_s = 300, rate = 650e12;

/* What one GPU is like. */
struct part {
	double rate, lost, memory_c; /* of a part; lost: from cold to warm; memory_c: when warm */
	bool throttled;
	double throttle_s, throttle; /* from then on it does so much less */
};

static void draw(struct random *r, enum fault fault, struct part parts[static GPUS])
{
	const double host_lost = random_normal(r, 0.015, 0.004);
	const double host_c =
		random_normal(r, fault == HOT_AISLE ? 94 : 79, fault == HOT_AISLE ? 0.5 : 2);
	unsigned i, at = (unsigned)random_below(r, GPUS);

	for (i = 0; i < GPUS; i++) {
		const double place_c = i % 2 ? 1.5 : -1.5;

		parts[i] = (struct part){
			.rate = rate * random_normal(r, 1, 0.03),
			.lost = random_normal(r, host_lost, 0.004),
			.memory_c = fmin(host_c + place_c + random_normal(r, 0, 1.2), 95),
		};
	}
	if (fault == THROTTLED || fault == NO_FAN_AT_ALL) {
		for (i = 0; i < GPUS; i++) {
			parts[i].throttled = i == at || fault == NO_FAN_AT_ALL;
			parts[i].throttle_s = 80 + 20 * random_unit(r);
			parts[i].throttle = 0.08 + 0.04 * random_unit(r);
		}
		parts[at].memory_c += 8;
	}
	if (fault == HOT_MEMORY)
		parts[at].memory_c = random_normal(r, 95, 0.4);
}

static unsigned sick_of(struct random r, enum fault fault)
{
	(void)fault;
	(void)random_normal(&r, 0, 1);
	(void)random_normal(&r, 0, 1);
	return (unsigned)random_below(&r, GPUS);
}

static void fill(struct random *r, const struct part *p, struct burn_series *ret)
{
	size_t i;

	*ret = (struct burn_series){ .slot_s = burn_s / BURN_SLOTS,
				     .memory_limit_c = 95,
				     .measured = true };
	for (i = 0; i < BURN_SLOTS; i++) {
		const double t = ((double)i + 0.5) * ret->slot_s, warm = 1 - exp(-t / 60);
		const bool slow = p->throttled && t > p->throttle_s;
		const double part = (1 - p->lost * warm) * (slow ? 1 - p->throttle : 1);

		ret->slots[i] = (struct burn_slot){
			.is[BURN_RATE] = p->rate * part * random_normal(r, 1, 0.004),
			.is[BURN_CLOCK] = 1.6e9 * part,
			.is[BURN_POWER] = slow ? 580 : 690,
			.is[BURN_GPU_C] = slow ? 87 : 40 + 33 * warm,
			.is[BURN_MEMORY_C] =
				round(40 + (p->memory_c - 40) * warm + random_normal(r, 0, 0.3)),
			.reasons = NVML_REASON_SW_POWER_CAP | (slow ? NVML_REASON_SW_THERMAL : 0),
		};
	}
}

/* What the probe told of such GPUs, as a report. */
struct host {
	struct accel_sim sim;
	struct gemm_plan plan;
	struct gemm_device devices[GPUS];
	struct gemm_run run;
	struct burn_series series[GPUS];
	struct burn burn;
	struct report report;
};

static int keep(void *context, struct sample *s)
{
	return report_add_sample(context, s);
}

static struct host *host_new(enum fault fault, uint64_t seed, unsigned *ret_sick)
{
	struct host *h = xcalloc(1, sizeof(*h));
	struct random r = random_seeded(seed);
	struct part parts[GPUS];
	unsigned i;

	*ret_sick = sick_of(r, fault);
	h->report = (struct report){ .node = xstrdup("n1"),
				     .boot_id = xstrdup("b"),
				     .time = xstrdup("2026-03-01T10:00:00Z"),
				     .profile = xstrdup("burn") };
	h->sim = (struct accel_sim){ .n_devices = GPUS, .seed = seed, .flop_per_s = 1e9 };
	h->plan = sim_plan();
	h->plan.burn_s = burn_s;
	h->plan.ops = accel_sim_ops(&h->sim);
	h->plan.sink = (struct gemm_sink){ keep, &h->report };
	CHECK_EQ(h->plan.ops->open(&h->plan.accel, NULL), 0);
	h->run = (struct gemm_run){ .plan = &h->plan, .devices = h->devices, .n = GPUS };
	draw(&r, fault, parts);
	for (i = 0; i < GPUS; i++) {
		h->devices[i] = (struct gemm_device){ .plan = &h->plan, .index = i };
		CHECK_EQ(h->plan.ops->device_info(h->plan.accel, i, &h->devices[i].info, NULL), 0);
		fill(&r, &parts[i], &h->series[i]);
	}
	h->burn = (struct burn){ .run = &h->run, .series = h->series, .slot = BURN_SLOTS };
	CHECK_EQ(gemm_burn_tell(&h->burn, 0, (uint64_t)(burn_s * 1e6)), 0);
	return h;
}

static void host_free(struct host *h)
{
	h->plan.ops->close(h->plan.accel);
	report_release(&h->report);
	free(h);
}

/* How many GPUs somebody finds bad, and whether this one is among them. */
static unsigned count_named(const struct verdict *v, unsigned sick, bool *ret_sick)
{
	bool named[GPUS] = { false };
	unsigned n = 0, i;
	size_t k;

	for (k = 0; k < v->n_items; k++) {
		for (i = 0; i < GPUS && v->items[k].level > VERDICT_PASS; i++) {
			CLEANUP(freep) char *subject = xasprintf("cpu:%u", i);

			named[i] |= streq(v->items[k].subject, subject);
		}
	}
	for (i = 0; i < GPUS; i++)
		n += named[i];
	*ret_sick = named[sick];
	return n;
}

/* Hosts of `n` in which the sick GPU is named and no other; and those where any is. */
static void count(enum fault fault, uint64_t seed, unsigned n, unsigned *ret_right,
		  unsigned *ret_any)
{
	unsigned i;

	*ret_right = *ret_any = 0;
	for (i = 0; i < n; i++) {
		unsigned sick, named;
		bool found;
		struct host *h = host_new(fault, seed + i, &sick);
		struct verdict v;

		verdict_judge(&h->report, NULL, &v);
		named = count_named(&v, sick, &found);
		*ret_right += named == 1 && found;
		*ret_any += named > 0 || v.level > VERDICT_PASS;
		verdict_release(&v);
		host_free(h);
	}
}

static void a_gpu_throttled_after_90_s_is_named(void)
{
	unsigned right, any;

	count(THROTTLED, test_seed(FIRST_SEED), FAULTS, &right, &any);
	printf("throttled after 80 to 100 s: the right GPU alone named in %u of %d\n", right,
	       FAULTS);
	CHECK(right >= 98);
}

static void memory_at_its_limit_is_named(void)
{
	unsigned right, any;

	count(HOT_MEMORY, test_seed(FIRST_SEED + 10000), FAULTS, &right, &any);
	printf("HBM at 95 C: the right GPU alone named in %u of %d\n", right, FAULTS);
	CHECK(right >= 98);
}

static void no_good_host_is_named(void)
{
	unsigned right, any;

	count(WELL, test_seed(FIRST_SEED + 20000), CLEAN, &right, &any);
	printf("good hosts: %u of %d named\n", any, CLEAN);
	CHECK_EQ(any, 0);
}

/* All of them sit at their limit for minutes and do what they should. */
static void a_hot_aisle_names_no_gpu(void)
{
	unsigned right, any;

	count(HOT_AISLE, test_seed(FIRST_SEED + 30000), FAULTS, &right, &any);
	printf("hot aisle, HBM at 92 to 95 C in all: %u of %d named\n", any, FAULTS);
	CHECK_EQ(any, 0);
}

/* Nobody is slower than its peers: each has lost what no good GPU loses. */
static void a_host_without_air_is_told_of(void)
{
	unsigned right, any;

	count(NO_FAN_AT_ALL, test_seed(FIRST_SEED + 40000), FAULTS, &right, &any);
	CHECK(any >= 90);
}

static const struct sample *sample_of(const struct host *h, const char *check, unsigned gpu)
{
	CLEANUP(freep) char *subject = xasprintf("cpu:%u", gpu);
	size_t i;

	for (i = 0; i < h->report.n_samples; i++) {
		if (streq(h->report.samples[i].check, check) &&
		    streq(h->report.samples[i].subject, subject))
			return &h->report.samples[i];
	}
	return NULL;
}

static void the_sentence_says_when_why_and_what_the_others_are(void)
{
	unsigned sick;
	struct host *h = host_new(THROTTLED, 7, &sick);
	const struct sample *kept = sample_of(h, "gemm.burn_kept", sick),
			    *over = sample_of(h, "gemm.burn_rate", sick);

	CHECK(kept && kept->ok == TRI_NO && kept->severity == SEVERITY_WARN);
	CHECK_STR(kept ? kept->code : NULL, "throttled");
	CHECK_HAS(kept ? kept->note : NULL, "thermally throttled: fan, paste, airflow; ");
	CHECK_HAS(kept ? kept->note : NULL,
		  "% slower in its last 60 s than in its first, the others ");
	CHECK_HAS(kept ? kept->note : NULL, ", HBM ");
	CHECK_HAS(kept ? kept->note : NULL, " while the others are at ");
	CHECK(over && over->w.n == BURN_SLOTS && over->w.v[0] > over->w.v[BURN_SLOTS - 1]);
	CHECK_NEAR(over ? over->value : 0, over ? over->w.v[BURN_SLOTS - 1] : 1, 0.01 * rate);
	host_free(h);
	h = host_new(HOT_MEMORY, 8, &sick);
	kept = sample_of(h, "gemm.burn_hbm_temp", sick);
	CHECK(kept && kept->ok == TRI_NO && kept->severity == SEVERITY_WARN);
	CHECK_STR(kept ? kept->code : NULL, "hot-memory");
	CHECK_HAS(kept ? kept->note : NULL, "hotter than that of the others, with a limit of 95 C");
	kept = sample_of(h, "gemm.burn_kept", sick);
	CHECK(kept && kept->ok == TRI_UNKNOWN && !kept->code);
	host_free(h);
}

/* Degrees: a host hotter than the fleet is told, never failed by that alone; a cold one is no error. */
static void heat_beside_other_hosts_is_told_and_never_far(void)
{
	const struct center fleet = { .median = 79, .sigma = 2, .n = 50 };
	static const struct {
		double value;
		bool low;
	} cases[] = { { 85, false }, { 90, false }, { 92, true }, { 110, true }, { 40, false } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct family *family = family_find("gemm.burn_hbm_temp", "1");
		const struct measure m = { cases[i].value, true,	family,
					   family->slack,  REFERENCE_K, 0 };
		struct expectation e;

		CHECK(expectation_from_fleet(&m, &fleet, &e));
		CHECK_EQ(e.low, cases[i].low);
		CHECK(!e.far && !expectation_is_exceeded(&m, &e));
		CHECK_EQ(expectations_level(&e, 1), cases[i].low ? VERDICT_WARN : VERDICT_PASS);
	}
}

/* --- the numbers by themselves ------------------------------------------------------------- */

static struct burn_series series_of(double first, double last, double memory_c)
{
	struct burn_series s = { .slot_s = 10, .measured = true };
	size_t i;

	for (i = 0; i < BURN_SLOTS; i++)
		s.slots[i] =
			(struct burn_slot){ .is[BURN_RATE] = i < 9 ? first : last,
					    .is[BURN_CLOCK] = i < 9 ? 1.5e9 : 1.5e9 * last / first,
					    .is[BURN_POWER] = 600,
					    .is[BURN_GPU_C] = 70,
					    .is[BURN_MEMORY_C] = memory_c };
	return s;
}

static void first_and_last_part_are_a_minute_or_a_fifth(void)
{
	CHECK_EQ(gemm_burn_part(10), 6); /* 5 minutes */
	CHECK_EQ(gemm_burn_part(20), 3); /* 10 minutes */
	CHECK_EQ(gemm_burn_part(30), 2); /* 15 */
	CHECK_EQ(gemm_burn_part(2), 6);	 /* 1 minute */
	CHECK_EQ(gemm_burn_part(100), 1);
	CHECK_EQ(gemm_burn_part(0), 1);
}

static void what_was_lost_and_when_is_found(void)
{
	struct burn_series s = series_of(100, 90, 80);
	struct burn_sum sum;

	gemm_burn_sum(&s, &sum);
	CHECK_NEAR(sum.kept, 0.9, 1e-9);
	CHECK_NEAR(sum.onset_s, 90, 1e-9);
	CHECK_NEAR(sum.part_s, 60, 1e-9);
	s.measured = false;
	gemm_burn_sum(&s, &sum);
	CHECK(isnan(sum.kept) && isnan(sum.last[BURN_MEMORY_C]) && isnan(sum.memory_c));
}

/* What is not known is neither slow nor hot, and nobody is held against it. */
static void what_is_unknown_says_nothing(void)
{
	struct burn_series s[3] = { series_of(100, 94, 80),
				    series_of(100, 100, 80),
				    { .slot_s = 10 } };
	struct burn_sum sums[3];
	const char *code = NULL;
	CLEANUP(freep) char *words = NULL;
	CLEANUP(freep) char *note = NULL;
	size_t i;

	for (i = 0; i < BURN_SLOTS; i++)
		s[0].slots[i].is[BURN_MEMORY_C] = NAN;
	for (i = 0; i < 3; i++)
		gemm_burn_sum(&s[i], &sums[i]);
	CHECK(!gemm_burn_slower(sums, 3, 0, &code, &words)); /* one peer is too few */
	CHECK(!gemm_burn_slower(sums, 3, 2, &code, &words));
	CHECK(!gemm_burn_hot(sums, 3, 0, &words));
	CHECK(!gemm_burn_hot(sums, 3, 2, &words));
	note = gemm_burn_words(sums, 3, 0);
	CHECK_STR(note, "6.0 % slower in its last 60 s than in its first; at the end SM clock 1410 "
			"MHz, 600 W, 70 C");
}

static void each_cause_has_its_word(void)
{
	static const struct {
		uint64_t reasons;
		double clock_kept;
		const char *code;
	} cases[] = {
		{ NVML_REASON_SW_THERMAL | NVML_REASON_SW_POWER_CAP, 0.9, "throttled" },
		{ NVML_REASON_HW_POWER_BRAKE, 0.9, "throttled" },
		{ NVML_REASON_SW_POWER_CAP, 0.9, "power-limited" },
		{ 0, 0.9, "low-clock" },
		{ NVML_REASON_SW_THERMAL, 0.99, "slow-at-clock" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct burn_sum sums[3] = {
			{ .kept = 0.9,
			  .onset_s = 90,
			  .clock_kept = cases[i].clock_kept,
			  .reasons = cases[i].reasons },
			{ .kept = 0.99 },
			{ .kept = 0.98 },
		};
		const char *code = NULL;
		CLEANUP(freep) char *words = NULL;

		CHECK(gemm_burn_slower(sums, 3, 0, &code, &words));
		CHECK_STR(code, cases[i].code);
		CHECK_HAS(words, "from second 90 on, ");
	}
}

static void memory_is_hot_beside_others_only(void)
{
	static const struct {
		double own, most, others;
		unsigned limit;
		bool hot;
	} cases[] = {
		{ 95, 95, 80, 95, true },   { 94, 94, 80, 95, true },
		{ 93, 93, 80, 95, false },  { 93, 94, 80, 95, true },
		{ 92, 95, 88, 95, false },  { 95, 95, 90, 95, false },
		{ 95, 95, 89, 0, true },    { 90, 90, 75, 95, true },
		{ 85, 85, 79, 95, false },  { 105, 105, 80, 105, true },
		{ 95, 95, 82, 105, false }, { NAN, NAN, 80, 95, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct burn_sum sums[3] = { { .last[BURN_MEMORY_C] = cases[i].own,
					      .memory_c = cases[i].most,
					      .memory_limit_c = cases[i].limit },
					    { .last[BURN_MEMORY_C] = cases[i].others },
					    { .last[BURN_MEMORY_C] = cases[i].others } };
		CLEANUP(freep) char *words = NULL;

		CHECK_EQ(gemm_burn_hot(sums, 3, 0, &words), cases[i].hot);
	}
}

/* --- the probe on a simulated engine ------------------------------------------------------------ */

static struct gemm_plan burn_plan(void)
{
	struct gemm_plan plan = sim_plan();

	plan.burn = true;
	plan.burn_s = 60;
	plan.rate_us = 50 * USEC_PER_SEC;
	plan.deadline_us = 60 * USEC_PER_SEC;
	return plan;
}

static void a_core_that_turns_slow_kept_less(void)
{
	struct accel_sim sim = sim_make_8(3);
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *s;

	sim.later[5] = 0.9;
	sim.later_us = 1000000000 + 25000000; /* its clock starts at 1e9 */
	ran = sim_run_plan(&sim, burn_plan());
	CHECK_EQ(ran.r, 0);
	CHECK(ran.seconds <= 60);
	s = ran_sample(&ran, "gemm.burn_kept", "cpu:5");
	CHECK(s && s->ok == TRI_NO);
	CHECK_NEAR(s ? s->value : 0, 0.9, 0.01);
	s = ran_sample(&ran, "gemm.burn_kept", "cpu:4");
	CHECK(s && s->ok == TRI_UNKNOWN);
	CHECK_NEAR(s ? s->value : 0, 1, 0.01);
	s = ran_sample(&ran, "gemm.burn_rate", "cpu:4");
	CHECK(s && s->w.n == BURN_SLOTS);
	CHECK_NEAR(s ? s->value : 0, 4.3e7, 0.05 * 4.3e7);
	CHECK(ran_sample(&ran, "gemm.burn_hbm_temp", "cpu:4") == NULL); /* it has no such sensor */
	s = ran_sample(&ran, "gemm.correct", "cpu:4");
	CHECK(s && s->ok == TRI_YES);
	CHECK_EQ(sim.alive, 0);
}

static void a_core_that_hangs_in_a_burn_is_a_timeout_and_the_others_are_measured(void)
{
	struct accel_sim sim = sim_make_8(4);
	CLEANUP(ran_release) struct ran ran = { 0 };
	const struct sample *s;

	sim.hang_at_us[2] = 1000000000 + 20000000;
	ran = sim_run_plan(&sim, burn_plan());
	s = ran_sample(&ran, "gemm.burn_rate", "cpu:2");
	CHECK(s && s->state != SAMPLE_MEASURED);
	s = ran_sample(&ran, "gemm.burn_rate", "cpu:3");
	CHECK(s && s->state == SAMPLE_MEASURED);
	CHECK(ran_sample(&ran, "gemm.burn_kept", "cpu:2") == NULL);
	CHECK(ran.seconds <= 60);
	CHECK_EQ(sim.alive, 0);
}

/* As gemm.rate: busy, and with --run-busy a value with a note. */
static void a_core_that_others_use_is_busy_or_measured_all_the_same(void)
{
	int run_busy;

	for (run_busy = 0; run_busy < 2; run_busy++) {
		struct accel_sim sim = sim_make_8(5);
		struct gemm_plan plan = burn_plan();
		CLEANUP(ran_release) struct ran ran = { 0 };
		const struct sample *over, *kept;

		sim.delay[3] = 0.12;
		sim.user_pid[3] = 77;
		sim.user_share[3] = NAN;
		plan.run_busy = run_busy;
		ran = sim_run_plan(&sim, plan);
		over = ran_sample(&ran, "gemm.burn_rate", "cpu:3");
		kept = ran_sample(&ran, "gemm.burn_kept", "cpu:3");
		CHECK_EQ(over ? over->state : -1, run_busy ? SAMPLE_MEASURED : SAMPLE_BUSY);
		CHECK_EQ(over && over->value > 0, run_busy);
		CHECK_EQ(kept && kept->state == SAMPLE_MEASURED, run_busy);
		CHECK_HAS(over ? over->note : NULL, "pid 77 (stress) took 12 % of cpu 3");
		over = ran_sample(&ran, "gemm.burn_rate", "cpu:2");
		CHECK(over && over->state == SAMPLE_MEASURED && over->value > 0);
	}
}

static const struct test tests[] = {
	TEST(first_and_last_part_are_a_minute_or_a_fifth),
	TEST(what_was_lost_and_when_is_found),
	TEST(what_is_unknown_says_nothing),
	TEST(each_cause_has_its_word),
	TEST(memory_is_hot_beside_others_only),
	TEST(heat_beside_other_hosts_is_told_and_never_far),
	TEST(the_sentence_says_when_why_and_what_the_others_are),
	TEST(a_core_that_turns_slow_kept_less),
	TEST(a_core_that_hangs_in_a_burn_is_a_timeout_and_the_others_are_measured),
	TEST(a_core_that_others_use_is_busy_or_measured_all_the_same),
	TEST(a_gpu_throttled_after_90_s_is_named),
	TEST(memory_at_its_limit_is_named),
	TEST(no_good_host_is_named),
	TEST(a_hot_aisle_names_no_gpu),
	TEST(a_host_without_air_is_told_of),
};

TEST_SUITE(tests);
