/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/summary_detail.h"

#include <math.h>
#include <stdlib.h>

#include "attribution/summary_remedies.h"
#include "attribution/trace_job.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* Decimals of values that are only displayed, as there are many. */
#define FINE 1e4

static json_t *rounded(double value)
{
	return json_number(round(value * FINE) / FINE);
}

/* --- steps --- */

/* Compare steps, slowest first. */
static bool is_slower(const double *times, size_t left, size_t right)
{
	return times[left] > times[right] || (!(times[left] < times[right]) && left < right);
}

/* The steps to show, in order: all, or the slowest. Returns how many. */
static size_t shown_steps(const struct attribution *a, size_t ret[static DETAIL_STEPS_MAX])
{
	const double *times = a->slowdown.step_simulated;
	size_t n = a->trace->n_steps, kept = 0, i, j;

	for (i = 0; i < n && kept < DETAIL_STEPS_MAX; i++) {
		size_t slower = 0;

		for (j = 0; n > DETAIL_STEPS_MAX && j < n && slower < DETAIL_STEPS_MAX; j++)
			slower += is_slower(times, j, i);
		if (slower < DETAIL_STEPS_MAX)
			ret[kept++] = i;
	}
	return kept;
}

/* Pool `n` values with stride `apart` into at most DETAIL_LINES_MAX, each the worst of its part. */
static json_t *worst(const double *values, size_t n, size_t apart, double ideal)
{
	const size_t places = MIN(n, (size_t)DETAIL_LINES_MAX);
	json_t *list = json_array();
	size_t i, k;

	for (i = 0; i < places; i++) {
		double most = -INFINITY;

		for (k = i * n / places; k < (i + 1) * n / places; k++)
			most = MAX(most, values[k * apart]);
		(void)json_array_append_new(list, rounded(most / ideal));
	}
	return list;
}

static void put_steps(json_t *detail, const struct attribution *a)
{
	const struct trace *trace = a->trace;
	const struct slowdown *s = &a->slowdown;
	json_t *steps = json_array(), *act = json_array(), *simulated = json_array();
	json_t *dp = json_array(), *pp = json_array();
	size_t shown[DETAIL_STEPS_MAX], n = shown_steps(a, shown), i;

	for (i = 0; i < n; i++) {
		const size_t step = shown[i];

		(void)json_array_append_new(steps, json_integer(trace->steps[step]));
		(void)json_array_append_new(act, json_number(s->step_recorded[step]));
		(void)json_array_append_new(simulated, json_number(s->step_simulated[step]));
		(void)json_array_append_new(
			dp, worst(s->step_dp + step * trace->job.dp, trace->job.dp, 1, s->ideal));
		(void)json_array_append_new(
			pp, worst(s->step_pp + step, trace->job.pp, trace->n_steps, s->ideal));
	}
	json_put(detail, "step", steps);
	json_put(detail, "step_act", act);
	json_put(detail, "step_T", simulated);
	json_put(detail, "step_S_dp", dp);
	json_put(detail, "step_S_pp", pp);
}

/* --- parts --- */

static void put_parts(json_t *detail, const struct attribution *a)
{
	const struct slowdown *s = &a->slowdown;
	json_t *types = json_object(), *mended = json_object();
	enum optype type;

	for (type = 0; type < OPTYPE_N; type++) {
		if (a->cost.has[type])
			json_put(types, optype_reported(type),
				 json_number(s->types[slowdown_type(type)]));
	}
	json_put(mended, "M_w", json_number(s->top.share));
	json_put(mended, "M_s", json_number(s->last_stage.share_without));
	json_put(mended, "M_comm", json_number(s->comm));
	json_put(mended, "M_seq", json_number(s->levelled));
	json_put(mended, "M_gc", json_number(s->pauses));
	json_put(detail, "S_t", types);
	json_put(detail, "mended", mended);
}

/* --- names of workers --- */

/* The names of its hosts; null if the trace has none, or too many. */
static json_t *names(const struct trace_job *job)
{
	json_t *list = json_array();
	size_t i, bytes = 0;

	for (i = 0; i < job->n_nodes && bytes <= DETAIL_NAMES_MAX; i++) {
		CLEANUP(freep) char *name = utf8_clean(job->nodes[i]);

		bytes += strlen(name);
		(void)json_array_append_new(list, json_string(name));
	}
	if (job->named && bytes <= DETAIL_NAMES_MAX)
		return list;
	json_decref(list);
	return json_null();
}

static void put_workers(json_t *detail, const struct trace_job *job)
{
	const size_t n = (size_t)job->dp * job->pp;
	json_t *hosts, *ranks, *nodes;
	size_t w;

	json_put(detail, "beside", json_integer((json_int_t)job->tp * (json_int_t)job->dsp));
	if (n > DETAIL_WORKERS_MAX)
		return;
	hosts = names(job);
	ranks = json_array();
	nodes = json_array();
	for (w = 0; w < n; w++) {
		(void)json_array_append_new(ranks, json_integer(job->workers[w].rank));
		(void)json_array_append_new(nodes, json_integer(job->workers[w].node));
	}
	json_put(detail, "ranks", ranks);
	json_put(detail, "nodes", nodes);
	json_put(detail, "hosts", hosts);
}

json_t *summary_detail(const struct attribution *a)
{
	json_t *detail = json_object();

	json_put(detail, "T_act", json_number(a->slowdown.recorded));
	json_put(detail, "T", json_number(a->slowdown.simulated));
	json_put(detail, "T_ideal", json_number(a->slowdown.ideal));
	put_steps(detail, a);
	put_parts(detail, a);
	put_workers(detail, &a->trace->job);
	json_put(detail, "remedies", summary_remedies(a));
	return detail;
}
