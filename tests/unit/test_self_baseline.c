/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/self_baseline.h"

#include <math.h>
#include <stdlib.h>

#include "controller/fleet/baseline.h"
#include "controller/fleet/baseline_hosts.h"
#include "controller/fleet/baseline_store.h"
#include "controller/fleet/rules.h"
#include "controller/fleet/self_baseline_bytes.h"
#include "controller/store/store.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/policy/bad_run.h"
#include "tests/unit/random.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

enum { HOSTS = 40, CORES = 8, RUNS = 8 };

/* A fleet of good hosts that differ by 1.2 %, their cores by 2 %, each run by 1 %. */
struct fleet {
	struct baselines baselines;
	struct rules rules;
	struct random chance;
	double host[HOSTS], core[HOSTS][CORES];
	const struct verdict *last;
};

static void fleet_begin(struct fleet *f)
{
	size_t i, j;

	*f = (struct fleet){ .rules = { .policy = policy_init() }, .chance = random_seeded(3) };
	for (i = 0; i < HOSTS; i++) {
		f->host[i] = random_normal(&f->chance, 70, 0.84);
		for (j = 0; j < CORES; j++)
			f->core[i][j] = random_normal(&f->chance, 1, 0.02);
	}
}

static void fleet_end(struct fleet *f)
{
	baselines_release(&f->baselines);
	rules_release(&f->rules);
	judged_done();
}

/* One run: all cores at `whole`, the first besides at `one`. Names of its texts are new. */
static const struct verdict *run(struct fleet *f, size_t i, double whole, double one)
{
	struct report report = report_make();
	struct rules_view view = rules_view(&f->rules, &report, &f->baselines);
	struct judge_inputs inputs;
	double values[CORES];
	size_t j;

	free(report.node);
	report.node = xasprintf("host%zu", i);
	report.sku = xstrdup("sku-a");
	view.sku_name = report.sku;
	for (j = 0; j < CORES; j++)
		values[j] = f->host[i] * f->core[i][j] * whole * (j == 0 ? one : 1) *
			    random_normal(&f->chance, 1, 0.01);
	report_put_cores(&report, values, CORES);
	inputs = rules_inputs(&view);
	f->last = judged(&report, &inputs);
	baselines_learn(&f->baselines, &report, f->last, false);
	report_release(&report);
	return f->last;
}

static void learn(struct fleet *f, double slow_host)
{
	size_t i, r;

	for (r = 0; r < RUNS; r++) {
		for (i = 0; i < HOSTS; i++)
			(void)run(f, i, i == 0 ? slow_host : 1, 1);
	}
}

static int usual_of(const struct verdict *v, const char *subject)
{
	const struct verdict_item *item = item_find(v, "gemm.rate", subject);

	return item ? item->usual : -1;
}

static void a_part_that_becomes_slow_is_seen_by_what_it_was(void)
{
	CLEANUP(fleet_end) struct fleet f;
	size_t i, seen = 0;

	fleet_begin(&f);
	learn(&f, 1);
	for (i = 0; i < HOSTS; i++)
		seen += usual_of(run(&f, i, 1, 0.9), "cpu:0") == USUAL_DROPPED;
	CHECK(seen >= HOSTS - 2);
	/* What was low in that run has not become what is usual. */
	for (i = 0, seen = 0; i < HOSTS; i++)
		seen += usual_of(run(&f, i, 1, 0.9), "cpu:0") == USUAL_DROPPED;
	CHECK(seen >= HOSTS - 2);
}

static void a_host_that_becomes_slow_is_one_item_of_the_host(void)
{
	CLEANUP(fleet_end) struct fleet f;

	fleet_begin(&f);
	learn(&f, 1);
	CHECK_EQ(usual_of(run(&f, 3, 1, 1), "host3"), -1);
	CHECK_EQ(usual_of(run(&f, 3, 0.88, 1), "host3"), USUAL_DROPPED);
	/* Among each other its parts are what they were. */
	CHECK_EQ(usual_of(f.last, "cpu:4"), USUAL_KEPT);
}

/* 6.8 % below its usual: noise for a host that was well, and no cure of one that had lost 12 %. */
static void a_host_that_was_low_is_not_well_for_one_better_run(void)
{
	CLEANUP(fleet_end) struct fleet f;

	fleet_begin(&f);
	learn(&f, 1);
	CHECK_EQ(usual_of(run(&f, 3, 0.932, 1), "host3"), -1);
	CHECK_EQ(usual_of(run(&f, 4, 0.88, 1), "host4"), USUAL_DROPPED);
	CHECK_EQ(usual_of(run(&f, 4, 0.932, 1), "host4"), USUAL_DROPPED);
	CHECK(bad_run(f.last, (size_t)(item_find(f.last, "gemm.rate", "host4") - f.last->items)));
	/* It is well again, and what it was goes with the next runs. */
	CHECK_EQ(usual_of(run(&f, 4, 1, 1), "host4"), -1);
	CHECK_EQ(usual_of(run(&f, 4, 1, 1), "host4"), -1);
	CHECK_EQ(usual_of(run(&f, 4, 0.932, 1), "host4"), -1);
}

/* One run of a host with two memory nodes, the first of which reads `one` of what it did. */
static int run_nodes(struct fleet *f, size_t i, double one)
{
	struct report report = report_make();
	struct rules_view view = rules_view(&f->rules, &report, &f->baselines);
	const struct verdict_item *item;
	struct judge_inputs inputs;
	size_t j;

	free(report.node);
	report.node = xasprintf("host%zu", i);
	report.sku = xstrdup("sku-a");
	view.sku_name = report.sku;
	for (j = 0; j < 2; j++)
		(void)report_put(&report, "memory.read_bw", j == 0 ? "numa:0" : "numa:1",
				 3e9 * f->host[i] * (j == 0 ? one : 1) *
					 random_normal(&f->chance, 1, 0.01));
	inputs = rules_inputs(&view);
	f->last = judged(&report, &inputs);
	baselines_learn(&f->baselines, &report, f->last, false);
	report_release(&report);
	item = item_find(f->last, "memory.read_bw", "numa:0");
	return item ? item->usual : -1;
}

/* Two say nothing of each other: each is held against what it was beside the fleet. */
static void a_part_of_few_that_becomes_slow_is_seen_by_what_it_was(void)
{
	CLEANUP(fleet_end) struct fleet f;
	const struct verdict_item *item;
	size_t i, r;
	int usual;

	fleet_begin(&f);
	f.host[0] = 72; /* 9 % below the others when it has lost 12 %, which they let pass */
	for (r = 0; r < RUNS; r++) {
		for (i = 0; i < HOSTS; i++)
			(void)run_nodes(&f, i, 1);
	}
	CHECK(run_nodes(&f, 0, 1) != USUAL_DROPPED);
	usual = run_nodes(&f, 0, 0.88);
	CHECK_EQ(usual, USUAL_DROPPED);
	item = item_find(f.last, "memory.read_bw", "numa:0");
	CHECK(item && item->level == VERDICT_WARN &&
	      bad_run(f.last, (size_t)(item - f.last->items)));
	CHECK_EQ(item ? item->low_by : 0, 1U << SOURCE_HISTORY);
	/* All of them are: nobody's own. */
	for (r = 0; r < RUNS; r++) {
		for (i = 1; i < HOSTS; i++)
			(void)run_nodes(&f, i, 0.88);
	}
	CHECK(run_nodes(&f, 5, 0.88) != USUAL_DROPPED);
}

static void a_host_born_slow_is_seen_among_the_others(void)
{
	CLEANUP(fleet_end) struct fleet f;
	const struct verdict_item *item;

	fleet_begin(&f);
	f.host[0] = 70;
	learn(&f, 0.85);
	item = item_find(run(&f, 0, 0.85, 1), "gemm.rate", "host0");
	CHECK(item != NULL);
	if (item) {
		CHECK_EQ(item->source, SOURCE_FLEET);
		CHECK_EQ(item->usual, USUAL_KEPT);
	}
	/* It has been mended. */
	CHECK(item_find(run(&f, 0, 1, 1), "gemm.rate", "host0") == NULL);
}

static void what_all_hosts_have_in_common_drops_nobody(void)
{
	CLEANUP(fleet_end) struct fleet f;
	size_t i, r, seen = 0;

	fleet_begin(&f);
	learn(&f, 1);
	/* Everything runs hotter from now on: those that come later are what they were beside it. */
	for (r = 0; r < 2; r++) {
		for (i = 0, seen = 0; i < HOSTS; i++) {
			CLEANUP(freep) char *name = xasprintf("host%zu", i);

			seen += usual_of(run(&f, i, 0.96, 1), name) >= 0;
		}
	}
	CHECK_EQ(seen, 0);
}

/* Three quarters become slow, and good again: the others were never anything but good. */
static void a_fleet_that_moves_is_no_control(void)
{
	CLEANUP(fleet_end) struct fleet f;
	size_t i, r, seen = 0;

	fleet_begin(&f);
	learn(&f, 1);
	for (r = 0; r < 8; r++) {
		for (i = 0; i < HOSTS; i++) {
			CLEANUP(freep) char *name = xasprintf("host%zu", i);
			const bool apart = i >= HOSTS * 3 / 4;
			const struct verdict *v = run(&f, i, r < 4 && !apart ? 0.88 : 1, 1);

			seen += apart && usual_of(v, name) >= 0;
		}
	}
	CHECK_EQ(seen, 0);
}

static void another_machine_has_no_usual(void)
{
	CLEANUP(fleet_end) struct fleet f;

	fleet_begin(&f);
	learn(&f, 1);
	baselines_forget(&f.baselines, "host5");
	CHECK_EQ(usual_of(run(&f, 5, 1, 0.9), "cpu:0"), USUAL_UNKNOWN);
	CHECK_EQ(usual_of(run(&f, 6, 1, 0.9), "cpu:0"), USUAL_DROPPED);
}

/* --- through a restart --- */

static void save(struct fleet *f, struct store *s, struct baseline_saver *v)
{
	baseline_saver_begin(v, &f->baselines, 0);
	CHECK_EQ(baseline_saver_step(v, s, 1, UINT64_MAX, NULL), 0);
	CHECK_EQ(store_commit(s, NULL), 0);
}

static void restart(struct fleet *f, struct store *s)
{
	uint64_t hosts = 0;

	baselines_release(&f->baselines);
	CHECK_EQ(baselines_load(&f->baselines, s, 0, &hosts, NULL), 0);
	CHECK(hosts > HOSTS * 3 / 4); /* without those that are low just now */
}

static void what_a_part_and_a_host_were_is_known_after_a_restart(void)
{
	CLEANUP(freep) char *path = xasprintf("%s/usual.db", test_dir());
	CLEANUP(store_closep) struct store *s = NULL;
	CLEANUP(fleet_end) struct fleet f;
	struct baseline_saver v = { 0 };
	unsigned i;

	CHECK_EQ(store_open(path, &s, NULL), 0);
	fleet_begin(&f);
	learn(&f, 1);
	save(&f, s, &v);
	restart(&f, s);
	CHECK_EQ(usual_of(run(&f, 5, 1, 0.9), "cpu:0"), USUAL_DROPPED);
	CHECK_EQ(usual_of(run(&f, 6, 0.9, 1), "host6"), USUAL_DROPPED);
	/* One that is another machine now does not get the earlier one's back. */
	baselines_forget(&f.baselines, "host7");
	save(&f, s, &v);
	CHECK(!v.usuals);
	restart(&f, s);
	CHECK_EQ(usual_of(run(&f, 7, 1, 0.9), "cpu:0"), USUAL_UNKNOWN);
	CHECK_EQ(usual_of(run(&f, 6, 1, 0.9), "cpu:0"), USUAL_DROPPED);
	/* What is learnt meanwhile is written every so many rounds, and at the end. */
	learn(&f, 1);
	for (i = 0; i < USUAL_ROUNDS && !v.usuals; i++)
		save(&f, s, &v);
	CHECK(v.usuals);
	restart(&f, s);
	CHECK_EQ(usual_of(run(&f, 7, 1, 0.9), "cpu:0"), USUAL_DROPPED);
	learn(&f, 1);
	v.closing = true;
	save(&f, s, &v);
	CHECK(v.usuals);
}

/* Each beginning of the bytes is read as far as it goes, and is the same again as bytes. */
static void what_is_cut_is_read_as_far_as_it_goes(void)
{
	CLEANUP(strbuf_release) struct strbuf bytes = STRBUF_INIT(1 << 20);
	struct self_baselines u = { .drift = 0.01, .slow = 4, .moved = true };
	size_t length, whole = 0, host, run_number;

	for (host = 0; host < 3; host++) {
		for (run_number = 0; run_number < TREND_MAX + host; run_number++) {
			const struct self_baseline_value values[] = {
				{ "cpu:0", 60 + (double)run_number },
				{ "cpu:1", 70 },
				{ "cpu:2", 71 },
				{ "cpu:3", 72 },
				{ "cpu:4", 73 },
				{ "cpu:5", 74 },
			};

			u.moved = false;
			self_baselines_learn(&u,
					     host == 0	 ? "a"
					     : host == 1 ? "b"
							 : "c",
					     values, ARRAY_SIZE(values), 70);
		}
	}
	CHECK_EQ(self_baselines_encode(&u, &bytes), 0);
	for (length = 0; length <= bytes.len; length++) {
		CLEANUP(strbuf_release) struct strbuf again = STRBUF_INIT(1 << 20);
		/* Of its own size: one byte too far is found out. */
		CLEANUP(freep) char *part = xcalloc(length + 1, 1);
		char *exact = length ? memcpy(xcalloc(length, 1), bytes.data, length) : NULL;
		struct self_baselines read = { 0 };

		self_baselines_decode(&read, length ? exact : part, length);
		CHECK_EQ(self_baselines_encode(&read, &again), 0);
		if (read.n > 0)
			CHECK_EQ(memcmp(again.data, bytes.data, again.len), 0);
		whole += read.n == 3;
		self_baselines_release(&read);
		free(exact);
	}
	CHECK_EQ(whole, 1);
	self_baselines_release(&u);
}

/* --- parts that are apart from those of their SKU --- */

/*
 * The tails of `hosts` as quantiles of an exponential one of 2 %, which `n` of them, the last,
 * replace by what they have; of a spread that is known or 0. The parts that are apart as bits, of
 * these alone.
 */
static unsigned apart_of_spread(size_t hosts, const double *slow, size_t n, double spread)
{
	struct self_baselines u = { .spread = spread };
	unsigned apart = 0;
	size_t i, r;
	struct self_baseline_limits limits;

	for (r = 0; r < 10; r++) {
		for (i = 0; i < hosts; i++) {
			CLEANUP(freep) char *name = xasprintf("host%03zu", i);
			const double rank = ((double)i + 0.5) / (double)hosts;
			const double good = 0.02 * log(rank) - 0.05;
			const size_t k = n - (hosts - i);

			self_baselines_tail(&u, name, hosts - i <= n ? log(slow[k]) : good, -0.05);
		}
	}
	for (i = hosts - n; i < hosts; i++) {
		CLEANUP(freep) char *name = xasprintf("host%03zu", i);
		const bool is = self_baselines_place(&u, name, &limits) == PLACE_APART;

		apart |= is ? 1u << (i - (hosts - n)) : 0;
		CHECK(!is || limits.apart > log(slow[i - (hosts - n)]));
		CHECK_EQ(self_baselines_among(&u, name), !is);
	}
	/* Nobody else is. */
	for (i = 0; i < hosts - n; i++) {
		CLEANUP(freep) char *name = xasprintf("host%03zu", i);

		CHECK(self_baselines_place(&u, name, &limits) != PLACE_APART);
	}
	self_baselines_release(&u);
	return apart;
}

static unsigned apart_of(size_t hosts, const double *slow, size_t n)
{
	return apart_of_spread(hosts, slow, n, 0);
}

/* The good ones end about 15 % below the best, at 0.85. */
static void parts_born_slow_do_not_hide_each_other(void)
{
	/* One after the other, none 5 % from the next. */
	CHECK_EQ(apart_of(100, (const double[]){ 0.77, 0.74, 0.72 }, 3), 7);
	CHECK_EQ(apart_of(100, (const double[]){ 0.70, 0.70, 0.695, 0.69 }, 4), 15);
	CHECK_EQ(apart_of(100, (const double[]){ 0.76 }, 1), 1);
	/* Among good ones, or next to them. */
	CHECK_EQ(apart_of(100, (const double[]){ 0.84, 0.88, 0.83 }, 3), 0);
	CHECK_EQ(apart_of(100, (const double[]){ 0.84, 0.70 }, 2), 2);
}

/*
 * Of 512 parts one in two models is born slow: three that end a tail are good ones, as a rule,
 * though the gap before them is one of a hundred. So far out as no good one is they are not.
 */
static void several_that_may_be_good_are_not_apart(void)
{
	CHECK_EQ(apart_of(64, (const double[]){ 0.80, 0.805, 0.81 }, 3), 0);
	CHECK_EQ(apart_of(64, (const double[]){ 0.77, 0.775, 0.78, 0.785 }, 4), 0);
	CHECK_EQ(apart_of(64, (const double[]){ 0.70, 0.705, 0.71 }, 3), 7);
	/* Two may, where one is far out, and one alone is apart as before. */
	CHECK_EQ(apart_of(64, (const double[]){ 0.78, 0.70 }, 2), 3);
	CHECK_EQ(apart_of(64, (const double[]){ 0.81 }, 1), 1);
}

/* What 16 parts show of a tail is less than what parts that spread so have. */
static void a_tail_of_few_is_as_long_as_its_spread_says(void)
{
	const double slow[] = { 0.79, 0.785 };

	CHECK_EQ(apart_of_spread(64, slow, 2, 0.015), 3);
	CHECK_EQ(apart_of_spread(64, slow, 2, 0.034), 0);
	CHECK_EQ(apart_of_spread(64, (const double[]){ 0.70, 0.695 }, 2, 0.034), 3);
}

static void a_few_hosts_tell_no_more_than_a_gap(void)
{
	/* Of five hosts the good ones end at 0.91. */
	CHECK_EQ(apart_of(5, (const double[]){ 0.84 }, 1), 1);
	CHECK_EQ(apart_of(5, (const double[]){ 0.87 }, 1), 0);
	/* Two of them together may be the tail. */
	CHECK_EQ(apart_of(5, (const double[]){ 0.84, 0.84 }, 2), 0);
}

/* Twelve that are alike by chance do not tell how hosts differ: by as much as the mean of their
 * parts at least. */
static void a_host_is_no_lower_than_means_of_parts_are(void)
{
	static const struct {
		double spread, level;
		bool low;
	} rows[] = {
		{ 0.034, 0.945, false },
		{ 0.034, 0.93, true },
		{ 0.017, 0.945, true },
	};
	size_t i, r, j;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct self_baselines u = { .spread = rows[i].spread };
		struct expectation e[WHOLE_EXPECTATIONS];
		struct measure m = { .value = 70 * rows[i].level,
				     .family = family_find("gemm.rate", "FLOP/s"),
				     .slack = 0.05,
				     .k = REFERENCE_K };
		size_t n;

		for (r = 0; r < TREND_MAX; r++) {
			for (j = 0; j < 12; j++) {
				CLEANUP(freep) char *name = xasprintf("host%02zu", j);
				const double level = j ? 70 + 0.01 * (double)j : m.value;
				const struct self_baseline_value values[] = {
					{ "a", level }, { "b", level }, { "c", level },
					{ "d", level }, { "e", level }, { "f", level },
				};

				self_baselines_learn(&u, name, values, ARRAY_SIZE(values), 70);
			}
		}
		n = self_baselines_whole(&u, "host00", &m, 70, e);
		CHECK_EQ((expectations_by(e, n, true) & 1U << SOURCE_FLEET) != 0, rows[i].low);
		self_baselines_release(&u);
	}
}

/* Its run is low for once: that is no onset of what always was there. What it loses besides is one. */
static void what_always_was_slow_is_so_in_a_low_run_too(void)
{
	struct fleet f;
	size_t i, r;

	fleet_begin(&f);
	for (r = 0; r < RUNS; r++) {
		for (i = 0; i < HOSTS; i++)
			(void)run(&f, i, 1, i == 4 ? 0.7 : 1);
	}
	CHECK_EQ(usual_of(run(&f, 4, 1, 0.7), "cpu:0"), USUAL_KEPT);
	CHECK_EQ(usual_of(run(&f, 4, 1, 0.7 * 0.92), "cpu:0"), USUAL_KEPT);
	CHECK_EQ(usual_of(run(&f, 4, 1, 0.7 * 0.7), "cpu:0"), USUAL_DROPPED);
	fleet_end(&f);
}

static const struct test tests[] = {
	TEST(parts_born_slow_do_not_hide_each_other),
	TEST(several_that_may_be_good_are_not_apart),
	TEST(a_tail_of_few_is_as_long_as_its_spread_says),
	TEST(a_few_hosts_tell_no_more_than_a_gap),
	TEST(what_a_part_and_a_host_were_is_known_after_a_restart),
	TEST(what_is_cut_is_read_as_far_as_it_goes),
	TEST(a_part_that_becomes_slow_is_seen_by_what_it_was),
	TEST(a_host_that_becomes_slow_is_one_item_of_the_host),
	TEST(a_host_that_was_low_is_not_well_for_one_better_run),
	TEST(a_part_of_few_that_becomes_slow_is_seen_by_what_it_was),
	TEST(a_host_born_slow_is_seen_among_the_others),
	TEST(what_all_hosts_have_in_common_drops_nobody),
	TEST(a_fleet_that_moves_is_no_control),
	TEST(another_machine_has_no_usual),
	TEST(a_host_is_no_lower_than_means_of_parts_are),
	TEST(what_always_was_slow_is_so_in_a_low_run_too),
};

TEST_SUITE(tests);
