/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_plan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/actions/remediation.h"
#include "controller/config/settings_jobs.h"
#include "controller/controller.h"
#include "controller/job/job_advice.h"
#include "controller/job/jobs.h"
#include "controller/job/plan_check.h"
#include "controller/job/plan_facts.h"
#include "controller/job/plan_view.h"
#include "controller/store/store_jobs.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* Windows with a slowdown above this count for how long the job has been slow. */
#define SLOW 1.03

/* --- windows --- */

struct recent {
	int64_t newest, run;		 /* -1: none */
	int64_t before, before_run;	 /* the newest of an earlier run; 0: none */
	struct run_shape shape;		 /* of the newest window */
	struct prediction_mean measured; /* over the windows of its run with that shape */
	uint64_t slow_us; /* begin of the latest sequence of slow windows; 0: the newest is not slow */
	uint64_t last_us; /* end of the newest window, or its arrival */
	bool over;	  /* a window of the run that is not slow was seen */
};

/* Measure the step time, to compare it with the plan of an earlier run. */
static void measure(struct recent *recent, const struct store_trace_window *w, const json_t *summary)
{
	const struct run_shape shape = run_pace_shape(summary);
	const json_t *step = json_object_get(summary, "step_s");

	if (recent->newest == w->id)
		recent->shape = shape;
	if (run_pace_alike(&shape, &recent->shape))
		prediction_add_window(
			&recent->measured, json_number_value(step),
			(uint64_t)json_integer_value(json_object_get(summary, "steps")));
}

static void take_window(void *context, const struct store_trace_window *w)
{
	struct recent *recent = context;
	CLEANUP(json_freep) json_t *summary = NULL;

	if (recent->newest < 0) {
		recent->newest = w->id;
		recent->run = w->run;
		recent->last_us = w->until_us ? w->until_us : w->received_us;
	}
	if (w->run != recent->run)
		return;
	summary = w->summary ? json_loads(w->summary, 0, NULL) : NULL;
	measure(recent, w, summary);
	if (recent->over)
		return;
	recent->over = json_number_value(json_object_get(summary, "slowdown")) < SLOW;
	if (!recent->over)
		recent->slow_us = w->from_us ? w->from_us : w->received_us;
}

/* Steps since it became slow: until now while windows arrive, else until the last. */
static double slow_steps(const struct recent *w, double step_s, uint64_t now_us, uint64_t fresh_us)
{
	const uint64_t until_us = w->last_us + fresh_us > now_us ? now_us : w->last_us;

	if (w->slow_us == 0)
		return 0;
	return until_us > w->slow_us
		       ? (double)(until_us - w->slow_us) / (double)USEC_PER_SEC / step_s
		       : 0;
}

/* --- costs --- */

static double seconds(uint64_t us)
{
	return (double)us / (double)USEC_PER_SEC;
}

static double unless_restart(uint64_t us)
{
	return us == SETTINGS_JOBS_RESTART ? (double)NAN : seconds(us);
}

static struct remedies_costs costs_of(const struct service *s, const struct policy *policy)
{
	const struct settings_jobs *jobs = &s->settings->jobs;

	return (struct remedies_costs){
		.restart_s = seconds(policy->jobs.restart_cost_us),
		.lost_s = seconds(jobs->checkpoint_us) / 2,
		.warm_up_s = seconds(jobs->warm_up_us),
		.regroup_s = unless_restart(jobs->regroup_us),
		.microbatches_s = unless_restart(jobs->rebalance_us),
		.layers_s = unless_restart(jobs->layers_us),
	};
}

/* --- spares --- */

/* Hosts of the job, which cannot be spares. New reference. */
static json_t *own_of(const struct plan_facts *facts, const json_t *more)
{
	json_t *own = json_array();
	size_t i;

	for (i = 0; i < json_array_size(facts->of_worker); i++)
		json_insert_text(own, json_string_value(json_array_get(facts->of_worker, i)));
	for (i = 0; i < json_array_size(more); i++)
		json_insert_text(own, json_string_value(json_array_get(more, i)));
	return own;
}

static int find_spares(struct service *s, const json_t *hosts, const json_t *own, json_t *ret,
		       struct err *err)
{
	const struct job_judging_input in = { .store = s->store,
					      .fleet = actor_fleet(s->act),
					      .policy = remediation_policy(s),
					      .now_us = clock_real_us() };
	const struct job_advice_ask ask = { hosts, own, json_array_size(hosts) };

	return job_advice_spares(&in, &ask, ret, err);
}

/* --- check of the previous plan --- */

static int read_analysis(struct service *s, int64_t job, int64_t window, json_t **ret,
			 struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	CLEANUP(json_freep) json_t *analysis = NULL;
	int r = jobs_analysis(s, job, window, &text, err);

	if (r < 0)
		return r;
	analysis = json_loads(text, 0, NULL);
	if (!analysis)
		return err_set(err, ESTALE, "its last analysis cannot be read");
	*ret = TAKE(analysis);
	return 0;
}

/* Without the earlier analysis there is no plan to compare with. */
static json_t *check_before(struct service *s, int64_t job, const struct recent *w,
			    const struct plan_check_run *now)
{
	CLEANUP(json_freep) json_t *analysis = NULL;
	CLEANUP(plan_facts_release) struct plan_facts facts = { .hosts = NULL };
	CLEANUP(freep) struct remedies *remedies = xcalloc(1, sizeof(*remedies));
	struct plan_check_run before = {
		.run = w->before_run, .window = w->before, .facts = &facts, .remedies = remedies
	};

	if (w->before == 0 || read_analysis(s, job, w->before, &analysis, NULL) < 0 ||
	    !plan_facts_read(analysis, &facts))
		return json_array();
	before.shape = run_pace_shape(analysis);
	facts.facts.costs = now->facts->facts.costs;
	return remedies_find(&facts.facts, remedies, NULL) == 0
		       ? plan_check(&before, now, &w->measured)
		       : json_array();
}

/* --- everything --- */

static int fill(struct service *s, int64_t job, const struct job_plan_ask *ask,
		const struct recent *w, const json_t *analysis, json_t *plan, struct err *err)
{ /* lint: allow parameters: job, question, windows, and output */
	const struct policy *policy = remediation_policy(s);
	CLEANUP(plan_facts_release) struct plan_facts facts = { .hosts = NULL };
	CLEANUP(freep) struct remedies *remedies = xcalloc(1, sizeof(*remedies));
	CLEANUP(json_freep) json_t *spares = json_array();
	CLEANUP(json_freep) json_t *instead = json_array();
	CLEANUP(json_freep) json_t *own = NULL;
	struct plan_view_input view = { &facts, remedies, spares, ask->without, instead };
	const struct plan_check_run now = { w->run, w->newest, w->shape, &facts, remedies };
	int r;

	if (!plan_facts_read(analysis, &facts))
		return err_set(err, ESTALE, "its last analysis has no step times");
	own = own_of(&facts, ask->without);
	r = find_spares(s, facts.hosts, own, spares, err);
	if (r == 0 && ask->without)
		r = find_spares(s, ask->without, own, instead, err);
	if (r < 0)
		return r;
	facts.facts.spares = json_array_size(spares);
	facts.facts.costs = costs_of(s, policy);
	facts.facts.remaining = ask->remaining;
	facts.facts.slow_steps =
		slow_steps(w, facts.facts.now_s, clock_real_us(), policy->jobs.fresh_us);
	r = remedies_find(&facts.facts, remedies, err);
	if (r < 0)
		return r;
	plan_view_put(&view, plan);
	json_put(plan, "checked", check_before(s, job, w, &now));
	return 0;
}

/* The newest window has a stored analysis: make the plan from it. */
static int plan_window(struct service *s, int64_t job, const struct job_plan_ask *ask,
		       const struct recent *w, json_t *plan, struct err *err)
{ /* lint: allow parameters: job, question, windows, and output */
	CLEANUP(json_freep) json_t *analysis = NULL;
	int r;

	if (w->newest < 0)
		return err_set(err, ESTALE, "no window of the job has been analysed yet");
	r = read_analysis(s, job, w->newest, &analysis, err);
	return r < 0 ? r : fill(s, job, ask, w, analysis, plan, err);
}

int job_plan(struct service *s, int64_t job, const struct job_plan_ask *ask, json_t **ret,
	     struct err *err)
{
	struct recent recent = { .newest = -1 };
	CLEANUP(json_freep) json_t *row = NULL;
	CLEANUP(json_freep) json_t *plan = NULL;
	struct err reason = ERR_INIT;
	int r = store_job(s->store, job, &row, err);

	if (r == 0)
		r = store_analysed_windows(s->store, job, JOB_PLAN_WINDOWS_MAX, take_window,
					   &recent, err);
	if (r == 0 && recent.newest >= 0)
		r = store_window_before(s->store, job, recent.run, JOB_PLAN_LOOK_MAX,
					&recent.before, &recent.before_run, err);
	if (r < 0)
		return r;
	plan = json_pack("{s:O, s:O, s:o, s:o, s:[], s:[], s:n, s:n, s:n}", "job",
			 json_object_get(row, "job"), "id", json_object_get(row, "id"), "run",
			 recent.newest < 0 ? json_null() : json_integer(recent.run), "window",
			 recent.newest < 0 ? json_null() : json_integer(recent.newest), "remedies",
			 "checked", "advised", "without", "reason");
	r = plan_window(s, job, ask, &recent, plan, &reason);
	if (r == -ESTALE || r == -ENOENT || r == -EINVAL)
		(void)json_object_set_new(plan, "reason", json_string(reason.msg));
	else if (r < 0)
		return err_set(err, -r, "%s", reason.msg);
	*ret = TAKE(plan);
	return 0;
}
