/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the output of --sensitivity with the judge: a subject that loses a
 * little more than the stated loss gets the stated level, with a little less it
 * does not. On random hosts, seeded.
 */
#include "lib/judge/sensitivity.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/xalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

/* A ten-millionth of the value: far below any loss, far above rounding. */
#define A_LITTLE 1e-7

/* References that are a function of check and subject alone. */
struct outside {
	uint64_t seed;
};

static struct random random_of(const struct outside *o, const char *check, const char *subject)
{
	struct random rng = random_seeded(o->seed);

	for (; *check; check++)
		rng.state ^= random_next(&rng) + (unsigned char)*check;
	for (; *subject; subject++)
		rng.state ^= random_next(&rng) + (unsigned char)*subject;
	return rng;
}

static bool outside_sku(void *context, const struct sample *s, double *ret_expected,
			double *ret_floor)
{
	struct random rng = random_of(context, s->check, s->subject);
	size_t kind = random_below(&rng, 6);

	*ret_expected = kind == 0 ? NAN : random_normal(&rng, 100, 10);
	*ret_floor = kind == 1 ? NAN : random_normal(&rng, 90, 10);
	if (kind == 2)
		*ret_floor = 0;
	return kind < 4;
}

static size_t outside_history(void *context, const char *check, const char *subject,
			      const char *params UNUSED, double *ret_values, size_t max)
{
	struct random rng = random_of(context, check, subject);
	size_t n = random_below(&rng, 30), i;
	double center = random_normal(&rng, 100, 8), sigma = (double)random_below(&rng, 6);

	for (i = 0; i < n && i < max; i++)
		ret_values[i] = random_normal(&rng, center, sigma);
	return i;
}

static bool outside_floor(void *context, const char *check, const char *locality UNUSED,
			  double *ret_ratio, double *ret_k)
{
	struct random rng = random_of(context, check, "");

	*ret_ratio = random_below(&rng, 2) ? 0.8 + random_unit(&rng) / 5 : NAN;
	*ret_k = random_below(&rng, 2) ? 1 + 5 * random_unit(&rng) : NAN;
	return random_below(&rng, 2) == 0;
}

static struct judge_inputs inputs_of(struct outside *o)
{
	struct judge_inputs in = { 0 };

	if (o->seed & 1) {
		in.sku = outside_sku;
		in.sku_context = o;
	}
	if (o->seed & 2) {
		in.history = outside_history;
		in.history_context = o;
	}
	if (o->seed & 4) {
		in.floor = outside_floor;
		in.floor_context = o;
	}
	return in;
}

/* One group of 1 to 12 values, often with some far off, all for one better side. */
static void put_group(struct random *rng, struct report *r, const char *check)
{
	const size_t n = 1 + random_below(rng, 12);
	const double sigma = (double)random_below(rng, 6), slow = random_unit(rng);
	const bool lower = strstr(check, "_lat") || strstr(check, "errors");
	const size_t odds = 1 + random_below(rng, 8);
	size_t i;

	for (i = 0; i < n; i++) {
		CLEANUP(freep) char *subject = xasprintf("unit:%zu", i);
		double value = random_normal(rng, 100, sigma);
		struct sample *s;

		if (random_below(rng, odds) == 1)
			value *= lower ? 1 / (0.5 + slow / 2) : 0.5 + slow / 2;
		s = report_put(r, check, subject, strstr(check, "inventory") ? round(value) : value);
		s->better = lower ? BETTER_LOWER : BETTER_HIGHER;
		s->locality = i % 7 == 6 ? xstrdup("pix") : NULL;
		if (random_below(rng, 20) == 0) {
			s->ok = TRI_NO;
			s->severity = (int)random_below(rng, 4);
		}
	}
}

static void put_host(struct random *rng, struct report *r)
{
	static const char *const checks[] = {
		"gemm.rate",	  "memory.copy_bw", "loopback.write_lat", "rnic_pair.write_bw",
		"theirs.read_bw", "inventory.gpus", "host.errors",
	};
	size_t first = random_below(rng, ARRAY_SIZE(checks));

	put_group(rng, r, checks[first]);
	if (random_below(rng, 4) == 0)
		put_group(rng, r, checks[(first + 1) % ARRAY_SIZE(checks)]);
}

/* The level of sample `at` when it alone has `value`. */
static int level_with(struct report *r, const struct judge_inputs *in, size_t at, double value)
{
	struct sample *s = &r->samples[at];
	const double keep = s->value;
	int level;

	s->value = value;
	level = item_level(judged(r, in), s->check, s->subject);
	s->value = keep;
	return level;
}

/* `s` after it lost `amount` more than it has now. */
static double after_loss(const struct sample *s, double amount)
{
	return s->better == BETTER_LOWER ? s->value + amount : s->value - amount;
}

struct count {
	size_t levels[VERDICT_FAIL + 1]; /* rows that state that level */
	size_t never[VERDICT_FAIL + 1];
	size_t wrong;
};

static void expect(struct count *count, bool right)
{
	count->wrong += !right;
	CHECK(right);
}

/* No loss gives `level`, however large. */
static void expect_never(struct report *r, const struct judge_inputs *in, size_t at, int level,
			 struct count *count)
{
	const struct sample *s = &r->samples[at];
	double part;

	for (part = 0; part <= 1; part += 1.0 / 16) {
		double loss = s->better == BETTER_LOWER ? 100 * part : part;

		expect(count, level_with(r, in, at, after_loss(s, loss * s->value)) < level);
	}
	count->never[level]++;
}

/* `loss` is where `level` begins: nowhere before it, and everywhere beyond. */
static void expect_begins(struct report *r, const struct judge_inputs *in, size_t at, int level,
			  const struct loss *loss, struct count *count)
{
	const struct sample *s = &r->samples[at];
	const double little = A_LITTLE * s->value;
	const double all = s->better == BETTER_LOWER ? 100 * s->value : s->value;
	double part;

	expect(count, level_with(r, in, at, after_loss(s, loss->amount + little)) >= level);
	for (part = 1; part > 0.01; part /= 2)
		expect(count,
		       level_with(r, in, at,
				  after_loss(s, loss->amount + part * (all - loss->amount))) >=
			       level);
	count->levels[level]++;
	if (loss->amount <= 2 * little)
		return;
	expect(count, level_with(r, in, at, after_loss(s, loss->amount - little)) < level);
	for (part = 0; part < 1; part += 0.25)
		expect(count, level_with(r, in, at, after_loss(s, part * loss->amount)) < level);
}

static void compare_with_judge(struct report *r, const struct judge_inputs *in, size_t at,
			       const struct sensitivity *s, struct count *count)
{
	const struct loss *const losses[] = {
		[VERDICT_WARN] = &s->warns, [VERDICT_FAIL] = &s->fails
	};
	int level;

	for (level = VERDICT_WARN; level <= VERDICT_FAIL; level++) {
		if (isnan(losses[level]->limit))
			expect_never(r, in, at, level, count);
		else
			expect_begins(r, in, at, level, losses[level], count);
	}
}

/* A value that no part can have is a warning at once, and a loss makes it a good one. */
static bool is_impossible(const struct report *r, const struct judge_inputs *in, size_t at)
{
	const struct sample *s = &r->samples[at];
	const struct verdict_item *item = item_find(judged(r, in), s->check, s->subject);

	return item && item->impossible;
}

static void the_judge_keeps_what_the_sensitivity_says(void)
{
	struct random rng = random_seeded(21);
	const size_t runs = test_times(20000, 400);
	struct count count = { 0 };
	size_t i, k;

	for (i = 0; i < runs; i++) {
		CLEANUP(report_release) struct report r = report_make();
		CLEANUP(freep) struct sensitivity *all = NULL;
		struct outside o = { random_next(&rng) };
		struct judge_inputs in = inputs_of(&o);

		put_host(&rng, &r);
		all = xcalloc(r.n_samples + 1, sizeof(*all));
		sensitivity_of(&r, &in, all);
		for (k = 0; k < r.n_samples; k++) {
			if (r.samples[k].value > 0 && !is_impossible(&r, &in, k))
				compare_with_judge(&r, &in, k, &all[k], &count);
		}
	}
	(void)printf(" warn %zu, fail %zu, never %zu and %zu, wrong %zu ",
		     count.levels[VERDICT_WARN], count.levels[VERDICT_FAIL],
		     count.never[VERDICT_WARN], count.never[VERDICT_FAIL], count.wrong);
	/* The hosts are such that all of these come up. */
	CHECK(count.levels[VERDICT_WARN] > runs && count.levels[VERDICT_FAIL] > runs);
	CHECK(count.never[VERDICT_WARN] > runs / 10 && count.never[VERDICT_FAIL] > runs / 10);
}

static const struct test tests[] = {
	TEST(the_judge_keeps_what_the_sensitivity_says),
};

TEST_SUITE(tests, .end = judged_done);
