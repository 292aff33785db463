/* SPDX-License-Identifier: Apache-2.0 */
/* The prediction of the previous run's plan, compared with the current run. */
#include "controller/job/plan_check.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

/* A run of `dp` replicas of 2 stages: one host a worker, and what of it differs from test to test. */
struct scene {
	unsigned dp;
	const char *hosts;    /* of detail: names, in the order of workers */
	unsigned batch;	      /* micro-batches of each replica */
	const char *slowdown; /* of workers */
	const char *replace;  /* sets */
	const char *gc;	      /* seconds of a step, or null */
	double step_s;
};

#define SET_3                                                                        \
	"{\"worker\":3,\"T\":{\"value\":2.9,\"low\":2.8,\"high\":3.0},\"gap_s\":0}," \
	"{\"worker\":1,\"T\":{\"value\":2.5,\"low\":2.4,\"high\":2.6},\"gap_s\":0}"

static const struct scene slow = { 2, "\"g0\",\"g1\",\"g2\",\"g3\"", 8, "1,1,1,1.5", SET_3, "null",
				   4 };

struct run {
	struct plan_facts facts;
	struct remedies remedies;
	struct plan_check_run run;
};

static json_t *analysis_of(const struct scene *s)
{
	CLEANUP(freep)
	char *text = xasprintf(
		"{\"class\":\"compute\",\"ranks\":%u,\"dp\":%u,\"pp\":2,\"suspects\":[],\"detail\":"
		"{\"T_act\":%g,\"T\":%g,\"T_ideal\":2,\"hosts\":[%s],\"nodes\":[%s],\"remedies\":"
		"{\"dp\":%u,\"pp\":2,\"microbatches\":%u,\"forward_s\":[0.1,0.1],\"backward_s\":"
		"[0.2,0.2],\"slowdown\":[%s],\"replace\":[%s],\"sequences\":null,\"gc\":%s,"
		"\"pause_s\":0.1,\"stages\":false}}}",
		s->dp * 2, s->dp, s->step_s, s->step_s, s->hosts, s->dp == 2 ? "0,1,2,3" : "0,1",
		s->dp, s->batch, s->slowdown, s->replace, s->gc);
	json_t *analysis = json_loads(text, 0, NULL);

	CHECK(analysis != NULL);
	return analysis;
}

static void open_run(const struct scene *s, int64_t number, struct run *ret)
{
	CLEANUP(json_freep) json_t *analysis = analysis_of(s);

	CHECK(plan_facts_read(analysis, &ret->facts));
	ret->facts.facts.costs = (struct remedies_costs){ 600, 0, 0, NAN, NAN, NAN };
	CHECK_EQ(remedies_find(&ret->facts.facts, &ret->remedies, NULL), 0);
	ret->run = (struct plan_check_run){ number, number * 10, run_pace_shape(analysis),
					    &ret->facts, &ret->remedies };
}

static void run_release(struct run *run)
{
	plan_facts_release(&run->facts);
}

/* New reference. */
static json_t *check(const struct scene *then, const struct scene *now, double measured_s,
		     uint64_t steps)
{
	CLEANUP(run_release) struct run before = { 0 };
	CLEANUP(run_release) struct run after = { 0 };
	const struct prediction_mean measured = { measured_s, steps };

	open_run(then, 1, &before);
	open_run(now, 2, &after);
	return plan_check(&before.run, &after.run, &measured);
}

/* What one came to: "replace g3 held", or "" where nothing was applied. */
static void check_state(const struct scene *then, const struct scene *now, double measured_s,
			uint64_t steps, const char *wanted)
{ /* lint: allow parameters: two runs, what was measured of one, and what comes of it */
	CLEANUP(json_freep) json_t *list = check(then, now, measured_s, steps);
	const json_t *one = json_array_get(list, 0);
	CLEANUP(freep)
	char *text = one ? xasprintf("%s %s", json_string_value(json_object_get(one, "deed")),
				     json_string_value(json_object_get(one, "state")))
			 : xstrdup("");

	CHECK(json_array_size(list) <= 1);
	CHECK_STR(text, wanted);
}

static struct scene with_hosts(const char *hosts)
{
	struct scene s = slow;

	s.hosts = hosts;
	return s;
}

static void a_host_that_was_replaced_is_held_against_its_promise(void)
{
	const struct scene now = with_hosts("\"g0\",\"g1\",\"g2\",\"g9\"");
	CLEANUP(json_freep) json_t *list = check(&slow, &now, 2.95, 40);
	const json_t *one = json_array_get(list, 0);
	CLEANUP(freep) char *text = json_dumps(one, JSON_COMPACT | JSON_REAL_PRECISION(6));

	CHECK_STR(text,
		  "{\"kind\":\"replace\",\"deed\":\"replace g3\",\"hosts\":[\"g3\"],\"run\":1,"
		  "\"window\":10,\"before_s\":4.0,\"promised_s\":2.9,\"low_s\":2.8,"
		  "\"high_s\":3.0,\"by_run\":2,\"measured_s\":2.95,\"steps\":40,"
		  "\"state\":\"held\"}");
	check_state(&slow, &now, 3.2, 40, "replace g3 failed");
	check_state(&slow, &now, 2.6, 40, "replace g3 failed");
	check_state(&slow, &now, 3.2, PREDICTION_STEPS - 1, "replace g3 open");
	check_state(&slow, &now, 0, 0, "");
}

/* The hosts that have gone are those of a set, and nobody besides. */
static void who_else_has_gone_makes_it_another_change(void)
{
	const struct scene both = with_hosts("\"g0\",\"g8\",\"g2\",\"g9\"");
	const struct scene wrong = with_hosts("\"g9\",\"g1\",\"g2\",\"g3\"");
	const struct scene more = with_hosts("\"g7\",\"g8\",\"g2\",\"g9\"");

	check_state(&slow, &both, 2.5, 40, "replace g3, g1 held");
	check_state(&slow, &wrong, 2.9, 40, "");
	check_state(&slow, &more, 2.5, 40, "");
	check_state(&slow, &slow, 4, 40, "");
}

static void a_replica_was_dropped_where_the_batch_is_kept(void)
{
	struct scene then = slow, now = { 1, "\"g0\",\"g1\"", 16, "1,1", "", "null", 5.2 };
	struct scene strange = now, smaller = now;

	/* So slow that without it a step is shorter: 16 * 0.3 + 0.3 instead of 8 * 0.9 + 0.3. */
	then.slowdown = "1,1,1,3";
	then.step_s = 7.6;
	then.replace = "";
	check_state(&then, &now, 5.2, 40, "continue without the slowest replica held");
	check_state(&then, &now, 6.5, 40, "continue without the slowest replica failed");
	strange.hosts = "\"g0\",\"g9\"";
	check_state(&then, &strange, 5.2, 40, "");
	smaller.batch = 8;
	check_state(&then, &smaller, 2.8, 40, "");
}

static void what_the_owner_did_shows_where_the_cause_has_gone(void)
{
	struct scene then = slow, now = slow;

	then.gc = "{\"value\":3.2,\"low\":3.1,\"high\":3.3}";
	check_state(&then, &now, 3.25, 40, "collect garbage on all ranks at once held");
	check_state(&then, &now, 4, 40, "collect garbage on all ranks at once failed");
	now.gc = "{\"value\":3.3,\"low\":3.1,\"high\":3.3}"; /* it is still there */
	check_state(&then, &now, 4, 40, "");
	now.gc = "null";
	now.hosts = "\"g0\",\"g1\",\"g2\",\"g9\""; /* and a host has gone: which of them helped? */
	check_state(&then, &now, 2.9, 40, "");
	now.hosts = "\"g9\",\"g1\",\"g2\",\"g3\"";
	check_state(&then, &now, 3.25, 40, "");
	then.gc = "{\"value\":3.95,\"low\":3.9,\"high\":4}"; /* too little to be seen */
	check_state(&then, &slow, 3.95, 40, "");
}

static void nothing_is_checked_where_somebody_is_not_known(void)
{
	const struct scene now = with_hosts("\"g0\",\"g1\",\"g2\",null");

	check_state(&slow, &now, 2.9, 40, "");
	check_state(&now, &slow, 2.9, 40, "");
}

static const struct test tests[] = {
	TEST(a_host_that_was_replaced_is_held_against_its_promise),
	TEST(who_else_has_gone_makes_it_another_change),
	TEST(a_replica_was_dropped_where_the_batch_is_kept),
	TEST(what_the_owner_did_shows_where_the_cause_has_gone),
	TEST(nothing_is_checked_where_somebody_is_not_known),
};

TEST_SUITE(tests);
