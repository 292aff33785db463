/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "attribution/attribution.h"
#include "attribution/lateness_document.h"
#include "attribution/summary.h"
#include "attribution/summary_remedies.h"
#include "attribution/trace_job.h"
#include "lib/json/json.h"

enum { KEY_SIZE = 32 };

static void put_number(json_t *object, const char *key, double value)
{
	json_put(object, key, json_number(value));
}

/* {"0": values[0], "1": values[stride] ...}, each divided by `by`. */
static json_t *by_index(const double *values, size_t n, size_t stride, double by)
{
	json_t *object = json_object();
	char key[KEY_SIZE];
	size_t i;

	for (i = 0; i < n; i++) {
		(void)snprintf(key, sizeof(key), "%zu", i);
		put_number(object, key, values[i * stride] / by);
	}
	return object;
}

static const char *step_key(const struct trace *trace, size_t step, char key[static KEY_SIZE])
{
	(void)snprintf(key, KEY_SIZE, "%" PRId64, trace->steps[step]);
	return key;
}

/* {"23": values[0] ...}, each divided by `by`. */
static json_t *by_step(const struct trace *trace, const double *values, double by)
{
	json_t *object = json_object();
	char key[KEY_SIZE];
	size_t i;

	for (i = 0; i < trace->n_steps; i++)
		put_number(object, step_key(trace, i, key), values[i] / by);
	return object;
}

/* [dp][pp] */
static json_t *by_worker(const struct trace *trace, const double *values)
{
	json_t *rows = json_array();
	size_t d, stage;

	for (d = 0; d < trace->job.dp; d++) {
		json_t *row = json_array();

		for (stage = 0; stage < trace->job.pp; stage++)
			(void)json_array_append_new(row,
						    json_number(values[d * trace->job.pp + stage]));
		(void)json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *worker(const struct trace *trace, uint32_t w)
{
	json_t *object = json_object();

	json_put(object, "dp", json_count(w / trace->job.pp));
	json_put(object, "pp", json_count(w % trace->job.pp));
	json_put(object, "rank", json_integer(trace->job.workers[w].rank));
	return object;
}

static json_t *set(const struct trace *trace, const struct guilty_set *set, const char *name,
		   const double *values)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < set->n; i++) {
		json_t *object = worker(trace, set->workers[i]);

		put_number(object, name, values[set->workers[i]]);
		(void)json_array_append_new(list, object);
	}
	return list;
}

static void put_totals(json_t *doc, const struct attribution *a)
{
	const struct slowdown *s = &a->slowdown;

	put_number(doc, "T_act", s->recorded);
	put_number(doc, "T", s->simulated);
	put_number(doc, "T_ideal", s->ideal);
	put_number(doc, "S", s->s);
	put_number(doc, "W", 1 - 1 / s->s);
	put_number(doc, "discrepancy", s->discrepancy);
	json_put(doc, "trace_ok", json_boolean(s->discrepancy <= CAUSE_DISCREPANCY_MAX));
	put_number(doc, "launch_slowdown", s->recorded / s->simulated);
	put_number(doc, "M_w", s->top.share);
	put_number(doc, "M_w_compute", s->top.share_compute);
	put_number(doc, "M_x", s->x.share);
	put_number(doc, "M_x_compute", s->x.share_compute);
	json_put(doc, "X_whole_stage", json_boolean(s->x_whole_stage));
	put_number(doc, "M_s", s->last_stage.share_without);
	put_number(doc, "A_s_excl", s->stage_beside_top);
	put_number(doc, "M_comm", s->comm);
	put_number(doc, "M_seq", s->levelled);
	put_number(doc, "fb_corr", s->balance.correlation);
	put_number(doc, "fb_corr_pooled", s->balance.pooled);
	put_number(doc, "fwd_cv", s->balance.spread);
}

static void put_parts(json_t *doc, const struct attribution *a)
{
	const struct trace *trace = a->trace;
	const struct slowdown *s = &a->slowdown;
	json_t *slow = json_object(), *waste = json_object(), *ideal = json_object();
	enum optype type;

	for (type = 0; type < OPTYPE_N; type++) {
		if (a->cost.has[type])
			put_number(ideal, optype_name(type), a->cost.ideal[type]);
		if (!a->cost.has[type])
			continue;
		put_number(slow, optype_reported(type), s->types[slowdown_type(type)]);
		put_number(waste, optype_reported(type), 1 - 1 / s->types[slowdown_type(type)]);
	}
	json_put(doc, "S_t", slow);
	json_put(doc, "W_t", waste);
	json_put(doc, "ideal_value", ideal);
	json_put(doc, "S_dp", by_index(s->dp, trace->job.dp, 1, 1));
	json_put(doc, "S_pp", by_index(s->pp, trace->job.pp, 1, 1));
	json_put(doc, "S_w", by_worker(trace, s->workers));
	json_put(doc, "S_w_exact", by_worker(trace, s->exact));
	json_put(doc, "top_workers", set(trace, &s->top, "S_w", s->workers));
	json_put(doc, "X", set(trace, &s->x, "S_w_exact", s->exact));
}

/* The heat map of one step. */
static json_t *workers_of_step(const struct attribution *a, size_t step)
{
	const struct trace *trace = a->trace;
	const struct slowdown *s = &a->slowdown;
	json_t *rows = json_array();
	size_t d, stage;

	for (d = 0; d < trace->job.dp; d++) {
		json_t *row = json_array();

		for (stage = 0; stage < trace->job.pp; stage++) {
			double both = MIN(s->step_dp[step * trace->job.dp + d],
					  s->step_pp[stage * trace->n_steps + step]);

			(void)json_array_append_new(row, json_number(both / s->ideal));
		}
		(void)json_array_append_new(rows, row);
	}
	return rows;
}

static json_t *types_of_step(const struct attribution *a, size_t step)
{
	const struct slowdown *s = &a->slowdown;
	json_t *object = json_object();
	enum optype type;

	for (type = 0; type < OPTYPE_N; type++) {
		if (slowdown_type(type) == type && !isnan(s->types[type]))
			put_number(object, optype_reported(type),
				   s->step_types[type * a->trace->n_steps + step] / s->ideal);
	}
	return object;
}

static void put_steps(json_t *doc, const struct attribution *a)
{
	const struct trace *trace = a->trace;
	const struct slowdown *s = &a->slowdown;
	json_t *workers = json_object(), *types = json_object();
	json_t *dp = json_object(), *pp = json_object();
	char key[KEY_SIZE];
	size_t i;

	json_put(doc, "step_T", by_step(trace, s->step_simulated, 1));
	json_put(doc, "step_act", by_step(trace, s->step_recorded, 1));
	json_put(doc, "step_S", by_step(trace, s->step_simulated, s->ideal));
	for (i = 0; i < trace->n_steps; i++) {
		(void)step_key(trace, i, key);
		json_put(workers, key, workers_of_step(a, i));
		json_put(types, key, types_of_step(a, i));
		json_put(dp, key,
			 by_index(s->step_dp + i * trace->job.dp, trace->job.dp, 1, s->ideal));
		json_put(pp, key, by_index(s->step_pp + i, trace->job.pp, trace->n_steps, s->ideal));
	}
	json_put(doc, "step_S_w", workers);
	json_put(doc, "step_S_t", types);
	json_put(doc, "step_S_dp", dp);
	json_put(doc, "step_S_pp", pp);
}

static json_t *remedy(const struct set_effect *remedy, const struct slowdown *slowdown)
{
	json_t *object;

	if (isnan(remedy->time_without))
		return json_null();
	object = json_object();
	put_number(object, "trem", remedy->time_without);
	put_number(object, "tadd", remedy->time_only);
	put_number(object, "tori", slowdown->simulated);
	put_number(object, "tideal", slowdown->ideal);
	put_number(object, "rem", remedy->share_without);
	put_number(object, "add", remedy->share_only);
	return object;
}

static void put_nodes(json_t *doc, const struct attribution *a)
{
	const struct trace_job *job = &a->trace->job;
	const struct slowdown *s = &a->slowdown;
	json_t *nodes = json_object();
	size_t i;

	for (i = 0; i < job->n_nodes; i++) {
		json_t *node = json_object();

		put_number(node, "T_fix", s->node_times[i]);
		put_number(node, "share", s->node_shares[i]);
		json_put(nodes, job->nodes[i], node);
	}
	json_put(doc, "fix_node", nodes);
	json_put(doc, "top_node",
		 s->top_node < 0 ? json_null() : json_string(job->nodes[s->top_node]));
	put_number(doc, "M_node", s->top_node < 0 ? (double)NAN : s->node_shares[s->top_node]);
}

static void put_labels(json_t *doc, const struct attribution *a)
{
	const struct balance *balance = &a->slowdown.balance;
	json_t *labels = json_array(), *gc = json_object();
	size_t i;

	for (i = 0; i < a->cause.n_labels; i++)
		(void)json_array_append_new(labels, json_string(cause_name(a->cause.labels[i])));
	json_put(doc, "class", labels);
	json_put(doc, "primary", json_string(cause_name(a->cause.primary)));
	put_number(gc, "M_gc", a->slowdown.pauses);
	json_put(gc, "candidates", json_count(balance->n_pauses));
	put_number(gc, "max_share", balance->max_share);
	json_put(gc, "workers", json_count(balance->n_paused));
	json_put(doc, "gc", gc);
}

static void put_quality(json_t *doc, const struct attribution *a)
{
	const struct trace *trace = a->trace;
	json_t *dropped = json_array(), *why = json_array();
	size_t i;

	for (i = 0; i < trace->n_dropped; i++) {
		const struct trace_dropped *step = &trace->dropped[i];
		json_t *object = json_object();

		(void)json_array_append_new(dropped, json_integer(step->step));
		json_put(object, "step", json_integer(step->step));
		json_put(object, "dp_rank", json_integer(step->dp_rank));
		json_put(object, "operations", json_count(step->has));
		json_put(object, "expected", json_count(step->expected));
		(void)json_array_append_new(why, object);
	}
	json_put(doc, "dropped_steps", dropped);
	json_put(doc, "dropped_why", why);
	json_put(doc, "negative_transfers", json_count(a->cost.negative));
	json_put(doc, "clamped_transfers", json_count(a->cost.clamped));
	json_put(doc, "job", trace->job.name ? json_string(trace->job.name) : json_null());
	json_put(doc, "dp", json_count(trace->job.dp));
	json_put(doc, "pp", json_count(trace->job.pp));
	json_put(doc, "steps", json_count(trace->n_steps));
	json_put(doc, "window", json_count(trace->window));
	json_put(doc, "ops_used", json_count(trace->n_keys * trace->n_lanes));
}

static void put_delay(json_t *object, const struct launch_delay *delay)
{
	put_number(object, "delay_s", delay->seconds);
	put_number(object, "above_peers_s", delay->above);
	put_number(object, "share", delay->share);
}

static json_t *hints(const struct attribution *a)
{
	const struct trace_job *job = &a->trace->job;
	json_t *all = json_object(), *delay = json_object(), *drift = json_object();
	json_t *workers = json_array(), *nodes = json_object();
	uint32_t i;

	for (i = 0; i < job->dp * job->pp; i++) {
		json_t *object = worker(a->trace, i);

		put_delay(object, &a->hints.workers[i]);
		(void)json_array_append_new(workers, object);
	}
	for (i = 0; i < job->n_nodes; i++) {
		json_t *object = json_object();

		put_delay(object, &a->hints.nodes[i]);
		json_put(nodes, job->nodes[i], object);
	}
	json_put(delay, "workers", workers);
	json_put(delay, "nodes", nodes);
	json_put(all, "launch_delay", delay);
	put_number(drift, "step_time_per_step", a->hints.step_time_slope);
	put_number(drift, "start_skew_per_step", a->hints.start_skew_slope);
	json_put(all, "drift", drift);
	return all;
}

static json_t *alignment(const struct attribution *a)
{
	const struct trace_job *job = &a->trace->job;
	json_t *object = json_object(), *offsets = json_object();
	size_t i;

	for (i = 0; a->alignment.n && i < job->n_nodes; i++) {
		if (a->alignment.offsets[i] != 0)
			put_number(offsets, job->nodes[i], a->alignment.offsets[i]);
	}
	json_put(object, "mode", json_string(a->options.align ? "auto" : "none"));
	json_put(object, "offsets_s", offsets);
	return object;
}

/* How certain the numbers are, and who is blamed. */
static json_t *confidence(const struct attribution *a)
{
	static const char *const names[FIX_N] = {
		[FIX_TOP] = "M_w",	  [FIX_X] = "M_x",	 [FIX_LAST_STAGE] = "M_s",
		[FIX_LEVELLED] = "M_seq", [FIX_PAUSES] = "M_gc", [FIX_COMM] = "M_comm",
		[FIX_NODE] = "M_node",
	};
	const struct slowdown *s = &a->slowdown;
	json_t *object = json_object(), *types = json_object();
	struct interval interval;
	size_t i;

	json_put(object, "block", json_count(BOOTSTRAP_BLOCK));
	json_put(object, "draws", json_count(a->bootstrap.n_draws));
	json_put(object, "enough", json_boolean(a->suspects.enough));
	json_put(object, "steps_needed",
		 a->suspects.enough ? json_null() : json_count(a->suspects.steps_needed));
	json_put(object, "S", summary_interval(&a->s));
	for (i = 0; i < FIX_N; i++) {
		if (!s->step_fixed[i])
			continue;
		interval = attribution_share(a, s->step_fixed[i]);
		json_put(object, names[i], summary_interval(&interval));
	}
	for (i = 0; i < OPTYPE_N; i++) {
		if (slowdown_type((enum optype)i) != i || isnan(s->types[i]))
			continue;
		interval = attribution_slowdown(a, s->step_types + i * a->trace->n_steps);
		json_put(types, optype_reported((enum optype)i), summary_interval(&interval));
	}
	json_put(object, "S_t", types);
	return object;
}

json_t *attribution_document(const struct attribution *a)
{
	json_t *doc = json_object();

	put_totals(doc, a);
	put_parts(doc, a);
	put_steps(doc, a);
	json_put(doc, "ms", remedy(&a->slowdown.last_stage, &a->slowdown));
	json_put(doc, "mw", remedy(&a->slowdown.top_remedy, &a->slowdown));
	put_nodes(doc, a);
	put_labels(doc, a);
	put_quality(doc, a);
	json_put(doc, "confidence", confidence(a));
	json_put(doc, "suspects", summary_suspects(a));
	json_put(doc, "replace", summary_replace(a));
	json_put(doc, "lateness", lateness_document(a->trace, &a->lateness));
	json_put(doc, "hints", hints(a));
	json_put(doc, "alignment", alignment(a));
	if (a->remedies)
		json_put(doc, "remedies", json_incref(a->remedies));
	return doc;
}
