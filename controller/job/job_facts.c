/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_facts.h"

#include <stdio.h>

#include "controller/actions/retest.h"
#include "controller/fleet/host_speeds.h"
#include "controller/job/pair_record.h"
#include "controller/store/store.h"
#include "controller/store/store_actions.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/verdict.h"
#include "lib/policy/rungs.h"

/* Checks of the campaigns that investigations start, by enum pair_record_kind. */
static const char *const measured_by[PAIR_RECORD_KINDS] = {
	[PAIR_RECORD_LINK] = "rnic_pair.",
	[PAIR_RECORD_GROUP] = "all_reduce.",
};

/* --- tests --- */

/* A test that was ordered. */
struct test_row {
	const char *check;   /* NULL: the whole host, as far as the profile covers it */
	const char *profile; /* as run, or as ordered */
	const char *result;
	uint64_t ordered_us, done_us; /* 0: in progress */
	bool failed, passed;
};

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* Returns false if it is not a test, or only a dry run. */
static bool read_test(const json_t *action, struct test_row *ret)
{
	const json_t *evidence = json_object_get(action, "evidence");
	const char *state = text_of(action, "state"), *profile = text_of(evidence, "profile");
	const bool done = streq(state, action_state_names[ACTION_DONE]);

	if (!streq(text_of(action, "action"), action_kind_names[ACT_RETEST]) ||
	    streq(state, action_state_names[ACTION_DRY_RUN]) ||
	    streq(state, action_state_names[ACTION_REFUSED]))
		return false;
	*ret = (struct test_row){ .check = text_of(evidence, "check"),
				  .profile = profile ? profile : RUNGS_WHOLE,
				  .result = text_of(action, "result"),
				  .ordered_us = json_stamp_us(json_object_get(action, "at")),
				  .done_us = json_stamp_us(json_object_get(action, "done")) };
	ret->failed = done && streq(ret->result, retest_words[TEST_FAILED]);
	ret->passed = done && streq(ret->result, retest_words[TEST_PASSED]);
	return true;
}

json_t *job_facts_tests(const char *name, const json_t *actions, uint64_t since_us)
{
	json_t *tests = json_array();
	size_t i;

	for (i = json_array_size(actions); i-- > 0;) {
		const json_t *action = json_array_get(actions, i);
		const json_t *done = json_object_get(action, "done");
		struct test_row test;

		if (!read_test(action, &test) || test.ordered_us < since_us)
			continue;
		(void)json_array_append_new(
			tests,
			json_pack("{s:s, s:O, s:s?, s:s, s:O, s:O, s:s?}", "node", name, "action",
				  json_object_get(action, "id"), "check", test.check, "profile",
				  test.profile, "ordered", json_object_get(action, "at"), "done",
				  done, "result", test.done_us ? test.result : NULL));
	}
	return tests;
}

/* --- failures --- */

/* The worst finding of a check, and since when there is any. */
struct found_check {
	const struct finding *worst;
	uint64_t since_us, seen_us;
};

/* `first` is the first finding of the check. */
static struct found_check look_for(const struct finding *first)
{
	struct found_check ret = { first, first->since_us, first->seen_us };
	const struct finding *f;

	for (f = first->next; f; f = f->next) {
		if (!streq(f->check, first->check))
			continue;
		if (f->severity > ret.worst->severity)
			ret.worst = f;
		ret.since_us = MIN(ret.since_us, f->since_us);
		ret.seen_us = MAX(ret.seen_us, f->seen_us);
	}
	return ret;
}

static bool is_listed(const struct job_facts *facts, const char *check)
{
	size_t i;

	for (i = 0; i < facts->host.n_failures; i++) {
		if (streq(facts->failures[i].check, check))
			return true;
	}
	return false;
}

/* Append a time; the oldest makes room. */
static void add_time(uint64_t *times, size_t *n, uint64_t us)
{
	if (*n == JOB_JUDGE_TIMES_MAX) {
		memmove(times, times + 1, (JOB_JUDGE_TIMES_MAX - 1) * sizeof(*times));
		(*n)--;
	}
	times[(*n)++] = us;
}

/* Did the test show the check to be bad? A test of the whole host does if it measures it while it
 * was bad. */
static bool shows(const struct test_row *test, const struct found_check *found, const char *check)
{
	if (!test->failed)
		return false;
	return test->check
		       ? streq(test->check, check)
		       : rungs_measure(test->profile, check) && found->since_us <= test->done_us &&
				 found->seen_us >= test->ordered_us;
}

/* Times of the last consecutive failed tests; for a suspect, since it is one. */
static void add_times(const struct job_facts_source *source, const struct found_check *found,
		      struct job_judge_failure *f, uint64_t *times)
{
	size_t i;

	for (i = json_array_size(source->actions); i-- > 0;) {
		struct test_row test;

		if (!read_test(json_array_get(source->actions, i), &test) ||
		    test.ordered_us < source->suspected_us)
			continue;
		if (test.passed && (test.check ? streq(test.check, f->check)
					       : rungs_measure(test.profile, f->check))) {
			f->n_failed = 0;
			f->ordered_us = 0;
		} else if (shows(&test, found, f->check)) {
			f->ordered_us = f->ordered_us ? f->ordered_us : test.ordered_us;
			add_time(times, &f->n_failed, test.done_us);
		}
	}
}

/* Pairs are not ordered for a single host, so failures are counted in their record. */
static void take_pairs(const struct job_facts_source *source, struct job_judge_failure *f,
		       uint64_t *times)
{
	uint64_t began_us;
	const size_t n = pair_record_failed(source->pairs, source->node->name, times,
					    JOB_JUDGE_TIMES_MAX, &began_us);

	if (n == 0)
		return;
	f->n_failed = n;
	f->ordered_us = began_us;
}

static void add_failure(const struct job_facts_source *source, const struct finding *first,
			struct job_facts *facts)
{
	const struct found_check found = look_for(first);
	const size_t place = facts->host.n_failures;
	struct job_judge_failure *f = &facts->failures[place];
	uint64_t *times = facts->failed_us[place];

	*f = (struct job_judge_failure){ .check = first->check,
					 .failed_us = times,
					 .idle = true,
					 .reference = found.worst->source != SOURCE_SELF,
					 .partner_good = found.worst->reproduced > 0 };
	add_times(source, &found, f, times);
	if (source->pairs && starts_with(f->check, measured_by[pair_record_kind(source->pairs)]))
		take_pairs(source, f, times);
	/* A failure outside of any ordered test counts as seen: for a check that counts it asks for
	 * a test. */
	if (f->n_failed == 0)
		add_time(times, &f->n_failed, found.seen_us);
	f->same_boot = source->suspected_us && f->ordered_us >= source->suspected_us
			       ? !source->booted
			       : source->boot_us > 0 && times[0] >= source->boot_us;
	facts->host.n_failures++;
}

/* --- progress of the ladder --- */

uint64_t job_facts_since(const struct job_facts_source *source)
{
	return source->suspected_us ? MAX(source->suspected_us, source->acquitted_us) : 0;
}

uint64_t job_facts_pairs_since(const struct job_facts_source *source)
{
	const uint64_t since_us = job_facts_since(source);

	return since_us ? MAX(since_us, json_stamp_whole(source->boot_us)) : UINT64_MAX;
}

/*
 * Find the newest test by a rung that counts, from any boot; in the ladder of the class or, with
 * BLAME_NOTHING, in any. Returns false if there is none.
 */
static bool find_rung(const struct job_facts_source *source, int class, struct test_row *ret)
{
	const uint64_t since_us = job_facts_since(source);
	size_t i;

	for (i = 0; since_us > 0 && i < json_array_size(source->actions); i++) {
		if (read_test(json_array_get(source->actions, i), ret) && !ret->check &&
		    (ret->passed || ret->failed) && ret->ordered_us >= since_us &&
		    (class == BLAME_NOTHING || rungs_has(class, ret->profile)))
			return true;
	}
	return false;
}

bool job_facts_passed(const struct job_facts_source *source)
{
	struct test_row test;

	return find_rung(source, BLAME_NOTHING, &test) && test.passed;
}

/* Times of actions have milliseconds. */
static bool is_of_this_boot(const struct job_facts_source *source, const struct test_row *test)
{
	return test->done_us >= json_stamp_whole(source->boot_us);
}

/* Was the last rung of the ladder ordered after that, whatever its result? */
static bool has_asked_last(const struct job_facts_source *source, int class, uint64_t after_us)
{
	struct test_row test;
	size_t i;

	for (i = 0; i < json_array_size(source->actions); i++) {
		if (read_test(json_array_get(source->actions, i), &test) && !test.check &&
		    test.ordered_us > after_us && rungs_is_last(class, test.profile))
			return true;
	}
	return false;
}

/* When the first rung of the ladder last failed since it is a suspect; 0: never. */
static uint64_t first_failed_us(const struct job_facts_source *source, int class)
{
	const uint64_t since_us = job_facts_since(source);
	struct test_row test;
	size_t i;

	for (i = 0; i < json_array_size(source->actions); i++) {
		if (read_test(json_array_get(source->actions, i), &test) && !test.check &&
		    test.failed && streq(test.profile, rungs_at(class, 0)))
			return test.ordered_us >= since_us ? test.ordered_us : 0;
	}
	return 0;
}

/* Result of a test, limited to what matches the class. */
struct looked {
	struct rungs_test test;
	uint64_t again_us; /* earliest repetition */
};

/* A failure to be repeated; by the first rung too, if that was among the tests that found it. */
static void take_repeat(const struct job_facts_source *source, const struct job_judge_failure *f,
			const struct test_row *test, int class, struct looked *ret)
{
	const uint64_t spacing_us = source->policy->jobs.retest_spacing_us;
	const uint64_t again_us = f->ordered_us ? job_judge_again(f, f->ordered_us, spacing_us) : 0;

	ret->test.repeat = true;
	ret->test.has_time &= !has_asked_last(source, class, f->ordered_us);
	/* A failure not found by a test of a suspect is repeated from now on. */
	ret->again_us = MAX(ret->again_us, again_us ? again_us : test->done_us + spacing_us);
	if (first_failed_us(source, class) < MAX(f->ordered_us, (uint64_t)1) ||
	    !rungs_measure(rungs_at(class, 0), f->check))
		ret->test.shows = NULL;
}

static struct looked look_at(const struct job_facts_source *source, const struct job_facts *facts,
			     const struct test_row *test, int class)
{
	const uint64_t spacing_us = source->policy->jobs.retest_spacing_us;
	struct looked ret = { .test = { .profile = test->profile,
					.shows = rungs_at(class, 0),
					.has_time = spacing_us >= RUNGS_LAST_US &&
						    rungs_is_short(test->profile) } };
	size_t i;

	for (i = 0; test->failed && i < facts->host.n_failures; i++) {
		const struct job_judge_failure *f = &facts->failures[i];

		if (!blame_shows(class, f->check) || !f->reference || !f->same_boot)
			continue;
		if (job_judge_apart(f, f->ordered_us, spacing_us) >= source->policy->retest_times)
			ret.test.proven = true;
		else if (rungs_measure(test->profile, f->check))
			/* A test that does not measure the check does not repeat its failure
			 * either. */
			take_repeat(source, f, test, class, &ret);
	}
	return ret;
}

/* How far the ladder got, and the next rung. `test` is NULL if there is none. */
static int ladder_of(const struct job_facts_source *source, const struct test_row *test, int class,
		     struct job_facts *facts)
{
	struct job_judge_rung *rung = &facts->host.rungs[class];
	struct looked newest;

	*rung = (struct job_judge_rung){ rungs_next(class, NULL), true, 0 };
	if (source->node->record.ordered_us > 0)
		return LADDER_RUNNING;
	if (!test)
		return LADDER_NOT_RUN;
	/* No report since the controller started, so its boot is not known yet. */
	if (source->boot_us == 0) {
		rung->climbs = false;
		return LADDER_RUNNING;
	}
	if (!is_of_this_boot(source, test))
		return LADDER_NOT_RUN;
	newest = look_at(source, facts, test, class);
	rung->profile = rungs_next(class, &newest.test);
	rung->climbs = rung->profile && (!newest.test.repeat || newest.test.has_time);
	rung->again_us = rung->profile && !rung->climbs ? newest.again_us : 0;
	return rung->profile ? LADDER_RUNNING : LADDER_EXHAUSTED;
}

/* The second rung of a link, after the first. */
static void take_link(const struct job_facts_source *source, const struct test_row *test,
		      struct job_facts *facts)
{
	int *ladder = &facts->host.ladders[BLAME_LINK];
	size_t i;

	facts->host.end = pair_record_end(source->pairs, source->node->name);
	facts->host.rung = pair_record_text(source->pairs);
	for (i = 0; i < facts->host.n_failures; i++) {
		const struct job_judge_failure *f = &facts->failures[i];

		/* The host's own result is stronger than any pair. */
		if (!fleet_is_pair_check(f->check) && blame_shows(BLAME_LINK, f->check) &&
		    f->reference && f->same_boot && f->ordered_us > 0)
			facts->host.end = END_BAD;
	}
	if (source->group)
		return;
	facts->alone = *ladder == LADDER_EXHAUSTED;
	facts->alone_passed = facts->alone && test && test->passed;
	if (facts->alone && !pair_record_is_over(source->pairs, source->node->name))
		*ladder = LADDER_RUNNING;
}

/* Did the test that counts fail in a check that shows what the group suffers from? */
static bool is_failing(const struct job_facts_source *source, const struct job_facts *facts,
		       const struct test_row *test)
{
	size_t i;

	for (i = 0; test && test->failed && i < facts->host.n_failures; i++) {
		const struct job_judge_failure *f = &facts->failures[i];

		if (blame_shows(source->group_class, f->check) && f->reference && f->same_boot &&
		    f->ordered_us > 0)
			return true;
	}
	return false;
}

/* The rest of a group's ladder, after the host's own tests. */
static void take_group(const struct job_facts_source *source, const struct test_row *test,
		       struct job_facts *facts)
{
	struct job_judge_host *host = &facts->host;
	int *ladder = &host->ladders[source->group_class];

	facts->alone = *ladder == LADDER_EXHAUSTED;
	facts->alone_passed = facts->alone && test && test->passed;
	facts->failing = is_failing(source, facts, test);
	host->rung = pair_record_text(source->pairs);
	if (!facts->alone_passed || pair_record_is_over(source->pairs, source->node->name))
		return;
	*ladder = LADDER_RUNNING;
	host->awaits = true;
	/* Since then it is not tested on its own, but still waits. */
	host->asked_us = MAX(host->asked_us, pair_record_began_us(source->pairs));
}

/* --- clean hosts --- */

/* The first passed check that shows the class but was not compared with other hosts. */
static const char *find_not_held(const struct store_whole *run, int class)
{
	size_t i;

	for (i = 0; i < run->n_items; i++) {
		const struct verdict_item *item = &run->items[i];

		if (blame_shows(class, item->check) && item->held != HELD_FLEET &&
		    item->held != HELD_NEVER)
			return item->check;
	}
	return NULL;
}

static bool is_cleared(const struct store_whole *run, int class)
{
	size_t i;

	for (i = 0; i < run->n_items; i++) {
		if (blame_clears(class, run->items[i].check) && run->items[i].held == HELD_FLEET)
			return true;
	}
	return false;
}

/* For a link only pairs clear a host, not its own checks. If false, fills `missing`. */
static bool is_good_end(const struct job_facts_source *source,
			char missing[static JOB_FACTS_MISSING_SIZE])
{
	const char *host = source->node->name;
	const int said = pair_record_end(source->pairs, host);
	const char *tells = pair_record_tells(source->pairs, host);

	(void)snprintf(missing, JOB_FACTS_MISSING_SIZE, "%s",
		       tells ? tells : "pair tests of this host with other hosts");
	return said == END_GOOD || said == END_BETWEEN;
}

/* If false, fills `missing` with the missing evidence. */
static bool is_clean(const struct job_facts_source *source, const struct test_row *test, int class,
		     char missing[static JOB_FACTS_MISSING_SIZE])
{
	const struct store_whole *run = source->run;
	const char *check;

	if (!test->passed) {
		(void)snprintf(missing, JOB_FACTS_MISSING_SIZE,
			       "a full test of the host that passes once its failures are fixed");
		return false;
	}
	if (!run || !source->run_of_now || run->at_us < test->ordered_us ||
	    run->level != VERDICT_PASS || !rungs_is_last(class, run->profile)) {
		(void)snprintf(missing, JOB_FACTS_MISSING_SIZE,
			       "a full run that passes after its repair");
		return false;
	}
	check = find_not_held(run, class);
	if (class == BLAME_LINK && !check)
		return is_good_end(source, missing);
	if (!check && is_cleared(run, class))
		return source->group && class == source->group_class ? is_good_end(source, missing)
								     : true;
	(void)snprintf(missing, JOB_FACTS_MISSING_SIZE,
		       "%.64s compared with other hosts of its SKU, same parameters, %s",
		       check ? check : blame_clearing(class),
		       check ? "too few of which have been measured" : "which it did not measure");
	return false;
}

static void take_speed(const struct job_facts_source *source, struct job_judge_host *host)
{
	const struct host_speed *speed = source->speed;

	if (!speed || !speed->sure || speed->good.low <= 0 || speed->speed >= speed->good.low)
		return;
	host->is_low[BLAME_COMPUTE] = true;
	host->speed = speed->speed;
	host->low = speed->good.low;
}

static void take_ladders(const struct job_facts_source *source, struct job_facts *facts)
{
	struct job_judge_host *host = &facts->host;
	struct test_row test;
	int class;

	if (find_rung(source, BLAME_NOTHING, &test) && is_of_this_boot(source, &test))
		host->answered_us = test.done_us;
	for (class = 0; class < BLAME_CLASSES; class ++) {
		const bool found = blame_tests_host(class) && find_rung(source, class, &test);

		host->ladders[class] = ladder_of(source, found ? &test : NULL, class, facts);
		if (class == BLAME_LINK)
			take_link(source, found ? &test : NULL, facts);
		else if (source->group && class == source->group_class)
			take_group(source, found ? &test : NULL, facts);
		if (host->ladders[class] != LADDER_EXHAUSTED)
			continue;
		host->slow[class] = host->is_low[class] && test.passed;
		host->clean[class] = is_clean(source, &test, class, facts->missing[class]);
		if (!host->clean[class])
			host->missing[class] = facts->missing[class];
	}
}

/* --- everything --- */

/*
 * If the cluster tells the jobs on a host (it is asked in modes that may test), wait until they are
 * known; a test in progress was ordered when they were.
 */
static bool is_idle(const struct job_facts_source *source)
{
	const struct fleet_node *node = source->node;

	if (source->busy || node->n_jobs > 0)
		return false;
	return node->jobs_known || !source->fleet->tells_jobs || node->record.ordered_us > 0 ||
	       policy_jobs_mode(&source->policy->jobs, source->policy->mode) == MODE_OBSERVE;
}

/* When its last test since it is a suspect was ordered, answered or not; 0: never. */
static uint64_t last_asked_us(const struct job_facts_source *source)
{
	const uint64_t since_us = job_facts_since(source);
	struct test_row test;
	size_t i;

	for (i = 0; since_us > 0 && i < json_array_size(source->actions); i++) {
		if (read_test(json_array_get(source->actions, i), &test))
			return test.ordered_us >= since_us ? test.ordered_us : 0;
	}
	return 0;
}

static void take_node(const struct job_facts_source *source, struct job_facts *facts)
{
	const struct fleet_unlike unlike = fleet_differs(source->fleet, source->node);
	struct job_judge_host *host = &facts->host;
	const struct finding *f;

	host->idle = is_idle(source);
	host->heard_us = source->node->reported_us;
	host->asked_us = last_asked_us(source);
	memcpy(host->differs, source->group ? unlike.group : unlike.alone, sizeof(host->differs));
	for (f = source->node->findings; f; f = f->next) {
		if (f->shared || windows_bad(&f->windows, 1) == 0)
			continue;
		host->fatal |= f->fatal_us > 0;
		if (host->n_failures < JOB_JUDGE_FAILURES_MAX && !is_listed(facts, f->check))
			add_failure(source, f, facts);
	}
	host->domain = names_text(&source->fleet->domains, source->node->domain);
	take_speed(source, host);
	take_ladders(source, facts);
}

void job_facts_of(const char *name, const struct job_facts_source *source, struct job_facts *ret)
{
	*ret = (struct job_facts){ .host = { .name = name,
					     .placed = source->placed && source->node,
					     .booted = source->booted,
					     .suspected_us = source->suspected_us,
					     .acquitted_us = source->acquitted_us,
					     .group = source->group,
					     .failures = ret->failures } };
	if (source->node)
		take_node(source, ret);
}
