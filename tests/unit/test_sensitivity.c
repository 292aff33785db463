/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/sensitivity.h"

#include <math.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/sensitivity_rows.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

/* References of the tests: one for all samples. */
struct outside {
	double expected, floor; /* of the SKU file; both NAN: it says nothing */
	const double *history;
	size_t n_history;
};

static bool outside_sku(void *context, const struct sample *s UNUSED, double *ret_expected,
			double *ret_floor)
{
	const struct outside *o = context;

	*ret_expected = o->expected;
	*ret_floor = o->floor;
	return !isnan(o->expected) || !isnan(o->floor);
}

static size_t outside_history(void *context, const char *check UNUSED, const char *subject UNUSED,
			      const char *params UNUSED, double *ret_values, size_t max)
{
	const struct outside *o = context;
	size_t i;

	for (i = 0; i < o->n_history && i < max; i++)
		ret_values[i] = o->history[i];
	return i;
}

/* The report turned round; what it holds borrows from the report. */
struct answer {
	struct sensitivity *all;
	struct sensitivity_row *rows;
	size_t n_rows;
};

static struct answer ask(const struct report *r, struct outside *o)
{
	const struct judge_inputs in = {
		.sku = outside_sku,
		.sku_context = o,
		.history = outside_history,
		.history_context = o,
	};
	struct answer a = { .all = xcalloc(r->n_samples + 1, sizeof(*a.all)) };

	sensitivity_of(r, o ? &in : NULL, a.all);
	a.n_rows = sensitivity_rows(a.all, r->n_samples, &a.rows);
	return a;
}

static void answer_release(struct answer *a)
{
	free(a->all);
	free(a->rows);
}

#define BY_PEERS (1u << SOURCE_PEERS)
#define BY_HISTORY (1u << SOURCE_HISTORY)
#define BY_SKU (1u << SOURCE_SKU)
#define BY_ITSELF (1u << SOURCE_SELF)

static const double steady[20] = { 100, 100, 100, 100, 100, 100, 100, 100, 100, 100,
				   100, 100, 100, 100, 100, 100, 100, 100, 100, 100 };

/* A subject at 100 whose `n_peers` peers are at 100 too. */
static void each_reference_has_its_own_smallest_loss(void)
{
	static const struct {
		const char *check;
		size_t n_peers, n_history;
		double expected, floor;
		double warns, fails; /* parts; NAN: never */
		unsigned warns_by, fails_by;
	} cases[] = {
		/* nothing, then peers: none, too few for statistics, enough */
		{ "gemm.rate", 0, 0, NAN, NAN, NAN, NAN, 0, 0 },
		{ "gemm.rate", 1, 0, NAN, NAN, 0.15, NAN, BY_PEERS, 0 },
		{ "gemm.rate", 4, 0, NAN, NAN, 0.15, NAN, BY_PEERS, 0 },
		{ "gemm.rate", 5, 0, NAN, NAN, 0.05, 0.15, BY_PEERS, BY_PEERS },
		{ "memory.copy_bw", 5, 0, NAN, NAN, 0.10, 0.15, BY_PEERS, BY_PEERS },
		/* own history: from 5 runs on */
		{ "gemm.rate", 0, 4, NAN, NAN, NAN, NAN, 0, 0 },
		{ "gemm.rate", 0, 5, NAN, NAN, 0.05, 0.15, BY_HISTORY, BY_HISTORY },
		{ "gemm.rate", 4, 5, NAN, NAN, 0.05, 0.15, BY_HISTORY, BY_PEERS | BY_HISTORY },
		{ "gemm.rate", 7, 5, NAN, NAN, 0.05, 0.05, BY_PEERS | BY_HISTORY,
		  BY_PEERS | BY_HISTORY },
		/* the SKU file: its floor, or the slack below what it expects */
		{ "gemm.rate", 0, 0, 120, 90, 0.10, 1 - 0.85 * 0.9, BY_SKU, BY_SKU },
		{ "gemm.rate", 0, 0, 100, NAN, 0.05, 1 - 0.85 * 0.95, BY_SKU, BY_SKU },
		{ "gemm.rate", 5, 0, 100, 92, 0.05, 0.08, BY_PEERS, BY_PEERS | BY_SKU },
		{ "gemm.rate", 0, 0, 120, 110, 0, 1 - 0.85 * 1.1, BY_SKU, BY_SKU },
		/* less is better, and a count short */
		{ "loopback.write_lat", 5, 0, NAN, NAN, 0.10, 1 / 0.85 - 1, BY_PEERS, BY_PEERS },
		{ "inventory.gpus", 0, 0, 100, NAN, 0, 0, BY_SKU, BY_SKU },
		{ "inventory.gpus", 5, 0, NAN, NAN, NAN, NAN, 0, 0 },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct outside o = { cases[i].expected, cases[i].floor, steady, cases[i].n_history };
		CLEANUP(report_release) struct report r = report_make();
		CLEANUP(answer_release) struct answer a = { 0 };

		for (k = 0; k <= cases[i].n_peers; k++) {
			CLEANUP(freep) char *subject = xasprintf("unit:%zu", k);
			struct sample *s = report_put(&r, cases[i].check, subject, 100);

			s->better = strstr(cases[i].check, "_lat") ? BETTER_LOWER : BETTER_HIGHER;
		}
		a = ask(&r, &o);
		CHECK_EQ(isnan(cases[i].warns), isnan(a.all[0].warns.part));
		CHECK_EQ(isnan(cases[i].fails), isnan(a.all[0].fails.part));
		if (!isnan(cases[i].warns))
			CHECK_NEAR(a.all[0].warns.amount, 100 * cases[i].warns, 1e-7);
		if (!isnan(cases[i].fails))
			CHECK_NEAR(a.all[0].fails.part, cases[i].fails, 1e-9);
		CHECK_EQ(a.all[0].warns.sources, cases[i].warns_by);
		CHECK_EQ(a.all[0].fails.sources, cases[i].fails_by);
	}
}

static void peers_that_differ_hide_a_larger_loss(void)
{
	/* Of the other eight: median 100, MAD 4, so 3.5 * 1.4826 * 4 = 20.8 below it. */
	static const double rates[] = { 100, 92, 96, 96, 100, 100, 104, 104, 108 };
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(answer_release) struct answer a = { 0 };

	report_put_cores(&r, rates, ARRAY_SIZE(rates));
	a = ask(&r, NULL);
	CHECK_NEAR(a.all[0].warns.limit, 100 - 3.5 * 1.4826 * 4, 1e-9);
	CHECK_NEAR(a.all[0].fails.limit, 100 - 3.5 * 1.4826 * 4, 1e-9);
	CHECK_NEAR(a.all[0].e[0].sigma, 1.4826 * 4, 1e-9);
	/* A row promises for each subject, so the best core sets it. */
	CHECK_EQ(a.n_rows, 1);
	CHECK_STR(a.rows[0].warns->sample->subject, "cpu:8");
	CHECK(a.rows[0].warns->warns.part > a.all[0].warns.part);
	CHECK_EQ(a.rows[0].n, 9);
	CHECK_EQ(a.rows[0].n_seen, 9);
	/* And the worst one may lose least: of its peers the median is 100 too, the MAD 4. */
	CHECK_NEAR(a.rows[0].least, (92 - (100 - 3.5 * 1.4826 * 4)) / 92, 1e-9);
}

static void what_is_low_now_is_named_without_a_loss(void)
{
	static const double rates[] = { 100, 100, 90, 100, 100, 100, 100, 50 };
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(answer_release) struct answer a = { 0 };

	report_put_cores(&r, rates, ARRAY_SIZE(rates));
	a = ask(&r, NULL);
	CHECK_EQ(a.all[2].level, VERDICT_WARN);
	CHECK_NEAR(a.all[2].warns.amount, 0, 0);
	CHECK_NEAR(a.all[2].fails.limit, 85, 1e-9);
	CHECK_EQ(a.all[7].level, VERDICT_FAIL);
	CHECK_NEAR(a.all[7].fails.part, 0, 0);
	CHECK_EQ(a.rows[0].n_named, 2);
	CHECK_NEAR(a.rows[0].warns->warns.part, 0.05, 1e-9);
	CHECK_NEAR(a.rows[0].least, 0.05, 1e-9); /* not that of those that are low */
}

/* A third low one of four would make half of them low, and then nobody is named. */
static void a_loss_that_would_make_half_of_the_peers_low_is_not_seen(void)
{
	static const double rates[] = { 100, 100, 80, 60 };
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(answer_release) struct answer a = { 0 };
	CLEANUP(freep) char *needs = NULL;

	report_put_cores(&r, rates, ARRAY_SIZE(rates));
	a = ask(&r, NULL);
	CHECK(a.all[0].leaning && isnan(a.all[0].warns.limit));
	needs = sensitivity_needs(&a.rows[0]);
	CHECK_HAS(needs, "peers that agree (half of them are low), or 5 more good runs");
}

/* Above SENSITIVITY_TRIED_MAX the group is taken as it is: leaning, or not. */
static void a_large_group_is_taken_as_it_is(void)
{
	enum { N = SENSITIVITY_TRIED_MAX + 2 };
	double rates[N];
	size_t slow, i;

	for (slow = 0; slow <= N / 2; slow += N / 2) {
		CLEANUP(report_release) struct report r = report_make();
		CLEANUP(answer_release) struct answer a = { 0 };

		for (i = 0; i < N; i++)
			rates[i] = i < slow ? 50 : 100;
		report_put_cores(&r, rates, N);
		a = ask(&r, NULL);
		CHECK_EQ(a.rows[0].n_seen, slow ? 0 : N);
		CHECK_EQ(a.all[N - 1].leaning, slow > 0);
	}
}

static void the_word_of_the_probe_counts_by_itself(void)
{
	static const struct {
		int ok, severity, level;
		bool warns, fails;
	} cases[] = {
		{ TRI_YES, SEVERITY_FAIL, VERDICT_PASS, false, false },
		{ TRI_NO, SEVERITY_INFO, VERDICT_PASS, false, false },
		{ TRI_NO, SEVERITY_WARN, VERDICT_WARN, true, false },
		{ TRI_NO, SEVERITY_FAIL, VERDICT_FAIL, true, true },
		{ TRI_NO, SEVERITY_FATAL, VERDICT_FAIL, true, true },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(report_release) struct report r = report_make();
		CLEANUP(answer_release) struct answer a = { 0 };
		struct sample *s = report_put(&r, "gemm.correct", "cpu:0", 0);

		s->better = BETTER_LOWER;
		s->ok = cases[i].ok;
		s->severity = cases[i].severity;
		a = ask(&r, NULL);
		CHECK_EQ(a.all[0].sense, SENSE_PROBE);
		CHECK_EQ(a.all[0].level, cases[i].level);
		CHECK_EQ(!isnan(a.all[0].warns.limit), cases[i].warns);
		CHECK_EQ(!isnan(a.all[0].fails.limit), cases[i].fails);
		CHECK_EQ(a.all[0].warns.sources, cases[i].warns ? BY_ITSELF : 0);
	}
}

/* A ceiling of none at all: from 0 any loss is infinitely much, and it is seen. */
static void a_ceiling_of_none_sees_the_first(void)
{
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(answer_release) struct answer a = { 0 };
	struct outside o = { 0, 0, NULL, 0 };

	report_put(&r, "host.memory_ce", "host", 0)->better = BETTER_LOWER;
	a = ask(&r, &o);
	CHECK_NEAR(a.all[0].warns.limit, 0, 0);
	CHECK_NEAR(a.all[0].fails.amount, 0, 0);
	o.floor = 3;
	answer_release(&a);
	a = ask(&r, &o);
	CHECK_NEAR(a.all[0].warns.amount, 3, 0);
	CHECK(isinf(a.all[0].warns.part));
}

static void a_check_is_one_row_for_each_class(void)
{
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(answer_release) struct answer a = { 0 };
	static const char *const classes[] = { "pix", NULL, "sys", "pix", NULL };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(classes); i++) {
		CLEANUP(freep) char *subject = xasprintf("mlx5_%zu", i);

		report_put(&r, "loopback.write_bw", subject, 100)->locality = xstrdup(classes[i]);
	}
	report_put(&r, "loopback.write_lat", "mlx5_0", 1);
	a = ask(&r, NULL);
	CHECK_EQ(a.n_rows, 4);
	CHECK_STR(a.rows[0].sample->locality, "pix");
	CHECK_EQ(a.rows[0].n, 2);
	CHECK_EQ(a.rows[1].n, 2);
	CHECK_EQ(a.rows[2].n, 1);
	CHECK_STR(a.rows[3].sample->check, "loopback.write_lat");
}

/* What is lacking, said in words. */
static void the_need_is_named(void)
{
	static const struct {
		const char *check;
		size_t n, n_history;
		double floor;
		int better, ok, state;
		const char *needs; /* NULL: none */
	} cases[] = {
		{ "gemm.rate", 1, 0, NAN, BETTER_HIGHER, -1, SAMPLE_MEASURED,
		  "nothing to compare with: 5 more good runs for own history, or a SKU file with a "
		  "value for it" },
		{ "gemm.rate", 1, 4, NAN, BETTER_HIGHER, -1, SAMPLE_MEASURED,
		  "nothing to compare with: 1 more good run for own history, or a SKU file with a "
		  "value for it" },
		{ "gemm.rate", 1, 5, NAN, BETTER_HIGHER, -1, SAMPLE_MEASURED, NULL },
		{ "gemm.rate", 2, 3, NAN, BETTER_HIGHER, -1, SAMPLE_MEASURED,
		  "for a failure, a second reference: 2 more good runs for own history, or a SKU "
		  "file "
		  "with a value for it" },
		{ "gemm.rate", 6, 0, NAN, BETTER_HIGHER, -1, SAMPLE_MEASURED, NULL },
		{ "gemm.rate", 1, 0, 90, BETTER_HIGHER, -1, SAMPLE_MEASURED, NULL },
		{ "gemm.rate", 1, 0, 0, BETTER_HIGHER, -1, SAMPLE_MEASURED,
		  "a floor above 0 in the SKU file" },
		{ "inventory.cpus", 1, 0, NAN, BETTER_HIGHER, -1, SAMPLE_MEASURED,
		  "nothing to compare with: a SKU file with a value for it" },
		{ "host.smt", 1, 0, NAN, BETTER_NONE, -1, SAMPLE_MEASURED, NULL },
		{ "host.cpu_offline", 1, 0, NAN, BETTER_NONE, 1, SAMPLE_MEASURED, NULL },
		{ "gemm.rate", 1, 0, NAN, BETTER_HIGHER, -1, SAMPLE_BUSY,
		  "a run that measures it: the last one was busy" },
	};
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct outside o = { NAN, cases[i].floor, steady, cases[i].n_history };
		CLEANUP(report_release) struct report r = report_make();
		CLEANUP(answer_release) struct answer a = { 0 };
		CLEANUP(freep) char *needs = NULL;

		for (k = 0; k < cases[i].n; k++) {
			CLEANUP(freep) char *subject = xasprintf("unit:%zu", k);
			struct sample *s = report_put(&r, cases[i].check, subject, 100);

			s->better = cases[i].better;
			s->ok = cases[i].ok;
			s->state = cases[i].state;
		}
		a = ask(&r, &o);
		needs = sensitivity_needs(&a.rows[0]);
		CHECK_STR(needs, cases[i].needs);
	}
}

static void set_windows(struct sample *s, double step)
{
	enum { N = 9 };
	size_t i;

	free(s->w.v);
	s->w.v = xcalloc(N, sizeof(*s->w.v));
	s->w.n = N;
	for (i = 0; i < N; i++)
		s->w.v[i] = s->value * (1 + step * ((double)i - N / 2));
}

/* Deviations of 0 to 4 steps, two of each but 0: the MAD is 2 steps. */
static void noise_is_that_of_the_runs_before_that_of_the_windows(void)
{
	static const double runs[] = { 98, 99, 100, 101, 102 }; /* MAD 1 */
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(answer_release) struct answer few = { 0 }, many = { 0 };
	struct outside o = { NAN, 50, runs, 4 };

	set_windows(report_put(&r, "gemm.rate", "cpu:0", 100), 0.01);
	few = ask(&r, &o);
	CHECK_NEAR(few.rows[0].windows, 1.4826 * 0.02, 1e-9);
	CHECK(isnan(few.rows[0].runs));
	CHECK_NEAR(sensitivity_noise(&few.rows[0]), 1.4826 * 0.02, 1e-9);
	CHECK_NEAR(sensitivity_sure(&few.rows[0]), 0.5 + 2 * 1.4826 * 0.02, 1e-9);
	o.n_history = 5;
	many = ask(&r, &o);
	CHECK_NEAR(sensitivity_noise(&many.rows[0]), 1.4826 * 0.01, 1e-9);
}

static void a_floor_within_the_noise_needs_several_runs(void)
{
	static const struct {
		double step;
		bool several;
	} cases[] = { { 0, false },
		      { 0.01, false },
		      { 0.02, true } }; /* floor 15 %, 3 sigma 8.9, 17.8 */
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(report_release) struct report r = report_make();
		CLEANUP(answer_release) struct answer a = { 0 };
		CLEANUP(freep) char *needs = NULL;

		set_windows(report_put(&r, "gemm.rate", "cpu:0", 100), cases[i].step);
		set_windows(report_put(&r, "gemm.rate", "cpu:1", 100), cases[i].step);
		a = ask(&r, NULL);
		needs = sensitivity_needs(&a.rows[0]);
		CHECK_EQ(starts_with(needs, "several runs: one differs by 5.9 %"), cases[i].several);
	}
}

static void a_row_is_told_in_json(void)
{
	static const double rates[] = { 100, 100, 100, 100, 100, 100 };
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(answer_release) struct answer a = { 0 };
	CLEANUP(json_freep) json_t *value = NULL;
	CLEANUP(freep) char *text = NULL;

	report_put_cores(&r, rates, ARRAY_SIZE(rates));
	r.samples[0].locality = xstrdup("self");
	for (size_t i = 1; i < r.n_samples; i++)
		r.samples[i].locality = xstrdup("self");
	a = ask(&r, NULL);
	value = sensitivity_encode(&a.rows[0]);
	text = json_line(value);
	CHECK_HAS(text, "\"check\":\"gemm.rate\",\"class\":\"self\",\"unit\":\"FLOP/s\"");
	CHECK_HAS(text, "\"sense\":\"compared\",\"subjects\":6,\"measured\":6,\"named\":0");
	CHECK_HAS(text, "\"warns\":{\"subject\":\"cpu:0\",\"value\":100.0,\"percent\":5.0");
	CHECK_HAS(text, "\"by\":[\"peers\"]");
	CHECK_HAS(text, "\"n\":5,\"expected\":100.0,\"floor\":95.0,\"far\":85.0,"
			"\"margin_percent\":5.0,\"spread_percent\":0.0");
	CHECK_HAS(text, "\"noise\":{\"within_run_percent\":null");
	CHECK_HAS(text, "\"needs\":null");
}

static void an_empty_report_has_no_rows(void)
{
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(answer_release) struct answer a = ask(&r, NULL);

	CHECK_EQ(a.n_rows, 0);
}

static const struct test tests[] = {
	TEST(each_reference_has_its_own_smallest_loss),
	TEST(peers_that_differ_hide_a_larger_loss),
	TEST(what_is_low_now_is_named_without_a_loss),
	TEST(a_loss_that_would_make_half_of_the_peers_low_is_not_seen),
	TEST(a_large_group_is_taken_as_it_is),
	TEST(the_word_of_the_probe_counts_by_itself),
	TEST(a_ceiling_of_none_sees_the_first),
	TEST(a_check_is_one_row_for_each_class),
	TEST(the_need_is_named),
	TEST(noise_is_that_of_the_runs_before_that_of_the_windows),
	TEST(a_floor_within_the_noise_needs_several_runs),
	TEST(a_row_is_told_in_json),
	TEST(an_empty_report_has_no_rows),
};

TEST_SUITE(tests);
