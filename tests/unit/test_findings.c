/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/findings.h"

#include <stdlib.h>

#include "controller/fleet/baseline.h"
#include "controller/fleet/report_clock.h"
#include "controller/fleet/rules.h"
#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "tests/unit/count_incidents.h"
#include "tests/unit/mesh.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static struct policy_rule two_of_three(void)
{
	return (struct policy_rule){ .name = xstrdup("slow"),
				     .check = xstrdup("gemm.*"),
				     .k = 2,
				     .n = 3,
				     .action = ACTION_RETEST };
}

/*
 * Runs as text, oldest first: 'x' cpu:3 is slow, '.' all is well, '?' nothing
 * was measured; 'X' and 'o' are the first two in reports that waited too long.
 */
static void play(struct store *s, const char *runs)
{
	struct rules rules = { .policy = policy_init() };
	struct rules_view view = { .rules = &rules };

	rules.policy.rules = xcalloc(1, sizeof(*rules.policy.rules));
	rules.policy.rules[0] = two_of_three();
	rules.policy.n_rules = 1;
	for (; *runs; runs++) {
		const bool old = *runs == 'X' || *runs == 'o', bad = *runs == 'x' || *runs == 'X';
		const struct report_clock arrival = { .measured_us = 1000, .fresh = !old };
		double cores[] = { 70, 71, 72, bad ? 20 : 70, 70, 71, 72, 70 };
		struct report report = report_make();

		report_put_cores(&report, cores, ARRAY_SIZE(cores));
		if (*runs == '?')
			report.samples[3].state = SAMPLE_BUSY;
		CHECK(findings_note(s, &view, judged(&report, NULL), &arrival, NULL) >= 0);
		report_release(&report);
	}
	rules_release(&rules);
}

static void an_incident_opens_at_k_of_n_and_closes_after_n_good(void)
{
	static const struct {
		const char *runs;
		uint64_t open;
		const char *words; /* of the open one */
	} rows[] = {
		{ "", 0, NULL },
		{ "x", 0, NULL },
		{ ".....", 0, NULL },
		{ "x..x", 0, NULL },
		{ "xx", 1, "bad in 2 of the last 2 runs" },
		{ "x.x", 1, "bad in 2 of the last 3 runs" },
		{ "x?x", 1, "bad in 2 of the last 2 runs" },
		{ "xx..", 1, "cpu:3" },
		{ "xx??????", 1, "cpu:3" },
		{ "xx...", 0, NULL },
		{ "xx...x", 0, NULL },
		{ "xx...xx", 1, "bad in 2 of the last 2 runs" },
		/* yesterday opens nothing and cures nothing; today finds what it left */
		{ "XXXXXX", 0, NULL },
		{ "XXXo.", 0, NULL },
		{ "XXooo.", 0, NULL },
		{ "XXx", 1, "bad in 3 of the last 3 runs" },
		{ "Xx", 1, "bad in 2 of the last 2 runs" },
		{ "Xooox", 0, NULL },
		{ "xxooo", 1, "cpu:3" },
		{ "xxoo.", 0, NULL },
		{ "xxooo.", 0, NULL },
		{ "xxooox", 1, "cpu:3" },
		{ "xxooo..", 0, NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *path = xasprintf("%s/%zu.db", test_dir(), i);
		CLEANUP(store_closep) struct store *s = NULL;
		CLEANUP(json_freep) json_t *open = NULL;
		uint64_t n = 99;

		CHECK_EQ(store_open(path, &s, NULL), 0);
		play(s, rows[i].runs);
		CHECK_EQ(count_incidents(s, &n, NULL), 0);
		CHECK_EQ(n, rows[i].open);
		CHECK_EQ(store_open_incidents(s, "host1", &open, NULL), 0);
		CHECK_EQ(json_array_size(open), rows[i].open);
		if (rows[i].words) {
			const json_t *incident = json_array_get(open, 0);
			const char *text = json_string_value(json_object_get(incident, "sentence"));

			CHECK_HAS(text, rows[i].words);
			CHECK_HAS(text, "host1: ");
			CHECK_STR(json_string_value(json_object_get(incident, "rule")), "slow");
			CHECK_STR(json_string_value(json_object_get(incident, "action")), "retest");
		}
	}
}

/*
 * 'x' the uplink of a PCIe switch is at half, 'y' the same and nobody knows the paths, '.' all
 * is well, '?' no path was measured.
 */
static void play_link(struct store *s, const char *runs)
{
	enum { UPLINK = MESH_RNICS + MESH_GPUS + 1 };
	struct rules rules = { .policy = policy_init() };
	struct random chance = random_seeded(1);
	size_t i, j;

	rules.policy.rules = xcalloc(1, sizeof(*rules.policy.rules));
	rules.policy.rules[0] = two_of_three();
	free(rules.policy.rules[0].check);
	rules.policy.rules[0].check = xstrdup("loopback.*");
	rules.policy.n_rules = 1;
	for (i = 0; runs[i]; i++) {
		const struct report_clock arrival = { .measured_us = 1000 + i, .fresh = true };
		struct mesh mesh = mesh_make();
		struct report report = report_make();
		struct rules_view view = { .rules = &rules, .report = &report };

		mesh.capacity[UPLINK] *= runs[i] == 'x' || runs[i] == 'y' ? 0.5 : 1;
		if (runs[i] == '?')
			report_put_cores(&report, (const double[]){ 70, 70 }, 2);
		else
			mesh_measure(&mesh, 0.005, &chance, false, &report);
		for (j = 0; runs[i] == 'y' && j < report.n_samples; j++) {
			strv_free(report.samples[j].path);
			report.samples[j].path = NULL;
		}
		CHECK(findings_note(s, &view, judged(&report, NULL), &arrival, NULL) >= 0);
		report_release(&report);
	}
	rules_release(&rules);
}

static void a_slow_link_is_one_incident_that_closes_when_it_is_good(void)
{
	static const struct {
		const char *runs;
		size_t open;
	} rows[] = {
		{ "x", 0 },	{ "xx", 1 },	{ "x.x", 1 },	 { "xx..", 1 },	   { "xx...", 0 },
		{ "xx???", 1 }, { "xx..x", 1 }, { "xx...x", 0 }, { "xx...xx", 1 }, { "....", 0 },
	};
	const struct mesh mesh = mesh_make();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *path = xasprintf("%s/link-%zu.db", test_dir(), i);
		CLEANUP(store_closep) struct store *s = NULL;
		CLEANUP(json_freep) json_t *open = NULL;
		const json_t *incident;

		CHECK_EQ(store_open(path, &s, NULL), 0);
		play_link(s, rows[i].runs);
		CHECK_EQ(store_open_incidents(s, "host1", &open, NULL), 0);
		CHECK_EQ(json_array_size(open), rows[i].open);
		incident = json_array_get(open, 0);
		if (!incident)
			continue;
		CHECK_STR(json_string_value(json_object_get(incident, "check")), "loopback.link");
		CHECK_STR(json_string_value(json_object_get(incident, "subject")),
			  mesh.id[MESH_RNICS + MESH_GPUS + 1]);
		CHECK_HAS(json_string_value(json_object_get(incident, "sentence")),
			  "seen on 28 paths, contradicted by none");
	}
}

/*
 * The kernel log: 'x' a line about a GPU, '.' no line, 'u' it cannot be read,
 * '?' a run without it, 'c' only GPUs are told, one by one, 'w' assayd watches
 * and saw another line.
 */
static void play_events(struct store *s, const char *runs, unsigned k, uint64_t every_us)
{
	struct rules rules = { .policy = policy_init() };
	uint64_t now_us = 1000;

	rules.policy.rules = xcalloc(1, sizeof(*rules.policy.rules));
	rules.policy.rules[0] = two_of_three();
	free(rules.policy.rules[0].check);
	rules.policy.rules[0].check = xstrdup("host.*");
	rules.policy.rules[0].k = k;
	rules.policy.rules[0].n = k > 1 ? 3 : 1;
	rules.policy.n_rules = 1;
	for (; *runs; runs++) {
		const struct report_clock arrival = { .measured_us = now_us += every_us,
						      .fresh = true };
		struct report report = report_make();
		struct rules_view view = { .rules = &rules, .report = &report };
		struct sample *sample = NULL;

		report_put(&report, "host.smt", "host", 1);
		if (*runs == 'w') {
			free(report.profile);
			report.profile = xstrdup(PROFILE_WATCH);
		}
		if (strchr(".xuw", *runs))
			report_put(&report, "host.kernel_log", "host", 0)->state =
				*runs == 'u' ? SAMPLE_SET_UP : SAMPLE_MEASURED;
		if (*runs == 'x' || *runs == 'c')
			sample = report_put(&report, "host.kernel_log",
					    *runs == 'x' ? "gpu:GPU-1" : "gpu:GPU-2", 1);
		if (*runs == 'x')
			sample->ok = TRI_NO;
		CHECK(findings_note(s, &view, judged(&report, NULL), &arrival, NULL) >= 0);
		report_release(&report);
	}
	rules_release(&rules);
}

static void an_event_ends_after_n_runs_that_looked_and_found_none(void)
{
	static const struct {
		const char *runs;
		size_t open, rows;
	} rows[] = {
		{ "x", 0, 1 },	    { "x.", 0, 1 },	{ "x...", 0, 0 },   { "xx", 1, 1 },
		{ "xx..", 1, 1 },   { "xx...", 0, 0 },	{ "xxuuuu", 1, 1 }, { "xx????", 1, 1 },
		{ "xxwwww", 1, 1 }, { "xxcccc", 1, 1 }, { "xx..u.", 0, 0 }, { "xx..x..", 1, 1 },
		{ "....", 0, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *path = xasprintf("%s/event-%zu.db", test_dir(), i);
		CLEANUP(store_closep) struct store *s = NULL;
		struct store_window *windows = NULL;
		uint64_t open = 99;
		int n;

		CHECK_EQ(store_open(path, &s, NULL), 0);
		play_events(s, rows[i].runs, 2, 9 * USEC_PER_HOUR);
		CHECK_EQ(count_incidents(s, &open, NULL), 0);
		CHECK_EQ(open, rows[i].open);
		n = store_windows(s, "host1", &windows, FINDINGS_MAX, NULL);
		CHECK_EQ(n, (int)rows[i].rows);
		for (; n > 0; n--)
			store_window_release(&windows[n - 1]);
		free(windows);
	}
}

/* An event is over when it has not been for a day, not at the first run without it. */
static void a_storm_of_events_is_one_incident_that_stays_open(void)
{
	static const struct {
		const char *runs;
		uint64_t every_us;
		size_t incidents, open;
	} rows[] = {
		{ "x.x.x..x...x....x", 5 * USEC_PER_MIN, 1, 1 },
		{ "x.........x........", USEC_PER_HOUR, 1, 1 },
		{ "x....", 6 * USEC_PER_HOUR, 1, 0 },
		{ "x...x", 5 * USEC_PER_HOUR, 1, 1 },
		{ "x.....x", 6 * USEC_PER_HOUR, 2, 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *path = xasprintf("%s/storm-%zu.db", test_dir(), i);
		CLEANUP(store_closep) struct store *s = NULL;
		const struct store_range all = { NULL, STORE_PAGE_MAX };
		struct store_page page = { 0 };
		uint64_t open = 99;

		CHECK_EQ(store_open(path, &s, NULL), 0);
		play_events(s, rows[i].runs, 1, rows[i].every_us);
		CHECK_EQ(count_incidents(s, &open, NULL), 0);
		CHECK_EQ(open, rows[i].open);
		CHECK_EQ(store_incidents(s, &all, false, &page, NULL), 0);
		CHECK_EQ(json_array_size(page.items), rows[i].incidents);
		json_decref(page.items);
		free(page.next);
	}
}

static void an_incident_of_cells_gives_way_to_that_of_their_link(void)
{
	static const struct {
		const char *runs, *check;
	} rows[] = { { "yy", "loopback.write_bw" },
		     { "yyx", "loopback.write_bw" }, /* the link is not proved yet */
		     { "yyxx", "loopback.link" } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *path = xasprintf("%s/way-%zu.db", test_dir(), i);
		CLEANUP(store_closep) struct store *s = NULL;
		CLEANUP(json_freep) json_t *open = NULL;

		CHECK_EQ(store_open(path, &s, NULL), 0);
		play_link(s, rows[i].runs);
		CHECK_EQ(store_open_incidents(s, "host1", &open, NULL), 0);
		CHECK_EQ(json_array_size(open), 1);
		CHECK_STR(json_string_value(json_object_get(json_array_get(open, 0), "check")),
			  rows[i].check);
	}
}

/* Host 9 has a core 6 % below its peers, too little for two references. */
static struct report uneven(unsigned number)
{
	double cores[] = { 70, 70, 70, number == 9 ? 65.5 : 70, 70, 70, 70, 70 };
	struct report report = report_make();

	free(report.node);
	report.node = xasprintf("host%u", number);
	free(report.sku);
	report.sku = xstrdup("sku-a");
	report_put_cores(&report, cores, ARRAY_SIZE(cores));
	/* What other hosts show: cores that differ as much. */
	report.samples[0].value = 66;
	report.samples[1].value = number == 9 ? 70 : 74;
	return report;
}

static void a_warn_that_the_fleet_does_not_share_is_no_bad_run(void)
{
	CLEANUP(freep) char *path = xasprintf("%s/shared.db", test_dir());
	CLEANUP(store_closep) struct store *s = NULL;
	CLEANUP(baselines_release) struct baselines baselines = { 0 };
	struct rules rules = { .policy = policy_init() };
	struct report sick = uneven(9);
	struct rules_view alone = rules_view(&rules, &sick, NULL);
	struct rules_view with = rules_view(&rules, &sick, &baselines);
	struct judge_inputs inputs = rules_inputs(&with);
	struct judge_inputs strict = inputs;
	const struct verdict nothing = { .level = VERDICT_PASS };
	uint64_t n = 99;
	const struct report_clock now = { .measured_us = 1000, .fresh = true };
	unsigned i;

	for (i = 0; i < 6; i++) {
		struct report other = uneven(i);

		baselines_learn(&baselines, &other, &nothing, false);
		report_release(&other);
	}
	/* Cores of this SKU lie so far apart, which its seven peers alone do not tell. */
	strict.within = NULL;
	sick.samples[3].value = 59;
	CHECK_EQ(item_level(judged(&sick, NULL), "gemm.rate", "cpu:3"), VERDICT_FAIL);
	CHECK_EQ(item_level(judged(&sick, &strict), "gemm.rate", "cpu:3"), VERDICT_PASS);
	sick.samples[3].value = 65.5;
	CHECK_EQ(item_level(judged(&sick, &inputs), "gemm.rate", "cpu:3"), VERDICT_PASS);
	CHECK_EQ(store_open(path, &s, NULL), 0);
	CHECK_EQ(findings_note(s, &with, judged(&sick, &strict), &now, NULL), 0);
	CHECK_EQ(count_incidents(s, &n, NULL), 0);
	CHECK_EQ(n, 0);
	/* Without a fleet to ask it counts when no good core is so slow. */
	CHECK_EQ(findings_note(s, &alone, judged(&sick, NULL), &now, NULL), 0);
	sick.samples[3].value = 38;
	CHECK_EQ(findings_note(s, &alone, judged(&sick, NULL), &now, NULL), 1);
	CHECK_EQ(count_incidents(s, &n, NULL), 0);
	CHECK_EQ(n, 1);
	report_release(&sick);
	rules_release(&rules);
}

/* Core 3 is measured with two sets of parameters, which are two groups of peers, and slow in both. */
static void one_bad_run_is_one_window_whatever_its_groups(void)
{
	static const double cores[] = { 70, 71, 72, 20, 70, 71, 72, 70 };
	CLEANUP(freep) char *path = xasprintf("%s/groups.db", test_dir());
	CLEANUP(store_closep) struct store *s = NULL;
	struct rules rules = { .policy = policy_init() };
	struct rules_view view = { .rules = &rules };
	uint64_t n = 99;
	unsigned run;

	rules.policy.rules = xcalloc(1, sizeof(*rules.policy.rules));
	rules.policy.rules[0] = two_of_three();
	rules.policy.n_rules = 1;
	CHECK_EQ(store_open(path, &s, NULL), 0);
	for (run = 0; run < 2; run++) {
		const struct report_clock arrival = { .measured_us = 1000, .fresh = true };
		struct report report = report_make();
		size_t first, i;

		report_put_cores(&report, cores, ARRAY_SIZE(cores));
		first = report.n_samples;
		report_put_cores(&report, cores, ARRAY_SIZE(cores));
		for (i = first; i < report.n_samples; i++)
			report.samples[i].params = json_pack("{s:s}", "pattern", "read");
		CHECK_EQ(findings_note(s, &view, judged(&report, NULL), &arrival, NULL), 1);
		CHECK_EQ(count_incidents(s, &n, NULL), 0);
		CHECK_EQ(n, run);
		report_release(&report);
	}
	rules_release(&rules);
}

/* Each of six good hosts has a core that is 7 % below its seven peers: good cores spread. */
static void what_only_peers_say_is_no_finding_of_the_fleet(void)
{
	CLEANUP(freep) char *path = xasprintf("%s/tails.db", test_dir());
	CLEANUP(store_closep) struct store *s = NULL;
	CLEANUP(baselines_release) struct baselines baselines = { 0 };
	struct rules rules = { .policy = policy_init() };
	const struct report_clock now = { .measured_us = 1000, .fresh = true };
	uint64_t n = 99;
	unsigned i;

	CHECK_EQ(store_open(path, &s, NULL), 0);
	for (i = 0; i < 6; i++) {
		struct report report = uneven(i);
		struct rules_view view = rules_view(&rules, &report, &baselines);
		const struct verdict *v;

		report.samples[4].value = 65;
		v = judged(&report, NULL);
		CHECK_EQ(item_level(v, "gemm.rate", "cpu:4"), VERDICT_WARN);
		CHECK_EQ(findings_note(s, &view, v, &now, NULL), 0);
		report_release(&report);
	}
	CHECK_EQ(count_incidents(s, &n, NULL), 0);
	CHECK_EQ(n, 0);
	rules_release(&rules);
}

static const struct test tests[] = {
	TEST(what_only_peers_say_is_no_finding_of_the_fleet),
	TEST(one_bad_run_is_one_window_whatever_its_groups),
	TEST(an_incident_opens_at_k_of_n_and_closes_after_n_good),
	TEST(an_incident_of_cells_gives_way_to_that_of_their_link),
	TEST(a_slow_link_is_one_incident_that_closes_when_it_is_good),
	TEST(a_storm_of_events_is_one_incident_that_stays_open),
	TEST(an_event_ends_after_n_runs_that_looked_and_found_none),
	TEST(a_warn_that_the_fleet_does_not_share_is_no_bad_run),
};

TEST_SUITE(tests, .end = judged_done);
