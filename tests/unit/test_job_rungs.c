/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a host that is tested rung by rung: controller/job/job_facts.h. */
#include <stdlib.h>

#include "controller/job/job_facts.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/policy/rungs.h"
#include "lib/report/report.h"
#include "tests/unit/test.h"

#define NOW (1000 * USEC_PER_DAY)
#define SUSPECTED (NOW - USEC_PER_HOUR)

/* Minutes after the suspicion. */
static uint64_t after(unsigned minutes)
{
	return SUSPECTED + minutes * USEC_PER_MIN;
}

struct scene {
	struct fleet fleet;
	json_t *actions; /* newest first */
	struct policy policy;
	struct job_facts_source source;
	struct job_facts facts;
};

static void scene_init(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	s->actions = json_array();
	s->policy = policy_init();
	s->source = (struct job_facts_source){
		.fleet = &s->fleet,
		.policy = &s->policy,
		.node = fleet_need(&s->fleet, "gpu-17", NOW - USEC_PER_DAY),
		.actions = s->actions,
		.placed = true,
		.boot_us = NOW - USEC_PER_DAY,
		.suspected_us = SUSPECTED,
	};
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

static int ladder(struct scene *s)
{
	return facts(s)->ladders[BLAME_COMPUTE];
}

static json_t *stamp(uint64_t us)
{
	char text[CLOCK_STAMP_SIZE];

	clock_stamp(us, text);
	return json_string(text);
}

/* A later test of the whole host than those before. */
static void rung(struct scene *s, unsigned at_min, const char *profile, const char *result)
{
	(void)json_array_insert_new(
		s->actions, 0,
		json_pack("{s:s, s:s, s:s, s:{s:s}, s:s, s:o, s:o}", "id", "7", "action", "retest",
			  "state", "done", "evidence", "profile", profile, "result", result, "at",
			  stamp(after(at_min)), "done", stamp(after(at_min + 1))));
}

static void find_bad(struct scene *s, const char *check, int severity, uint64_t seen_us)
{
	const struct finding_news news = { .check = check,
					   .subject = "gpu:3",
					   .severity = severity,
					   .source = SOURCE_FLEET,
					   .seen_us = seen_us };

	(void)fleet_note(&s->fleet, fleet_find(&s->fleet, "gpu-17"), &news);
}

static const struct job_judge_rung *next(const struct scene *s)
{
	return &s->facts.host.rungs[BLAME_COMPUTE];
}

static void rung_after_rung_is_next(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	CHECK_EQ(ladder(&s), LADDER_NOT_RUN);
	CHECK_STR(next(&s)->profile, "rung-gemm");
	rung(&s, 2, "rung-gemm", "it gave no result");
	CHECK_EQ(ladder(&s), LADDER_NOT_RUN);
	CHECK_STR(next(&s)->profile, "rung-gemm");
	rung(&s, 4, "rung-gemm", "it passed");
	CHECK_EQ(ladder(&s), LADDER_RUNNING);
	CHECK(next(&s)->climbs);
	CHECK_STR(next(&s)->profile, "rung-load");
	CHECK_EQ(s.facts.host.answered_us, after(5));
	/* Of a link that is no test, and of another class another ladder. */
	CHECK_EQ(s.facts.host.ladders[BLAME_LINK], LADDER_NOT_RUN);
	CHECK_STR(s.facts.host.rungs[BLAME_LINK].profile, RUNGS_WHOLE);
	CHECK_EQ(s.facts.host.ladders[BLAME_LAUNCH], LADDER_NOT_RUN);
	CHECK_STR(s.facts.host.rungs[BLAME_LAUNCH].profile, "rung-chain");
	/* Which boot it has is not known: it is waited for. */
	s.source.boot_us = 0;
	CHECK_EQ(ladder(&s), LADDER_RUNNING);
	CHECK(!next(&s)->climbs);
	s.source.boot_us = after(5) + USEC_PER_MSEC;
	CHECK_EQ(ladder(&s), LADDER_NOT_RUN);
	CHECK_STR(next(&s)->profile, "rung-gemm");
	s.source.boot_us = NOW - USEC_PER_DAY;
	rung(&s, 6, "rung-load", "it passed");
	CHECK_EQ(ladder(&s), LADDER_EXHAUSTED);
	CHECK_EQ(s.facts.host.ladders[BLAME_LAUNCH], LADDER_EXHAUSTED);
	CHECK(!next(&s)->climbs); /* nothing more is to be run */
	CHECK_EQ(s.facts.host.ladders[BLAME_LINK], LADDER_NOT_RUN);
	/* Of a link its pairs are next, and no test of the host. */
	rung(&s, 8, RUNGS_WHOLE, "it passed");
	CHECK_EQ(facts(&s)->ladders[BLAME_LINK], LADDER_RUNNING);
	CHECK(!s.facts.host.rungs[BLAME_LINK].climbs);
}

static void an_agent_that_runs_all_in_place_of_a_rung_ends_the_ladder(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	rung(&s, 4, RUNGS_WHOLE, "it passed");
	CHECK_EQ(ladder(&s), LADDER_EXHAUSTED);
	rung(&s, 6, RUNGS_WHOLE, "it failed again");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(7));
	CHECK_EQ(ladder(&s), LADDER_RUNNING);
	CHECK_STR(next(&s)->profile, RUNGS_WHOLE);
	CHECK(!next(&s)->climbs);
}

static void a_rung_that_failed_is_repeated_once_the_last_one_failed_too(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.policy.retest_times = 2;
	rung(&s, 2, "rung-gemm", "it failed again");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(3));
	CHECK_EQ(ladder(&s), LADDER_RUNNING);
	CHECK_STR(next(&s)->profile, "rung-load");
	CHECK(next(&s)->climbs);
	CHECK_EQ(next(&s)->again_us, 0);
	rung(&s, 4, "rung-load", "it failed again");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(5));
	CHECK_EQ(ladder(&s), LADDER_RUNNING);
	CHECK_STR(next(&s)->profile, "rung-gemm");
	CHECK(!next(&s)->climbs);
	/* By the first failure, not by that which was too near to count. */
	CHECK_EQ(next(&s)->again_us, after(3) + s.policy.jobs.retest_spacing_us);
	rung(&s, 8, "rung-gemm", "it failed again");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(9));
	CHECK_EQ(ladder(&s), LADDER_EXHAUSTED);
	CHECK(!s.facts.host.clean[BLAME_COMPUTE]);
}

static void a_rung_that_failed_and_passes_under_load_ends_the_ladder(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.policy.retest_times = 2;
	rung(&s, 2, "rung-gemm", "it failed again");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(3));
	rung(&s, 4, "rung-load", "it passed");
	CHECK_EQ(ladder(&s), LADDER_EXHAUSTED);
}

/* The last one brought nothing, or there is no time for it: as before, the same rung. */
static void a_rung_that_failed_is_repeated_alone(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.policy.retest_times = 2;
	rung(&s, 2, "rung-gemm", "it failed again");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(3));
	s.policy.jobs.retest_spacing_us = RUNGS_LAST_US - 1;
	CHECK_EQ(ladder(&s), LADDER_RUNNING);
	CHECK_STR(next(&s)->profile, "rung-gemm");
	s.policy.jobs.retest_spacing_us = 5 * USEC_PER_MIN;
	rung(&s, 4, "rung-load", "it gave no result");
	CHECK_EQ(ladder(&s), LADDER_RUNNING);
	CHECK_STR(next(&s)->profile, "rung-gemm");
	CHECK(!next(&s)->climbs);
	CHECK_EQ(next(&s)->again_us, after(8));
}

/* What only the last one shows, as heat does, a short one does not repeat. */
static void what_shows_under_load_is_repeated_under_load(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.policy.retest_times = 2;
	rung(&s, 2, "rung-gemm", "it passed");
	rung(&s, 4, "rung-load", "it failed again");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(5));
	CHECK_EQ(ladder(&s), LADDER_RUNNING);
	CHECK_STR(next(&s)->profile, "rung-load");
	CHECK(next(&s)->climbs); /* at once, and then once that counts */
	rung(&s, 7, "rung-load", "it failed again");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(8));
	CHECK_EQ(ladder(&s), LADDER_RUNNING);
	CHECK_STR(next(&s)->profile, "rung-load");
	CHECK(!next(&s)->climbs);
	CHECK_EQ(next(&s)->again_us, after(10));
	rung(&s, 10, "rung-load", "it failed again");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(11));
	CHECK_EQ(ladder(&s), LADDER_EXHAUSTED);
}

static void a_rung_says_nothing_of_what_it_does_not_measure(void)
{
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	s.policy.retest_times = 2;
	/* It fails in what does not fit; and what fits was seen before, which it cannot repeat. */
	find_bad(&s, "host.steal", SEVERITY_FAIL, after(13));
	find_bad(&s, "memory.h2d_bw", SEVERITY_FAIL, after(1));
	rung(&s, 12, "rung-gemm", "it failed again");
	CHECK_EQ(ladder(&s), LADDER_RUNNING);
	CHECK_STR(next(&s)->profile, "rung-load");
	CHECK(next(&s)->climbs);
	rung(&s, 14, "rung-load", "it failed again");
	find_bad(&s, "memory.h2d_bw", SEVERITY_FAIL, after(15));
	rung(&s, 20, "rung-gemm", "it passed");
	facts(&s);
	CHECK_EQ(s.facts.failures[1].n_failed, 1);
	CHECK_EQ(s.facts.failures[1].ordered_us, after(14));
	rung(&s, 22, "rung-load", "it passed");
	facts(&s);
	CHECK_EQ(s.facts.failures[1].ordered_us, 0);
}

static const struct test tests[] = {
	TEST(rung_after_rung_is_next),
	TEST(an_agent_that_runs_all_in_place_of_a_rung_ends_the_ladder),
	TEST(a_rung_that_failed_is_repeated_once_the_last_one_failed_too),
	TEST(a_rung_that_failed_and_passes_under_load_ends_the_ladder),
	TEST(a_rung_that_failed_is_repeated_alone),
	TEST(what_shows_under_load_is_repeated_under_load),
	TEST(a_rung_says_nothing_of_what_it_does_not_measure),
};

TEST_SUITE(tests);
