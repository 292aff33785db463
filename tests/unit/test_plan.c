/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/run/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "agents/run/exit_style.h"
#include "agents/run/run_report.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/report.h"
#include "tests/unit/test.h"

static const char file_text[] =
	"v: 1\n"
	"profiles:\n"
	"  quick:\n"
	"    budget: 40s\n"
	"    probes:\n"
	"      - {name: a, exec: /bin/a, budget: 10s, active: false}\n"
	"      - {name: b, exec: /bin/b, budget: 20s}\n"
	"  full:\n"
	"    budget: 5m\n"
	"    probes: [{name: b, exec: /bin/b, budget: 60s}, {name: loopback, budget: 30s}]\n"
	"  mine:\n"
	"    budget: 9s\n"
	"    probes: [{name: c, exec: /bin/c, budget: 3s, active: false}]\n";

static void read_text(const char *text, struct profiles *ret)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;

	CHECK_EQ(yaml_parse(text, strlen(text), "F", &value, NULL), 0);
	root = jval_root(value, "F");
	CHECK_EQ(profiles_decode(&root, ret, NULL), 0);
	/* Where no probe of the suite is. */
	CHECK_EQ(setenv("ASSAY_PROBE_DIR", "/nowhere", 1), 0);
}

static void read_file(struct profiles *ret)
{
	read_text(file_text, ret);
}

static void a_profile_becomes_its_probes(void)
{
	CLEANUP(profiles_release) struct profiles profiles = { 0 };
	CLEANUP(plan_release) struct plan plan = { 0 };
	struct err err = ERR_INIT;

	read_file(&profiles);
	CHECK_EQ(plan_profile(&profiles, "quick", &plan, &err), 0);
	CHECK_STR(plan.profile, "quick");
	CHECK_EQ(plan.budget_us, 40 * USEC_PER_SEC);
	CHECK_EQ(plan.n, 2);
	CHECK_STR(plan.probes[0].path, "/bin/a");
	CHECK_EQ(plan.probes[0].active, false);
	CHECK_EQ(plan.probes[1].budget_us, 20 * USEC_PER_SEC);
	CHECK(plan.active);
}

static void an_unknown_profile_is_told_with_those_that_are(void)
{
	CLEANUP(profiles_release) struct profiles profiles = { 0 };
	struct plan plan;
	struct err err = ERR_INIT;

	read_file(&profiles);
	CHECK_EQ(plan_profile(&profiles, "slow", &plan, &err), -EINVAL);
	CHECK_STR(err.msg, "--profile: no profile 'slow'; choose from quick, full, mine");
}

static void a_probe_of_the_suite_that_is_not_built_is_absent(void)
{
	CLEANUP(profiles_release) struct profiles profiles = { 0 };
	CLEANUP(plan_release) struct plan plan = { 0 };
	CLEANUP(report_release) struct report report = { 0 };

	read_file(&profiles);
	CHECK_EQ(plan_profile(&profiles, "full", &plan, NULL), 0);
	CHECK_EQ(plan.n, 1);
	CHECK_EQ(plan.n_absent, 1);
	plan_report_absent(&plan, &report);
	CHECK_EQ(report.n_problems, 1);
	CHECK_STR(report.problems[0].probe, "loopback");
	CHECK_EQ(report.problems[0].code, PROBLEM_NOT_APPLICABLE);
	CHECK_STR(report.problems[0].detail, "not built here");
}

static void a_named_probe_runs_as_the_best_known_profile_runs_it(void)
{
	static const struct {
		const char *profile, *name;
		uint64_t budget_us;
	} cases[] = {
		{ NULL, "b", 20 * USEC_PER_SEC },
		{ "full", "b", 60 * USEC_PER_SEC },
		{ "full", "a", 10 * USEC_PER_SEC },
		{ NULL, "c", 3 * USEC_PER_SEC },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(profiles_release) struct profiles profiles = { 0 };
		CLEANUP(plan_release) struct plan plan = { 0 };

		read_file(&profiles);
		CHECK_EQ(plan_probes(&profiles, cases[i].profile, &cases[i].name, 1, &plan, NULL),
			 0);
		CHECK_STR(plan.profile, "probes");
		CHECK_EQ(plan.n, 1);
		CHECK_EQ(plan.probes[0].budget_us, cases[i].budget_us);
		CHECK_EQ(plan.budget_us, cases[i].budget_us);
	}
}

static void wrong_names_of_probes_are_told(void)
{
	static const struct {
		const char *profile;
		const char *names[2];
		const char *message;
	} cases[] = {
		{ NULL, { "b", "x" }, "--probe: no probe 'x'; see assay list" },
		{ NULL, { "b", "b" }, "--probe: 'b' is given twice" },
		{ "x", { "b", "a" }, "--profile: no profile 'x'; choose from quick, full, mine" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(profiles_release) struct profiles profiles = { 0 };
		struct plan plan;
		struct err err = ERR_INIT;

		read_file(&profiles);
		CHECK_EQ(plan_probes(&profiles, cases[i].profile, cases[i].names, 2, &plan, &err),
			 -EINVAL);
		CHECK_STR(err.msg, cases[i].message);
	}
}

static void a_shorter_run_shortens_every_probe_and_a_longer_one_none(void)
{
	CLEANUP(profiles_release) struct profiles profiles = { 0 };
	CLEANUP(plan_release) struct plan plan = { 0 };

	read_file(&profiles);
	CHECK_EQ(plan_profile(&profiles, "quick", &plan, NULL), 0);
	plan_fit(&plan, 80 * USEC_PER_SEC);
	CHECK_EQ(plan.probes[1].budget_us, 20 * USEC_PER_SEC);
	plan_fit(&plan, 40 * USEC_PER_SEC); /* half of 80 s now: the ratio is to what the run had */
	CHECK_EQ(plan.probes[1].budget_us, 10 * USEC_PER_SEC);
	plan_fit(&plan, 1);
	CHECK_EQ(plan.budget_us, 1);
	CHECK_EQ(plan.probes[0].budget_us, 100 * USEC_PER_MSEC);
}

static const char least_text[] =
	"v: 1\n"
	"profiles:\n"
	"  quick:\n"
	"    budget: 40s\n"
	"    probes:\n"
	"      - {name: a, exec: /bin/a, budget: 5s, active: false}\n"
	"      - {name: b, exec: /bin/b, budget: 10s, least: 3s}\n"
	"      - {name: c, exec: /bin/c, budget: 5s, least: 1s, active: false}\n";

static void arguments_of_one_s_own_come_with_the_whole_budget(void)
{
	static char word[] = "--peer";
	static char *const args[] = { word, NULL };
	static const char *const names[] = { "b" }, *const absent[] = { "loopback" };
	CLEANUP(profiles_release) struct profiles profiles = { 0 };
	CLEANUP(plan_release) struct plan plan = { 0 }, none = { 0 };
	struct err err = ERR_INIT;

	read_file(&profiles);
	CHECK_EQ(plan_probes(&profiles, NULL, names, 1, &plan, &err), 0);
	plan_hand_on(&plan, args, 0);
	CHECK(plan.probes[0].args == args);
	CHECK_EQ(plan.probes[0].budget_us, 20 * USEC_PER_SEC);
	plan_hand_on(&plan, args, 90 * USEC_PER_SEC);
	plan_fit(&plan, 90 * USEC_PER_SEC);
	CHECK_EQ(plan.probes[0].budget_us, 90 * USEC_PER_SEC);
	CHECK_EQ(plan.budget_us, 90 * USEC_PER_SEC);
	plan_hand_on(&plan, args, USEC_PER_SEC);
	plan_fit(&plan, USEC_PER_SEC);
	CHECK_EQ(plan.probes[0].budget_us, USEC_PER_SEC);
	CHECK_EQ(plan.n, 1);
	CHECK_EQ(plan_probes(&profiles, NULL, absent, 1, &none, &err), 0);
	plan_hand_on(&none, args, USEC_PER_SEC);
	CHECK_EQ(none.n, 0);
}

static void a_probe_that_could_do_nothing_with_its_share_is_left_out(void)
{
	static const struct {
		uint64_t budget_s;
		const char *started[3];
		bool active;
		const char *words[2]; /* of the problems */
	} rows[] = {
		{ 40, { "a", "b", "c" }, true, { NULL } },
		{ 12, { "a", "b", "c" }, true, { NULL } },
		{ 11,
		  { "a", "c" },
		  false,
		  { "b: left out: its share of the run is 2750ms, and it "
		    "needs 3s; give the run --budget 12s" } },
		{ 4,
		  { "a" },
		  false,
		  { "b: left out: its share of the run is 1s, and it needs 3s; "
		    "give the run --budget 12s",
		    "c: left out: its share of the run is 500ms, and it needs "
		    "1s; give the run --budget 8s" } },
	};
	CLEANUP(profiles_release) struct profiles profiles = { 0 };
	size_t i, j;

	read_text(least_text, &profiles);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(plan_release) struct plan plan = { 0 };
		CLEANUP(report_release) struct report report = { 0 };

		CHECK_EQ(plan_profile(&profiles, "quick", &plan, NULL), 0);
		plan_fit(&plan, rows[i].budget_s * USEC_PER_SEC);
		plan_report_absent(&plan, &report);
		CHECK_EQ(plan.active, rows[i].active);
		for (j = 0; j < plan.n; j++) {
			CHECK_STR(plan.probes[j].name, rows[i].started[j]);
			CHECK(plan.probes[j].path == plan.paths[j]);
		}
		CHECK(plan.n == 3 || !rows[i].started[plan.n]);
		for (j = 0; j < report.n_problems; j++) {
			CLEANUP(freep)
			char *words = xasprintf("%s: %s", report.problems[j].probe,
						report.problems[j].detail);

			CHECK_EQ(report.problems[j].code, PROBLEM_SET_UP);
			CHECK_STR(words, rows[i].words[j]);
		}
		CHECK_EQ(plan.n + report.n_problems, 3);
	}
}

static void the_exit_style_is_found_before_the_options_are_parsed(void)
{
	static const struct {
		const char *argv[4];
		int argc;
		enum exit_style style;
	} cases[] = {
		{ { "run" }, 1, EXIT_ASSAY },
		{ { "run", "--exit-style", "nhc" }, 3, EXIT_NHC },
		{ { "run", "--exit-style=npd" }, 2, EXIT_NPD },
		{ { "run", "--bogus", "--exit-style=nagios" }, 3, EXIT_NAGIOS },
		{ { "run", "--exit-style" }, 2, EXIT_ASSAY },
		{ { "run", "--exit-style", "other" }, 3, EXIT_ASSAY },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		char *argv[4];

		memcpy(argv, cases[i].argv, sizeof(argv));
		CHECK_EQ(exit_style_peek(cases[i].argc, argv), cases[i].style);
	}
}

static void exit_statuses_are_those_of_the_contract(void)
{
	/* pass, inconclusive, warn, fail, set-up, usage */
	static const int statuses[][6] = {
		[EXIT_ASSAY] = { 0, 3, 0, 1, 2, 2 },
		[EXIT_NHC] = { 0, 0, 0, 1, 0, 2 },
		[EXIT_NAGIOS] = { 0, 3, 1, 2, 3, 3 },
		[EXIT_NPD] = { 0, 2, 0, 1, 2, 2 },
	};
	size_t style;
	int level;

	for (style = 0; style < ARRAY_SIZE(statuses); style++) {
		for (level = VERDICT_PASS; level <= VERDICT_FAIL; level++)
			CHECK_EQ(exit_status_of((enum exit_style)style, (enum verdict_level)level),
				 statuses[style][level]);
		CHECK_EQ(exit_status_set_up((enum exit_style)style), statuses[style][4]);
		CHECK_EQ(exit_status_usage((enum exit_style)style), statuses[style][5]);
	}
}

static void fill_report(struct report *report, size_t n_samples, size_t note)
{
	double windows[SAMPLE_WINDOWS_MAX];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(windows); i++)
		windows[i] = 1.0 / 3;
	for (i = 0; i < n_samples; i++) {
		struct sample s = sample_init();

		s.check = xstrdup("a.b");
		s.subject = xasprintf("cpu:%zu", i);
		s.unit = xstrdup("1");
		s.note = xasprintf("%*s", (int)note, "x");
		sample_set_windows(&s, windows, ARRAY_SIZE(windows));
		CHECK_EQ(report_add_sample(report, &s), 0);
	}
}

static size_t size_of(const struct report *report)
{
	CLEANUP(json_freep) json_t *value = report_encode(report);
	CLEANUP(freep) char *text = json_line(value);

	return strlen(text);
}

static void a_report_past_its_limit_loses_windows_first_and_says_what_else(void)
{
	json_t *topology = NULL;
	CLEANUP(report_release) struct report small = { 0 };
	CLEANUP(report_release) struct report wide = { 0 };
	CLEANUP(report_release) struct report huge = { 0 };

	run_report_start(&small, "quick", &topology);
	json_decref(topology);
	fill_report(&small, 10, 10);
	run_report_fit(&small);
	CHECK_EQ(small.samples[0].w.n, SAMPLE_WINDOWS_MAX);

	run_report_start(&wide, "quick", &topology);
	json_decref(topology);
	fill_report(&wide, 4096, 10);
	CHECK(size_of(&wide) > REPORT_MAX);
	run_report_fit(&wide);
	CHECK(size_of(&wide) <= REPORT_MAX);
	CHECK_EQ(wide.n_samples, 4096);
	CHECK_EQ(wide.n_problems, 0);

	run_report_start(&huge, "quick", &topology);
	json_decref(topology);
	fill_report(&huge, 3000, 2000);
	run_report_fit(&huge);
	CHECK(size_of(&huge) <= REPORT_MAX);
	CHECK_EQ(huge.n_samples, 750);
	CHECK_EQ(huge.n_problems, 1);
	CHECK_EQ(huge.problems[0].code, PROBLEM_TOO_MUCH);
	CHECK_HAS(huge.problems[0].detail, "2250 of 3000 samples");
}

static const struct test tests[] = {
	TEST(a_profile_becomes_its_probes),
	TEST(an_unknown_profile_is_told_with_those_that_are),
	TEST(a_probe_of_the_suite_that_is_not_built_is_absent),
	TEST(a_named_probe_runs_as_the_best_known_profile_runs_it),
	TEST(wrong_names_of_probes_are_told),
	TEST(a_shorter_run_shortens_every_probe_and_a_longer_one_none),
	TEST(arguments_of_one_s_own_come_with_the_whole_budget),
	TEST(a_probe_that_could_do_nothing_with_its_share_is_left_out),
	TEST(the_exit_style_is_found_before_the_options_are_parsed),
	TEST(exit_statuses_are_those_of_the_contract),
	TEST(a_report_past_its_limit_loses_windows_first_and_says_what_else),
};

TEST_SUITE(tests);
