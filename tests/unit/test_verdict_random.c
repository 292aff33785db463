/* SPDX-License-Identifier: Apache-2.0 */
/* Invariants for any report: of simulated and random hosts, seeded. */
#include <math.h>
#include <stdio.h>

#include "lib/base/xalloc.h"
#include "tests/unit/random.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

#define GOOD 79.1e9

/* Issue text: 8 cores, 1 % noise, one of them 10 % slow: named in 19 of 20, none of 100 clean. */
static void eight_noisy_cores_name_the_slow_one_and_no_other(void)
{
	struct random rng = random_seeded(42);
	size_t runs = test_times(20000, 1000), named = 0, wrong = 0, false_alarms = 0, i, k;

	for (i = 0; i < runs; i++) {
		CLEANUP(report_release) struct report r = report_make();
		bool clean = i % 2;
		double rates[8];
		const struct verdict *v;

		for (k = 0; k < 8; k++)
			rates[k] = random_normal(&rng, GOOD, 0.01 * GOOD);
		if (!clean)
			rates[3] *= 0.9;
		report_put_cores(&r, rates, 8);
		v = judged(&r, NULL);
		if (clean)
			false_alarms += v->level != VERDICT_PASS;
		else
			named += item_level(v, "gemm.rate", "cpu:3") >= VERDICT_WARN;
		for (k = 0; !clean && k < v->n_items; k++)
			wrong += v->items[k].level != VERDICT_PASS &&
				 !streq(v->items[k].subject, "cpu:3");
	}
	(void)printf(" named %zu of %zu, others %zu, false alarms %zu ", named, runs / 2, wrong,
		     false_alarms);
	CHECK(named >= runs / 2 * 95 / 100);
	CHECK(wrong <= runs / 2 / 100);
	CHECK(false_alarms <= runs / 2 / 500);
}

/* References that are a function of the subject alone, so that runs can be compared. */
struct outside {
	uint64_t seed;
	double scale;
};

static struct random random_of(const struct outside *o, const char *subject)
{
	struct random rng = random_seeded(o->seed);

	for (; *subject; subject++)
		rng.state ^= random_next(&rng) + (unsigned char)*subject;
	return rng;
}

static bool outside_sku(void *context, const struct sample *s, double *ret_expected,
			double *ret_floor)
{
	const struct outside *o = context;
	struct random rng = random_of(o, s->subject);

	*ret_expected = o->scale * random_normal(&rng, 100, 10);
	*ret_floor = random_below(&rng, 2) ? NAN : 0.9 * *ret_expected;
	return random_below(&rng, 3) == 0;
}

static size_t outside_history(void *context, const char *check UNUSED, const char *subject,
			      const char *params UNUSED, double *ret_values, size_t max)
{
	const struct outside *o = context;
	struct random rng = random_of(o, subject);
	size_t n = random_below(&rng, 30), i;
	double center = random_normal(&rng, 100, 8);

	for (i = 0; i < n && i < max; i++)
		ret_values[i] = o->scale * random_normal(&rng, center, 3);
	return i;
}

static struct judge_inputs inputs_of(struct outside *o)
{
	if (o->seed % 3 == 0)
		return (struct judge_inputs){ 0 };
	return (struct judge_inputs){
		.sku = outside_sku,
		.sku_context = o,
		.history = outside_history,
		.history_context = o,
	};
}

/* One group of 1 to 12 rates, some of them slow, all for one better side. */
static void put_group(struct random *rng, struct report *r)
{
	static const char *const checks[] = { "gemm.rate", "memory.copy_bw", "loopback.write_lat",
					      "rnic_pair.write_bw", "theirs.rate" };
	const char *check = checks[random_below(rng, ARRAY_SIZE(checks))];
	size_t n = 1 + random_below(rng, 12), i;
	double sigma = (double)random_below(rng, 6), slow = random_unit(rng);
	bool lower = strstr(check, "_lat") != NULL;

	for (i = 0; i < n; i++) {
		CLEANUP(freep) char *subject = xasprintf("unit:%zu", i);
		double value = random_normal(rng, 100, sigma);
		struct sample *s;

		if (random_below(rng, 4) == 0)
			value *= lower ? 1 / (0.5 + slow / 2) : 0.5 + slow / 2;
		s = report_put(r, check, subject, value);
		s->better = lower ? BETTER_LOWER : BETTER_HIGHER;
		free(s->unit);
		s->unit = xstrdup("B/s");
	}
}

static void lowering_a_value_never_improves_its_verdict(void)
{
	struct random rng = random_seeded(7);
	size_t runs = test_times(200000, 5000), i;

	for (i = 0; i < runs; i++) {
		CLEANUP(report_release) struct report r = report_make();
		struct outside o = { random_next(&rng), 1 };
		struct judge_inputs in = inputs_of(&o);
		struct sample *s;
		int before, after;

		put_group(&rng, &r);
		s = &r.samples[random_below(&rng, r.n_samples)];
		before = item_level(judged(&r, &in), s->check, s->subject);
		s->value *= s->better == BETTER_LOWER ? 1 / random_unit(&rng) : random_unit(&rng);
		after = item_level(judged(&r, &in), s->check, s->subject);
		CHECK(after >= before);
	}
}

static void scaling_all_values_changes_no_level(void)
{
	struct random rng = random_seeded(8);
	size_t i, k;

	for (i = 0; i < 2000; i++) {
		CLEANUP(report_release) struct report r = report_make();
		CLEANUP(verdict_release) struct verdict small = { 0 };
		double scale = exp(random_normal(&rng, 0, 10));
		struct outside o = { random_next(&rng), 1 };
		struct judge_inputs in = inputs_of(&o);
		const struct verdict *big;

		put_group(&rng, &r);
		verdict_judge(&r, &in, &small);
		for (k = 0; k < r.n_samples; k++)
			r.samples[k].value *= scale;
		o.scale = scale;
		big = judged(&r, &in);
		CHECK_EQ(small.level, big->level);
		CHECK_EQ(small.n_items, big->n_items);
		for (k = 0; k < small.n_items; k++)
			CHECK_EQ(item_level(big, small.items[k].check, small.items[k].subject),
				 small.items[k].level);
	}
}

static void the_order_of_the_samples_does_not_matter(void)
{
	struct random rng = random_seeded(9);
	size_t i, k;

	for (i = 0; i < 2000; i++) {
		CLEANUP(report_release) struct report r = report_make();
		CLEANUP(verdict_release) struct verdict first = { 0 };
		struct outside o = { random_next(&rng), 1 };
		struct judge_inputs in = inputs_of(&o);
		const struct verdict *shuffled;

		put_group(&rng, &r);
		verdict_judge(&r, &in, &first);
		for (k = r.n_samples - 1; k > 0; k--) {
			size_t other = random_below(&rng, k + 1);
			struct sample keep = r.samples[k];

			r.samples[k] = r.samples[other];
			r.samples[other] = keep;
		}
		shuffled = judged(&r, &in);
		CHECK_EQ(first.level, shuffled->level);
		CHECK_EQ(first.n_items, shuffled->n_items);
		for (k = 0; k < first.n_items; k++) {
			const struct verdict_item *a = &first.items[k];
			const struct verdict_item *b = item_find(shuffled, a->check, a->subject);

			CHECK(b && a->level == b->level);
			CHECK_STR(a->sentence, b ? b->sentence : NULL);
		}
	}
}

static void without_peers_a_value_alone_never_fails(void)
{
	struct random rng = random_seeded(10);
	size_t i;

	for (i = 0; i < 2000; i++) {
		CLEANUP(report_release) struct report r = report_make();
		struct sample *s = report_put(&r, i % 2 ? "gemm.rate" : "theirs.rate", "unit:0",
					      random_normal(&rng, 0, 1e12));

		s->better = (int)random_below(&rng, 3);
		CHECK_EQ(judged(&r, NULL)->level, VERDICT_PASS);
	}
}

static char *random_text(struct random *rng)
{
	char text[24] = "";
	size_t n = random_below(rng, sizeof(text)), i;

	for (i = 0; i < n; i++)
		text[i] = (char)(1 + random_below(rng, 127));
	return xstrndup(text, n);
}

static void put_anything(struct random *rng, struct report *r)
{
	static const char *const checks[] = { "gemm.rate", "inventory.gpus", "host.x",	  "a",
					      ".",	   "memory.copy_bw", "probe.gemm" };
	static const double values[] = { NAN, 0, -1, 1, 1e308, -1e308, 5e-324, 100 };
	CLEANUP(freep) char *subject = random_text(rng);
	struct sample *s = report_put(r, checks[random_below(rng, ARRAY_SIZE(checks))], subject,
				      values[random_below(rng, ARRAY_SIZE(values))]);

	s->better = (int)random_below(rng, 3);
	s->ok = (int)random_below(rng, 3) - 1;
	s->state = random_below(rng, 3) ? SAMPLE_MEASURED : (int)random_below(rng, 6);
	s->severity = (int)random_below(rng, 4);
	s->note = random_below(rng, 2) ? random_text(rng) : NULL;
	s->code = random_below(rng, 4) ? NULL : random_text(rng);
	s->locality = random_below(rng, 4) ? NULL : xstrdup("pix");
	s->params = random_below(rng, 3) ? NULL : json_pack("{s:i}", "n", 1);
	if (random_below(rng, 8) == 0) {
		free(s->unit);
		s->unit = NULL;
	}
}

/* Whatever comes in: each sample gets an item, each item a sentence, the worst decides. */
static void any_report_gets_a_verdict(void)
{
	struct random rng = random_seeded(11);
	size_t runs = test_times(20000, 2000), i, k;

	for (i = 0; i < runs; i++) {
		CLEANUP(report_release) struct report r = report_make();
		struct outside o = { random_next(&rng), 1 };
		struct judge_inputs in = inputs_of(&o);
		size_t n = random_below(&rng, 60), n_problems = random_below(&rng, 3);
		const struct verdict *v;

		for (k = 0; k < n; k++)
			put_anything(&rng, &r);
		for (k = 0; k < n_problems; k++)
			report_put_problem(&r, "gemm", (int)random_below(&rng, PROBLEM_BUSY + 1),
					   NULL);
		v = judged(&r, &in);
		CHECK(v->n_items >= n);
		CHECK_EQ(v->level, v->n_items ? v->items[0].level : VERDICT_INCONCLUSIVE);
		for (k = 0; k < v->n_items; k++) {
			CHECK(v->items[k].sentence && v->items[k].sentence[0]);
			CHECK(k == 0 || v->items[k].level <= v->items[k - 1].level);
			CHECK(!v->items[k].fatal || v->items[k].level == VERDICT_FAIL);
		}
	}
}

static const struct test tests[] = {
	TEST(eight_noisy_cores_name_the_slow_one_and_no_other),
	TEST(lowering_a_value_never_improves_its_verdict),
	TEST(scaling_all_values_changes_no_level),
	TEST(the_order_of_the_samples_does_not_matter),
	TEST(without_peers_a_value_alone_never_fails),
	TEST(any_report_gets_a_verdict),
};

TEST_SUITE(tests, .end = judged_done);
