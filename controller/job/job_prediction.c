/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_prediction.h"

#include <math.h>
#include <stdlib.h>

#include "controller/job/run_pace.h"
#include "controller/job/summary.h"
#include "controller/store/store_predictions.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum { INSTEAD_MAX = 8 }; /* shown replacements */

/* --- trust --- */

static bool is_poor(const struct store_trust *trust, const struct policy_jobs *jobs)
{
	return prediction_is_distrusted(trust->held, trust->checked, jobs->trust_least,
					jobs->trust_of);
}

int job_prediction_distrusted(struct store *store, const struct policy_jobs *jobs,
			      bool ret[static BLAME_CLASSES], struct err *err)
{
	int class, r = 0;

	for (class = 0; r == 0 && class < BLAME_CLASSES; class ++) {
		struct store_trust trust = { 0 };

		if (blame_may_accuse(class))
			r = store_trust(store, blame_class_names[class], jobs->trust_of, &trust,
					err);
		ret[class] = r == 0 && is_poor(&trust, jobs);
	}
	return r;
}

/* --- predictions --- */

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static json_int_t integer(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* The newest window that blames it, or NULL. */
static const struct job_window *window_of(const struct job_judging_input *in,
					  const struct suspicion_found *found)
{
	size_t i;

	for (i = 0; i < in->n; i++) {
		if (found->hits > 0 && in->windows[i].id == found->ids[0])
			return &in->windows[i];
	}
	return NULL;
}

/* All hosts the window would replace. `ret_gain` is the gain of that. */
static json_t *set_of(const struct job_window *window, struct prediction_gain *ret_gain)
{
	const json_t *all = json_object_get(window->summary, "suspects");
	json_t *names = json_array();
	size_t i, j;

	*ret_gain = (struct prediction_gain){ NAN, NAN, NAN };
	for (i = 0; i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i);
		const json_t *hosts = json_object_get(one, "hosts");
		const json_t *gain = json_object_get(one, "gain");

		if (!job_suspects_accuses(window->summary, one))
			continue;
		*ret_gain = (struct prediction_gain){ number(gain, "value"), number(gain, "low"),
						      number(gain, "high") };
		for (j = 0; j < json_array_size(hosts); j++)
			json_insert_text(names, json_string_value(json_array_get(hosts, j)));
	}
	return names;
}

/* A prediction, and the texts that its row borrows. */
struct made {
	struct store_prediction row;
	char *hosts;
};

static void made_release(struct made *made)
{
	free(made->hosts);
}

static struct prediction numbers_of(const struct store_prediction *row)
{
	struct prediction p = { .before_s = row->before_s,
				.after_s = row->after_s,
				.low_s = row->low_s,
				.high_s = row->high_s,
				.restart_s = row->restart_s };
	const struct prediction_gain gain = { 1 - row->after_s / row->before_s,
					      1 - row->high_s / row->before_s,
					      1 - row->low_s / row->before_s };

	(void)prediction_make(row->before_s, &gain, row->restart_s, &p);
	return p;
}

static bool make(const struct job_judging_input *in, const struct suspicion_found *found,
		 int64_t job, struct made *ret)
{
	const struct job_window *w = window_of(in, found);
	CLEANUP(json_freep) json_t *hosts = NULL;
	struct prediction_gain gain;
	struct prediction p;

	if (!w)
		return false;
	hosts = set_of(w, &gain);
	if (json_array_size(hosts) == 0 ||
	    !prediction_make(number(w->summary, "step_s"), &gain,
			     (double)in->policy->jobs.restart_cost_us / USEC_PER_SEC, &p))
		return false;
	ret->hosts = json_line(hosts);
	ret->row = (struct store_prediction){
		.job = job,
		.run = w->run,
		.window = w->id,
		.class = blame_class_names[found->class],
		.hosts = ret->hosts,
		.ranks = integer(w->summary, "ranks"),
		.dp = integer(w->summary, "dp"),
		.pp = integer(w->summary, "pp"),
		.before_s = p.before_s,
		.after_s = p.after_s,
		.low_s = p.low_s,
		.high_s = p.high_s,
		.restart_s = p.restart_s,
		.from_us = w->from_us,
		.until_us = w->until_us,
		.made_us = in->now_us,
	};
	return true;
}

static json_t *parsed(const char *text)
{
	json_t *value = text ? json_loads(text, 0, NULL) : NULL;

	return value ? value : json_null();
}

/* A prediction that is not stored has no number. */
static json_t *show(const struct store_prediction *row, uint64_t now_us)
{
	const struct prediction p = numbers_of(row);
	const bool over = row->state == PREDICTION_OPEN && row->id != 0 &&
			  now_us > row->made_us + PREDICTION_WAITS_US;
	json_t *shown = json_pack(
		"{s:o, s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "id",
		row->id ? json_integer(row->id) : json_null(), "run", (json_int_t)row->run,
		"window", (json_int_t)row->window, "class", row->class, "hosts", parsed(row->hosts),
		"before_s", json_seconds(p.before_s), "after_s", json_seconds(p.after_s), "low_s",
		json_seconds(p.low_s), "high_s", json_seconds(p.high_s), "restart_s",
		json_seconds(p.restart_s), "pays_steps", json_seconds(p.pays_steps), "pays_s",
		json_seconds(p.pays_s), "made", json_stamp(row->id ? row->made_us : 0), "state",
		over ? "unchecked" : (row->id ? prediction_state_names[row->state] : "shown"));

	return shown;
}

/* --- after the decision --- */

enum acting { ACT_NOT, ACT_DISTRUSTED, ACT_TEST, ACT_EVICT };

/* Has it cost as much as a restart since it is a suspect? */
static bool has_cost(const struct job_judging_input *in, const struct job_judge_item *item,
		     const struct store_prediction *p)
{
	const uint64_t since_us = item->host->suspected_us;
	const double gain = 1 - p->after_s / p->before_s;

	return since_us > 0 && since_us < in->now_us &&
	       gain * (double)(in->now_us - since_us) / USEC_PER_SEC >= p->restart_s;
}

/* The strongest action on its hosts. */
static int acting_on(const struct job_judging_input *in, const struct job_judged *judged,
		     const struct suspicion_found *found, const struct store_prediction *p)
{
	int acting = ACT_NOT; /* enum acting */
	size_t i;

	for (i = 0; i < judged->result.n; i++) {
		const struct job_judge_item *item = &judged->result.items[i];

		if (item->suspect != found || !item->effect)
			continue;
		if (item->action == BLAME_EVICT)
			acting = MAX(acting, ACT_EVICT);
		else if (item->distrusted)
			acting = MAX(acting, ACT_DISTRUSTED);
		else if (item->action == BLAME_PROBE && item->waits &&
			 in->policy->jobs.busy == BUSY_DRAIN && has_cost(in, item, p))
			acting = MAX(acting, ACT_TEST);
	}
	return acting;
}

static void take(struct job_predicted *ret, const struct made *made, int64_t id, bool to_test)
{
	if (ret->id && (to_test || !ret->to_test))
		return;
	json_decref(ret->hosts);
	*ret = (struct job_predicted){ id, numbers_of(&made->row), parsed(made->row.hosts),
				       to_test };
}

static int keep(const struct job_judging_input *in, const struct job_judged *judged, int64_t job,
		json_t *view, struct job_predicted *ret, struct err *err)
{
	const struct suspicion_list *list = &in->suspects->list;
	bool written = false;
	size_t i;
	int r = 0;

	(void)json_object_set_new(view, "prediction", json_null());
	for (i = 0; r >= 0 && i < list->n; i++) {
		const struct suspicion_found *found = &list->items[i];
		CLEANUP(made_release) struct made made = { .hosts = NULL };
		int acting;
		int64_t id = 0;

		if (found->counts != BLAME_K_OF_N || !make(in, found, job, &made))
			continue;
		acting = acting_on(in, judged, found, &made.row);
		if (acting == ACT_NOT && json_is_null(json_object_get(view, "prediction")))
			(void)json_object_set_new(view, "prediction", show(&made.row, in->now_us));
		if (acting == ACT_NOT)
			continue;
		r = store_add_prediction(in->store, &made.row, &id, err);
		written |= r > 0;
		if (r >= 0 && acting != ACT_DISTRUSTED)
			take(ret, &made, id, acting == ACT_TEST);
	}
	return r < 0 ? r : written;
}

void job_prediction_release(struct job_predicted *predicted)
{
	json_decref(predicted->hosts);
	*predicted = (struct job_predicted){ 0 };
}

/* --- the next run --- */

struct checking {
	const struct job_judging_input *in;
	struct err *err;
};

/* Hosts in `now` that were not there before; NULL: unknown. */
static char *instead_of(const json_t *before, const json_t *now)
{
	CLEANUP(json_freep) json_t *fresh = json_array();
	size_t i;

	if (json_array_size(before) == 0 || json_array_size(now) == 0)
		return NULL;
	for (i = 0; i < json_array_size(now) && json_array_size(fresh) < INSTEAD_MAX; i++) {
		json_t *name = json_array_get(now, i);

		if (!json_has_text(before, json_string_value(name)))
			(void)json_array_append(fresh, name);
	}
	return json_line(fresh);
}

static bool any_of(const json_t *names, const json_t *among)
{
	size_t i;

	for (i = 0; i < json_array_size(names); i++) {
		if (json_has_text(among, json_string_value(json_array_get(names, i))))
			return true;
	}
	return false;
}

static int check(struct checking *c, const struct store_prediction *p, bool *ret_written)
{
	const struct prediction numbers = numbers_of(p);
	const struct run_shape shape = { p->ranks, p->dp, p->pp };
	const struct run_pace was = { .run = p->run,
				      .from_us = p->from_us,
				      .until_us = p->until_us };
	const struct run_pace pace = run_pace_of(c->in, &shape, p->made_us + PREDICTION_WAITS_US);
	CLEANUP(json_freep) json_t *before = NULL;
	CLEANUP(json_freep) json_t *now = NULL;
	CLEANUP(json_freep) json_t *gone = parsed(p->hosts);
	CLEANUP(freep) char *instead = NULL;
	struct store_prediction row = *p;
	int r;

	if (pace.mean.steps < PREDICTION_STEPS)
		return 0;
	r = run_pace_hosts(c->in, &was, &before, c->err);
	if (r == 0)
		r = run_pace_hosts(c->in, &pace, &now, c->err);
	if (r < 0 || any_of(gone, now))
		return r;
	row.instead = instead = instead_of(before, now);
	row.state = prediction_held(&numbers, pace.mean.seconds) ? PREDICTION_HELD
								 : PREDICTION_FAILED;
	row.checked_us = c->in->now_us;
	row.by_run = pace.run;
	row.measured_s = pace.mean.seconds;
	row.steps = (int64_t)pace.mean.steps;
	*ret_written = true;
	return store_check_prediction(c->in->store, &row, c->err);
}

/* Predictions waiting for this run, copied, as rows cannot be written while reading. */
struct waiting_ones {
	const struct job_judging_input *in;
	struct store_prediction rows[STORE_PREDICTIONS_READ];
	char *hosts[STORE_PREDICTIONS_READ];
	size_t n;
};

static void take_open(void *context, const struct store_prediction *p)
{
	struct waiting_ones *ones = context;
	const struct job_judging_input *in = ones->in;

	if (p->state != PREDICTION_OPEN || in->windows[0].run <= p->run ||
	    in->now_us > p->made_us + 2 * PREDICTION_WAITS_US || ones->n == STORE_PREDICTIONS_READ)
		return;
	ones->hosts[ones->n] = xstrdup(p->hosts);
	ones->rows[ones->n] = *p;
	ones->rows[ones->n].hosts = ones->hosts[ones->n];
	ones->rows[ones->n].class = ones->rows[ones->n].instead = NULL;
	ones->n++;
}

static void ones_release(struct waiting_ones *ones)
{
	while (ones->n > 0)
		free(ones->hosts[--ones->n]);
}

/* Returns 1 if something was written. */
static int check_all(const struct job_judging_input *in, int64_t job, struct err *err)
{
	CLEANUP(ones_release) struct waiting_ones ones = { .in = in };
	struct checking c = { in, err };
	bool written = false;
	size_t i;
	int r = 0;

	if (in->n == 0)
		return 0;
	r = store_predictions(in->store, job, take_open, &ones, err);
	for (i = 0; r == 0 && i < ones.n; i++)
		r = check(&c, &ones.rows[i], &written);
	return r < 0 ? r : written;
}

int job_prediction_judged(const struct job_judging_input *in, const struct job_judged *judged,
			  int64_t job, json_t *view, struct job_predicted *ret, struct err *err)
{
	int kept, checked;

	*ret = (struct job_predicted){ 0 };
	kept = keep(in, judged, job, view, ret, err);
	checked = kept < 0 ? kept : check_all(in, job, err);
	if (checked < 0)
		job_prediction_release(ret);
	return checked < 0 ? checked : kept | checked;
}

/* --- queries --- */

struct showing {
	struct store *store;
	const struct policy_jobs *jobs;
	uint64_t now_us;
	json_t *prediction, *verified; /* owned */
};

static void show_one(void *context, const struct store_prediction *p)
{
	struct showing *s = context;

	if (!s->prediction)
		s->prediction = show(p, s->now_us);
	if (s->verified || p->state == PREDICTION_OPEN)
		return;
	s->verified = show(p, s->now_us);
	(void)json_object_set_new(s->verified, "by_run", json_integer(p->by_run));
	(void)json_object_set_new(s->verified, "measured_s", json_seconds(p->measured_s));
	(void)json_object_set_new(s->verified, "steps", json_integer(p->steps));
	(void)json_object_set_new(s->verified, "instead", parsed(p->instead));
	(void)json_object_set_new(s->verified, "checked", json_stamp(p->checked_us));
}

static int add_trust(const struct showing *s, json_t *prediction, struct err *err)
{
	const char *class = json_string_value(json_object_get(prediction, "class"));
	struct store_trust trust = { 0 };
	int r = class ? store_trust(s->store, class, s->jobs->trust_of, &trust, err) : 0;

	if (r < 0 || !class)
		return r;
	(void)json_object_set_new(prediction, "trust",
				  json_pack("{s:I, s:I, s:b}", "held", (json_int_t)trust.held,
					    "checked", (json_int_t)trust.checked, "poor",
					    is_poor(&trust, s->jobs)));
	return 0;
}

int job_prediction_show(struct store *store, const struct policy_jobs *jobs, int64_t id,
			uint64_t now_us, json_t *job, struct err *err)
{
	struct showing s = { store, jobs, now_us, NULL, NULL };
	json_t *shown = json_object_get(job, "prediction");
	int r = store_predictions(store, id, show_one, &s, err);

	/* One only shown is of the current run; a stored one of that run takes precedence. */
	if (r == 0 && json_is_object(shown) &&
	    (!s.prediction || integer(shown, "run") > integer(s.prediction, "run"))) {
		json_decref(s.prediction);
		s.prediction = json_incref(shown);
	}
	if (r == 0)
		r = add_trust(&s, s.prediction, err);
	if (r == 0)
		r = add_trust(&s, s.verified, err);
	(void)json_object_set_new(job, "prediction", s.prediction ? s.prediction : json_null());
	(void)json_object_set_new(job, "verified", s.verified ? s.verified : json_null());
	return r;
}

int job_prediction_counts(struct store *store, const struct policy_jobs *jobs, json_t **ret,
			  struct err *err)
{
	CLEANUP(json_freep) json_t *counts = NULL;
	bool poor[BLAME_CLASSES] = { false };
	int r = store_count_predictions(store, &counts, err);
	int class;

	if (r == 0)
		r = job_prediction_distrusted(store, jobs, poor, err);
	if (r < 0)
		return r;
	for (class = 0; class < BLAME_CLASSES; class ++)
		(void)json_object_set_new(json_object_get(counts, blame_class_names[class]), "poor",
					  json_boolean(poor[class]));
	*ret = TAKE(counts);
	return 0;
}
