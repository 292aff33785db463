/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_facts.h"

#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"
#include "tests/unit/test.h"

#define NOW (1000 * USEC_PER_DAY)
#define SUSPECTED (NOW - USEC_PER_HOUR)

/* Minutes after the suspicion. */
static uint64_t after(unsigned minutes)
{
	return SUSPECTED + minutes * USEC_PER_MIN;
}

/* gpu-17 among four of its like. */
struct scene {
	struct fleet fleet;
	struct fleet_node *node;
	json_t *actions; /* newest first */
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
	s->source = (struct job_facts_source){ .fleet = &s->fleet,
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

/* A later test than those before; without a check of the whole host, without a result under way. */
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
	CHECK(host->placed && host->idle && !host->booted && !host->fatal && !host->differs);
	CHECK_EQ(host->n_failures, 0);
	CHECK_EQ(host->ladders[BLAME_COMPUTE], LADDER_NOT_RUN);
	CHECK(!host->clean[BLAME_COMPUTE]); /* which tests were run is not known */
	CHECK_EQ(host->suspected_us, SUSPECTED);
	s.source.busy = s.source.booted = true;
	s.node->record.ordered_us = after(1);
	host = facts(&s);
	CHECK(!host->idle && host->booted);
	CHECK_EQ(host->ladders[BLAME_LAUNCH], LADDER_RUNNING);
	s.source.node = NULL;
	CHECK(!facts(&s)->placed); /* the cluster has no such host */
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
	/* A pass ends the row, of another check it does not; what is under way says nothing. */
	test(&s, 20, "memory.h2d_bw", "it passed");
	test(&s, 22, "gemm.rate", NULL);
	facts(&s);
	CHECK_EQ(s.facts.failures[0].n_failed, 2);
	test(&s, 25, NULL, "it passed");
	find_bad(&s, "gemm.rate", SEVERITY_FAIL, after(30));
	facts(&s);
	CHECK_EQ(s.facts.failures[0].n_failed, 1); /* seen, and nobody ordered it */
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
	finding->shared = true; /* a rack's, a setting's: not this host's */
	CHECK_EQ(facts(&s)->n_failures, 0);
	finding->shared = false;
	finding->fatal_us = after(1);
	CHECK(facts(&s)->fatal);
}

static void a_host_that_is_set_up_otherwise_differs(void)
{
	static const char *const other[] = { "bios=2.4", "kernel=5.10" };
	static const char *const more[] = { "bios=2.4", "kernel=6.1", "only=here" };
	CLEANUP(scene_release) struct scene s;

	scene_init(&s);
	fleet_set_settings(&s.fleet, s.node, more, ARRAY_SIZE(more));
	CHECK(!facts(&s)->differs); /* nobody else has the key */
	fleet_set_settings(&s.fleet, s.node, other, ARRAY_SIZE(other));
	CHECK(facts(&s)->differs);
	fleet_set_settings(&s.fleet, fleet_find(&s.fleet, "gpu-18"), other, ARRAY_SIZE(other));
	CHECK(!facts(&s)->differs); /* half of them: there is no majority */
	fleet_set_sku(&s.fleet, s.node, "dgx");
	CHECK(!facts(&s)->differs); /* it is alone */
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

static const struct test tests[] = {
	TEST(a_host_of_which_nothing_was_found),
	TEST(tests_that_failed_in_a_row_are_counted),
	TEST(a_test_of_the_whole_host_fails_for_what_was_bad_then),
	TEST(what_nothing_was_held_against_is_no_reference),
	TEST(a_host_that_is_set_up_otherwise_differs),
	TEST(tests_are_shown_since_the_suspicion),
};

int main(void)
{
	return TEST_MAIN("job_facts", tests);
}
