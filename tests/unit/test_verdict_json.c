/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static int decode(const char *text, struct verdict *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *doc = NULL;
	struct jval root;
	int r = json_parse(text, strlen(text), "verdict.json", &doc, err);

	if (r < 0)
		return r;
	root = jval_root(doc, "verdict.json");
	return verdict_decode(&root, ret, err);
}

static void a_verdict_survives_the_way_through_json(void)
{
	static const double rates[] = { 100, 100, 100, 100, 100, 100, 100, 70 };
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(verdict_release) struct verdict v = { 0 }, back = { 0 };
	CLEANUP(json_freep) json_t *doc = NULL, *again = NULL;
	CLEANUP(freep) char *text = NULL;
	struct sample *s;

	report_put_cores(&r, rates, 8);
	s = report_put(&r, "host.kernel_log", "pci:1", NAN);
	s->ok = TRI_NO;
	s->severity = SEVERITY_FATAL;
	report_put_problem(&r, "loopback", PROBLEM_TIMEOUT, NULL);
	verdict_judge(&r, NULL, &v);
	v.fleet = json_pack("{s:s}", "verdict", "pass");
	doc = verdict_encode(&v);
	text = json_line(doc);
	CHECK_EQ(decode(text, &back, NULL), 0);
	again = verdict_encode(&back);
	CHECK(json_equal(doc, again));
	CHECK_EQ(back.n_items, 10);
	CHECK_EQ(back.seq, 7);
	CHECK(back.items[0].fatal && !back.items[1].fatal);
	CHECK(isnan(back.items[0].value) && isnan(back.items[0].expected));
	CHECK_NEAR(back.items[1].floor, 95, 0);
}

static void the_line_has_the_keys_of_the_contract(void)
{
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(verdict_release) struct verdict v = { 0 };
	CLEANUP(json_freep) json_t *doc = NULL;
	CLEANUP(freep) char *text = NULL;

	(void)report_put(&r, "memory.copy_bw", "numa:0", 5);
	verdict_judge(&r, NULL, &v);
	doc = verdict_encode(&v);
	text = json_dumps(doc, JSON_COMPACT | JSON_SORT_KEYS);
	CHECK_STR(text,
		  "{\"boot_id\":\"b\",\"counts\":{\"fail\":0,\"inconclusive\":0,\"measured\":1,"
		  "\"pass\":0,\"warn\":0},\"items\":[{\"check\":\"memory.copy_bw\","
		  "\"compared\":false,\"expected\":null,"
		  "\"fatal\":false,"
		  "\"floor\":null,\"n\":0,\"profile\":\"quick\",\"sentence\":\"numa:0 moves "
		  "5.00 B/s in memory.copy_bw, recorded: nothing to compare with yet\","
		  "\"source\":\"self-evident\",\"subject\":\"numa:0\",\"time\":\"2026-03-01T10:"
		  "00:00Z\",\"unit\":\"B/s\",\"value\":5.0,\"verdict\":\"pass\"}],\"kind\":"
		  "\"verdict\",\"node\":\"host1\",\"profile\":\"quick\",\"sentence\":\"pass: 1 "
		  "check measured, not judged: nothing to compare "
		  "with\",\"seq\":7,\"time\":\"2026-03-01T10"
		  ":00:00Z\",\"v\":1,\"verdict\":\"pass\"}");
}

#define HEAD                                                                                \
	"\"v\":1,\"kind\":\"verdict\",\"node\":\"a\",\"time\":\"t\",\"seq\":1,\"profile\":" \
	"\"quick\",\"verdict\":\"pass\",\"sentence\":\"s\""

static void a_bad_verdict_is_refused_by_its_place(void)
{
	static const struct {
		const char *text, *said;
	} cases[] = {
		{ "[]", "verdict.json: expected an object, not a list" },
		{ "{}", "verdict.json: v: this program reads version 1" },
		{ "{\"v\":2,\"kind\":\"verdict\"}",
		  "verdict.json: v: this program reads version 1" },
		{ "{\"v\":1,\"kind\":\"report\"}", "verdict.json: kind: expected \"verdict\"" },
		{ "{\"v\":1,\"kind\":\"verdict\"}", "verdict.json: node: missing" },
		{ "{" HEAD "}", "verdict.json: items: expected a list, not nothing" },
		{ "{" HEAD ",\"items\":[1]}",
		  "verdict.json: items[0]: expected an object, not a number" },
		{ "{" HEAD ",\"items\":[{\"check\":\"c\",\"subject\":\"s\",\"verdict\":\"bad\"}]}",
		  "verdict.json: items[0].verdict: 'bad' is not one of pass, inconclusive, warn, "
		  "fail" },
		{ "{" HEAD ",\"items\":[{\"check\":\"c\",\"subject\":\"s\",\"verdict\":\"pass\"}]}",
		  "verdict.json: items[0].sentence: missing" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct verdict v = { .seq = 77 };
		struct err err = ERR_INIT;

		CHECK(decode(cases[i].text, &v, &err) < 0);
		CHECK_STR(err.msg, cases[i].said);
		CHECK_EQ(v.seq, 77);
	}
}

static void unknown_keys_of_a_newer_program_are_ignored(void)
{
	CLEANUP(verdict_release) struct verdict v = { 0 };

	CHECK_EQ(decode("{" HEAD
			",\"new\":{},\"items\":[{\"check\":\"c\",\"subject\":\"s\",\"verdict\":"
			"\"fail\",\"sentence\":\"x\",\"new\":1}]}",
			&v, NULL),
		 0);
	CHECK_EQ(v.n_items, 1);
	CHECK(isnan(v.items[0].value) && isnan(v.items[0].floor));
	CHECK_EQ(v.items[0].source, SOURCE_SELF);
}

static void too_many_items_are_refused(void)
{
	CLEANUP(json_freep)
	json_t *doc = json_pack("{s:i, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:[]}", "v", 1, "kind",
				"verdict", "node", "a", "time", "t", "seq", 1, "profile", "p",
				"verdict", "pass", "sentence", "s", "items");
	struct jval root = jval_root(doc, "f");
	struct verdict v = { 0 };
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i <= VERDICT_ITEMS_MAX; i++)
		json_array_append_new(json_object_get(doc, "items"), json_null());
	CHECK(verdict_decode(&root, &v, &err) < 0);
	CHECK_STR(err.msg, "f: items: 16385 items, more than 16384");
}

/* --- merge --- */

enum { PASSIVE, QUICK, FULL, RUNS };

static const bool active[RUNS] = { [QUICK] = true, [FULL] = true };

static struct report run_of(const char *profile, const char *time, uint64_t seq)
{
	struct report r = report_make();

	free(r.profile);
	free(r.time);
	r.profile = xstrdup(profile);
	r.time = xstrdup(time);
	r.seq = seq;
	return r;
}

static void put_state(struct report *r, const char *check, const char *subject, int ok)
{
	struct sample *s = report_put(r, check, subject, NAN);

	s->ok = ok;
}

static void release_all(struct verdict *runs)
{
	size_t i;

	for (i = 0; i < RUNS; i++)
		verdict_release(&runs[i]);
}

/* Three runs, by time: full, quick, passive; what the last found stands. */
static void three_runs(struct verdict *runs)
{
	CLEANUP(report_release)
	struct report passive = run_of("passive", "2026-03-01T12:00:00Z", 9);
	CLEANUP(report_release) struct report quick = run_of("quick", "2026-03-01T11:00:00Z", 8);
	CLEANUP(report_release) struct report full = run_of("full", "2026-03-01T03:00:00Z", 5);

	put_state(&passive, "host.ecc", "numa:0", TRI_YES);
	put_state(&quick, "host.ecc", "numa:0", TRI_NO);
	put_state(&quick, "gemm.correct", "cpu:0", TRI_YES);
	put_state(&full, "gemm.correct", "cpu:0", TRI_NO);
	put_state(&full, "gemm.correct", "cpu:1", TRI_YES);
	put_state(&full, "loopback.write_bw", "mlx5_0:1>numa:0", TRI_NO);
	report_put_problem(&full, "gemm", PROBLEM_TIMEOUT, NULL);
	report_put_problem(&full, "host-state", PROBLEM_CRASHED, NULL);
	report_put_problem(&full, "rnic-pair", PROBLEM_CRASHED, NULL);
	verdict_judge(&passive, NULL, &runs[PASSIVE]);
	verdict_judge(&quick, NULL, &runs[QUICK]);
	verdict_judge(&full, NULL, &runs[FULL]);
}

static void the_newest_run_of_a_check_stands(void)
{
	CLEANUP(verdict_release) struct verdict v = { 0 };
	struct verdict runs[RUNS] = { 0 };

	three_runs(runs);
	verdict_merge(runs, active, RUNS, &v);
	CHECK_EQ(v.n_items, 5);
	CHECK_EQ(item_level(&v, "host.ecc", "numa:0"), VERDICT_PASS);
	CHECK_STR(item_find(&v, "host.ecc", "numa:0")->profile, "passive");
	CHECK_EQ(item_level(&v, "gemm.correct", "cpu:0"), VERDICT_PASS);
	CHECK_STR(item_find(&v, "gemm.correct", "cpu:0")->profile, "quick");
	/* No newer run has those: they stay, whatever newer profiles ran. */
	CHECK_STR(item_find(&v, "gemm.correct", "cpu:1")->time, "2026-03-01T03:00:00Z");
	CHECK_EQ(item_level(&v, "loopback.write_bw", "mlx5_0:1>numa:0"), VERDICT_FAIL);
	/* A probe that brought results since has no problem any more. */
	CHECK_EQ(item_level(&v, "probe.gemm", "host1"), -1);
	CHECK_EQ(item_level(&v, "probe.host-state", "host1"), -1);
	CHECK_EQ(item_level(&v, "probe.rnic-pair", "host1"), VERDICT_INCONCLUSIVE);
	CHECK_EQ(v.level, VERDICT_FAIL);
	CHECK_HAS(v.sentence, "fail: mlx5_0:1>numa:0");
	release_all(runs);
}

static void age_and_profile_are_of_the_newest_active_run(void)
{
	CLEANUP(verdict_release) struct verdict v = { 0 }, none = { 0 };
	struct verdict runs[RUNS] = { 0 };

	three_runs(runs);
	verdict_merge(runs, active, RUNS, &v);
	CHECK_STR(v.profile, "quick");
	CHECK_STR(v.time, "2026-03-01T11:00:00Z");
	CHECK_EQ(v.seq, 8);
	verdict_merge(runs, (const bool[RUNS]){ false }, RUNS, &none);
	CHECK_STR(none.profile, "passive");
	CHECK_STR(none.node, "host1");
	release_all(runs);
}

/* What assayd saw between runs has checks of host-state, and says nothing of the rest of the host. */
static void what_was_watched_leads_only_when_alone(void)
{
	enum { WATCHED, PASSIVELY };
	CLEANUP(report_release)
	struct report watched = run_of(PROFILE_WATCH, "2026-03-01T12:00:00Z", 9);
	CLEANUP(report_release)
	struct report passive = run_of("passive", "2026-03-01T11:00:00Z", 8);
	CLEANUP(verdict_release) struct verdict v = { 0 }, alone = { 0 };
	struct verdict runs[RUNS] = { 0 };

	CHECK(!profile_is_active(PROFILE_WATCH) && !profile_is_active("passive"));
	CHECK(profile_is_active("quick") && profile_is_active("of my own"));
	put_state(&watched, "host.kernel_log", "eth2", TRI_YES);
	put_state(&passive, "host.kernel_log", "eth2", TRI_NO);
	report_put_problem(&passive, "host-state", PROBLEM_CRASHED, NULL);
	verdict_judge(&watched, NULL, &runs[WATCHED]);
	verdict_judge(&passive, NULL, &runs[PASSIVELY]);
	verdict_merge(runs, (const bool[RUNS]){ false }, 2, &v);
	CHECK_STR(v.profile, "passive");
	CHECK_EQ(v.seq, 8);
	CHECK_EQ(item_level(&v, "host.kernel_log", "eth2"), VERDICT_PASS);
	CHECK_EQ(item_level(&v, "probe.host-state", "host1"), VERDICT_INCONCLUSIVE);
	verdict_merge(runs, (const bool[RUNS]){ false }, 1, &alone);
	CHECK_STR(alone.profile, PROFILE_WATCH);
	release_all(runs);
}

/* The full run was made while the clock was a day ahead. */
static void a_run_from_the_future_does_not_lead(void)
{
	CLEANUP(report_release) struct report quick = run_of("quick", "2026-03-01T11:00:00Z", 8);
	CLEANUP(report_release) struct report full = run_of("full", "2026-03-02T03:00:00Z", 5);
	CLEANUP(verdict_release) struct verdict v = { 0 }, unnumbered = { 0 };
	struct verdict runs[RUNS] = { 0 };

	put_state(&quick, "gemm.correct", "cpu:0", TRI_YES);
	put_state(&full, "gemm.correct", "cpu:0", TRI_NO);
	quick.uptime_s = 77;
	verdict_judge(&quick, NULL, &runs[QUICK]);
	verdict_judge(&full, NULL, &runs[FULL]);
	verdict_merge(&runs[QUICK], &active[QUICK], 2, &v);
	CHECK_STR(v.profile, "quick");
	CHECK_STR(v.boot_id, quick.boot_id);
	CHECK_NEAR(v.uptime_s, 77, 0);
	CHECK_EQ(v.level, VERDICT_PASS);
	/* Without numbers the stamps are all there is. */
	runs[QUICK].seq = 0;
	verdict_merge(&runs[QUICK], &active[QUICK], 2, &unnumbered);
	CHECK_STR(unnumbered.profile, "full");
	release_all(runs);
}

static void the_order_of_the_runs_does_not_matter(void)
{
	CLEANUP(verdict_release) struct verdict v = { 0 }, turned = { 0 };
	CLEANUP(json_freep) json_t *a = NULL, *b = NULL;
	struct verdict runs[RUNS] = { 0 };
	struct verdict other[RUNS];
	bool other_active[RUNS];

	three_runs(runs);
	other[0] = runs[FULL];
	other[1] = runs[PASSIVE];
	other[2] = runs[QUICK];
	other_active[0] = other_active[2] = true;
	other_active[1] = false;
	verdict_merge(runs, active, RUNS, &v);
	verdict_merge(other, other_active, RUNS, &turned);
	a = verdict_encode(&v);
	b = verdict_encode(&turned);
	CHECK(json_equal(a, b));
	release_all(runs);
}

static void two_values_of_one_subject_in_one_run_both_stay(void)
{
	CLEANUP(report_release) struct report r = report_make();
	CLEANUP(verdict_release) struct verdict v = { 0 };
	struct verdict run = { 0 };

	report_put(&r, "gemm.rate", "cpu:0", 5)->params = json_pack("{s:s}", "dtype", "f32");
	report_put(&r, "gemm.rate", "cpu:0", 9)->params = json_pack("{s:s}", "dtype", "f64");
	verdict_judge(&r, NULL, &run);
	verdict_merge(&run, active, 1, &v);
	CHECK_EQ(v.n_items, 2);
	verdict_release(&run);
}

static void a_spread_goes_when_the_check_ran_again(void)
{
	static const double spread[] = { 100, 100, 80, 80 }, even[] = { 100, 100, 99, 99 };
	CLEANUP(report_release) struct report full = run_of("full", "2026-03-01T03:00:00Z", 5);
	CLEANUP(report_release) struct report quick = run_of("quick", "2026-03-01T11:00:00Z", 8);
	CLEANUP(verdict_release) struct verdict v = { 0 };
	struct verdict runs[RUNS] = { 0 };

	report_put_cores(&full, spread, 4);
	report_put_cores(&quick, even, 4);
	verdict_judge(&full, NULL, &runs[0]);
	verdict_judge(&quick, NULL, &runs[1]);
	CHECK_EQ(runs[0].level, VERDICT_WARN);
	verdict_merge(runs, active, 2, &v);
	CHECK_EQ(v.level, VERDICT_PASS);
	CHECK_EQ(v.n_items, 4);
	release_all(runs);
}

static void the_opinion_of_the_fleet_is_kept(void)
{
	CLEANUP(verdict_release) struct verdict v = { 0 };
	struct verdict runs[RUNS] = { 0 };

	three_runs(runs);
	runs[FULL].fleet = json_pack("{s:s}", "verdict", "fail");
	verdict_merge(runs, active, RUNS, &v);
	CHECK_STR(json_string_value(json_object_get(v.fleet, "verdict")), "fail");
	release_all(runs);
}

static void no_run_gives_an_empty_inconclusive_verdict(void)
{
	CLEANUP(verdict_release) struct verdict v = { 0 };

	verdict_merge(NULL, NULL, 0, &v);
	CHECK_EQ(v.level, VERDICT_INCONCLUSIVE);
	CHECK_EQ(v.n_items, 0);
}

static const struct test tests[] = {
	TEST(a_verdict_survives_the_way_through_json),
	TEST(the_line_has_the_keys_of_the_contract),
	TEST(a_bad_verdict_is_refused_by_its_place),
	TEST(unknown_keys_of_a_newer_program_are_ignored),
	TEST(too_many_items_are_refused),
	TEST(the_newest_run_of_a_check_stands),
	TEST(age_and_profile_are_of_the_newest_active_run),
	TEST(what_was_watched_leads_only_when_alone),
	TEST(a_run_from_the_future_does_not_lead),
	TEST(the_order_of_the_runs_does_not_matter),
	TEST(two_values_of_one_subject_in_one_run_both_stay),
	TEST(a_spread_goes_when_the_check_ran_again),
	TEST(the_opinion_of_the_fleet_is_kept),
	TEST(no_run_gives_an_empty_inconclusive_verdict),
};

TEST_SUITE(tests);
