/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/outlook.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "attribution/outlook_check.h"
#include "attribution/outlook_hotspa.h"
#include "attribution/trace_job.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/remedy/shrink.h"
#include "lib/remedy/standby.h"

/* A smaller gain, relative to a step, does not count. */
#define GAINED 1e-6

enum {
	HOURS_S = 3600,
	HOURS_A_DAY = 24,
	STAGES_SHOWN = 16, /* per pipeline, in text */
	NOTE_MAX = 512,
};

static const char *const kinds[REARRANGE_WAYS] = { [REARRANGE_MICROBATCHES] = "microbatches",
						   [REARRANGE_LAYERS] = "layers",
						   [REARRANGE_BOTH] = "both",
						   [REARRANGE_TOGETHER] = "malleus" };

/* Input and result. */
struct outlook {
	const struct attribution *a;
	const struct description *d;
	struct outlook_job of;
	json_t *list, *left_out; /* borrowed */
};

static json_t *counts(const size_t *v, size_t n)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		(void)json_array_append_new(list, json_count(v[i]));
	return list;
}

static const char *host_of(const struct outlook *o, size_t worker)
{
	const struct trace_job *job = &o->a->trace->job;

	return job->nodes[job->workers[worker].node];
}

static json_t *host_name(const struct outlook *o, size_t worker)
{
	return json_string(host_of(o, worker));
}

static void leave_out(struct outlook *o, const char *kind, const char *why)
{
	(void)json_array_append_new(o->left_out, json_pack("{ssss}", "kind", kind, "why", why));
}

/* Index to insert a remedy with this gain: descending, stable. */
static size_t place_of(const struct outlook *o, double gain)
{
	size_t n = json_array_size(o->list), i;

	for (i = 0; i < n; i++)
		if (json_number_value(json_object_get(json_array_get(o->list, i), "gain_s")) < gain)
			break;
	return i;
}

/* Members common to all remedies; `after` is for pipelines alone. Borrowed: the list owns it. */
static json_t *add(struct outlook *o, const char *kind, double after, double cost, char *note)
{
	json_t *object = json_object();
	double gain = o->of.now - (after + o->of.fixed);
	bool gains = gain > GAINED * o->of.now;

	json_put(object, "kind", json_string(kind));
	json_put(object, "after_s", json_number(after + o->of.fixed));
	json_put(object, "gain_s", json_number(gain));
	json_put(object, "cost_s", json_number(cost));
	json_put(object, "pays_steps", gains ? json_number(cost / gain) : json_null());
	json_put(object, "pays_h",
		 gains ? json_number(cost / gain * (after + o->of.fixed) / HOURS_S) : json_null());
	json_put(object, "sure", json_string("model"));
	json_put(object, "note", json_string(note));
	(void)json_array_insert_new(o->list, place_of(o, gain), object);
	free(note);
	return object;
}

/* --- same number of hosts --- */

static size_t slowest_of(const struct outlook *o)
{
	size_t n = o->of.job.dp * o->of.job.pp, worst = 0, w;

	for (w = 1; w < n; w++)
		if (o->of.slowdown[w] > o->of.slowdown[worst])
			worst = w;
	return worst;
}

static void say_layers(struct strbuf *text, const size_t *split, size_t n)
{
	size_t p;

	for (p = 0; p < n; p++)
		(void)strbuf_printf(text, "%s%zu", p ? ", " : "", split[p]);
}

static bool same(const size_t *a, const size_t *b, size_t n)
{
	return memcmp(a, b, n * sizeof(*a)) == 0;
}

/* Do all pipelines have the same number of micro-batches, and equal stages? */
static bool is_even(const struct rearrange_job *job, const struct rearrange_plan *plan)
{
	size_t d;

	for (d = 1; d < job->dp; d++)
		if (plan->microbatches[d] != plan->microbatches[0] ||
		    !same(plan->split + d * job->pp, plan->split, job->pp))
			return false;
	return true;
}

/* Describe the pipelines: each of them, or if they differ the slowest host's. */
static char *rearranged_note(const struct outlook *o, const struct rearrange_plan *plan)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NOTE_MAX);
	const struct rearrange_job *job = &o->of.job;
	const size_t slowest = slowest_of(o), pp = job->pp;
	const size_t *split;
	size_t at = 0;

	while (plan->hosts[at] != slowest)
		at++;
	split = plan->split + at / pp * pp;
	if (is_even(job, plan))
		(void)strbuf_printf(&text, "each pipeline: ");
	else
		(void)strbuf_printf(&text, "the pipeline of %s: ", host_of(o, slowest));
	if (pp <= STAGES_SHOWN && !same(split, job->split, pp)) {
		(void)strbuf_printf(&text, "stages of ");
		say_layers(&text, split, pp);
		(void)strbuf_printf(&text, " layers (now ");
		say_layers(&text, job->split, pp);
		(void)strbuf_printf(&text, "), ");
	} else if (plan->split[at] != job->split[slowest % pp]) {
		(void)strbuf_printf(&text, "%zu layers on that host (now %zu), ", plan->split[at],
				    job->split[slowest % pp]);
	}
	(void)strbuf_printf(&text, "%zu micro-batches (now %zu)", plan->microbatches[at / pp],
			    job->microbatches);
	return xstrdup(strbuf_text(&text));
}

/* Is either the layers or the micro-batches unchanged everywhere? */
static bool is_one_of_two(const struct rearrange_job *job, const struct rearrange_plan *plan)
{
	bool layers = false, microbatches = false;
	size_t d;

	for (d = 0; d < job->dp; d++) {
		layers = layers || !same(plan->split + d * job->pp, job->split, job->pp);
		microbatches = microbatches || plan->microbatches[d] != job->microbatches;
	}
	return !layers || !microbatches;
}

/* One list per pipeline. */
static json_t *by_pipeline(const struct outlook *o, const size_t *v, bool names)
{
	json_t *list = json_array();
	size_t d, p, pp = o->of.job.pp;

	for (d = 0; d < o->of.job.dp; d++) {
		json_t *row = json_array();

		for (p = 0; p < pp; p++)
			(void)json_array_append_new(row, names ? host_name(o, v[d * pp + p])
							       : json_count(v[d * pp + p]));
		(void)json_array_append_new(list, row);
	}
	return list;
}

/* Why remedies that change stages cannot be planned, or NULL. */
static const char *chunks(const struct outlook *o)
{
	return o->a->trace->job.vpp > 1 ? "stages have several model chunks" : NULL;
}

static int add_rearranged(struct outlook *o, enum rearrange_way way, struct err *err)
{
	CLEANUP(rearrange_plan_release) struct rearrange_plan plan = { 0 };
	double bytes;
	json_t *object;
	int r;

	if (chunks(o) && (way == REARRANGE_LAYERS || way == REARRANGE_BOTH)) {
		leave_out(o, kinds[way], chunks(o));
		return 0;
	}
	r = rearrange_plan(&o->of.job, way, &plan, err);
	if (r < 0)
		return r;
	if (!plan.better) {
		leave_out(o, kinds[way], "no faster than now");
		return 0;
	}
	if (way == REARRANGE_BOTH && is_one_of_two(&o->of.job, &plan)) {
		leave_out(o, kinds[way], "is the same as one of the two alone");
		return 0;
	}
	bytes = rearrange_bytes(&o->of.job, &plan);
	object = add(o, kinds[way], plan.time, bytes / o->d->link, rearranged_note(o, &plan));
	json_put(object, "microbatches", counts(plan.microbatches, o->of.job.dp));
	json_put(object, "layers", by_pipeline(o, plan.split, false));
	json_put(object, "hosts", by_pipeline(o, plan.hosts, true));
	json_put(object, "moved_bytes", json_number(bytes));
	json_put(object, "gap_s", json_number(plan.time - o->of.bound));
	return 0;
}

/* --- fewer hosts --- */

/* Losing a host loses all of its workers. */
static void lose(const struct outlook *o, const char *host, uint32_t *lost, size_t *n)
{
	const struct trace_job *job = &o->a->trace->job;
	size_t w;

	for (w = 0; w < (size_t)job->dp * job->pp; w++)
		if (streq(job->nodes[job->workers[w].node], host))
			lost[(*n)++] = (uint32_t)w;
}

/* The slowest host that is not lost yet; NULL if none is left. */
static const char *next_slowest(const struct outlook *o, const uint32_t *lost, size_t n)
{
	const struct trace_job *job = &o->a->trace->job;
	size_t workers = (size_t)job->dp * job->pp, worst = workers, w, i;

	for (w = 0; w < workers; w++) {
		for (i = 0; i < n && lost[i] != w; i++)
			;
		if (i == n && (worst == workers || o->of.slowdown[w] > o->of.slowdown[worst]))
			worst = w;
	}
	return worst < workers ? job->nodes[job->workers[worst].node] : NULL;
}

static json_t *copies_of(const struct outlook *o, const struct shrink_plan *plan)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < plan->copies.n; i++) {
		const struct hotspa_switch_move *m = &plan->copies.moves[i];
		json_t *object;

		if (m->local)
			continue;
		object = json_object();
		json_put(object, "from", host_name(o, m->from));
		json_put(object, "to", host_name(o, m->to));
		json_put(object, "first_layer", json_count(shrink_layer(&o->of.job, m->rows.first)));
		json_put(object, "last_layer", json_count(shrink_layer(&o->of.job, m->rows.last)));
		(void)json_array_append_new(list, object);
	}
	return list;
}

static void put_pipelines(const struct outlook *o, const struct shrink_templates *templates,
			  const struct shrink_plan *plan, json_t *object)
{
	json_t *hosts = json_array(), *layers = json_array();
	size_t p, i = 0;

	for (p = 0; p < plan->pipelines.n; p++) {
		size_t size = plan->pipelines.ends[p] - i;
		json_t *row = json_array();

		(void)json_array_append_new(layers, counts(shrink_cut(templates, size), size));
		for (; i < plan->pipelines.ends[p]; i++)
			(void)json_array_append_new(row, host_name(o, plan->pipelines.hosts[i]));
		(void)json_array_append_new(hosts, row);
	}
	json_put(object, "hosts", hosts);
	json_put(object, "layers", layers);
	json_put(object, "microbatches", counts(plan->microbatches, plan->pipelines.n));
	json_put(object, "way", json_string(reconfigure_way_names[plan->way]));
	json_put(object, "restart", json_boolean(plan->restart));
	json_put(object, "copies", copies_of(o, plan));
}

static int add_loss(struct outlook *o, const struct shrink_templates *templates,
		    const json_t *names, const uint32_t *lost, size_t n, struct err *err)
{
	CLEANUP(shrink_plan_release) struct shrink_plan plan = { .time = 0 };
	const char *last = json_string_value(json_array_get(names, json_array_size(names) - 1));
	json_t *object;
	double cost;
	int r = shrink_plan(&o->of.job, templates, lost, n, &plan, err);

	if (r < 0)
		return r;
	cost = plan.restart ? o->d->restart_s : plan.bytes / o->d->link;
	object = add(o, "oobleck", plan.time, cost,
		     xasprintf("without %zu host%s, %.60s the last: %zu pipelines (now %zu), %s%s",
			       json_array_size(names), json_array_size(names) > 1 ? "s" : "", last,
			       plan.pipelines.n, o->of.job.dp, reconfigure_way_names[plan.way],
			       plan.restart ? "; some layers are lost: from a checkpoint" : ""));
	json_put(object, "lost", json_deep_copy(names));
	put_pipelines(o, templates, &plan, object);
	return 0;
}

/* After the first lost host, the first two ...; each is a remedy too if it was slow. */
static int add_losses(struct outlook *o, const struct shrink_templates *templates, struct err *err)
{
	size_t workers = o->of.job.dp * o->of.job.pp, n = 0, i;
	CLEANUP(freep) uint32_t *lost = xcalloc(workers + 1, sizeof(*lost));
	CLEANUP(json_freep) json_t *names = json_array();
	int r = 0;

	for (i = 0; i < o->d->failures && r == 0; i++) {
		const char *host = o->d->lose ? o->d->lose[i] : next_slowest(o, lost, n);

		if (!host)
			break;
		lose(o, host, lost, &n);
		(void)json_array_append_new(names, json_string(host));
		r = add_loss(o, templates, names, lost, n, err);
	}
	return r;
}

static void put_templates(const struct shrink_templates *templates,
			  const struct shrink_choice *choice, json_t *doc)
{
	json_t *object = json_object();

	json_put(object, "n0", json_count(templates->least));
	json_put(object, "first", json_count(templates->sizes.first));
	json_put(object, "last", json_count(templates->sizes.last));
	json_put(object, "sizes", counts(choice->sizes, choice->n));
	json_put(object, "microbatches", counts(choice->microbatches, choice->n));
	json_put(object, "pipelines_s", json_number(choice->time));
	json_put(object, "of", json_count(choice->all));
	json_put(object, "looked_at", json_count(choice->looked));
	json_put(doc, "templates", object);
}

/* Largest number of workers of a host: that many are lost with it. */
static size_t workers_a_host(const struct trace_job *job)
{
	CLEANUP(freep) size_t *n = xcalloc(job->n_nodes + 1, sizeof(*n));
	size_t most = 1, w;

	for (w = 0; w < (size_t)job->dp * job->pp; w++) {
		size_t own = ++n[job->workers[w].node];

		most = MAX(most, own);
	}
	return most;
}

static int add_shrunk(struct outlook *o, json_t *doc)
{
	CLEANUP(shrink_templates_release) struct shrink_templates templates = { 0 };
	CLEANUP(shrink_choice_release) struct shrink_choice choice = { 0 };
	size_t failures = o->d->failures * workers_a_host(&o->a->trace->job);
	struct err err = ERR_INIT;
	int r = shrink_templates(&o->of.job, failures, &templates, &err);

	if (r == 0) {
		r = shrink_choose(&o->of.job, &templates, o->of.job.dp * o->of.job.pp, failures,
				  &choice, &err);
		if (r == 0)
			put_templates(&templates, &choice, doc);
		else
			leave_out(o, "templates", err.msg);
		r = add_losses(o, &templates, &err);
	}
	if (r < 0)
		leave_out(o, "oobleck", err.msg);
	return r == -ERANGE || r == -EINVAL ? 0 : r;
}

/* --- spare hosts --- */

static int put_standby(const struct outlook *o, json_t *doc, struct err *err)
{
	struct standby standby = { 0 };
	json_t *object;
	int r;

	if (isnan(o->d->failures_a_day))
		return 0;
	r = standby_find(o->a->trace->job.n_nodes,
			 MIN(o->d->failures_a_day * o->d->repair_h / HOURS_A_DAY, 1.0),
			 o->d->certainty, &standby, err);
	if (r < 0)
		return r;
	object = json_object();
	json_put(object, "spares", json_count(standby.spares));
	json_put(object, "have", json_count(o->d->spares));
	json_put(object, "certainty", json_number(standby.certainty));
	json_put(doc, "standby", object);
	return 0;
}

/* --- a plan per group of lengths --- */

static int add_hotspa(struct outlook *o, struct err *err)
{
	struct outlook_hotspa found = { 0 };
	struct err why = ERR_INIT;
	int r = outlook_hotspa_find(o->a, o->d, &o->of, &found, &why);

	if (r == -ENOENT)
		return 0;
	if (r == -ERANGE || r == -EINVAL) {
		leave_out(o, "hotspa", why.msg);
		return 0;
	}
	if (r < 0)
		return err_set(err, -r, "%s", why.msg);
	(void)json_object_update(add(o, "hotspa", found.after, o->d->restart_s, found.note),
				 found.members);
	json_decref(found.members);
	return 0;
}

/* Remedies that change the stages. */
static int add_others(struct outlook *o, json_t *doc, struct err *err)
{
	int r;

	if (chunks(o)) {
		leave_out(o, "oobleck", chunks(o));
		if (o->d->hotspa.n_plans > 0)
			leave_out(o, "hotspa", chunks(o));
		return 0;
	}
	r = add_shrunk(o, doc);
	return r < 0 ? r : add_hotspa(o, err);
}

static int find(struct outlook *o, json_t *doc, struct err *err)
{
	size_t way;
	int r = 0;

	for (way = 0; way < REARRANGE_WAYS && r == 0; way++)
		r = add_rearranged(o, (enum rearrange_way)way, err);
	if (r == 0)
		r = add_others(o, doc, err);
	if (r == 0)
		r = put_standby(o, doc, err);
	return r;
}

static json_t *reals(const double *v, size_t n)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < n; i++)
		(void)json_array_append_new(list, json_number(v[i]));
	return list;
}

/* The measured input of the planners. */
static void put_measured(const struct outlook *o, const struct measured *m, json_t *doc)
{
	json_t *list = json_array();
	size_t d;

	for (d = 0; d < m->dp; d++)
		(void)json_array_append_new(list, reals(o->of.slowdown + d * m->pp, m->pp));
	json_put(doc, "microbatches", json_count(m->microbatches));
	json_put(doc, "forward_s", reals(m->forward_s, m->pp));
	json_put(doc, "backward_s", reals(m->backward_s, m->pp));
	json_put(doc, "slowdown", list);
}

/* Why this trace is unsuitable, or NULL. */
static const char *refusal(const struct attribution *a)
{
	if (a->cause.primary == CAUSE_REJECTED)
		return "the trace does not add up: how long a step would take is unknown";
	return NULL;
}

int outlook_find(const struct attribution *a, const struct description *d, const char *trace,
		 json_t **ret_doc, struct err *err)
{
	CLEANUP(json_freep)
	json_t *doc = json_pack("{sbsss[]s[]}", "experimental", true, "description", d->path,
				"list", "left_out");
	CLEANUP(measured_release) struct measured measured = measured_of(a);
	struct outlook o = { .a = a, .d = d };
	const char *why = refusal(a);
	int r = outlook_hotspa_check(a, &measured, d, trace, err);

	if (r == 0)
		r = outlook_check(a, &measured, d, trace, &o.of, err);
	if (r < 0)
		return r;
	o.list = json_object_get(doc, "list");
	o.left_out = json_object_get(doc, "left_out");
	json_put(doc, "now_s", json_number(o.of.now));
	json_put(doc, "pipelines_s", json_number(o.of.now - o.of.fixed));
	json_put(doc, "bound_s", json_number(o.of.bound));
	put_measured(&o, &measured, doc);
	if (why)
		leave_out(&o, "all", why);
	else
		r = find(&o, doc, err);
	outlook_check_release(&o.of);
	if (r == 0)
		*ret_doc = json_incref(doc);
	return r;
}
