/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_advice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/job/advice.h"
#include "controller/store/store_advices.h"
#include "controller/store/store_placements.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/fleet.h"

enum { NAMES_TOLD = 3 }; /* in a sentence */

/* --- the last advice --- */

struct last {
	int64_t id, run;
	struct advice_last state;
	json_t *exclude, *replacements; /* owned; NULL: none */
	char *reason;
	uint64_t made_us;
};

static void last_release(struct last *last)
{
	json_decref(last->exclude);
	json_decref(last->replacements);
	free(last->reason);
}

static void take(void *context, const struct store_advice *row)
{
	struct last *last = context;

	*last = (struct last){
		.id = row->id,
		.run = row->run,
		.state = { row->kind, row->why, row->prediction, row->expires_us, row->done_us },
		.exclude = json_loads(row->exclude, 0, NULL),
		.replacements = json_loads(row->replacements, 0, NULL),
		.reason = xstrdup(row->reason),
		.made_us = row->made_us,
	};
	if (last->state.kind < 0 || last->state.kind >= ADVICE_KINDS)
		last->state.kind = ADVICE_CONTINUE;
}

/* --- hosts --- */

static const char *name_at(const json_t *names, size_t i)
{
	return json_string_value(json_array_get(names, i));
}

static void add(json_t *names, const char *name)
{
	if (name && !json_has_text(names, name) && json_array_size(names) < JOB_ADVICE_HOSTS_MAX)
		(void)json_array_append_new(names, json_string(name));
}

/*
 * Is it certain that no job starts on it? A host held for a test returns to service. One whose
 * cordon is in progress counts as somebody else's until it is done.
 */
static bool is_out(const struct fleet *fleet, const char *name)
{
	const struct fleet_node *node = fleet_find(fleet, name);
	const unsigned coming = OUT_COMING | OUT_OTHERS;

	return !node || (node->out & ~(OUT_HOLD | (node->out & OUT_COMING ? coming : 0U))) != 0;
}

static bool any_out(const struct fleet *fleet, const json_t *names)
{
	size_t i;

	for (i = 0; i < json_array_size(names); i++) {
		if (is_out(fleet, name_at(names, i)))
			return true;
	}
	return false;
}

/* Those of `names` that are out of service, and all of `more` (may be NULL). New reference. */
static json_t *excluded(const struct fleet *fleet, const json_t *names, const json_t *more)
{
	json_t *all = json_array();
	size_t i;

	for (i = 0; i < json_array_size(more); i++)
		add(all, name_at(more, i));
	for (i = 0; i < json_array_size(names); i++) {
		if (is_out(fleet, name_at(names, i)))
			add(all, name_at(names, i));
	}
	return all;
}

/* Is any of these hosts still to be tested or taken out of service? */
static bool is_pending(const struct fleet *fleet, const struct job_judged *judged,
		       const json_t *names)
{
	size_t i;

	for (i = 0; i < judged->result.n; i++) {
		const struct job_judge_item *item = &judged->result.items[i];

		if (item->effect && item->action >= BLAME_PROBE &&
		    json_has_text(names, item->host->name) && !is_out(fleet, item->host->name))
			return true;
	}
	return false;
}

/* --- spares --- */

/* Has it no findings? */
static bool is_well(const struct fleet_node *node)
{
	const struct finding *f;

	for (f = node->findings; f; f = f->next) {
		if (windows_bad(&f->windows, 1) > 0)
			return false;
	}
	return node->record.life.state == LIFE_HEALTHY || node->record.life.state == LIFE_RELEASED;
}

/* Could the scheduler start a job there, as far as is known, and does nobody else need it? */
static bool is_free(const struct fleet_node *node)
{
	return node->out == 0 && node->managed && !node->hands_off && !node->outside &&
	       node->n_jobs == 0 && node->record.ordered_us == 0 &&
	       node->record.hold_until_us == 0 && node->blame.class == BLAME_NOTHING;
}

static bool is_spare(const struct job_judging_input *in, const struct fleet_node *node)
{
	return is_free(node) && is_well(node) && !node->unverified &&
	       node->deep_us + JOB_ADVICE_TESTED_US > in->now_us &&
	       node->reported_us + in->policy->silent_after_us > in->now_us;
}

/* Is it known to run no job? If that is unknown, ask; for a few hosts at a time. */
static bool is_idle(const struct job_judging_input *in, const struct fleet_node *node)
{
	if (node->jobs_known || !in->fleet->tells_jobs)
		return true;
	if (in->asked && json_array_size(in->asked) < JOB_ADVICE_ASKED_MAX)
		add(in->asked, node->name);
	return false;
}

/* The spares named in a stop should be named again when the job resumes. */
static void keep_known(const struct job_judging_input *in, const json_t *names)
{
	size_t i;

	for (i = 0; in->asked && i < json_array_size(names); i++)
		add(in->asked, name_at(names, i));
}

int job_advice_is_spare(const struct job_judging_input *in, const struct fleet_node *node,
			bool *ret, struct err *err)
{
	bool busy = true;
	int r = 0;

	if (is_spare(in, node))
		r = store_placement_present(in->store, node->name, in->now_us, &busy, err);
	*ret = r == 0 && !busy && is_idle(in, node);
	return r;
}

/* Add the first usable spare by name for this host to `names`. Returns 0 if there is none. */
static int add_spare(const struct job_judging_input *in, const char *host, const json_t *exclude,
		     json_t *names, struct err *err)
{
	const struct fleet_node *bad = fleet_find(in->fleet, host);
	size_t i;

	for (i = 0; bad && bad->sku != NAME_NONE && i < in->fleet->n; i++) {
		const struct fleet_node *node = in->fleet->nodes[i];
		bool spare = false;
		int r;

		if (node->sku != bad->sku || json_has_text(exclude, node->name) ||
		    json_has_text(names, node->name))
			continue;
		r = job_advice_is_spare(in, node, &spare, err);
		if (r < 0)
			return r;
		if (!spare)
			continue;
		add(names, node->name);
		return 1;
	}
	return 0;
}

int job_advice_spares(const struct job_judging_input *in, const struct job_advice_ask *ask,
		      json_t *names, struct err *err)
{
	size_t i;
	int r = 0;

	for (i = 0; r >= 0 && i < json_array_size(ask->hosts) && json_array_size(names) < ask->most;
	     i++)
		r = add_spare(in, name_at(ask->hosts, i), ask->own, names, err);
	return MIN(r, 0);
}

/* Find at most `most` spares for `hosts`, one for each, as far as there are any. */
static int find_spares(const struct job_judging_input *in, const json_t *hosts, size_t most,
		       json_t *names, struct err *err)
{
	return job_advice_spares(in, &(struct job_advice_ask){ hosts, hosts, most }, names, err);
}

/* --- words --- */

/* "gpu-17, gpu-18 and 3 more"; "the hosts" for none. New memory. */
static char *words_of(const json_t *names)
{
	const size_t n = json_array_size(names);
	char *words = xstrdup(n > 0 ? name_at(names, 0) : "the hosts");
	size_t i;

	for (i = 1; i < MIN(n, (size_t)NAMES_TOLD); i++) {
		CLEANUP(freep) char *before = words;

		words = xasprintf("%s%s%s", before, i + 1 == n ? " and " : ", ", name_at(names, i));
	}
	if (n > NAMES_TOLD) {
		CLEANUP(freep) char *before = words;

		words = xasprintf("%s and %zu more", before, n - NAMES_TOLD);
	}
	return words;
}

static char *stop_words(const struct job_judging_input *in, const struct job_predicted *predicted,
			const char *who, const char *instead)
{
	const struct prediction *p = &predicted->numbers;
	char cost[CLOCK_DURATION_SIZE];

	duration_format(in->policy->jobs.restart_cost_us, cost);
	return xasprintf("stop and acknowledge: %s is to be %s; with %s a step takes %.3g s "
			 "instead of %.3g s, and a restart (%s) pays off after %.0f steps, %.1f h",
			 who, predicted->to_test ? "tested without jobs" : "replaced", instead,
			 p->after_s, p->before_s, cost, p->pays_steps, p->pays_s / 3600);
}

static char *reason_of(const struct job_judging_input *in, const struct last *last,
		       const struct job_predicted *predicted, int why, const json_t *exclude,
		       const json_t *replacements)
{
	const json_t *names = json_array_size(exclude) > 0 ? exclude : last->exclude;
	CLEANUP(freep) char *who = words_of(names);
	CLEANUP(freep) char *spares = words_of(replacements);
	const char *instead = json_array_size(replacements) > 0 ? spares : "what is available";

	switch (why) {
	case ADVICE_NOT_RUNNING:
		return xasprintf("the job is not running: start it without %s", who);
	case ADVICE_PAYS_NOT:
		return xasprintf("a restart without %s would not pay off within a day", who);
	case ADVICE_NO_SPARE:
		return xasprintf("no spare for %s: no idle host of that model has passed the full "
				 "profile within the last day; nothing is stopped",
				 who);
	case ADVICE_EXPIRED:
		return xasprintf("advice %" PRId64 " to stop expired without being acknowledged, "
				 "and the job continues with %s",
				 last->id, who);
	case ADVICE_WITHDRAWN:
		return xasprintf("advice %" PRId64
				 " to stop is withdrawn: %s no longer has to be replaced",
				 last->id, who);
	case ADVICE_TO_REPLACE:
	case ADVICE_TO_TEST:
		return stop_words(in, predicted, who, instead);
	case ADVICE_REPLACED:
		return xasprintf("%s is out of service: start without it, with %s", who, instead);
	case ADVICE_WAITED:
		return xasprintf("%s is still in service after the longest wait: start without "
				 "it, with %s",
				 who, instead);
	default:
		return xasprintf("%s need no longer be replaced: start again", who);
	}
}

/* --- the next advice --- */

static int read_facts(const struct job_judging_input *in, const struct job_judged *judged,
		      int64_t job, const struct job_predicted *predicted, const struct last *last,
		      struct advice_facts *ret, struct err *err)
{
	bool known = false, runs = false;
	int r = 0;

	*ret = (struct advice_facts){
		.now_us = in->now_us,
		.prediction = predicted->id,
		.to_test = predicted->to_test,
		.pays = predicted->id &&
			prediction_pays_within(&predicted->numbers,
					       (double)ADVICE_PAYS_US / USEC_PER_SEC),
		.out = any_out(in->fleet, last->exclude),
		.pending = is_pending(in->fleet, judged, last->exclude),
	};
	if (!predicted->id)
		return 0;
	r = store_was_advised(in->store, job, predicted->id, ADVICE_STOP, &ret->advised, err);
	if (r == 0 && !ret->advised)
		r = store_job_runs(in->store, in->job, in->now_us, &known, &runs, err);
	/* Without reports from hosts go by its windows, which are fresh if there are suspects. */
	ret->running = !known || runs;
	return r;
}

/* Hosts that the next advice would exclude. New reference. */
static json_t *exclude_of(const struct job_judging_input *in, const struct job_predicted *predicted,
			  const struct last *last, int why)
{
	if (predicted->id)
		return excluded(in->fleet, last->exclude, predicted->hosts);
	if (why == ADVICE_WITHDRAWN || why == ADVICE_CLEARED || why == ADVICE_REPLACED)
		return excluded(in->fleet, last->exclude, NULL);
	return last->exclude ? json_incref(last->exclude) : json_array();
}

/* The next advice, with the hosts that it names. */
struct coming {
	struct advice_next next;
	json_t *exclude, *replacements;
};

static void coming_release(struct coming *coming)
{
	json_decref(coming->exclude);
	json_decref(coming->replacements);
}

/* Returns 1 if there is a new advice. */
static int find_next(const struct job_judging_input *in, const struct job_predicted *predicted,
		     const struct last *last, struct advice_facts *facts, struct coming *ret,
		     struct err *err)
{
	int r = 0;

	/* Finding spares visits the whole fleet: do it only if it matters. */
	facts->spares = true;
	if (!advice_next(&last->state, facts, &ret->next))
		return 0;
	ret->exclude = exclude_of(in, predicted, last, ret->next.why);
	ret->replacements = json_array();
	if (ret->next.kind == ADVICE_RESUME)
		r = find_spares(in, last->exclude, json_array_size(last->replacements),
				ret->replacements, err);
	else if (ret->next.kind == ADVICE_STOP)
		r = find_spares(in, predicted->hosts, json_array_size(predicted->hosts),
				ret->replacements, err);
	if (r < 0 || ret->next.kind != ADVICE_STOP)
		return r < 0 ? r : 1;
	facts->spares = json_array_size(ret->replacements) == json_array_size(predicted->hosts);
	if (!facts->spares && json_array_size(in->asked) > 0)
		return 0; /* there may be a spare: the cluster is being asked */
	if (!facts->spares)
		(void)json_array_clear(ret->replacements);
	return advice_next(&last->state, facts, &ret->next);
}

static int keep(const struct job_judging_input *in, int64_t job,
		const struct job_predicted *predicted, const struct last *last,
		const struct coming *coming, struct err *err)
{
	CLEANUP(freep) char *exclude = json_line(coming->exclude);
	CLEANUP(freep) char *replacements = json_line(coming->replacements);
	CLEANUP(freep)
	char *reason = reason_of(in, last, predicted, coming->next.why, coming->exclude,
				 coming->replacements);
	const bool stops = last->state.kind == ADVICE_STOP;
	int64_t id = 0;

	return store_add_advice(in->store,
				&(struct store_advice){
					.job = job,
					.run = in->n > 0 ? in->windows[0].run : last->run,
					.prediction = stops ? last->state.prediction : predicted->id,
					.kind = coming->next.kind,
					.why = coming->next.why,
					.exclude = exclude,
					.replacements = replacements,
					.reason = reason,
					.made_us = in->now_us,
					.expires_us = coming->next.expires_us,
				},
				&id, err);
}

static int advise(const struct job_judging_input *in, const struct job_judged *judged, int64_t job,
		  const struct job_predicted *predicted, struct err *err)
{
	CLEANUP(last_release) struct last last = { .id = 0 };
	CLEANUP(coming_release) struct coming coming = { .exclude = NULL };
	struct advice_facts facts;
	int r = store_last_advice(in->store, job, take, &last, err);

	/* While the cluster is unknown, it cannot be said whether a host is out of service. */
	if (r == 0 && (in->fleet->n == 0 || in->fleet->stale))
		return advice_is_under_way(&last.state) ? JOB_ADVICE_UNDER_WAY : 0;
	if (r == 0)
		r = read_facts(in, judged, job, predicted, &last, &facts, err);
	if (r == 0 && advice_is_under_way(&last.state))
		keep_known(in, last.replacements);
	if (r == 0)
		r = find_next(in, predicted, &last, &facts, &coming, err);
	if (r == 0 && advice_is_under_way(&last.state))
		return JOB_ADVICE_UNDER_WAY;
	if (r <= 0)
		return r;
	r = keep(in, job, predicted, &last, &coming, err);
	if (r < 0)
		return r;
	return JOB_ADVICE_WROTE | JOB_ADVICE_NEWS |
	       (coming.next.kind == ADVICE_STOP ? JOB_ADVICE_UNDER_WAY : 0);
}

int job_advice_judged(const struct job_judging_input *in, const struct job_judged *judged,
		      int64_t job, json_t *view, struct err *err)
{
	CLEANUP(job_prediction_release) struct job_predicted predicted = { .id = 0 };
	int predicts = job_prediction_judged(in, judged, job, view, &predicted, err);
	int advises = predicts < 0 || in->diagnosed ? MIN(predicts, 0)
						    : advise(in, judged, job, &predicted, err);

	return advises < 0 ? advises : advises | (predicts > 0 ? JOB_ADVICE_WROTE : 0);
}

/* --- queries --- */

static json_t *names_of(json_t *names)
{
	return json_is_array(names) ? json_incref(names) : json_array();
}

static json_t *show(const struct last *last, uint64_t now_us)
{
	const struct advice_last *s = &last->state;
	const char *reason = last->reason ? last->reason : "no advice yet";

	return json_pack("{s:I, s:s, s:o, s:o, s:s, s:o, s:s, s:o, s:o, s:o, s:o}", "id",
			 (json_int_t)last->id, "advice", advice_kind_names[s->kind], "exclude",
			 names_of(last->exclude), "replacements", names_of(last->replacements),
			 "reason", reason, "expires", json_stamp(s->expires_us), "state",
			 advice_state(s, now_us), "made", json_stamp(last->made_us), "acknowledged",
			 json_stamp(s->done_us), "run",
			 last->run ? json_integer(last->run) : json_null(), "prediction",
			 s->prediction ? json_integer(s->prediction) : json_null());
}

int job_advice_show(struct store *store, int64_t job, int64_t after, uint64_t now_us, json_t **ret,
		    struct err *err)
{
	CLEANUP(last_release) struct last last = { .id = 0 };
	int r = store_last_advice(store, job, take, &last, err);

	if (r == 0)
		*ret = last.id > after ? show(&last, now_us) : NULL;
	return r;
}

static int refuse_old(int64_t id, int64_t newest, const struct last *old, uint64_t now_us,
		      struct err *err)
{
	if (old->id && streq(advice_state(&old->state, now_us), "expired"))
		return err_set(err, ETIME, "advice %" PRId64 " had expired", id);
	return err_set(err, EEXIST,
		       "advice %" PRId64 " is not the latest one of this job, which is %" PRId64,
		       id, newest);
}

int job_advice_acknowledge(struct store *store, int64_t job, int64_t id, uint64_t now_us,
			   json_t **ret, struct err *err)
{
	CLEANUP(last_release) struct last last = { .id = 0 };
	CLEANUP(last_release) struct last old = { .id = 0 };
	int r = store_last_advice(store, job, take, &last, err);

	if (r == 0 && (last.id != id || id == 0)) {
		r = store_advice_by_id(store, job, id, take, &old, err);
		if (r < 0 || !old.state.done_us)
			return r < 0 ? r : refuse_old(id, last.id, &old, now_us, err);
		*ret = show(&old, now_us); /* repeated by a client that missed the answer */
		return 0;
	}
	if (r == 0 && streq(advice_state(&last.state, now_us), "expired"))
		return refuse_old(id, id, &last, now_us, err);
	if (r == 0 && !last.state.done_us) {
		r = store_acknowledge_advice(store, id, now_us, err);
		last.state.done_us = now_us;
	}
	if (r == 0)
		*ret = show(&last, now_us);
	return r;
}
