/* SPDX-License-Identifier: Apache-2.0 */
/* Which findings lead to a cordon, and in which order. */
#include "lib/policy/decide.h"

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/fleet_world.h"
#include "tests/unit/test.h"

#define RULES FATAL ", " SLOW ", " REST

static void a_fatal_signature_cordons_at_once_and_once(void)
{
	CLEANUP(world_release) struct world w;
	const struct decision *one;
	struct life_change change;
	struct err err = ERR_INIT;

	world_init(&w, RULES, 20);
	note(&w, 3, "gpu.lost", SEVERITY_FATAL);
	decide(&w);
	one = find(&w, 3, DECIDE_CORDON);
	CHECK(one && one->effect && one->fatal && !one->refused);
	if (!one)
		return;
	CHECK_STR(one->rule, "fatal");
	CHECK_HAS(one->reason, "n003");
	CHECK_HAS(one->evidence, "gpu.lost of gpu:3");
	CHECK_EQ(policy_applied(&w.policy, &w.fleet, &w.breaker, one, w.now_us, &change, &err), 0);
	CHECK_EQ(change.from, LIFE_SUSPECTED);
	CHECK_EQ(change.to, LIFE_CORDONED);
	CHECK_STR(change.who, WHO_AUTOMATIC);
	CHECK_HAS(change.undo, "assayctl uncordon");
	CHECK_EQ(one->node->out, OUT_OURS);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_CORDON));
}

static void a_slow_part_is_cordoned_when_its_tests_failed_again(void)
{
	CLEANUP(world_release) struct world w;
	struct finding *finding;
	unsigned i;

	world_init(&w, RULES, 20);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide(&w);
	CHECK_EQ(w.out.n, 0);
	finding = note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	for (i = 0; i < 2; i++) {
		decide_and_do(&w);
		CHECK(!find(&w, 3, DECIDE_CORDON));
		CHECK(find(&w, 3, DECIDE_RETEST));
		CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_RETESTING);
		decide(&w);
		CHECK(!find(&w, 3, DECIDE_RETEST)); /* it is under way */
		tested(&w, 3, finding, TEST_FAILED);
		if (i == 0) {
			decide(&w);
			CHECK(!find(&w, 3, DECIDE_RETEST)); /* not so soon */
		}
		later(&w, 30 * USEC_PER_MIN);
	}
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_CORDON));
	CHECK_EQ(world_node(&w, 3)->out, OUT_OURS);
}

/* A 10 % slow part sometimes passes because of noise: it is tested once more. */
static void three_tests_that_pass_end_the_finding_of_a_value(void)
{
	CLEANUP(world_release) struct world w;
	struct finding *finding;
	unsigned i;

	world_init(&w, RULES, 20);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	finding = note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide_and_do(&w);
	tested(&w, 3, finding, TEST_FAILED);
	CHECK_EQ(finding->reproduced, 1);
	for (i = 0; i < FINDING_PASSES; i++) {
		CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_RETESTING);
		later(&w, USEC_PER_HOUR);
		decide_and_do(&w);
		CHECK(find(&w, 3, DECIDE_RETEST));
		tested(&w, 3, finding, TEST_PASSED);
		CHECK_EQ(finding->reproduced, 0); /* not in a row */
	}
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_HEALTHY);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide(&w);
	CHECK_EQ(w.out.n, 0); /* one window does not reach K of N */
	CHECK_EQ(finding->reproduced, 0);
}

/* Ordered when half of the host was low; that a part which was always slow is slow again does not
 * answer it. */
static void a_test_that_finds_a_part_born_slow_again_proves_nothing(void)
{
	CLEANUP(world_release) struct world w;
	struct finding *finding;

	world_init(&w, RULES, 20);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	finding = note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	finding->born = true;
	finding->parts = 8;
	finding->parts_bad = 5;
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_RETEST));
	finding->parts_bad = 1;
	tested(&w, 3, finding, TEST_FAILED);
	CHECK_EQ(finding->reproduced, 0);
	finding->parts_bad = 5;
	tested(&w, 3, finding, TEST_FAILED);
	CHECK_EQ(finding->reproduced, 1);
}

/* One low run, of a part or of all, is not an onset for a part that was always slow; two are. */
static void a_part_born_slow_is_born_so_when_it_is_low_for_once(void)
{
	static const struct {
		bool born, expected;
		unsigned parts_bad;
	} runs[] = { { true, true, 1 },	 { false, true, 1 },  { true, true, 1 },
		     { false, true, 1 }, { false, false, 1 }, { true, true, 1 },
		     { false, true, 6 }, { true, false, 6 },  { false, false, 6 } };
	CLEANUP(world_release) struct world w;
	size_t i;

	world_init(&w, RULES, 20);
	for (i = 0; i < ARRAY_SIZE(runs); i++) {
		const struct finding_news news = { .check = "gemm.rate",
						   .subject = "gpu:3",
						   .severity = SEVERITY_FAIL,
						   .seen_us = w.now_us,
						   .born = runs[i].born,
						   .parts_bad = runs[i].parts_bad,
						   .parts = 8 };
		struct finding *f = fleet_note(&w.fleet, world_node(&w, 3), &news);

		CHECK_EQ(fleet_is_born_part(f), runs[i].expected);
		/* A second row of the same run is not a second run. */
		CHECK_EQ(fleet_is_born_part(fleet_note(&w.fleet, world_node(&w, 3), &news)),
			 runs[i].expected);
		later(&w, USEC_PER_MIN);
	}
}

/* With one part born slow, three of the seven others are less than half. */
static void a_host_is_slow_as_a_whole_when_half_of_its_other_parts_are(void)
{
	struct finding finding = { .check = (char[]){ "gemm.rate" }, .born = true, .parts = 8 };

	finding.parts_bad = 4;
	CHECK(fleet_is_born_part(&finding));
	finding.parts_bad = 5;
	CHECK(!fleet_is_born_part(&finding));
}

/* Pass, fail, pass, fail, fail: the last two are consecutive failures, without consecutive passes. */
static void a_test_that_fails_breaks_the_row_of_those_that_passed(void)
{
	static const int outcomes[] = { TEST_PASSED, TEST_FAILED, TEST_PASSED, TEST_FAILED,
					TEST_FAILED };
	CLEANUP(world_release) struct world w;
	struct finding *finding;
	size_t i;

	world_init(&w, RULES, 20);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	finding = note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	for (i = 0; i < ARRAY_SIZE(outcomes); i++) {
		decide_and_do(&w);
		CHECK(find(&w, 3, DECIDE_RETEST));
		tested(&w, 3, finding, outcomes[i]);
		later(&w, w.policy.retest_spacing_us);
	}
	decide(&w);
	CHECK(find(&w, 3, DECIDE_CORDON));
}

/* A finding from an event, without noise, is over after one passed test. */
static void one_test_that_passes_ends_an_event(void)
{
	CLEANUP(world_release) struct world w;
	struct finding *finding;

	world_init(&w, "{name: xid, match: {check: gpu.xid}, action: retest}", 20);
	finding = note(&w, 3, "gpu.xid", SEVERITY_FAIL);
	decide_and_do(&w);
	tested(&w, 3, finding, TEST_PASSED);
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_HEALTHY);
	CHECK_EQ(finding->windows.n, 0);
}

/* They were not ordered, and during a job they cannot distinguish the host from the job. */
static void what_only_waits_for_time_says_until_when(void)
{
	CLEANUP(world_release) struct world w;
	struct finding *finding;

	world_init(&w, RULES, 20);
	decide(&w);
	CHECK_EQ(w.out.again_us, 0);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	finding = note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide_and_do(&w);
	decide(&w); /* a test is in progress and may be inconclusive */
	CHECK_EQ(w.out.again_us, w.now_us + w.policy.retest_timeout_us);
	tested(&w, 3, finding, TEST_FAILED);
	decide(&w);
	CHECK_EQ(w.out.again_us, w.now_us + w.policy.retest_spacing_us);
	later(&w, w.policy.retest_spacing_us - 1);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_RETEST));
	CHECK_EQ(w.out.again_us, w.now_us + 1);
	later(&w, 1);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_RETEST));
}

/* The action of a check's rule, given how often its test failed again. */
static const struct action_row {
	const char *rule, *check;
	int severity;
	unsigned windows, failed;
	bool good_partner;
	int wanted;
} action_rows[] = {
	{ "match: {check: '*'}, action: observe", "gemm.rate", SEVERITY_FAIL, 9, 9, true,
	  DECIDE_NOTHING },
	{ "match: {check: '*'}, action: alert", "gemm.rate", SEVERITY_FAIL, 9, 9, true,
	  DECIDE_ALERT },
	{ "match: {check: '*'}, action: alert", "gpu.lost", SEVERITY_FATAL, 1, 0, true,
	  DECIDE_ALERT },
	/* A fatal finding needs no K of N. */
	{ "match: {check: '*'}, windows: {k: 2, n: 3}, action: cordon", "gpu.lost", SEVERITY_FATAL,
	  1, 0, true, DECIDE_CORDON },
	{ "match: {check: '*'}, windows: {k: 2, n: 3}, action: alert", "host.x", SEVERITY_FAIL, 1,
	  0, true, DECIDE_NOTHING },
	{ "match: {check: '*'}, action: retest", "gemm.rate", SEVERITY_FAIL, 1, 1, true,
	  DECIDE_RETEST },
	{ "match: {check: '*'}, action: retest", "gemm.rate", SEVERITY_FAIL, 1, 2, true,
	  DECIDE_CORDON },
	{ "match: {check: '*'}, action: retest", "rnic_pair.write_bw", SEVERITY_FAIL, 1, 2, false,
	  DECIDE_RETEST },
	{ "match: {check: '*'}, action: retest", "rnic_pair.write_bw", SEVERITY_FAIL, 1, 2, true,
	  DECIDE_CORDON },
	/* A measured value: one bad window is not enough. */
	{ "match: {check: '*'}, action: cordon", "gemm.rate", SEVERITY_FAIL, 1, 0, true,
	  DECIDE_RETEST },
	{ "match: {check: '*'}, action: cordon", "gemm.rate", SEVERITY_FAIL, 1, 1, true,
	  DECIDE_CORDON },
	{ "match: {check: '*'}, windows: {k: 2, n: 3}, action: cordon", "gemm.rate", SEVERITY_FAIL,
	  2, 0, true, DECIDE_CORDON },
	{ "match: {check: '*'}, windows: {k: 2, n: 3}, action: cordon", "all_reduce.busbw",
	  SEVERITY_FAIL, 2, 0, true, DECIDE_RETEST },
	{ "match: {check: '*'}, action: cordon", "host.x", SEVERITY_FAIL, 1, 0, true,
	  DECIDE_CORDON },
	{ "match: {check: '*'}, action: cordon+drain", "host.x", SEVERITY_FATAL, 1, 0, true,
	  DECIDE_CORDON_DRAIN },
};

static void every_action_leads_where_it_says(void)
{
	size_t i;
	unsigned j;

	for (i = 0; i < ARRAY_SIZE(action_rows); i++) {
		const struct action_row *row = &action_rows[i];
		CLEANUP(world_release) struct world w;
		CLEANUP(freep) char *rule = xasprintf("{name: it, %s}", row->rule);
		struct finding *finding = NULL;
		int strongest = DECIDE_NOTHING;

		world_init(&w, rule, 20);
		for (j = 0; j < row->windows; j++)
			finding = note(&w, 3, row->check, row->severity);
		for (j = 0; j < row->failed; j++)
			fleet_tested(&w.fleet, world_node(&w, 3),
				     &(struct fleet_test){ .outcome = TEST_FAILED,
							   .finding = finding,
							   .partner = "n001",
							   .partner_good = row->good_partner,
							   .at_us = w.now_us });
		later(&w, USEC_PER_HOUR);
		decide(&w);
		for (j = 0; j < w.out.n; j++)
			strongest = MAX(strongest, w.out.items[j].action);
		CHECK_EQ(strongest, row->wanted);
	}
}

static void an_event_that_comes_back_is_reproduced(void)
{
	CLEANUP(world_release) struct world w;
	struct finding *finding;
	unsigned i;

	world_init(&w, "{name: flap, match: {check: rnic.flapping}, action: retest}", 20);
	for (i = 0; i < 3; i++) {
		finding = note(&w, 3, "rnic.flapping", SEVERITY_WARN);
		decide_and_do(&w);
		CHECK(!find(&w, 3, DECIDE_CORDON));
		tested(&w, 3, finding, TEST_PASSED);
		later(&w, USEC_PER_HOUR);
	}
	note(&w, 3, "rnic.flapping", SEVERITY_WARN);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_CORDON));
}

static void a_value_that_comes_back_is_not_reproduced(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 20);
	for (i = 0; i < 9; i++) {
		struct finding *finding;

		note(&w, 3, "gemm.rate", SEVERITY_FAIL);
		finding = note(&w, 3, "gemm.rate", SEVERITY_FAIL);
		decide_and_do(&w);
		CHECK(!find(&w, 3, DECIDE_CORDON));
		tested(&w, 3, finding, TEST_PASSED);
		later(&w, USEC_PER_HOUR);
	}
}

/* A job has been slow because of n<i> for an hour, and blames it for a day. */
static void blame(struct world *w, unsigned i, int class)
{
	const struct blame found = { .class = class,
				     .since_us = w->now_us - USEC_PER_HOUR,
				     .until_us = w->now_us + USEC_PER_DAY };

	fleet_set_blame(world_node(w, i), &found);
}

static void one_part_that_always_was_slow_needs_a_job_that_suffers(void)
{
	static const struct {
		bool born;
		unsigned bad;
		int class, wanted;
	} rows[] = {
		{ true, 1, BLAME_NOTHING, DECIDE_ALERT },
		{ true, 1, BLAME_JOB, DECIDE_ALERT },
		{ true, 1, BLAME_UNCLEAR, DECIDE_ALERT },
		{ true, 1, BLAME_LINK, DECIDE_ALERT },
		{ true, 1, BLAME_COMPUTE, DECIDE_CORDON },
		{ true, 8, BLAME_NOTHING, DECIDE_CORDON },
		{ false, 1, BLAME_NOTHING, DECIDE_CORDON },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;
		struct finding *finding;

		world_init(&w, RULES, 20);
		reproduce(&w, 3, "gemm.rate");
		finding = fleet_finding(world_node(&w, 3), "gemm.rate", "gpu:3");
		finding->born = rows[i].born;
		finding->parts = 8;
		finding->parts_bad = rows[i].bad;
		blame(&w, 3, rows[i].class);
		decide(&w);
		CHECK(find(&w, 3, DECIDE_ALERT));
		CHECK_EQ(find(&w, 3, DECIDE_CORDON) != NULL, rows[i].wanted == DECIDE_CORDON);
	}
}

static void a_slow_job_confirms_what_was_found_and_asks_where_nothing_was(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	blame(&w, 3, BLAME_COMPUTE);
	blame(&w, 4, BLAME_JOB);
	world_hold(&w, 3);
	decide(&w);
	CHECK_EQ(w.out.n, 1);
	CHECK(find(&w, 3, DECIDE_DEEP));
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_CORDON)); /* K of N still applies */
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_CORDON));
}

#define TEST_ALL "{name: all, match: {check: '*'}, windows: {k: 2, n: 3}, action: retest}"

#define HOUR ((int64_t)USEC_PER_HOUR)

/* K of N is reached, and no test has failed. */
static void a_slow_job_confirms_only_what_fits_what_it_says_and_when(void)
{
	static const struct {
		const char *check;
		int class;
		int64_t since_us, until_us; /* relative to the decision */
		bool cordon;
	} rows[] = {
		{ "gemm.rate", BLAME_COMPUTE, -HOUR, HOUR, true },
		{ "gemm.rate", BLAME_LINK, -HOUR, HOUR, false },
		{ "gemm.rate", BLAME_LAUNCH, -HOUR, HOUR, false },
		{ "gemm.rate", BLAME_JOB, -HOUR, HOUR, false },
		{ "memory.h2d_bw", BLAME_LAUNCH, -HOUR, HOUR, true },
		{ "loopback.write_bw", BLAME_LINK, -HOUR, HOUR, true },
		{ "loopback.write_bw", BLAME_FABRIC, -HOUR, HOUR, true },
		{ "loopback.write_bw", BLAME_COMPUTE, -HOUR, HOUR, false },
		/* Wrong data does not slow a job. */
		{ "gemm.correct", BLAME_COMPUTE, -HOUR, HOUR, false },
		{ "memory.pattern", BLAME_COMPUTE, -HOUR, HOUR, false },
		/* No test with a good partner has shown which of the two it is. */
		{ "rnic_pair.write_bw", BLAME_LINK, -HOUR, HOUR, false },
		/* Seen long before the job was slow, or the blame is old. */
		{ "gemm.rate", BLAME_COMPUTE, (int64_t)BLAME_BEFORE_US, HOUR, true },
		{ "gemm.rate", BLAME_COMPUTE, (int64_t)BLAME_BEFORE_US + 1, HOUR, false },
		{ "gemm.rate", BLAME_COMPUTE, -HOUR, 0, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;
		struct blame found = { .class = rows[i].class };

		world_init(&w, TEST_ALL, 20);
		note(&w, 3, rows[i].check, SEVERITY_FAIL);
		note(&w, 3, rows[i].check, SEVERITY_FAIL);
		found.since_us = (uint64_t)((int64_t)w.now_us + rows[i].since_us);
		found.until_us = (uint64_t)((int64_t)w.now_us + rows[i].until_us);
		fleet_set_blame(world_node(&w, 3), &found);
		decide(&w);
		CHECK_EQ(find(&w, 3, DECIDE_CORDON) != NULL, rows[i].cordon);
		CHECK_EQ(find(&w, 3, DECIDE_RETEST) != NULL, !rows[i].cordon);
	}
}

static void a_slow_job_confirms_a_pair_once_a_good_partner_did(void)
{
	CLEANUP(world_release) struct world w;
	struct finding *finding;

	world_init(&w, TEST_ALL, 20);
	note(&w, 3, "rnic_pair.write_bw", SEVERITY_FAIL);
	finding = note(&w, 3, "rnic_pair.write_bw", SEVERITY_FAIL);
	finding->reproduced = 1; /* of two */
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_CORDON));
	blame(&w, 3, BLAME_LINK);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_CORDON));
}

static void a_test_that_a_job_asks_for_names_the_job(void)
{
	CLEANUP(world_release) struct world w;
	struct blame found = { .class = BLAME_LINK, .job = (char *)(uintptr_t) "research/llm-7" };

	world_init(&w, RULES, 20);
	found.until_us = w.now_us + 1;
	fleet_set_blame(world_node(&w, 3), &found);
	fleet_set_blame(world_node(&w, 3), &world_node(&w, 3)->blame); /* a copy of itself */
	decide(&w);
	CHECK_STR(find(&w, 3, DECIDE_HOLD) ? find(&w, 3, DECIDE_HOLD)->reason : NULL,
		  "n003: tested because it slowed research/llm-7");
	world_hold(&w, 3);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_DEEP));
	if (find(&w, 3, DECIDE_DEEP))
		CHECK_STR(find(&w, 3, DECIDE_DEEP)->reason,
			  "n003: it slowed research/llm-7, and nothing has been found yet");
	fleet_set_blame(world_node(&w, 3), NULL);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_DEEP));
}

/* A suspect: n003 is only to be tested. */
static void suspect(struct world *w, int reach)
{
	const struct blame found = { .class = BLAME_COMPUTE,
				     .reach = reach,
				     .job = (char *)(uintptr_t) "research/llm-7",
				     .since_us = w->now_us,
				     .until_us = w->now_us + USEC_PER_DAY };

	fleet_set_blame(world_node(w, 3), &found);
}

static void a_suspect_is_tested_once_and_cordoned_for_no_finding(void)
{
	CLEANUP(world_release) struct world w;
	struct finding *finding;

	world_init(&w, RULES, 20);
	world_node(&w, 3)->deep_us = w.now_us - USEC_PER_HOUR;
	blame(&w, 3, BLAME_COMPUTE);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_DEEP)); /* it was tested today */
	suspect(&w, BLAME_TO_TEST);
	world_hold(&w, 3);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_DEEP)); /* ... but not since it became a suspect */
	CHECK(find(&w, 3, DECIDE_DEEP) && find(&w, 3, DECIDE_DEEP)->effect);
	later(&w, USEC_PER_MIN);
	world_node(&w, 3)->deep_us = w.now_us;
	decide(&w);
	CHECK(find(&w, 3, DECIDE_DEEP)); /* nobody ordered that run */
	world_node(&w, 3)->record.tested_us = w.now_us;
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_DEEP));
	/* After a restart a healthy host has no record: the blame contains the time. */
	world_node(&w, 3)->record.tested_us = 0;
	world_node(&w, 3)->blame.answered_us = w.now_us;
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_DEEP));
	/* A fitting check failed once: it is repeated as soon as that counts. */
	finding = note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_DEEP));
	later(&w, w.policy.jobs.retest_spacing_us);
	world_hold(&w, 3);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_DEEP));
	/* K of N alone does not lead to a cordon; together with proven blame it does. */
	CHECK(finding == note(&w, 3, "gemm.rate", SEVERITY_FAIL));
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_CORDON));
	suspect(&w, BLAME_TO_EVICT);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_CORDON));
	if (find(&w, 3, DECIDE_CORDON))
		CHECK_HAS(find(&w, 3, DECIDE_CORDON)->reason,
			  "; research/llm-7 is slow because of it");
}

static void of_a_job_that_is_diagnosed_each_host_is_tested_once_whatever_it_finds(void)
{
	CLEANUP(world_release) struct world w;
	const struct decision *test;

	world_init(&w, RULES, 20);
	suspect(&w, BLAME_TO_TEST);
	world_node(&w, 3)->blame.diagnosed = true;
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_HOLD));
	test = find(&w, 3, DECIDE_DEEP);
	CHECK(test && test->effect);
	if (test)
		CHECK_HAS(test->reason, "research/llm-7 is being diagnosed");
	later(&w, USEC_PER_MIN);
	world_node(&w, 3)->deep_us = w.now_us;
	decide(&w);
	CHECK(find(&w, 3, DECIDE_DEEP)); /* nobody ordered that run */
	world_node(&w, 3)->record.tested_us = w.now_us;
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	later(&w, w.policy.jobs.retest_spacing_us);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_DEEP) && !find(&w, 3, DECIDE_CORDON));
}

static void a_suspect_whose_test_brought_nothing_is_tested_again_ever_later(void)
{
	CLEANUP(world_release) struct world w;
	struct fleet_test busy = { .outcome = TEST_NOTHING, .deep = true };
	unsigned i;

	world_init(&w, RULES, 20);
	w.policy.hold_at_once = 0;
	for (i = 0; i < 3; i++) {
		const uint64_t wait_us = w.policy.jobs.retest_spacing_us << i;

		suspect(&w, BLAME_TO_TEST);
		world_node(&w, 3)->blame.since_us = 1;
		busy.at_us = w.now_us;
		fleet_tested(&w.fleet, world_node(&w, 3), &busy);
		later(&w, wait_us - USEC_PER_SEC);
		decide(&w);
		CHECK(!find(&w, 3, DECIDE_DEEP));
		later(&w, USEC_PER_SEC);
		decide(&w);
		CHECK(find(&w, 3, DECIDE_DEEP));
	}
}

static void a_suspect_is_kept_free_while_it_is_tested_where_there_is_room(void)
{
	static const struct {
		uint64_t at_once;
		double percent;
		int reach;
		bool held;
	} rows[] = {
		{ 1, 5, BLAME_TO_TEST, true },
		{ 0, 5, BLAME_TO_TEST, false }, /* none may be */
		{ 1, 0, BLAME_TO_TEST, false }, /* no budget */
		{ 1, 5, BLAME_TO_TELL, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(world_release) struct world w;

		world_init(&w, RULES, 20);
		w.policy.hold_at_once = rows[i].at_once;
		w.policy.total_percent = rows[i].percent;
		suspect(&w, rows[i].reach);
		decide(&w);
		CHECK_EQ(find(&w, 3, DECIDE_HOLD) != NULL, rows[i].held);
		CHECK_EQ(find(&w, 3, DECIDE_DEEP) != NULL, !rows[i].held);
	}
}

static void a_hold_ends_with_what_asked_for_it(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	suspect(&w, BLAME_TO_TEST);
	decide_and_do(&w);
	CHECK(world_node(&w, 3)->out & OUT_HOLD);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_DEEP) && !find(&w, 3, DECIDE_UNHOLD));
	fleet_set_blame(world_node(&w, 3), NULL);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_DEEP));
	CHECK_STR(find(&w, 3, DECIDE_UNHOLD) ? find(&w, 3, DECIDE_UNHOLD)->reason : NULL,
		  "n003: no test of this host is due");
	decide_and_do(&w);
	CHECK(!world_node(&w, 3)->out);
	/* After a failed test it stays while the job blames the host, and ends after a passed
	 * test. */
	suspect(&w, BLAME_TO_TEST);
	decide_and_do(&w);
	fleet_tested(
		&w.fleet, world_node(&w, 3),
		&(struct fleet_test){ .outcome = TEST_FAILED, .deep = true, .at_us = w.now_us });
	later(&w, USEC_PER_MIN);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_UNHOLD));
	fleet_tested(
		&w.fleet, world_node(&w, 3),
		&(struct fleet_test){ .outcome = TEST_PASSED, .deep = true, .at_us = w.now_us });
	decide_and_do(&w);
	CHECK(!world_node(&w, 3)->out);
	fleet_set_blame(world_node(&w, 3), NULL);
	/* A hold required by a finding lasts until it expires. */
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	world_hold(&w, 3);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_UNHOLD));
	later(&w, w.policy.hold_ttl_us);
	decide(&w);
	CHECK_STR(find(&w, 3, DECIDE_UNHOLD) ? find(&w, 3, DECIDE_UNHOLD)->reason : NULL,
		  "n003: its hold has ended");
}

static void a_test_that_is_only_told_has_no_effect(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	suspect(&w, BLAME_TO_TELL);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_DEEP));
	if (find(&w, 3, DECIDE_DEEP))
		CHECK(!find(&w, 3, DECIDE_DEEP)->effect && !find(&w, 3, DECIDE_DEEP)->refused);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	note(&w, 3, "gemm.rate", SEVERITY_FAIL);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_CORDON));
}

static void a_pair_is_tested_with_good_partners_and_each_with_its_own(void)
{
	CLEANUP(world_release) struct world w;
	const struct decision *one, *two;
	unsigned i;

	world_init(&w, "{name: pair, match: {check: 'rnic_pair.*'}, action: retest}", 20);
	for (i = 0; i < 20; i++)
		fleet_set_domain(&w.fleet, world_node(&w, i), i < 10 ? "a" : "b");
	note(&w, 12, "rnic_pair.write_bw", SEVERITY_FAIL);
	note(&w, 14, "rnic_pair.write_bw", SEVERITY_FAIL);
	world_node(&w, 10)->out = OUT_OTHERS;
	world_node(&w, 11)->reported_us = w.now_us - USEC_PER_HOUR;
	decide(&w);
	one = find(&w, 12, DECIDE_RETEST);
	two = find(&w, 14, DECIDE_RETEST);
	CHECK(one && two);
	if (!one || !two)
		return;
	CHECK_STR(one->partner, "n013"); /* not out, not silent, not suspected, near */
	CHECK_STR(two->partner, "n015");
}

static void fatal_goes_first_then_the_oldest_then_by_name(void)
{
	CLEANUP(world_release) struct world w;
	static const unsigned order[] = { 7, 9, 2, 1, 5 };
	size_t i;

	world_init(&w, RULES, 100);
	w.policy.rate_cordons = 10;
	reproduce(&w, 2, "gemm.rate");
	later(&w, USEC_PER_HOUR);
	reproduce(&w, 1, "gemm.rate");
	reproduce(&w, 5, "gemm.rate");
	note(&w, 9, "gpu.lost", SEVERITY_FATAL);
	note(&w, 7, "gpu.lost", SEVERITY_FATAL);
	decide(&w);
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		CHECK_EQ(w.out.items[i].action, DECIDE_CORDON);
		CHECK(w.out.items[i].node == world_node(&w, order[i]));
	}
}

/* After a restart the caller only has the begin of a finding, and when it was last seen. */
static void a_person_s_uncordon_holds_over_a_restart(void)
{
	static const struct {
		uint64_t before_us, after_us;
		size_t cordons;
	} cases[] = {
		{ USEC_PER_HOUR, 0, 0 },
		{ 0, USEC_PER_HOUR, 1 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(world_release) struct world w;
		struct finding_news news = { .check = "gpu.lost",
					     .subject = "gpu:3",
					     .severity = SEVERITY_FATAL };

		world_init(&w, RULES, 20);
		news.since_us = w.now_us - cases[i].before_us + cases[i].after_us;
		happens(&w, 3, EVENT_CORDONED);
		happens(&w, 3, EVENT_UNCORDONED);
		later(&w, 2 * USEC_PER_HOUR);
		news.seen_us = w.now_us;
		CHECK(fleet_note(&w.fleet, world_node(&w, 3), &news) != NULL);
		decide_and_do(&w);
		CHECK_EQ(world_node(&w, 3)->out & OUT_OURS ? 1 : 0, cases[i].cordons);
	}
}

static const struct test tests[] = {
	TEST(a_fatal_signature_cordons_at_once_and_once),
	TEST(a_slow_part_is_cordoned_when_its_tests_failed_again),
	TEST(three_tests_that_pass_end_the_finding_of_a_value),
	TEST(a_test_that_fails_breaks_the_row_of_those_that_passed),
	TEST(one_test_that_passes_ends_an_event),
	TEST(a_test_that_finds_a_part_born_slow_again_proves_nothing),
	TEST(a_part_born_slow_is_born_so_when_it_is_low_for_once),
	TEST(a_host_is_slow_as_a_whole_when_half_of_its_other_parts_are),
	TEST(what_only_waits_for_time_says_until_when),
	TEST(every_action_leads_where_it_says),
	TEST(an_event_that_comes_back_is_reproduced),
	TEST(a_value_that_comes_back_is_not_reproduced),
	TEST(one_part_that_always_was_slow_needs_a_job_that_suffers),
	TEST(a_slow_job_confirms_what_was_found_and_asks_where_nothing_was),
	TEST(a_slow_job_confirms_only_what_fits_what_it_says_and_when),
	TEST(a_slow_job_confirms_a_pair_once_a_good_partner_did),
	TEST(a_test_that_a_job_asks_for_names_the_job),
	TEST(a_suspect_is_tested_once_and_cordoned_for_no_finding),
	TEST(of_a_job_that_is_diagnosed_each_host_is_tested_once_whatever_it_finds),
	TEST(a_suspect_whose_test_brought_nothing_is_tested_again_ever_later),
	TEST(a_suspect_is_kept_free_while_it_is_tested_where_there_is_room),
	TEST(a_hold_ends_with_what_asked_for_it),
	TEST(a_test_that_is_only_told_has_no_effect),
	TEST(a_pair_is_tested_with_good_partners_and_each_with_its_own),
	TEST(fatal_goes_first_then_the_oldest_then_by_name),
	TEST(a_person_s_uncordon_holds_over_a_restart),
};

TEST_SUITE(tests);
