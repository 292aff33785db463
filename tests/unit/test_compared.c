/* SPDX-License-Identifier: Apache-2.0 */
/* Which values of a report are compared: each one once, and none in an unknown unit. */
#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/twins.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static void set_params(struct report *r, size_t at, const char *params)
{
	r->samples[at].params = json_loads(params, 0, NULL);
}

static void the_first_stands_for_all_of_its_thing(void)
{
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(twins_release) struct twins t = { 0 };
	static const struct {
		const char *check, *subject, *params;
		double value, counts;
		size_t first;
	} rows[] = {
		{ "gemm.rate", "cpu:0", "{\"m\":1}", 9, 7, 0 },
		{ "gemm.rate", "cpu:1", "{\"m\":1}", 5, 5, 1 },
		{ "gemm.rate", "cpu:0", "{\"m\":2}", 4, 4, 2 }, /* other params */
		{ "gemm.rate", "cpu:0", "{\"m\":1}", 1, 7, 0 },
		{ "gemm.correct", "cpu:0", "{\"m\":1}", 3, 3, 4 }, /* another check */
		{ "gemm.rate", "cpu:0", "{\"m\":1}", 7, 7, 0 },
		{ "gemm.rate", "cpu:0", "{\"m\":1}", 8, 7, 0 },
		{ "gemm.rate", "cpu:0", "{\"m\":1}", 2, 7, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		(void)report_put(&r, rows[i].check, rows[i].subject, rows[i].value);
		set_params(&r, i, rows[i].params);
	}
	twins_find(&r, &t);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(t.first[i], rows[i].first);
		CHECK_EQ(twins_repeat(&t, i), rows[i].first != i);
		CHECK_NEAR(t.value[i], rows[i].counts, 0);
	}
}

static void what_was_not_measured_is_no_twin(void)
{
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(twins_release) struct twins t = { 0 };
	struct sample *s = report_put(&r, "gemm.rate", "cpu:0", NAN);

	s->state = SAMPLE_BUSY;
	(void)report_put(&r, "gemm.rate", "cpu:0", 5);
	twins_find(&r, &t);
	CHECK(!twins_repeat(&t, 1));
	CHECK_NEAR(t.value[1], 5, 0);
}

/* Alone, twice: there is nobody to compare with, whatever the two values are. */
static void a_thing_measured_twice_is_not_its_own_peer(void)
{
	CLEANUP(report_release) struct report r = report_make();
	const struct verdict *v;

	(void)report_put(&r, "memory.read_bw", "numa:0", 100);
	(void)report_put(&r, "memory.read_bw", "numa:0", 60);
	v = judged(&r, NULL);
	CHECK_EQ(v->level, VERDICT_PASS);
	CHECK_EQ(v->n_items, 2);
	CHECK(isnan(v->items[0].expected) && isnan(v->items[1].expected));
}

/* Seven of eight are good; the eighth is slow, and was measured eight times. */
static void a_slow_one_gains_no_weight_by_being_repeated(void)
{
	CLEANUP(report_release) struct report r = report_make();
	static const double rates[] = { 100, 100, 100, 100, 100, 100, 100, 80 };
	const struct verdict *v;
	size_t i;

	report_put_cores(&r, rates, ARRAY_SIZE(rates));
	for (i = 0; i < 7; i++)
		(void)report_put(&r, "gemm.rate", "cpu:7", 80);
	v = judged(&r, NULL);
	CHECK_EQ(v->level, VERDICT_FAIL);
	CHECK_EQ(item_level(v, "gemm.rate", "cpu:0"), VERDICT_PASS);
	for (i = 0; i < 8; i++) {
		CHECK_STR(v->items[i].subject, "cpu:7");
		CHECK_EQ(v->items[i].level, VERDICT_FAIL);
		CHECK_EQ(v->items[i].n, 7);
	}
	CHECK(item_find(v, "gemm.rate", "host1") == NULL); /* no spread */
}

/* One run of two is slow: that one is held against the others, and the other is not blamed. */
static void each_of_two_runs_is_judged_by_its_own_value(void)
{
	CLEANUP(report_release) struct report r = report_make();
	static const double rates[] = { 100, 101, 99, 100, 102, 98, 100, 100 };
	const struct verdict *v;
	size_t i, low = 0;

	report_put_cores(&r, rates, ARRAY_SIZE(rates));
	(void)report_put(&r, "gemm.rate", "cpu:3", 80);
	v = judged(&r, NULL);
	for (i = 0; i < v->n_items; i++)
		low += v->items[i].level != VERDICT_PASS;
	CHECK_EQ(low, 1);
	CHECK_STR(v->items[0].subject, "cpu:3");
	CHECK_NEAR(v->items[0].value, 80, 0);
	CHECK_EQ(v->items[0].n, 7);
}

static void a_value_in_an_unknown_unit_is_no_reason_for_a_verdict(void)
{
	static const struct {
		const char *unit;
		int better, ok, level;
	} rows[] = {
		{ "B/s", BETTER_HIGHER, TRI_UNKNOWN, VERDICT_FAIL },
		{ "GB/s", BETTER_HIGHER, TRI_UNKNOWN, VERDICT_INCONCLUSIVE },
		{ "GB/s", BETTER_NONE, TRI_UNKNOWN, VERDICT_PASS },
		{ "b/s", BETTER_LOWER, TRI_YES, VERDICT_INCONCLUSIVE },
		{ "", BETTER_HIGHER, TRI_UNKNOWN, VERDICT_INCONCLUSIVE },
		{ "GB/s", BETTER_HIGHER, TRI_NO, VERDICT_FAIL }, /* the probe's own word */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(report_release) struct report r = report_make();
		const struct verdict *v;
		size_t n;

		for (n = 0; n < 8; n++) {
			CLEANUP(freep) char *subject = xasprintf("numa:%zu", n);
			struct sample *s = report_put(&r, "memory.read_bw", subject, n ? 71.2 : 7);

			free(s->unit);
			s->unit = xstrdup(rows[i].unit);
			s->better = rows[i].better;
			s->ok = rows[i].ok;
		}
		v = judged(&r, NULL);
		CHECK_EQ(v->level, rows[i].level);
		if (v->level == VERDICT_INCONCLUSIVE)
			CHECK_HAS(v->items[0].sentence, "a unit that this program cannot compare");
	}
}

static const struct test tests[] = {
	TEST(the_first_stands_for_all_of_its_thing),
	TEST(what_was_not_measured_is_no_twin),
	TEST(a_thing_measured_twice_is_not_its_own_peer),
	TEST(a_slow_one_gains_no_weight_by_being_repeated),
	TEST(each_of_two_runs_is_judged_by_its_own_value),
	TEST(a_value_in_an_unknown_unit_is_no_reason_for_a_verdict),
};

TEST_SUITE(tests, .end = judged_done);
