/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "lib/base/xalloc.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

#define GOOD 79.1e9

static void one_slow_core_of_eight_is_named(void)
{
	static const double rates[] = { GOOD, 79.3e9, 79.0e9, 78.8e9, 79.5e9, 71.2e9, 79.2e9, GOOD };
	CLEANUP(report_release) struct report r = report_make();
	const struct verdict *v;
	const struct verdict_item *item;

	report_put_cores(&r, rates, ARRAY_SIZE(rates));
	v = judged(&r, NULL);
	CHECK_EQ(v->level, VERDICT_WARN);
	CHECK_EQ(v->n_items, 8);
	item = &v->items[0];
	CHECK_STR(item->subject, "cpu:5");
	CHECK_EQ(item->level, VERDICT_WARN);
	CHECK_EQ(item->source, SOURCE_PEERS);
	CHECK_EQ(item->n, 7);
	CHECK_NEAR(item->value, 71.2e9, 0);
	CHECK_NEAR(item->expected, GOOD, 0);
	CHECK_NEAR(item->floor, 0.95 * GOOD, 1);
	CHECK(!item->fatal);
	CHECK_STR(item->profile, "quick");
	CHECK_STR(item->time, "2026-03-01T10:00:00Z");
	CHECK_EQ(v->items[1].level, VERDICT_PASS);
	CHECK_STR(v->sentence,
		  "warn: cpu:5 runs at 71.2 of 79.1 GFLOP/s (90 %) in gemm.rate: below "
		  "its 7 peers; nothing else confirms it yet");
	CHECK_STR(v->node, "host1");
	CHECK_EQ(v->seq, 7);
}

/* References from outside the report: one number for every sample, NAN for none. */
struct outside {
	double sku, floor;
	double history;
	size_t n_history;
	const char *probe; /* that the SKU expects */
};

static bool outside_sku(void *context, const struct sample *s UNUSED, double *ret_expected,
			double *ret_floor)
{
	const struct outside *o = context;

	*ret_expected = o->sku;
	*ret_floor = o->floor;
	return !isnan(o->sku);
}

static size_t outside_history(void *context, const char *check UNUSED, const char *subject UNUSED,
			      const char *params, double *ret_values, size_t max)
{
	struct outside *o = context;
	size_t i;

	CHECK(params != NULL);
	for (i = 0; i < o->n_history && i < max; i++)
		ret_values[i] = o->history;
	return i;
}

static bool outside_expects(void *context, const char *probe)
{
	const struct outside *o = context;

	return streq(o->probe, probe);
}

static struct judge_inputs inputs_of(struct outside *o)
{
	return (struct judge_inputs){
		.sku = outside_sku,
		.sku_context = o,
		.history = outside_history,
		.history_context = o,
		.expects = outside_expects,
		.expects_context = o,
	};
}

static void two_references_of_three_decide(void)
{
	/* Seven peers at 100, their floor at 95; 5 % slack for the file and history too. */
	static const struct {
		double value, sku, history;
		int level, source;
	} cases[] = {
		{ 100, NAN, NAN, VERDICT_PASS, SOURCE_PEERS },
		{ 94, NAN, NAN, VERDICT_WARN, SOURCE_PEERS },
		{ 84, NAN, NAN, VERDICT_FAIL, SOURCE_PEERS },
		{ 94, 100, NAN, VERDICT_FAIL, SOURCE_PEERS },
		{ 94, 90, NAN, VERDICT_WARN, SOURCE_PEERS },
		{ 94, NAN, 100, VERDICT_FAIL, SOURCE_PEERS },
		{ 94, NAN, 94, VERDICT_PASS, SOURCE_PEERS }, /* it is as it was */
		{ 94, 90, 94, VERDICT_PASS, SOURCE_PEERS },
		{ 84, NAN, 84, VERDICT_WARN, SOURCE_PEERS },
		{ 94, 90, 100, VERDICT_FAIL, SOURCE_PEERS },
		{ 96, 110, NAN, VERDICT_WARN, SOURCE_SKU },
		{ 96, 110, 105, VERDICT_FAIL, SOURCE_SKU },
		{ 96, NAN, 105, VERDICT_WARN, SOURCE_HISTORY },
		{ 96, NAN, 120, VERDICT_FAIL, SOURCE_HISTORY },
		{ 100, 100, 100, VERDICT_PASS, SOURCE_PEERS },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(report_release) struct report r = report_make();
		double rates[8] = { 100, 100, 100, 100, 100, 100, 100, cases[i].value };
		struct outside o = { cases[i].sku, NAN, cases[i].history, 12, NULL };
		struct judge_inputs in = inputs_of(&o);
		const struct verdict_item *item;

		o.n_history = isnan(o.history) ? 0 : 12;
		report_put_cores(&r, rates, 8);
		item = item_find(judged(&r, &in), "gemm.rate", "cpu:7");
		CHECK_EQ(item->level, cases[i].level);
		CHECK_EQ(item->source, cases[i].source);
	}
}

static void few_peers_alone_never_fail(void)
{
	static const struct {
		double values[5];
		size_t n;
		double sku;
		int level; /* of cpu:0 */
	} cases[] = {
		{ { 86, 100 }, 2, NAN, VERDICT_PASS },
		{ { 84, 100 }, 2, NAN, VERDICT_WARN },
		{ { 1, 100 }, 2, NAN, VERDICT_WARN },
		{ { 84, 100, 99, 98, 97 }, 5, NAN, VERDICT_WARN },
		{ { 1, 100, 99, 98, 97 }, 5, NAN, VERDICT_WARN },
		{ { 84, 100, 99 }, 3, 100, VERDICT_FAIL },
		{ { 84, 100, 99 }, 3, 84, VERDICT_WARN },
		{ { 84 }, 1, 100, VERDICT_WARN },
		{ { 84 }, 1, 84, VERDICT_PASS },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(report_release) struct report r = report_make();
		struct outside o = { .sku = cases[i].sku, .floor = NAN };
		struct judge_inputs in = inputs_of(&o);

		report_put_cores(&r, cases[i].values, cases[i].n);
		CHECK_EQ(item_level(judged(&r, &in), "gemm.rate", "cpu:0"), cases[i].level);
	}
}

static void half_of_a_group_low_blames_nobody(void)
{
	static const struct {
		double values[8];
		size_t n;
		bool spread;
	} cases[] = {
		{ { 100, 101, 99, 100, 80, 81, 80, 79 }, 8, true },
		{ { 100, 101, 99, 80, 81, 80, 79, 80 }, 8, true },    /* five: the median is low */
		{ { 100, 101, 99, 100, 101, 81, 80, 79 }, 8, false }, /* three are blamed */
		{ { 100, 80, 81 }, 3, true },
		{ { 100, 99, 80, 81 }, 4, true },
		{ { 100, 80 }, 2, false },
		{ { 120, 100, 101, 99, 100, 101, 100, 99 }, 8, false }, /* one fast is no harm */
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(report_release) struct report r = report_make();
		const struct verdict *v;
		const struct verdict_item *host;

		report_put_cores(&r, cases[i].values, cases[i].n);
		v = judged(&r, NULL);
		host = item_find(v, "gemm.rate", "host1");
		CHECK_EQ(host != NULL, cases[i].spread);
		if (!host)
			continue;
		CHECK_EQ(v->level, VERDICT_WARN);
		CHECK_EQ(v->n_items, cases[i].n + 1);
		CHECK(host == &v->items[0]);
		CHECK_HAS(v->sentence, "warn: gemm.rate is spread out: ");
		for (k = 1; k < v->n_items; k++)
			CHECK_EQ(v->items[k].level,
				 v->items[k].value < 90 ? VERDICT_INCONCLUSIVE : VERDICT_PASS);
	}
}

static void a_spread_group_is_judged_by_the_sku_file(void)
{
	static const double rates[] = { 100, 101, 99, 100, 80, 81, 80, 79 };
	CLEANUP(report_release) struct report r = report_make();
	struct outside o = { .sku = 100, .floor = NAN };
	struct judge_inputs in = inputs_of(&o);
	const struct verdict *v;

	report_put_cores(&r, rates, 8);
	v = judged(&r, &in);
	CHECK(item_find(v, "gemm.rate", "host1") == NULL);
	CHECK_EQ(item_level(v, "gemm.rate", "cpu:4"), VERDICT_FAIL);
	CHECK_EQ(item_level(v, "gemm.rate", "cpu:0"), VERDICT_PASS);
	o.sku = 80;
	CHECK_EQ(judged(&r, &in)->level, VERDICT_PASS);
}

static void only_equals_are_compared(void)
{
	size_t i, k;

	/* One thing that differs from the seven others, so that 50 of 100 is no finding. */
	for (i = 0; i < 5; i++) {
		CLEANUP(report_release) struct report r = report_make();
		struct sample *odd;

		for (k = 0; k < 7; k++) {
			CLEANUP(freep) char *subject = xasprintf("numa:%zu", k);
			struct sample *s = report_put(&r, "memory.copy_bw", subject, 100);

			s->params = json_pack("{s:i}", "bytes", 4096);
			s->locality = xstrdup("node");
		}
		odd = report_put(&r, i == 1 ? "memory.triad_bw" : "memory.copy_bw", "numa:7", 50);
		odd->params = json_pack("{s:i}", "bytes", i == 2 ? 8192 : 4096);
		odd->locality = xstrdup(i == 3 ? "sys" : "node");
		if (i == 4)
			odd->better = BETTER_LOWER;
		CHECK_EQ(item_level(judged(&r, NULL), odd->check, "numa:7"),
			 i == 0 ? VERDICT_FAIL : VERDICT_PASS);
	}
}

static void what_the_probe_says_itself_counts(void)
{
	static const struct {
		int ok, severity, level;
		bool fatal;
	} cases[] = {
		{ TRI_YES, SEVERITY_FATAL, VERDICT_PASS, false },
		{ TRI_UNKNOWN, SEVERITY_FATAL, VERDICT_INCONCLUSIVE, false },
		{ TRI_NO, SEVERITY_FAIL, VERDICT_FAIL, false },
		{ TRI_NO, SEVERITY_INFO, VERDICT_PASS, false },
		{ TRI_NO, SEVERITY_WARN, VERDICT_WARN, false },
		{ TRI_NO, SEVERITY_FATAL, VERDICT_FAIL, true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(report_release) struct report r = report_make();
		struct sample *s = report_put(&r, "host.kernel_log", "pci:0000:3b:00.0", NAN);
		const struct verdict *v;

		s->ok = cases[i].ok;
		s->severity = cases[i].severity;
		s->note = xstrdup("fell off the bus");
		v = judged(&r, NULL);
		CHECK_EQ(v->level, cases[i].level);
		CHECK_EQ(v->items[0].fatal, cases[i].fatal);
		CHECK_HAS(v->items[0].sentence, "fell off the bus");
		CHECK_EQ(v->items[0].source, SOURCE_SELF);
	}
}

static void a_slow_value_is_not_excused_by_a_mild_word_of_the_probe(void)
{
	static const double rates[] = { 100, 100, 100, 100, 100, 100, 100, 70 };
	CLEANUP(report_release) struct report r = report_make();
	struct sample *s;

	report_put_cores(&r, rates, 8);
	s = &r.samples[7];
	s->ok = TRI_NO;
	s->severity = SEVERITY_WARN;
	CHECK_EQ(item_level(judged(&r, NULL), "gemm.rate", "cpu:7"), VERDICT_FAIL);
	CHECK(!judged(&r, NULL)->items[0].fatal);
}

static void what_was_not_measured_is_inconclusive_and_no_peer(void)
{
	static const double rates[] = { 100, 100, 100, 100, 100, 100, 100 };
	int state;

	for (state = SAMPLE_BUSY; state <= SAMPLE_ABORTED; state++) {
		CLEANUP(report_release) struct report r = report_make();
		struct sample *s;
		const struct verdict *v;

		report_put_cores(&r, rates, 7);
		s = report_put(&r, "gemm.rate", "cpu:7", NAN);
		s->state = state;
		s->note = xstrdup("pid 4711 (stress)");
		v = judged(&r, NULL);
		CHECK_EQ(v->level, VERDICT_INCONCLUSIVE);
		CHECK_STR(v->items[0].subject, "cpu:7");
		CHECK_HAS(v->sentence, "pid 4711 (stress)");
		CHECK_EQ(v->items[1].n, 6);
	}
}

static void alone_a_value_is_recorded_and_passes(void)
{
	CLEANUP(report_release) struct report r = report_make();
	const struct verdict *v;

	(void)report_put(&r, "memory.copy_bw", "numa:0", 1);
	v = judged(&r, NULL);
	CHECK_EQ(v->level, VERDICT_PASS);
	CHECK_EQ(v->items[0].source, SOURCE_SELF);
	CHECK(isnan(v->items[0].expected) && isnan(v->items[0].floor));
	CHECK_HAS(v->items[0].sentence, "recorded: nothing to compare with yet");
	CHECK(v->items[0].unjudged);
	CHECK_STR(v->sentence, "pass: 1 check measured, not judged: nothing to compare with");
}

static void what_the_probe_calls_good_is_judged_and_what_nothing_calls_so_is_not(void)
{
	CLEANUP(report_release) struct report r = report_make();
	const struct verdict *v;

	report_put(&r, "gemm.correct", "cpu:0", 0)->ok = TRI_YES;
	(void)report_put(&r, "memory.copy_bw", "numa:0", 1);
	(void)report_put(&r, "memory.read_bw", "numa:0", 1);
	v = judged(&r, NULL);
	CHECK_EQ(v->level, VERDICT_PASS);
	CHECK(!v->items[0].unjudged && v->items[1].unjudged && v->items[2].unjudged);
	CHECK_STR(v->sentence,
		  "pass: 1 check, nothing below its floor; 2 more measured, not judged: "
		  "nothing to compare with");
}

static void problems_are_inconclusive_except_nothing_to_measure(void)
{
	int code;

	for (code = PROBLEM_TIMEOUT; code <= PROBLEM_BUSY; code++) {
		CLEANUP(report_release) struct report r = report_make();
		struct outside o = { .sku = NAN, .probe = "loopback" };
		struct judge_inputs in = inputs_of(&o);
		bool counts = code != PROBLEM_NOT_APPLICABLE;

		(void)report_put(&r, "memory.copy_bw", "numa:0", 1);
		report_put_problem(&r, "gemm", code, "details");
		CHECK_EQ(judged(&r, &in)->level, counts ? VERDICT_INCONCLUSIVE : VERDICT_PASS);
		CHECK_EQ(item_level(judged(&r, NULL), "probe.gemm", "host1"),
			 counts ? VERDICT_INCONCLUSIVE : -1);
		report_put_problem(&r, "loopback", code, NULL);
		CHECK_EQ(item_level(judged(&r, &in), "probe.loopback", "host1"),
			 VERDICT_INCONCLUSIVE);
	}
}

static void no_item_at_all_is_inconclusive(void)
{
	CLEANUP(report_release) struct report r = report_make();
	const struct verdict *v = judged(&r, NULL);

	CHECK_EQ(v->level, VERDICT_INCONCLUSIVE);
	CHECK_EQ(v->n_items, 0);
	CHECK_STR(v->sentence, "inconclusive: nothing was measured");
}

static void items_come_worst_first(void)
{
	static const char *const order[] = { "fatal", "cpu:6", "cpu:7", "warned",
					     "cpu:5", "host1", "cpu:1" };
	static const double rates[] = { 100, 99, 101, 102, 103, 90, 60, 80, 100, 101, 102 };
	CLEANUP(report_release) struct report r = report_make();
	struct sample *s;
	const struct verdict *v;
	size_t i;

	report_put_cores(&r, rates, ARRAY_SIZE(rates));
	s = report_put(&r, "host.a", "warned", NAN);
	s->ok = TRI_NO;
	s->severity = SEVERITY_WARN;
	s = report_put(&r, "host.a", "fatal", NAN);
	s->ok = TRI_NO;
	s->severity = SEVERITY_FATAL;
	report_put_problem(&r, "loopback", PROBLEM_TIMEOUT, NULL);
	v = judged(&r, NULL);
	CHECK_EQ(v->n_items, 14);
	/* Within a level: fatal, then without numbers, then furthest below its floor. */
	for (i = 0; i < ARRAY_SIZE(order); i++)
		CHECK_STR(v->items[i].subject, order[i]);
	CHECK_HAS(v->sentence, "; and 2 more");
}

static void what_the_run_before_had_is_missed(void)
{
	static const double rates[] = { 100, 101, 99 };
	CLEANUP(report_release) struct report first = report_make(), now = report_make();
	CLEANUP(verdict_release) struct verdict before = { 0 };
	struct judge_inputs in = { .before = &before };
	const struct verdict *v;

	report_put_cores(&first, rates, 3);
	(void)report_put(&first, "inventory.gpus", "host", 8);
	(void)report_put(&first, "host.kernel_log", "pci:1", 1);
	report_put_problem(&first, "loopback", PROBLEM_TIMEOUT, NULL);
	verdict_judge(&first, NULL, &before);
	report_put_cores(&now, rates, 2);
	v = judged(&now, &in);
	CHECK_EQ(v->n_items, 4);
	CHECK_EQ(item_level(v, "gemm.rate", "cpu:2"), VERDICT_INCONCLUSIVE);
	CHECK_EQ(item_level(v, "inventory.gpus", "host"), VERDICT_INCONCLUSIVE);
	CHECK_STR(item_find(v, "gemm.rate", "cpu:2")->sentence,
		  "cpu:2 is missing from gemm.rate, where the run before had it; if that is "
		  "intended, remove the file 'last/quick.json' from the state directory, and tell "
		  "the controller with `assayctl repair-done`");
	/* A device that was there is not excused by "nothing to measure here"... */
	report_put_problem(&now, "gemm", PROBLEM_NOT_APPLICABLE, NULL);
	CHECK_EQ(item_level(judged(&now, &in), "gemm.rate", "cpu:2"), VERDICT_INCONCLUSIVE);
	/* ... but one whose probe could not finish is not called missing. */
	report_put_problem(&now, "gemm", PROBLEM_TIMEOUT, NULL);
	report_put_problem(&now, "host-state", PROBLEM_CRASHED, NULL);
	v = judged(&now, &in);
	CHECK_EQ(item_level(v, "gemm.rate", "cpu:2"), -1);
	CHECK_EQ(item_level(v, "inventory.gpus", "host"), -1);
}

static const struct test tests[] = {
	TEST(one_slow_core_of_eight_is_named),
	TEST(two_references_of_three_decide),
	TEST(few_peers_alone_never_fail),
	TEST(half_of_a_group_low_blames_nobody),
	TEST(a_spread_group_is_judged_by_the_sku_file),
	TEST(only_equals_are_compared),
	TEST(what_the_probe_says_itself_counts),
	TEST(a_slow_value_is_not_excused_by_a_mild_word_of_the_probe),
	TEST(what_was_not_measured_is_inconclusive_and_no_peer),
	TEST(alone_a_value_is_recorded_and_passes),
	TEST(what_the_probe_calls_good_is_judged_and_what_nothing_calls_so_is_not),
	TEST(problems_are_inconclusive_except_nothing_to_measure),
	TEST(no_item_at_all_is_inconclusive),
	TEST(items_come_worst_first),
	TEST(what_the_run_before_had_is_missed),
};

TEST_SUITE(tests, .end = judged_done);
