/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/outlook_hotspa.h"

#include <errno.h>
#include <stdio.h>

#include "attribution/hotspa_places.h"
#include "attribution/pack_pace.h"
#include "attribution/trace_job.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/remedy/hotspa_cost.h"

enum {
	NOTE_MAX = 2048,
	PLAN_TEXT_MAX = 96,
};

/* Input of the planner. */
struct setting {
	const struct description_hotspa *h;
	struct hotspa_plan_way ways[HOTSPA_PLAN_PLANS_MAX];
	double *slow[HOTSPA_PLAN_PLANS_MAX]; /* owned: of each plan; NULL: unknown */
	double cost[HOTSPA_PLAN_PLANS_MAX * HOTSPA_PLAN_PLANS_MAX];
	struct hotspa_plan_wish wish; /* borrows from the above */
};

static void setting_release(struct setting *s)
{
	size_t i;

	for (i = 0; i < HOTSPA_PLAN_PLANS_MAX; i++)
		free(s->slow[i]);
}

static void fill(struct setting *s, const struct description_hotspa *h, double forward)
{
	size_t i;

	s->h = h;
	for (i = 0; i < h->n_plans; i++) {
		const struct description_plan *plan = &h->plans[i];

		s->ways[i] = (struct hotspa_plan_way){ .pp = plan->pp,
						       .dp = plan->dp,
						       .tokens = plan->tokens[1] };
		/* It was fitted when it was read. */
		(void)hotspa_plan_fit(plan->tokens, plan->seconds, &s->ways[i], NULL);
	}
	s->wish = (struct hotspa_plan_wish){ .lengths = h->lengths,
					     .n = h->n_lengths,
					     .ways = s->ways,
					     .n_ways = h->n_plans,
					     .cost = s->cost,
					     .forward = forward };
}

static uint64_t devices_of(const struct description_plan *plan)
{
	return plan->tp * plan->pp * plan->dp * plan->cp;
}

/* --- check against the trace --- */

static int check_degree(const struct description *d, const char *key, uint64_t told, uint64_t has,
			const char *trace, struct err *err)
{
	const struct description_place first = { "hotspa", "plans", 0 };

	if (told == has)
		return 0;
	return description_fail_at(d, &first, err,
				   "%s %ju, but %s has %ju: the first plan is the current one", key,
				   (uintmax_t)told, trace, (uintmax_t)has);
}

static int check_plans(const struct trace_job *job, const struct description *d, const char *trace,
		       struct err *err)
{
	const struct description_hotspa *h = &d->hotspa;
	size_t i;

	for (i = 0; i < h->n_plans; i++) {
		const struct description_place place = { "hotspa", "plans", i };
		const struct description_plan *plan = &h->plans[i];

		if (plan->pp > d->layers.n)
			return description_fail_at(d, &place, err,
						   "%ju stages, but layers has %zu layers",
						   (uintmax_t)plan->pp, d->layers.n);
		if (devices_of(plan) != job->world)
			return description_fail_at(d, &place, err,
						   "tp * pp * dp * cp is %ju GPUs, but %s has %ju: "
						   "every plan uses all of them",
						   (uintmax_t)devices_of(plan), trace,
						   (uintmax_t)job->world);
	}
	return 0;
}

/* Compare the work of a stage by the present plan with the busiest stage of the trace. */
static int check_work(const struct measured *m, const struct description *d, const char *trace,
		      struct err *err)
{
	struct setting s = { .h = NULL };
	struct hotspa_plan_group now;
	double busiest = 0;
	size_t p;

	fill(&s, &d->hotspa, 0);
	if (s.ways[0].tokens < d->hotspa.lengths[0].tokens)
		return description_fail(d, "hotspa", err,
					"a sequence has %ju tokens, but the first plan, the one in "
					"use, takes at most %ju",
					(uintmax_t)d->hotspa.lengths[0].tokens,
					(uintmax_t)s.ways[0].tokens);
	now = hotspa_plan_alone(&s.wish, 0);
	for (p = 0; p < m->pp; p++)
		busiest = MAX(busiest, m->forward_s[p] + m->backward_s[p]);
	busiest *= (double)m->microbatches;
	if (outlook_check_differs(now.work, busiest))
		return description_fail(d, "hotspa", err,
					"its sequences keep a stage of the first plan busy for "
					"%.4g ms of a step, but %s has %.4g ms",
					now.work * 1e3, trace, busiest * 1e3);
	return 0;
}

int outlook_hotspa_check(const struct attribution *a, const struct measured *m,
			 const struct description *d, const char *trace, struct err *err)
{
	const struct trace_job *job = &a->trace->job;
	const struct description_plan *first = &d->hotspa.plans[0];
	int r;

	if (d->hotspa.n_plans == 0)
		return 0;
	r = check_degree(d, "tp", first->tp, job->tp, trace, err);
	if (r == 0)
		r = check_degree(d, "pp", first->pp, job->pp, trace, err);
	if (r == 0)
		r = check_degree(d, "dp", first->dp, job->dp, trace, err);
	if (r == 0)
		r = check_degree(d, "cp", first->cp, job->dsp, trace, err);
	if (r == 0)
		r = check_plans(job, d, trace, err);
	return r == 0 ? check_work(m, d, trace, err) : r;
}

/* --- switches --- */

static int price_all(const struct hotspa_cost_job *job, const struct hotspa_cost_layout *layouts,
		     struct setting *s, struct err *err)
{
	const size_t n = s->h->n_plans;
	size_t i, k;
	int r = 0;

	for (i = 0; i < n; i++)
		for (k = 0; k < n && r == 0; k++)
			if (i != k)
				r = hotspa_cost_find(job, &layouts[i], &layouts[k],
						     &s->cost[i * n + k], err);
	return r;
}

static int price(const struct trace_job *job, const struct description *d,
		 const struct hotspa_places *places, struct setting *s, struct err *err)
{
	const struct hotspa_cost_job of = { .hosts = places->hosts,
					    .devices = job->world,
					    .layers = d->layers.n,
					    .bytes = d->hotspa.weights / (double)d->layers.n,
					    .link = d->link,
					    .inside = d->hotspa.inside };

	return price_all(&of, places->layouts, s, err);
}

/* --- output --- */

/* Present duration of a step, and the part that does not depend on plans. */
struct step {
	double now, beyond;
};

/* A step with a single plan: the fastest, or the present one. */
struct alone {
	size_t way;
	double after;
};

static struct alone alone_of(const struct hotspa_plan *plan, struct step step)
{
	const double after = plan->single.seconds + step.beyond;

	return after < step.now ? (struct alone){ plan->single.way, after }
				: (struct alone){ 0, step.now };
}

static const char *plan_text(const struct description_plan *plan, char text[PLAN_TEXT_MAX])
{
	int n = snprintf(text, PLAN_TEXT_MAX, "tp %ju pp %ju dp %ju", (uintmax_t)plan->tp,
			 (uintmax_t)plan->pp, (uintmax_t)plan->dp);

	if (plan->cp > 1)
		(void)snprintf(text + n, PLAN_TEXT_MAX - (size_t)n, " cp %ju", (uintmax_t)plan->cp);
	return text;
}

static json_t *plan_object(const struct description_plan *plan)
{
	return json_pack("{sIsIsIsI}", "tp", (json_int_t)plan->tp, "pp", (json_int_t)plan->pp, "dp",
			 (json_int_t)plan->dp, "cp", (json_int_t)plan->cp);
}

static const struct hotspa_plan_length *shortest_of(const struct setting *s,
						    const struct hotspa_plan_group *group)
{
	return &s->wish.lengths[group->until - 1];
}

static json_t *group_object(const struct setting *s, const struct hotspa_plan_group *group)
{
	json_t *object = json_object();
	uint64_t sequences = 0;
	size_t i;

	for (i = group->from; i < group->until; i++)
		sequences += s->wish.lengths[i].count;
	json_put(object, "longest", json_count(s->wish.lengths[group->from].tokens));
	json_put(object, "shortest", json_count(shortest_of(s, group)->tokens));
	json_put(object, "sequences", json_count(sequences));
	json_put(object, "plan", plan_object(&s->h->plans[group->way]));
	json_put(object, "pack_tokens", json_count(group->bound));
	json_put(object, "packs", json_count(group->packs));
	json_put(object, "seconds", json_number(group->seconds));
	return object;
}

static json_t *switches(const struct setting *s, const struct hotspa_plan *plan)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < plan->n; i++) {
		const size_t from = plan->order[i], to = plan->order[i + 1];
		json_t *object = json_object();

		json_put(object, "from", plan_object(&s->h->plans[from]));
		json_put(object, "to", plan_object(&s->h->plans[to]));
		json_put(object, "seconds", json_number(s->cost[from * s->h->n_plans + to]));
		(void)json_array_append_new(list, object);
	}
	return list;
}

/* Why it is not recommended, which the caller frees; NULL: it is. */
static char *objection(const struct attribution *a)
{
	if (a->cause.primary == CAUSE_SEQLEN)
		return NULL;
	if (a->cause.primary == CAUSE_NONE)
		return xstrdup(
			"nothing slows this job, least of all lengths of sequences (seqlen)");
	return xasprintf("what slows this job is %s, not the lengths of its sequences (seqlen)",
			 cause_name(a->cause.primary));
}

static void say_group(const struct setting *s, const struct hotspa_plan_group *group,
		      struct strbuf *text)
{
	const uint64_t longest = s->wish.lengths[group->from].tokens;
	const uint64_t shortest = shortest_of(s, group)->tokens;
	char name[PLAN_TEXT_MAX];

	(void)strbuf_printf(text, "sequences of ");
	if (shortest < longest)
		(void)strbuf_printf(text, "%ju to ", (uintmax_t)shortest);
	(void)strbuf_printf(text, "%ju tokens by %s, ", (uintmax_t)longest,
			    plan_text(&s->h->plans[group->way], name));
}

static char *note_of(const struct setting *s, const struct hotspa_plan *plan, struct step step,
		     const char *objection)
{
	const struct alone alone = alone_of(plan, step);
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NOTE_MAX);
	char name[PLAN_TEXT_MAX];
	size_t i;

	if (objection)
		(void)strbuf_printf(&text, "not advised: %s; ", objection);
	for (i = 0; i < plan->n; i++)
		say_group(s, &plan->groups[i], &text);
	(void)strbuf_printf(
		&text, "%zu switches of %.3g s in all; the best single plan, %s: %.4g s", plan->n,
		plan->switches, plan_text(&s->h->plans[alone.way], name), alone.after);
	return xstrdup(strbuf_text(&text));
}

/* One list per present pipeline. */
static json_t *slowdowns(const struct setting *s, const double *slowdown)
{
	const struct hotspa_plan_way *way = &s->ways[0];
	json_t *list = json_array();
	size_t d, p;

	for (d = 0; d < way->dp; d++) {
		json_t *row = json_array();

		for (p = 0; p < way->pp; p++)
			(void)json_array_append_new(row, json_number(slowdown[d * way->pp + p]));
		(void)json_array_append_new(list, row);
	}
	return list;
}

static json_t *members_of(const struct setting *s, const struct hotspa_plan *plan, struct step step,
			  const char *objection)
{
	const struct alone alone = alone_of(plan, step);
	json_t *object = json_object(), *groups = json_array(), *single = json_object();
	size_t i;

	for (i = 0; i < plan->n; i++)
		(void)json_array_append_new(groups, group_object(s, &plan->groups[i]));
	json_put(single, "plan", plan_object(&s->h->plans[alone.way]));
	json_put(single, "after_s", json_number(alone.after));
	json_put(single, "gain_s", json_number(step.now - alone.after));
	json_put(object, "advised", json_boolean(!objection));
	json_put(object, "why_not", json_text(objection));
	json_put(object, "groups", groups);
	json_put(object, "switches", switches(s, plan));
	json_put(object, "switches_s", json_number(plan->switches));
	json_put(object, "single", single);
	json_put(object, "beyond_s", json_number(step.beyond));
	json_put(object, "gain_over_single_s", json_number(alone.after - plan->total - step.beyond));
	return object;
}

/* Scale all plans by the same factor, so that the present one does as much work as in the trace. */
static void scale(struct setting *s, const struct pack_pace *pace)
{
	const size_t workers = s->ways[0].dp * s->ways[0].pp;
	double told = hotspa_plan_alone(&s->wish, 0).work, slow = 0;
	size_t i;

	for (i = 0; i < workers; i++)
		slow += pace->slowdown[i] / (double)workers;
	for (i = 0; i < s->h->n_plans; i++) {
		s->ways[i].start *= pace->work / (told * slow);
		s->ways[i].token *= pace->work / (told * slow);
		s->ways[i].square *= pace->work / (told * slow);
	}
}

/* Slowdowns in the description override those of the trace. */
static void take_told(const struct trace_job *job, const struct description *d, double *slowdown)
{
	size_t w;

	for (w = 0; w < (size_t)job->dp * job->pp; w++) {
		const json_t *told = json_object_get(d->slowdown, job->nodes[job->workers[w].node]);

		if (told)
			slowdown[w] = json_number_value(told);
	}
}

/* Plans assume that operations always take the same time; add what their variation costs. */
static void add_noise(const struct hotspa_plan_wish *wish, double noise, struct hotspa_plan *plan)
{
	size_t i;

	plan->total = plan->switches;
	for (i = 0; i < plan->n; i++) {
		plan->groups[i].seconds = hotspa_plan_noisy(wish, &plan->groups[i], noise);
		plan->total += plan->groups[i].seconds;
	}
	plan->single.seconds = hotspa_plan_noisy(wish, &plan->single, noise);
}

int outlook_hotspa_find(const struct attribution *a, const struct description *d,
			const struct outlook_job *of, struct outlook_hotspa *ret_found,
			struct err *err)
{
	CLEANUP(pack_pace_release) struct pack_pace pace = { .work = 0 };
	struct step step = { of->now, 0 };
	const struct trace_job *job = &a->trace->job;
	CLEANUP(freep) char *why_not = NULL;
	CLEANUP(setting_release) struct setting s = { .h = NULL };
	CLEANUP(hotspa_places_release) struct hotspa_places places = { NULL };
	struct hotspa_plan plan = { .n = 0 };
	struct alone alone;
	char name[PLAN_TEXT_MAX];
	size_t i;
	int r;

	if (d->hotspa.n_plans == 0)
		return -ENOENT;
	if (job->world > HOTSPA_SWITCH_DEVICES_MAX)
		return err_set(err, EINVAL, "%ju GPUs: %ju more than switch planning supports",
			       (uintmax_t)job->world,
			       (uintmax_t)job->world - HOTSPA_SWITCH_DEVICES_MAX);
	fill(&s, &d->hotspa, of->forward_part);
	pace = pack_pace_of(a);
	take_told(job, d, pace.slowdown);
	places = hotspa_places_of(job, d, pace.slowdown);
	step.beyond = of->now - pace.pipelines;
	for (i = 0; i < s.h->n_plans; i++)
		s.ways[i].slow = s.slow[i] = hotspa_places_slow(&places, &s.h->plans[i], i);
	scale(&s, &pace);
	r = price(job, d, &places, &s, err);
	if (r == 0)
		r = hotspa_plan_find(&s.wish, &plan, err);
	if (r < 0)
		return r;
	add_noise(&s.wish, pace.noise, &plan);
	alone = alone_of(&plan, step);
	if (plan.n < 2 || plan.total + step.beyond >= alone.after)
		return err_set(err, ERANGE,
			       "no grouping by length is faster, its switches included, than one "
			       "plan for all: %s, %.4g s a step (now %.4g s)",
			       plan_text(&s.h->plans[alone.way], name), alone.after, step.now);
	why_not = objection(a);
	ret_found->after = plan.total + step.beyond - of->fixed;
	ret_found->note = note_of(&s, &plan, step, why_not);
	ret_found->members = members_of(&s, &plan, step, why_not);
	json_put(ret_found->members, "slowdown", slowdowns(&s, pace.slowdown));
	return 0;
}
