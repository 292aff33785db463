/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_facts.h"

#include <stdlib.h>

#include "controller/fleet/host_speeds.h"
#include "controller/job/pair_record.h"
#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/policy/rungs.h"
#include "lib/report/report.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

#define NOW (1000 * USEC_PER_DAY)
#define SUSPECTED (NOW - USEC_PER_HOUR)

/* Minutes after the suspicion. */
static uint64_t after(unsigned minutes)
{
	return SUSPECTED + minutes * USEC_PER_MIN;
}

/* gpu-17 among four equal hosts. */
struct scene {
	struct fleet fleet;
	struct fleet_node *node;
	json_t *actions; /* newest first */
	struct policy policy;
	struct job_facts_source source;
	struct job_facts facts;
};

static void scene_init(struct scene *s)
{
	static const char *const names[] = { "gpu-16", "gpu-17", "gpu-18", "gpu-19" };
	static const char *const usual[] = { "bios=2.4", "kernel=6.1" };
	size_t i;

	memset(s, 0, sizeof(*s));
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct fleet_node *node = fleet_need(&s->fleet, names[i], NOW - USEC_PER_DAY);

		fleet_set_sku(&s->fleet, node, "hgx");
		fleet_set_settings(&s->fleet, node, usual, ARRAY_SIZE(usual));
	}
	s->node = fleet_find(&s->fleet, "gpu-17");
	s->actions = json_array();
	s->policy = policy_init();
	s->source = (struct job_facts_source){ .fleet = &s->fleet,
					       .policy = &s->policy,
					       .node = s->node,
					       .actions = s->actions,
					       .placed = true,
					       .boot_us = NOW - USEC_PER_DAY,
					       .suspected_us = SUSPECTED };
}

static void scene_release(struct scene *s)
{
	json_decref(s->actions);
	fleet_release(&s->fleet);
	policy_release(&s->policy);
}

static const struct job_judge_host *facts(struct scene *s)
{
	job_facts_of("gpu-17", &s->source, &s->facts);
	return &s->facts.host;
}

static json_t *stamp(uint64_t us)
{
	char text[CLOCK_STAMP_SIZE];

	clock_stamp(us, text);
	return us ? json_string(text) : json_null();
}

/* Adds a later test; `check` NULL: of the whole host; `result` NULL: in progress. */
static void test(struct scene *s, unsigned at_min, const char *check, const char *result)
{
	(void)json_array_insert_new(s->actions, 0,
				    json_pack("{s:s, s:s, s:s, s:{s:s*}, s:s?, s:o, s:o}", "id",
					      "7", "action", "retest", "state",
					      result ? "done" : "decided", "evidence", "check",
					      check, "result", result, "at", stamp(after(at_min)),
					      "done", stamp(result ? after(at_min + 1) : 0)));
}

static struct finding *find_bad(struct scene *s, const char *check, int severity, uint64_t seen_us)
{
	const struct finding_news news = { .check = check,
					   .subject = "gpu:3",
					   .severity = severity,
					   .source = SOURCE_FLEET,
					   .seen_us = seen_us };

	return fleet_note(&s->fleet, s->node, &news);
}

static void a_host_of_which_nothing_was_found(void)
{
	CLEANUP(scene_release) struct scene s;
	const struct job_judge_host *host;

	scene_init(&s);
	host = facts(&s);
	CHECK(host->placed && host->idle && !host->booted && !host->fatal &&
	      !host->differs[BLAME_COMPUTE]);
	CHECK_EQ(host->n_failures, 0);
	CHECK_EQ(host->ladders[BLAME_COMPUTE], LADDER_NOT_RUN);
	CHECK(!host->clean[BLAME_COMPUTE]); /* no test was run */
	CHECK_EQ(host->suspected_us, SUSPECTED);
	s.source.busy = s.source.booted = true;
	s.node->record.ordered_us = after(1);
	host = facts(&s);
	CHECK(!host->idle && host->booted);
	CHECK_EQ(host->ladders[BLAME_LAUNCH], LADDER_RUNNING);
	s.source.node = NULL;
	CHECK(!facts(&s)->placed); /* the cluster has no such host */
}

/* It waits until the cluster has reported the jobs on it, if the cluster does that. */
static void a_host_whose_jobs_are_not_known_yet_is_not_idle(void)
{
	static const struct {
		bool tells, known, busy, ordered;
		int mode;
		bool idle;
	} rows[] = {
		{ false, false, false, false, MODE_ENFORCE, true },
		{ false, false, true, false, MODE_ENFORCE, false },
		{ true, true, false, false, MODE_ENFORCE, true },
		{ true, true, true, false, MODE_ENFORCE, false },
		{ true, false, false, false, MODE_ENFORCE, false },
		{ true, false, false, false, MODE_DRY_RUN, false },
		{ true, false, false, false, MODE_OBSERVE, true }, /* it is not asked then */
		{ true, false, false, true, MODE_ENFORCE, true },  /* a test is under way */
	};
	static const char *const jobs[] = { "research/llm-7" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(scene_release) struct scene s;

		scene_init(&s);
		s.policy.mode = s.policy.jobs.mode = rows[i].mode;
		s.fleet.tells_jobs = rows[i].tells;
		if (rows[i].known)
			fleet_set_jobs(&s.fleet, s.node, jobs, rows[i].busy);
		else
			s.source.busy = rows[i].busy;
		s.node->record.ordered_us = rows[i].ordered ? after(1) : 0;
		CHECK_EQ(facts(&s)->idle, rows[i].idle);
	}
}

static void tests_that_failed_in_a_row_are_counted(void)
{
	CLEANUP(scene_release) struct scene s;
	const struct job_judge_failure *f;

	scene_init(&s);
	test(&s, 2, NULL, "it failed again");
	test(&s, 10, "gemm.rate", "it failed again");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(3));
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(11));
	CHECK_EQ(facts(&s)->n_failures, 1);
	f = &s.facts.failures[0];
	CHECK_STR(f->check, "gemm.rate");
	CHECK_EQ(f->n_failed, 2);
	CHECK_EQ(f->failed_us[0], after(3));
	CHECK_EQ(f->failed_us[1], after(11));
	CHECK_EQ(f->ordered_us, after(2));
	CHECK(f->same_boot && f->idle && f->reference);
	s.source.booted = true;
	facts(&s);
	CHECK(!s.facts.failures[0].same_boot);
	/* A pass ends the series of failures, but not that of another check; a pending test does
	 * not count. */
	test(&s, 20, "memory.h2d_bw", "it passed");
	test(&s, 22, "gemm.rate", NULL);
	facts(&s);
	CHECK_EQ(s.facts.failures[0].n_failed, 2);
	test(&s, 25, NULL, "it passed");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(30));
	facts(&s);
	CHECK_EQ(s.facts.failures[0].n_failed, 1); /* seen, but not ordered */
	CHECK_EQ(s.facts.failures[0].ordered_us, 0);
}

static void a_test_of_the_whole_host_fails_for_what_was_bad_then(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	test(&s, 2, NULL, "it failed again");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(20)); /* later */
	facts(&s);
	CHECK_EQ(s.facts.failures[0].ordered_us, 0);
	find_bad(&s, "memory.h2d_bw", SEVERITY_FAIL, SUSPECTED - USEC_PER_HOUR); /* long before */
	facts(&s);
	CHECK_EQ(s.facts.host.n_failures, 2);
	CHECK_EQ(s.facts.failures[1].ordered_us, 0);
}

static void what_nothing_was_held_against_is_no_reference(void)
{
	CLEANUP(scene_release) struct scene s;
	struct finding *finding;

	scene_init(&s);
	finding = find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(1));
	finding->source = SOURCE_SELF;
	facts(&s);
	CHECK(!s.facts.failures[0].reference);
	finding->shared = true; /* of a rack or a setting, not of this host */
	CHECK_EQ(facts(&s)->n_failures, 0);
	finding->shared = false;
	finding->fatal_us = after(1);
	CHECK(facts(&s)->fatal);
}

static void a_host_that_is_set_up_otherwise_differs(void)
{
	static const char *const other[] = { "bios=2.5", "kernel=6.1" };
	static const char *const more[] = { "bios=2.4", "kernel=6.1", "only=here" };
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	fleet_set_settings(&s.fleet, s.node, more, ARRAY_SIZE(more));
	CHECK(!facts(&s)->differs[BLAME_COMPUTE]); /* no other host has the key */
	fleet_set_settings(&s.fleet, s.node, other, ARRAY_SIZE(other));
	CHECK(facts(&s)->differs[BLAME_COMPUTE]);
	fleet_set_settings(&s.fleet, fleet_find(&s.fleet, "gpu-18"), other, ARRAY_SIZE(other));
	CHECK(!facts(&s)->differs[BLAME_COMPUTE]); /* half of them: there is no majority */
	fleet_set_sku(&s.fleet, s.node, "dgx");
	CHECK(!facts(&s)->differs[BLAME_COMPUTE]); /* it is alone */
}

static void only_what_can_slow_it_so_makes_a_host_differ(void)
{
	static const struct {
		const char *usual, *other;
		bool compute, link, launch, compute_of_group;
	} rows[] = {
		{ "gpu.vbios=96.00.74", "gpu.vbios=96.00.61", false, false, false, false },
		{ "gpu.power_limit=700 W", "gpu.power_limit=500 W", true, false, false, true },
		{ "rnic.mtu=4096 9000", "rnic.mtu=1024 1500", false, true, false, true },
		{ "host.cpu_governor=performance", "host.cpu_governor=powersave", false, false,
		  true, false },
		{ "new.thing=1", "new.thing=2", true, true, true, true },
	};
	static const char *const names[] = { "gpu-16", "gpu-17", "gpu-18", "gpu-19" };
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(scene_release) struct scene s;

		scene_init(&s);
		for (k = 0; k < ARRAY_SIZE(names); k++)
			fleet_set_settings(&s.fleet, fleet_find(&s.fleet, names[k]), &rows[i].usual,
					   1);
		fleet_set_settings(&s.fleet, s.node, &rows[i].other, 1);
		CHECK_EQ(facts(&s)->differs[BLAME_COMPUTE], rows[i].compute);
		CHECK_EQ(facts(&s)->differs[BLAME_LINK], rows[i].link);
		CHECK_EQ(facts(&s)->differs[BLAME_FABRIC], rows[i].link);
		CHECK_EQ(facts(&s)->differs[BLAME_LAUNCH], rows[i].launch);
		s.source.group = 1;
		CHECK_EQ(facts(&s)->differs[BLAME_COMPUTE], rows[i].compute_of_group);
	}
}

static int ladder(struct scene *s)
{
	return facts(s)->ladders[BLAME_COMPUTE];
}

static void a_ladder_ends_with_a_test_of_the_whole_host_that_answers(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	test(&s, 2, "gemm.rate", "it passed");
	CHECK_EQ(ladder(&s), LADDER_NOT_RUN); /* one check is not all of it */
	test(&s, 4, NULL, "it brought nothing");
	CHECK_EQ(ladder(&s), LADDER_NOT_RUN);
	test(&s, 6, NULL, "it passed");
	CHECK_EQ(ladder(&s), LADDER_EXHAUSTED);
	CHECK_EQ(s.facts.host.ladders[BLAME_LAUNCH], LADDER_EXHAUSTED);
	/* Those need other hosts: pairs are next, and there is no other campaign. */
	CHECK_EQ(s.facts.host.ladders[BLAME_LINK], LADDER_RUNNING);
	CHECK_EQ(s.facts.host.ladders[BLAME_FABRIC], LADDER_NOT_RUN);
	s.node->record.ordered_us = after(8);
	CHECK_EQ(ladder(&s), LADDER_RUNNING);
	s.node->record.ordered_us = 0;
	/* Ordered before it was a suspect, or before it was acquitted. */
	s.source.suspected_us = after(6) + USEC_PER_MSEC;
	CHECK_EQ(ladder(&s), LADDER_NOT_RUN);
	s.source.suspected_us = 0;
	CHECK_EQ(ladder(&s), LADDER_NOT_RUN);
	s.source.suspected_us = SUSPECTED;
	s.source.acquitted_us = after(7);
	CHECK_EQ(ladder(&s), LADDER_NOT_RUN);
	s.source.acquitted_us = 0;
	/* Answered in another boot than the current one; or the boot is unknown. */
	s.source.boot_us = after(7) + USEC_PER_MSEC;
	CHECK_EQ(ladder(&s), LADDER_NOT_RUN);
	CHECK_EQ(s.facts.host.answered_us, 0);
	s.source.boot_us =
		after(7) + USEC_PER_MSEC - 1; /* the resolution of the answer's timestamp */
	CHECK_EQ(ladder(&s), LADDER_EXHAUSTED);
	CHECK_EQ(s.facts.host.answered_us, after(7));
	s.source.boot_us = 0;
	CHECK_EQ(ladder(&s), LADDER_RUNNING);
}

static void a_ladder_goes_on_while_a_failure_is_to_be_repeated(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.policy.retest_times = 2;
	test(&s, 2, NULL, "it failed again");
	find_bad(&s, "rnic.errors", SEVERITY_FAIL, after(3));
	CHECK_EQ(ladder(&s), LADDER_EXHAUSTED); /* the failure does not affect this class */
	CHECK_HAS(s.facts.host.missing[BLAME_COMPUTE], "once its failures are fixed");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(3));
	CHECK_EQ(ladder(&s), LADDER_RUNNING);
	test(&s, 5, NULL, "it failed again");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(6));
	CHECK_EQ(ladder(&s), LADDER_RUNNING); /* not far enough from the first */
	test(&s, 9, NULL, "it failed again");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(10));
	CHECK_EQ(ladder(&s), LADDER_EXHAUSTED);
	CHECK(!s.facts.host.clean[BLAME_COMPUTE]);
	/* Failures from before it became a suspect do not count. */
	s.source.suspected_us = after(4);
	CHECK_EQ(ladder(&s), LADDER_RUNNING);
	CHECK_EQ(s.facts.failures[0].ordered_us, after(5));
}

/* A full run in which these tests passed. */
static void passes(struct scene *s, struct store_whole *run, struct verdict_item *items, size_t n)
{
	*run = (struct store_whole){
		.boot = "b0",
		.profile = RUNGS_WHOLE,
		.at_us = after(6),
		.level = VERDICT_PASS,
		.items = items,
		.n_items = n,
	};
	s->source.run = run;
	s->source.run_of_now = true;
}

static char rate[] = "gemm.rate";
static char h2d[] = "memory.h2d_bw", clocks[] = "gpu.clocks", chain[] = "gemm.chain",
	    nic[] = "loopback.write_bw", data[] = "gemm.correct";
static const struct {
	const char *because;
	struct verdict_item items[3];
	bool compute, launch;
	const char *missing; /* of compute */
} passed[] = {
	{ "all of it was",
	  { { rate, .held = HELD_FLEET },
	    { h2d, .held = HELD_FLEET },
	    { clocks, .held = HELD_NEVER } },
	  true,
	  false,
	  NULL },
	{ "launches as well",
	  { { rate, .held = HELD_FLEET },
	    { h2d, .held = HELD_FLEET },
	    { chain, .held = HELD_FLEET } },
	  true,
	  true,
	  NULL },
	{ "no peers",
	  { { rate, .held = HELD_NOT }, { h2d, .held = HELD_NOT } },
	  false,
	  false,
	  "gemm.rate compared with other hosts" },
	{ "one without peers",
	  { { rate, .held = HELD_FLEET }, { h2d, .held = HELD_NOT } },
	  false,
	  false,
	  "memory.h2d_bw compared with other hosts" },
	{ "of an old store",
	  { { rate, .held = HELD_FLEET }, { h2d, .held = HELD_UNKNOWN } },
	  false,
	  false,
	  "memory.h2d_bw compared with" },
	{ "what cannot show it",
	  { { rate, .held = HELD_FLEET }, { nic, .held = HELD_NOT }, { data, .held = HELD_NOT } },
	  true,
	  false,
	  NULL },
	{ "gemm is missing",
	  { { h2d, .held = HELD_FLEET }, { clocks, .held = HELD_NEVER } },
	  false,
	  false,
	  "gemm compared with other hosts of its SKU, same parameters, which" },
	{ "states alone", { { clocks, .held = HELD_NEVER } }, false, false, "gemm compared" },
	{ "only recorded", { { rate, .held = HELD_NEVER } }, false, false, "gemm compared" },
	{ "nothing", { { NULL } }, false, false, "gemm compared" },
};

static void a_host_is_clean_that_passed_beside_others(void)
{
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(passed); i++) {
		CLEANUP(scene_release) struct scene s;
		struct verdict_item items[3];
		struct store_whole run;

		scene_init(&s);
		test(&s, 5, NULL, "it passed");
		memcpy(items, passed[i].items, sizeof(items));
		for (n = 0; n < ARRAY_SIZE(items) && items[n].check; n++)
			;
		passes(&s, &run, items, n);
		CHECK_EQ(facts(&s)->clean[BLAME_COMPUTE], passed[i].compute);
		CHECK_EQ(s.facts.host.clean[BLAME_LAUNCH], passed[i].launch);
		CHECK(!s.facts.host.clean[BLAME_LINK] && !s.facts.host.clean[BLAME_FABRIC]);
		if (passed[i].missing)
			CHECK_HAS(s.facts.host.missing[BLAME_COMPUTE], passed[i].missing);
		else
			CHECK(!s.facts.host.missing[BLAME_COMPUTE]);
	}
}

/* Results of an investigation for pairs with gpu-17. */
static json_t *pairs_say(int end, bool over, const char *tells)
{
	json_t *ends = json_pack("[s, s]", "gpu-17", "gpu-18");
	json_t *entry = pair_record_new(PAIR_RECORD_LINK, ends, after(7));

	json_decref(ends);
	if (end >= 0)
		pair_record_say(entry, "gpu-17", end, tells);
	if (over)
		(void)json_object_set_new(entry, "over", stamp(after(9)));
	return entry;
}

static const struct {
	int end; /* enum blame_end; -1: none */
	bool over;
	int ladder;
	bool clean;
} links[] = {
	{ -1, false, LADDER_RUNNING, false },
	{ END_GOOD, false, LADDER_EXHAUSTED, true }, /* at once, although the other end continues */
	{ END_BETWEEN, true, LADDER_EXHAUSTED, true },
	{ END_BAD, false, LADDER_RUNNING, false }, /* it is to be repeated */
	{ END_BAD, true, LADDER_EXHAUSTED, false },
	{ END_UNKNOWN, true, LADDER_EXHAUSTED, false },
};

static void a_link_goes_on_with_pairs_once_its_end_passed_by_itself(void)
{
	struct verdict_item item = { .check = rate, .held = HELD_FLEET };
	struct store_whole run;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(links); i++) {
		CLEANUP(json_freep)
		json_t *entry = pairs_say(links[i].end, links[i].over, "another third host");
		CLEANUP(scene_release) struct scene s;

		scene_init(&s);
		s.source.pairs = entry;
		CHECK_EQ(facts(&s)->ladders[BLAME_LINK], LADDER_NOT_RUN); /* it is not tested yet */
		test(&s, 5, NULL, "it passed");
		passes(&s, &run, &item, 1);
		CHECK_EQ(facts(&s)->ladders[BLAME_LINK], links[i].ladder);
		CHECK_EQ(s.facts.host.clean[BLAME_LINK], links[i].clean);
		CHECK(s.facts.alone && s.facts.alone_passed && !s.facts.host.clean[BLAME_FABRIC]);
		CHECK_EQ(s.facts.host.end, MAX(links[i].end, 0));
		if (links[i].ladder == LADDER_EXHAUSTED && !links[i].clean)
			CHECK_STR(s.facts.host.missing[BLAME_LINK], "another third host");
		CHECK_EQ(s.facts.host.ladders[BLAME_COMPUTE], LADDER_EXHAUSTED);
	}
}

/* gpu-17 is in a group that is blamed as a whole. */
static void a_group_goes_on_with_others_once_its_host_passed_by_itself(void)
{
	struct verdict_item item = { .check = rate, .held = HELD_FLEET };
	struct store_whole run;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(links); i++) {
		CLEANUP(json_freep)
		json_t *entry = pairs_say(links[i].end, links[i].over, "another third host");
		CLEANUP(scene_release) struct scene s;

		scene_init(&s);
		s.source.group = 17;
		s.source.group_class = BLAME_COMPUTE;
		CHECK_EQ(facts(&s)->ladders[BLAME_COMPUTE], LADDER_NOT_RUN);
		test(&s, 5, NULL, "it passed");
		passes(&s, &run, &item, 1);
		CHECK(facts(&s)->awaits &&
		      !s.facts.host.clean[BLAME_COMPUTE]); /* no campaign yet */
		s.source.pairs = entry;
		CHECK_EQ(facts(&s)->ladders[BLAME_COMPUTE], links[i].ladder);
		CHECK_EQ(s.facts.host.awaits, links[i].ladder == LADDER_RUNNING);
		CHECK_EQ(s.facts.host.clean[BLAME_COMPUTE], links[i].clean);
		CHECK(s.facts.alone && s.facts.alone_passed && !s.facts.failing);
		if (links[i].ladder == LADDER_EXHAUSTED && !links[i].clean)
			CHECK_STR(s.facts.host.missing[BLAME_COMPUTE], "another third host");
		CHECK_EQ(s.facts.host.ladders[BLAME_LAUNCH], LADDER_EXHAUSTED);
	}
}

static void one_of_a_group_that_failed_once_clears_the_others(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.source.group = 17;
	s.source.group_class = BLAME_COMPUTE;
	s.policy.retest_times = 2;
	test(&s, 2, NULL, "it failed again");
	find_bad(&s, "loopback.write_bw", SEVERITY_FAIL, after(3));
	CHECK(!facts(&s)->awaits && !s.facts.failing); /* that does not fit */
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(3));
	CHECK_EQ(facts(&s)->ladders[BLAME_COMPUTE], LADDER_RUNNING);
	CHECK(s.facts.failing && !s.facts.alone && !s.facts.host.awaits);
}

static void an_end_that_fails_by_itself_is_bad_without_pairs(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.policy.retest_times = 2;
	test(&s, 2, NULL, "it failed again");
	find_bad(&s, "loopback.write_bw", SEVERITY_FAIL, after(3));
	CHECK_EQ(facts(&s)->ladders[BLAME_LINK], LADDER_RUNNING);
	CHECK(!s.facts.alone);
	test(&s, 9, NULL, "it failed again");
	find_bad(&s, "loopback.write_bw", SEVERITY_FAIL, after(10));
	CHECK_EQ(facts(&s)->end, END_BAD);
	CHECK(s.facts.alone && !s.facts.alone_passed && !s.facts.host.clean[BLAME_LINK]);
	/* The run that found it was not ordered: it leads to a test but proves nothing. */
	s.source.suspected_us = after(20);
	CHECK_EQ(facts(&s)->end, END_UNKNOWN);
}

static void add_run(json_t *entry, unsigned at_min, const char *said)
{
	(void)json_array_append_new(json_object_get(entry, "runs"),
				    json_pack("{s:o, s:o, s:{s:s}}", "at", stamp(after(at_min)),
					      "done", stamp(after(at_min + 1)), "ends", "gpu-17",
					      said));
}

static void pairs_that_were_slow_in_a_row_count_as_tests_that_failed(void)
{
	CLEANUP(json_freep) json_t *entry = pairs_say(END_BAD, false, NULL);
	CLEANUP(scene_release) struct scene s;
	const struct job_judge_failure *f = &s.facts.failures[0];

	scene_init(&s);
	test(&s, 5, NULL, "it passed");
	find_bad(&s, "rnic_pair.write_bw", SEVERITY_FAIL, after(12))->reproduced = 2;
	CHECK_EQ(facts(&s)->n_failures, 1);
	CHECK_EQ(f->ordered_us, 0); /* no investigation asked for it */
	s.source.pairs = entry;
	add_run(entry, 8, "bad");
	add_run(entry, 9, "good");
	add_run(entry, 10, "bad");
	add_run(entry, 16, "unknown"); /* nothing ran */
	add_run(entry, 20, "bad");
	CHECK_EQ(facts(&s)->n_failures, 1);
	CHECK_EQ(f->n_failed, 2);
	CHECK_EQ(f->ordered_us, after(10));
	CHECK_EQ(f->failed_us[1], after(21));
	CHECK(f->same_boot && f->partner_good && f->reference && s.facts.host.end == END_BAD);
	/* Results from another boot, or from before its acquittal, do not count. */
	CHECK_EQ(job_facts_pairs_since(&s.source), SUSPECTED);
	s.source.boot_us = after(30);
	CHECK_EQ(job_facts_pairs_since(&s.source), after(30));
	s.source.acquitted_us = after(40);
	CHECK_EQ(job_facts_pairs_since(&s.source), after(40));
	s.source.suspected_us = 0;
	CHECK_EQ(job_facts_pairs_since(&s.source), UINT64_MAX);
}

static void the_newest_pairs_since_then_are_found(void)
{
	CLEANUP(json_freep) json_t *entry = pairs_say(END_BAD, true, NULL);
	CLEANUP(json_freep)
	json_t *all = json_pack("[{}, {s:n}, {s:[O, O]}]", "pairs", "pairs", entry, entry);

	CHECK(pair_record_find(all, "gpu-17", after(7)) == entry);
	CHECK(pair_record_find(all, "gpu-18", after(7)) == entry);
	CHECK(!pair_record_find(all, "gpu-17", after(8)) && !pair_record_find(all, "gpu-1", 0));
	CHECK(pair_record_has(json_object_get(json_array_get(all, 2), "pairs"), "gpu-18"));
	CHECK_EQ(pair_record_end(NULL, "gpu-17"), END_UNKNOWN);
	CHECK(!pair_record_is_over(NULL, "gpu-17") && !pair_record_text(NULL));
}

/* It passes, but its usual speed is in the tail where good hosts are rare. */
static void a_host_that_passes_and_is_in_the_tail_is_slow(void)
{
	static const struct {
		double speed, low;
		const char *result;
		bool slow;
	} rows[] = {
		{ 0.85, 0.875, "it passed", true },
		{ 0.875, 0.875, "it passed", false },
		{ 0.95, 0.875, "it passed", false },
		{ 0.85, 0, "it passed", false }, /* the begin of the tail is unknown */
		{ 0.85, 0.875, "it failed again", false },
		{ 0.85, 0.875, "it brought nothing", false },
		{ 0.85, 0.875, NULL, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct host_speed speed = { .speed = rows[i].speed,
						  .good.low = rows[i].low,
						  .sure = true };
		CLEANUP(scene_release) struct scene s;
		struct verdict_item items[] = { { rate, .held = HELD_FLEET } };
		struct store_whole run;

		scene_init(&s);
		test(&s, 5, NULL, rows[i].result);
		passes(&s, &run, items, ARRAY_SIZE(items));
		s.source.speed = &speed;
		CHECK_EQ(facts(&s)->slow[BLAME_COMPUTE], rows[i].slow);
		CHECK_EQ(s.facts.host.is_low[BLAME_COMPUTE], rows[i].speed < rows[i].low);
		CHECK(!s.facts.host.slow[BLAME_LAUNCH] && !s.facts.host.slow[BLAME_LINK]);
		if (rows[i].slow)
			CHECK(s.facts.host.speed < s.facts.host.low);
		s.source.suspected_us = after(6); /* the test was before */
		CHECK(!facts(&s)->slow[BLAME_COMPUTE]);
	}
}

static void worse_evidence_is_never_clean(void)
{
	struct verdict_item item = { .check = rate, .held = HELD_FLEET };
	struct store_whole run;
	unsigned flaw;

	for (flaw = 0; flaw < 9; flaw++) {
		CLEANUP(scene_release) struct scene s;

		scene_init(&s);
		test(&s, 5, NULL, flaw == 1 ? "it failed again" : "it passed");
		passes(&s, &run, &item, 1);
		if (flaw == 2)
			run.level = VERDICT_WARN;
		if (flaw == 3)
			run.level = VERDICT_INCONCLUSIVE;
		if (flaw == 4)
			run.at_us = after(5) - 1; /* it is not what that test measured */
		s.source.run_of_now = flaw != 5;
		if (flaw == 6)
			s.source.run = NULL;
		if (flaw == 7)
			s.source.boot_us = 0;
		if (flaw == 8) {
			test(&s, 20, NULL, "it failed again"); /* the latest result decides */
			find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(21));
		}
		CHECK_EQ(facts(&s)->clean[BLAME_COMPUTE], flaw == 0);
	}
}

/* For any tests, runs and findings: only a host with a recent good answer is clean. */
static void no_history_makes_a_host_clean_but_a_last_test_that_passed(void)
{
	static const char *const results[] = { NULL, "it passed", "it failed again",
					       "it brought nothing" };
	static const char *const checks[] = { NULL, "gemm.rate" };
	struct random random = random_seeded(7);
	unsigned round, i, clean = 0;

	for (round = 0; round < 2000; round++) {
		CLEANUP(scene_release) struct scene s;
		struct verdict_item item = { .check = rate };
		struct store_whole run;
		const unsigned n = (unsigned)random_below(&random, 5);
		const char *last = NULL;

		scene_init(&s);
		for (i = 0; i < n; i++) {
			const char *check = checks[random_below(&random, 2)];
			const char *result = results[random_below(&random, 4)];
			const bool answers = result && !streq(result, "it brought nothing");

			test(&s, 5 * i, check, result);
			if (!check && answers)
				last = result;
		}
		item.held = (int)random_below(&random, HELD_STATES);
		passes(&s, &run, &item, 1);
		run.at_us = after((unsigned)random_below(&random, 40));
		run.level = (int)random_below(&random, 4);
		s.source.run_of_now = random_below(&random, 8) > 0;
		if (random_below(&random, 2))
			find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(1));
		if (!facts(&s)->clean[BLAME_COMPUTE])
			continue;
		clean++;
		CHECK(streq(last, "it passed") && run.level == VERDICT_PASS);
		CHECK(item.held == HELD_FLEET && s.source.run_of_now);
		CHECK_EQ(s.facts.host.ladders[BLAME_COMPUTE], LADDER_EXHAUSTED);
	}
	CHECK(clean > 10);
}

static void tests_are_shown_since_the_suspicion(void)
{
	CLEANUP(scene_release) struct scene s;
	CLEANUP(json_freep) json_t *tests = NULL;
	const json_t *last;

	scene_init(&s);
	test(&s, 0, NULL, "it failed again");
	test(&s, 5, NULL, "it passed");
	test(&s, 9, "gemm.rate", NULL);
	(void)json_object_set_new(json_array_get(s.actions, 0), "state", json_string("decided"));
	tests = job_facts_tests("gpu-17", s.actions, after(1));
	CHECK_EQ(json_array_size(tests), 2);
	CHECK_STR(json_string_value(json_object_get(json_array_get(tests, 0), "result")),
		  "it passed");
	last = json_array_get(tests, 1);
	CHECK_STR(json_string_value(json_object_get(last, "check")), "gemm.rate");
	CHECK(json_is_null(json_object_get(last, "done")));
	CHECK(json_is_null(json_object_get(last, "result")));
}

static void its_last_test_is_known_whatever_came_of_it(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	test(&s, 0, NULL, "it passed");
	s.source.suspected_us = after(1);
	CHECK_EQ(facts(&s)->asked_us, 0); /* it was before */
	test(&s, 5, NULL, "it passed");
	CHECK_EQ(facts(&s)->asked_us, after(5));
	test(&s, 9, "gemm.rate", NULL);
	CHECK_EQ(facts(&s)->asked_us, after(9)); /* it is under way */
	s.source.suspected_us = 0;
	CHECK_EQ(facts(&s)->asked_us, 0);
	CHECK_EQ(facts(&s)->heard_us, s.node->reported_us);
}

static const struct test tests[] = {
	TEST(a_host_of_which_nothing_was_found),
	TEST(a_host_whose_jobs_are_not_known_yet_is_not_idle),
	TEST(tests_that_failed_in_a_row_are_counted),
	TEST(a_test_of_the_whole_host_fails_for_what_was_bad_then),
	TEST(what_nothing_was_held_against_is_no_reference),
	TEST(a_host_that_is_set_up_otherwise_differs),
	TEST(only_what_can_slow_it_so_makes_a_host_differ),
	TEST(a_ladder_ends_with_a_test_of_the_whole_host_that_answers),
	TEST(a_ladder_goes_on_while_a_failure_is_to_be_repeated),
	TEST(a_host_is_clean_that_passed_beside_others),
	TEST(a_link_goes_on_with_pairs_once_its_end_passed_by_itself),
	TEST(a_group_goes_on_with_others_once_its_host_passed_by_itself),
	TEST(one_of_a_group_that_failed_once_clears_the_others),
	TEST(an_end_that_fails_by_itself_is_bad_without_pairs),
	TEST(pairs_that_were_slow_in_a_row_count_as_tests_that_failed),
	TEST(the_newest_pairs_since_then_are_found),
	TEST(a_host_that_passes_and_is_in_the_tail_is_slow),
	TEST(worse_evidence_is_never_clean),
	TEST(no_history_makes_a_host_clean_but_a_last_test_that_passed),
	TEST(tests_are_shown_since_the_suspicion),
	TEST(its_last_test_is_known_whatever_came_of_it),
};

TEST_SUITE(tests);
