/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/diagnosing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/actions/retest.h"
#include "controller/cluster/cluster.h"
#include "controller/controller.h"
#include "controller/fleet/hosts.h"
#include "controller/job/advice.h"
#include "controller/job/diagnosis_groups.h"
#include "controller/job/diagnosis_record.h"
#include "controller/job/diagnosis_rerun.h"
#include "controller/job/job_advice.h"
#include "controller/job/job_facts.h"
#include "controller/store/store.h"
#include "controller/store/store_advices.h"
#include "controller/store/store_investigations.h"
#include "controller/store/store_placements.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/blame.h"
#include "lib/policy/diagnosis.h"
#include "lib/policy/fleet.h"

/* State of a step. */
struct work {
	struct investigating *k;
	struct service *s;
	const struct job_judging_input *in;
	struct investigation *inv;
	struct diagnosing_now *ret;
	struct err *err;
};

/* Test results by enum diagnosis_test. */
static const char *const result_names[] = { NULL, NULL, "passed", "failed", "nothing" };

static json_t *test_of(const struct investigation *inv, const char *host)
{
	return json_object_get(json_object_get(inv->diagnosis, "tests"), host);
}

static void end(const struct work *w, int state)
{
	diagnosis_record_go_to(w->inv, DIAGNOSIS_RECORD_DONE);
	w->inv->state = state;
	w->inv->ended_us = json_stamp_whole(w->in->now_us);
}

/* --- advice --- */

static int advise(const struct work *w, const struct store_advice *what, int64_t *ret_id)
{
	struct store_advice row = *what;
	const uint64_t for_us = row.kind == ADVICE_STOP	    ? ADVICE_STOP_US
				: row.kind == ADVICE_RESUME ? ADVICE_RESUME_US
							    : 0;

	row.job = w->inv->job;
	row.run = w->inv->run;
	row.why = ADVICE_DIAGNOSED;
	row.exclude = row.exclude ? row.exclude : "[]";
	row.replacements = row.replacements ? row.replacements : "[]";
	row.made_us = w->in->now_us;
	row.expires_us = for_us ? w->in->now_us + for_us : 0;
	w->ret->advised = true;
	service_touch(w->s);
	return store_add_advice(w->s->store, &row, ret_id, w->err);
}

struct stop {
	uint64_t expires_us, done_us;
};

static void take_stop(void *context, const struct store_advice *row)
{
	*(struct stop *)context = (struct stop){ row->expires_us, row->done_us };
}

static int64_t stop_number(const struct investigation *inv)
{
	return json_integer_value(json_object_get(inv->diagnosis, "stop"));
}

/* Take back a stop that is obsolete: continue, or resume if the job may have stopped. */
static int take_stop_back(const struct work *w, const char *why)
{
	const int64_t number = stop_number(w->inv);
	struct stop stop = { 0 };
	CLEANUP(freep) char *reason = NULL;
	int64_t id;
	int r;

	if (number == 0)
		return 0;
	r = store_advice_by_id(w->s->store, w->inv->job, number, take_stop, &stop, w->err);
	if (r < 0)
		return r;
	reason = xasprintf("%s: %s", stop.done_us ? "start again" : "go on", why);
	return advise(w,
		      &(struct store_advice){
			      .kind = stop.done_us ? ADVICE_RESUME : ADVICE_CONTINUE,
			      .reason = reason,
		      },
		      &id);
}

/* --- early end --- */

static int withdraw(const struct work *w, char *why)
{
	size_t i;

	diagnosis_record_note(w->inv, w->in->now_us, why);
	for (i = 0; i < w->inv->n_hosts; i++)
		diagnosis_record_say(&w->inv->hosts[i], INVESTIGATION_WITHDRAWN, xstrdup(why));
	diagnosis_groups_withdraw(w->s, w->inv->diagnosis, why);
	end(w, INVESTIGATION_WITHDRAWN);
	return take_stop_back(w, why);
}

/* --- hosts --- */

int diagnosing_busy(const struct job_judging_input *in, const char *name, bool *ret, struct err *err)
{
	const struct fleet_node *node = fleet_find(in->fleet, name);
	int r = store_placement_present(in->store, name, in->now_us, ret, err);

	*ret |= node && node->n_jobs > 0;
	return r;
}

/* Is it in the cluster, without running jobs? */
static int look_idle(const struct job_judging_input *in, const char *name, bool *ret,
		     struct err *err)
{
	bool busy = false;
	int r = diagnosing_busy(in, name, &busy, err);

	*ret = r == 0 && !busy && fleet_find(in->fleet, name);
	return r;
}

static int look_all_idle(const struct work *w, bool *ret)
{
	size_t i;
	int r = 0;

	*ret = true;
	for (i = 0; r == 0 && *ret && i < w->inv->n_hosts; i++) {
		if (fleet_find(w->in->fleet, w->inv->hosts[i].name))
			r = look_idle(w->in, w->inv->hosts[i].name, ret, w->err);
	}
	return r;
}

/* The worst finding that slows jobs, seen since then; NULL: none. */
static const struct finding *find_bad(const struct fleet_node *node, uint64_t since_us)
{
	const struct finding *f, *worst = NULL;

	for (f = node->findings; f; f = f->next) {
		const bool shows = blame_shows(BLAME_COMPUTE, f->check) ||
				   blame_shows(BLAME_LINK, f->check) ||
				   blame_shows(BLAME_LAUNCH, f->check);

		if (f->shared || windows_bad(&f->windows, 1) == 0 || f->seen_us < since_us ||
		    (!f->fatal_us && (!shows || f->source == SOURCE_SELF)))
			continue;
		if (!worst || f->severity > worst->severity)
			worst = f;
	}
	return worst;
}

/* Why it cannot be tested, a clause; NULL: it can. */
static const char *why_not_tested(const struct fleet_node *node)
{
	if (!node)
		return "it is no longer in the cluster";
	if (node->hands_off)
		return node->hands_off;
	if (!node->managed || node->outside)
		return "Assay may not touch it";
	return node->out & ~(unsigned)(OUT_HOLD | OUT_COMING) ? "it is out of service" : NULL;
}

static void settle(struct investigation_host *host, json_t *test, int result, char *sentence)
{
	diagnosis_record_put(test, "result", json_string(result_names[result]));
	diagnosis_record_say(host, INVESTIGATION_TESTING, sentence);
}

/* Take the result of its test, if any: a failed test counts if it found what slows jobs. */
static void take_test(const struct work *w, struct investigation_host *host, json_t *kept,
		      json_t *test)
{
	const struct fleet_node *node = fleet_find(w->in->fleet, host->name);
	const char *result = diagnosis_record_text(test, "result");
	const struct finding *bad;

	if (!result || !node || json_is_string(json_object_get(test, "check")) ||
	    json_is_string(json_object_get(kept, "result")))
		return;
	bad = find_bad(node, json_stamp_us(json_object_get(test, "ordered")));
	if (streq(result, retest_words[TEST_PASSED]))
		settle(host, kept, DIAGNOSIS_PASSED, xstrdup("it passed alone"));
	else if (streq(result, retest_words[TEST_FAILED]) && bad)
		settle(host, kept, DIAGNOSIS_FAILED,
		       xasprintf("it failed: %s", bad->sentence ? bad->sentence : bad->check));
	else if (streq(result, retest_words[TEST_FAILED]))
		settle(host, kept, DIAGNOSIS_NOTHING,
		       xstrdup("it failed only checks that slow no job down, or that were compared "
			       "with nothing"));
	else if (streq(result, retest_words[TEST_NOTHING]))
		settle(host, kept, DIAGNOSIS_NOTHING, xstrdup("its test gave no result"));
	else
		return; /* it was dropped, and is still asked for */
	if (json_array_size(w->inv->tests) == INVESTIGATION_TESTS_MAX)
		(void)json_array_remove(w->inv->tests, 0);
	(void)json_array_append(w->inv->tests, test);
}

static int look_at_tests(const struct work *w, struct investigation_host *host, json_t *kept)
{
	const uint64_t asked_us = json_stamp_us(json_object_get(kept, "asked"));
	const struct fleet_node *node = fleet_find(w->in->fleet, host->name);
	CLEANUP(json_freep) json_t *actions = NULL;
	CLEANUP(json_freep) json_t *tests = NULL;
	const char *why = why_not_tested(node);
	int r = job_judging_actions(w->s->store, host->name, &actions, w->err);
	size_t i;

	if (r < 0)
		return r;
	tests = job_facts_tests(host->name, actions, asked_us);
	for (i = 0; i < json_array_size(tests); i++)
		take_test(w, host, kept, json_array_get(tests, i));
	if (json_is_string(json_object_get(kept, "result")))
		return 0;
	if (!why && node->record.ordered_us == 0 && w->in->now_us >= asked_us + DIAGNOSING_ORDER_US)
		why = "no test of this host could be ordered";
	if (why)
		settle(host, kept, DIAGNOSIS_NOTHING, xstrdup(why));
	return 0;
}

static int test_state(const json_t *kept)
{
	const char *result = diagnosis_record_text(kept, "result");
	int state = DIAGNOSIS_PASSED;

	if (!kept)
		return DIAGNOSIS_NOT_ASKED;
	if (!result)
		return DIAGNOSIS_ASKED;
	while (state < DIAGNOSIS_NOTHING && !streq(result, result_names[state]))
		state++;
	return state;
}

/* Fill in one host for the policy, and take the result of its test. */
static int look_at_host(const struct work *w, struct investigation_host *host,
			struct diagnosis_host *ret)
{
	const struct fleet_node *node = fleet_find(w->in->fleet, host->name);
	json_t *kept = test_of(w->inv, host->name);
	int r = 0;

	if (test_state(kept) == DIAGNOSIS_ASKED)
		r = look_at_tests(w, host, kept);
	*ret = (struct diagnosis_host){
		.name = host->name,
		.domain = node ? names_text(&w->in->fleet->domains, node->domain) : NULL,
		.test = test_state(kept),
		.asked_us = json_stamp_us(json_object_get(kept, "asked")),
		.under_way = node && node->record.ordered_us > 0,
	};
	if (r == 0 && ret->test == DIAGNOSIS_NOT_ASKED) {
		r = look_idle(w->in, host->name, &ret->idle, w->err);
		ret->idle |= why_not_tested(node) != NULL; /* answered at once */
	}
	return r;
}

static void ask_host(const struct work *w, struct investigation_host *host)
{
	diagnosis_record_put(json_object_get(w->inv->diagnosis, "tests"), host->name,
			     json_pack("{s:o, s:n}", "asked", json_stamp(w->in->now_us), "result"));
	diagnosis_record_say(host, INVESTIGATION_TESTING, xstrdup("its test is requested"));
}

/* --- results --- */

static json_t *names_with(const struct work *w, const struct diagnosis_step *step, int verdict)
{
	json_t *names = json_array();
	size_t i;

	for (i = 0; i < w->inv->n_hosts; i++) {
		if (step->verdicts[i] == verdict)
			(void)json_array_append_new(names, json_string(w->inv->hosts[i].name));
	}
	return names;
}

static void end_hosts(const struct work *w, const struct diagnosis_step *step)
{
	size_t i;

	for (i = 0; i < w->inv->n_hosts; i++) {
		struct investigation_host *host = &w->inv->hosts[i];

		if (step->verdicts[i] == DIAGNOSIS_EXCLUDED)
			host->state = INVESTIGATION_EXCLUDED;
		else if (step->verdicts[i] == DIAGNOSIS_ACQUITTED)
			diagnosis_record_say(host, INVESTIGATION_ACQUITTED,
					     xstrdup("it passed alone and with other hosts"));
		else
			host->state = INVESTIGATION_WATCH;
	}
}

static int conclude(const struct work *w, const struct diagnosis_input *d,
		    const struct diagnosis_step *step)
{
	CLEANUP(json_freep) json_t *exclude = names_with(w, step, DIAGNOSIS_EXCLUDED);
	CLEANUP(json_freep) json_t *instead = json_array();
	CLEANUP(freep) char *words = diagnosis_words(d, step);
	CLEANUP(freep) char *exclude_text = json_line(exclude);
	CLEANUP(freep) char *instead_text = NULL;
	CLEANUP(freep) char *reason = xasprintf("start again; the diagnosis: %s", words);
	int64_t advice = 0;
	CLEANUP(json_freep) json_t *own = diagnosis_record_names(w->inv);
	int r = job_advice_spares(
		w->in, &(struct job_advice_ask){ exclude, own, json_array_size(exclude) }, instead,
		w->err);

	if (r < 0)
		return r;
	instead_text = json_line(instead);
	r = advise(w,
		   &(struct store_advice){ .kind = ADVICE_RESUME,
					   .reason = reason,
					   .exclude = exclude_text,
					   .replacements = instead_text },
		   &advice);
	diagnosis_record_put(w->inv->diagnosis, "result",
			     json_pack("{s:O, s:o, s:o, s:O, s:b, s:I}", "exclude", exclude,
				       "acquitted", names_with(w, step, DIAGNOSIS_ACQUITTED),
				       "unknown", names_with(w, step, DIAGNOSIS_UNKNOWN),
				       "replacements", instead, "exact", step->exact, "advice",
				       (json_int_t)advice));
	end_hosts(w, step);
	diagnosis_record_note(w->inv, w->in->now_us, TAKE(words));
	end(w, step->excluded > 0 ? INVESTIGATION_EXCLUDED
	       : step->exact	  ? INVESTIGATION_ACQUITTED
				  : INVESTIGATION_WATCH);
	return r;
}

/* --- a step --- */

static int tell_to_stop(const struct work *w)
{
	CLEANUP(freep)
	char *reason = xasprintf("stop and acknowledge: %s has its %zu hosts tested: %s",
				 diagnosis_record_text(w->inv->diagnosis, "who"), w->inv->n_hosts,
				 w->inv->reason);
	int64_t id;
	int r = advise(w, &(struct store_advice){ .kind = ADVICE_STOP, .reason = reason }, &id);

	if (r < 0)
		return r;
	diagnosis_record_put(w->inv->diagnosis, "stop", json_integer(id));
	diagnosis_record_note(
		w->inv, w->in->now_us,
		xasprintf("advice %" PRId64 " to stop is waiting to be acknowledged", id));
	return 0;
}

static int runs_on(const struct work *w, const struct stop *stop)
{
	if (stop_number(w->inv) == 0)
		return tell_to_stop(w);
	if (w->in->now_us < stop->expires_us)
		return 0;
	return withdraw(w, xasprintf("advice %" PRId64 " to stop was not acknowledged, and %s is "
				     "still running: nothing was tested",
				     stop_number(w->inv), w->inv->job_name));
}

/* Does the job stand still, as was acknowledged or according to its hosts? */
static int step_stopping(const struct work *w)
{
	struct stop stop = { 0 };
	bool idle = false;
	int r = look_all_idle(w, &idle);

	if (r == 0 && stop_number(w->inv) > 0)
		r = store_advice_by_id(w->s->store, w->inv->job, stop_number(w->inv), take_stop,
				       &stop, w->err);
	if (r < 0)
		return r;
	if (!stop.done_us && !idle)
		return runs_on(w, &stop);
	diagnosis_record_put(w->inv->diagnosis, "stopped", json_stamp(w->in->now_us));
	diagnosis_record_go_to(w->inv, DIAGNOSIS_RECORD_HOSTS);
	w->inv->state = INVESTIGATION_TESTING;
	diagnosis_record_note(w->inv, w->in->now_us,
			      xstrdup(stop.done_us
					      ? "it is stopped: its driver acknowledged the advice"
					      : "it has stopped: no job runs on its hosts"));
	return 0;
}

static struct diagnosis_groups_of groups_of(const struct work *w)
{
	return (struct diagnosis_groups_of){ w->s, w->in, w->inv, w->err };
}

/* "15 passed, 1 failed, 0 brought nothing". New memory. */
static char *counts_of(const struct diagnosis_host *hosts, size_t n)
{
	size_t counts[DIAGNOSIS_NOTHING + 1] = { 0 }, i;

	for (i = 0; i < n; i++)
		counts[hosts[i].test]++;
	return xasprintf("hosts alone: %zu passed, %zu failed, %zu gave no result",
			 counts[DIAGNOSIS_PASSED], counts[DIAGNOSIS_FAILED],
			 n - counts[DIAGNOSIS_PASSED] - counts[DIAGNOSIS_FAILED]);
}

/* The hosts' own tests are finished: go to the next phase, once. */
static void begin_groups(const struct work *w, const struct diagnosis_host *hosts)
{
	if (diagnosis_record_is_in(w->inv, DIAGNOSIS_RECORD_GROUPS))
		return;
	diagnosis_record_go_to(w->inv, DIAGNOSIS_RECORD_GROUPS);
	diagnosis_record_note(w->inv, w->in->now_us, counts_of(hosts, w->inv->n_hosts));
}

static int go_on(const struct work *w, struct diagnosis_input *d, struct diagnosis_host *hosts)
{
	CLEANUP(freep) struct diagnosis_step *step = xcalloc(1, sizeof(*step));
	const struct diagnosis_groups_of groups = groups_of(w);
	size_t i;
	int r = 0;

	diagnosis_next(d, w->in->now_us, step);
	if (step->phase == DIAGNOSIS_HOSTS) {
		for (i = 0; i < w->inv->n_hosts; i++) {
			if (step->ask[i])
				ask_host(w, &w->inv->hosts[i]);
		}
		return 0;
	}
	begin_groups(w, hosts);
	if (step->phase == DIAGNOSIS_GROUPS && d->groups == DIAGNOSIS_GROUPS_NOT_RUN)
		r = diagnosis_groups_begin(&groups, step, d);
	if (r < 0)
		return r;
	if (d->groups == DIAGNOSIS_GROUPS_CANNOT)
		diagnosis_next(d, w->in->now_us, step);
	d->unsure = diagnosis_record_text(w->inv->diagnosis, "unsure");
	return step->phase == DIAGNOSIS_CONCLUDED ? conclude(w, d, step) : 0;
}

static int step_tests(const struct work *w)
{
	const uint64_t stopped_us = json_stamp_us(json_object_get(w->inv->diagnosis, "stopped"));
	CLEANUP(freep)
	struct diagnosis_host *hosts = xcalloc(w->inv->n_hosts, sizeof(*hosts));
	struct diagnosis_input d = {
		.hosts = hosts,
		.n = w->inv->n_hosts,
		.loads = w->in->loads,
		.n_loads = w->in->n_loads,
		.per_domain = w->in->policy->jobs.per_domain,
		.at_once = w->in->policy->jobs.at_once,
		.over = w->in->now_us >= stopped_us + DIAGNOSING_TESTS_US,
	};
	const struct diagnosis_groups_of groups = groups_of(w);
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < w->inv->n_hosts; i++)
		r = look_at_host(w, &w->inv->hosts[i], &hosts[i]);
	if (r == 0)
		r = diagnosis_groups_look(&groups, &d, hosts);
	return r == 0 ? go_on(w, &d, hosts) : r;
}

/* Hosts to be tested, and since when. */
static json_t *asked_of(const struct investigation *inv)
{
	json_t *asked = json_object();
	const char *host;
	json_t *test;

	json_object_foreach(json_object_get(inv->diagnosis, "tests"), host, test)
	{
		if (inv->ended_us == 0 && test_state(test) == DIAGNOSIS_ASKED)
			(void)json_object_set(asked, host, json_object_get(test, "asked"));
	}
	return asked;
}

static int step(const struct work *w)
{
	const struct policy *policy = w->in->policy;

	if (!actor_knows(w->s->act) || actor_stale(w->s->act) || cluster_stopped(w->s->cluster))
		return 0;
	if (policy_jobs_mode(&policy->jobs, (int)policy->mode) != MODE_ENFORCE)
		return withdraw(w, xstrdup("the mode is no longer enforce"));
	if (diagnosis_record_is_in(w->inv, DIAGNOSIS_RECORD_STOPPING))
		return step_stopping(w);
	return step_tests(w);
}

int diagnosing_step(struct investigating *k, struct service *s, const struct job_judging_input *in,
		    int64_t id, struct diagnosing_now *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *kept = NULL;
	struct investigation inv = { 0 };
	const struct work w = { k, s, in, &inv, ret, err };
	int r = store_investigation(s->store, id, &kept, err);

	*ret = (struct diagnosing_now){ .open = false };
	if (r < 0 || !streq(diagnosis_record_text(kept, "kind"),
			    investigation_kind_names[INVESTIGATION_DIAGNOSIS]))
		return r;
	r = investigation_read(kept, &inv, err);
	if (r < 0)
		return r;
	diagnosis_rerun_note(&inv, in);
	r = step(&w);
	if (r == 0)
		r = investigating_keep(k, s, &inv, kept, err);
	ret->open = inv.ended_us == 0;
	ret->asked = asked_of(&inv);
	investigation_release(&inv);
	return r;
}

struct blame diagnosing_blame(const struct job_judging_input *in, const json_t *asked_stamp)
{
	const uint64_t asked_us = json_stamp_us(asked_stamp);

	return (struct blame){ .class = BLAME_COMPUTE,
			       .reach = BLAME_TO_TEST,
			       .job = (char *)(uintptr_t)in->job,
			       .since_us = asked_us,
			       .until_us = asked_us + DIAGNOSING_TESTS_US,
			       .diagnosed = true };
}

/* --- ended from outside --- */

int diagnosing_withdrawn(struct service *s, const json_t *investigation, struct err *err)
{
	const struct job_judging_input in = { .store = s->store, .now_us = clock_real_us() };
	struct diagnosing_now now = { 0 };
	struct investigation inv = { 0 };
	const struct work w = { NULL, s, &in, &inv, &now, err };
	int r = investigation_read(investigation, &inv, err);

	if (r == 0 && inv.kind == INVESTIGATION_DIAGNOSIS) {
		diagnosis_groups_withdraw(s, inv.diagnosis, inv.sentence);
		r = take_stop_back(&w, inv.sentence);
	}
	investigation_release(&inv);
	return r < 0 ? r : now.advised;
}

int diagnosing_gone(struct investigating *k, struct service *s, int64_t job, struct err *err)
{
	const struct job_judging_input in = { .store = s->store, .now_us = clock_real_us() };
	CLEANUP(json_freep) json_t *rows = NULL;
	struct diagnosing_now now = { 0 };
	size_t i;
	int r = store_investigations_of(s->store, job, in.now_us, &rows, err);

	for (i = 0; r == 0 && i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		struct investigation inv = { 0 };
		const struct work w = { k, s, &in, &inv, &now, err };

		if (investigation_read(row, &inv, NULL) < 0)
			continue;
		if (inv.kind == INVESTIGATION_DIAGNOSIS && inv.ended_us == 0) {
			r = withdraw(&w, xasprintf("%s is no longer known", inv.job_name));
			if (r == 0)
				r = investigating_keep(k, s, &inv, row, err);
		}
		investigation_release(&inv);
	}
	return r;
}
