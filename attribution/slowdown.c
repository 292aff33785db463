/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/slowdown.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "attribution/slowdown_inside.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* A loss below this part of T_ideal is none. */
#define LEAST_LOSS 1e-9

enum optype slowdown_type(enum optype type)
{
	enum optype first = 0;

	while (!streq(optype_reported(first), optype_reported(type)))
		first++;
	return first;
}

static enum whatif_choice all_original(const struct trace_key *key UNUSED,
				       const void *context UNUSED)
{
	return WHATIF_ORIGINAL;
}

static enum whatif_choice all_ideal(const struct trace_key *key UNUSED, const void *context UNUSED)
{
	return WHATIF_IDEAL;
}

static enum whatif_choice only_type(const struct trace_key *key, const void *context)
{
	const enum optype *type = context;

	return slowdown_type(key->type) == *type ? WHATIF_ORIGINAL : WHATIF_IDEAL;
}

static enum whatif_choice only_stage(const struct trace_key *key, const void *context)
{
	const size_t *stage = context;

	return key->stage == *stage ? WHATIF_ORIGINAL : WHATIF_IDEAL;
}

static enum whatif_choice all_but_stage(const struct trace_key *key, const void *context)
{
	const size_t *stage = context;

	return key->stage == *stage ? WHATIF_IDEAL : WHATIF_ORIGINAL;
}

static enum whatif_choice mend_communication(const struct trace_key *key, const void *context UNUSED)
{
	return optype_is_communication(key->type) ? WHATIF_IDEAL : WHATIF_ORIGINAL;
}

static enum whatif_choice mend_compute(const struct trace_key *key, const void *context UNUSED)
{
	return optype_is_compute(key->type) ? WHATIF_IDEAL : WHATIF_ORIGINAL;
}

/* `context` is the table of keys and what to look up in it. */
struct pauses {
	const struct trace *trace;
	const bool *has_pause;
};

static enum whatif_choice mend_pauses(const struct trace_key *key, const void *context)
{
	const struct pauses *pauses = context;

	return pauses->has_pause[key - pauses->trace->keys] ? WHATIF_CELLS : WHATIF_ORIGINAL;
}

/* How long each step took in the trace. */
static void find_recorded(const struct trace *trace, struct slowdown *slowdown)
{
	size_t key, step, d, dp = trace->job.dp;

	slowdown->step_recorded = xcalloc(trace->n_steps, sizeof(double));
	for (key = 0; key < trace->n_keys; key++) {
		const double *start = trace_row(trace, trace->start, key);
		const double *duration = trace_row(trace, trace->duration, key);

		for (step = 0; step < trace->n_steps; step++) {
			double latest = slowdown->step_recorded[step];

			for (d = 0; d < dp; d++) {
				double end = start[step * dp + d] + duration[step * dp + d];

				latest = end > latest ? end : latest;
			}
			slowdown->step_recorded[step] = latest;
		}
	}
	slowdown->recorded = mean_time(slowdown->step_recorded, trace->n_steps);
}

/* The simulations that need nothing but the trace. */
struct first_wave {
	const double *original, *ideal, *types[OPTYPE_N], *dp, *comm, *levelled, *pauses,
		*all_but_last;
	const double **pp, **exact; /* [stage]; owned */
};

static void first_wave_release(struct first_wave *first)
{
	free(first->pp);
	free(first->exact);
}

static void add_first(struct wave *wave, const struct cost *cost, const struct slowdown *slowdown,
		      struct first_wave *first)
{
	const struct trace *trace = wave->trace;
	const struct balance *balance = &slowdown->balance;
	const struct pauses pauses = { trace, balance->has_pause };
	size_t stage, last = trace->job.pp - 1;
	enum optype type;

	first->original = wave_add(wave, all_original, NULL);
	first->ideal = wave_add(wave, all_ideal, NULL);
	for (type = 0; type < OPTYPE_N; type++) {
		if (cost->has[type] && !first->types[slowdown_type(type)]) {
			enum optype reported = slowdown_type(type);

			first->types[reported] = wave_add(wave, only_type, &reported);
		}
	}
	first->dp = wave_add_alone(wave, all_original, NULL);
	first->pp = xcalloc(trace->job.pp, sizeof(*first->pp));
	first->exact = xcalloc(trace->job.pp, sizeof(*first->exact));
	for (stage = 0; stage < trace->job.pp; stage++) {
		first->pp[stage] = wave_add(wave, only_stage, &stage);
		first->exact[stage] = wave_add_alone(wave, only_stage, &stage);
	}
	first->all_but_last = wave_add(wave, all_but_stage, &last);
	first->comm = wave_add(wave, mend_communication, NULL);
	first->levelled = wave_add(wave, mend_compute, NULL);
	wave_newest(wave)->ideal = balance->level;
	if (balance->n_pauses) {
		first->pauses = wave_add(wave, mend_pauses, &pauses);
		wave_newest(wave)->cells = balance->original;
	}
}

static double *copy_of(const double *values, size_t n)
{
	double *copy = xcalloc(n, sizeof(*copy));

	memcpy(copy, values, n * sizeof(*copy));
	return copy;
}

/* S of each DP rank from the times of its steps. */
static double mean_of_rank(const double *times, const struct trace *trace, size_t d)
{
	double sum = 0;
	size_t step;

	for (step = 0; step < trace->n_steps; step++)
		sum += times[step * trace->job.dp + d];
	return sum / (double)trace->n_steps;
}

static void take_parts(const struct trace *trace, const struct first_wave *first,
		       struct slowdown *slowdown)
{
	size_t n = trace->n_steps, dp = trace->job.dp, pp = trace->job.pp, d, stage;
	enum optype type;

	slowdown->step_types = xcalloc(OPTYPE_N * n, sizeof(double));
	for (type = 0; type < OPTYPE_N; type++) {
		slowdown->types[type] = NAN;
		if (!first->types[type])
			continue;
		memcpy(slowdown->step_types + type * n, first->types[type], n * sizeof(double));
		slowdown->types[type] = mean_time(first->types[type], n) / slowdown->ideal;
	}
	slowdown->step_dp = copy_of(first->dp, trace->n_lanes);
	slowdown->step_pp = xcalloc(pp * n, sizeof(double));
	slowdown->dp = xcalloc(dp, sizeof(double));
	slowdown->pp = xcalloc(pp, sizeof(double));
	slowdown->workers = xcalloc(dp * pp, sizeof(double));
	slowdown->exact = xcalloc(dp * pp, sizeof(double));
	for (d = 0; d < dp; d++)
		slowdown->dp[d] = mean_of_rank(first->dp, trace, d) / slowdown->ideal;
	for (stage = 0; stage < pp; stage++) {
		memcpy(slowdown->step_pp + stage * n, first->pp[stage], n * sizeof(double));
		slowdown->pp[stage] = mean_time(first->pp[stage], n) / slowdown->ideal;
		for (d = 0; d < dp; d++) {
			slowdown->workers[d * pp + stage] =
				MIN(slowdown->dp[d], slowdown->pp[stage]);
			slowdown->exact[d * pp + stage] =
				mean_of_rank(first->exact[stage], trace, d) / slowdown->ideal;
		}
	}
}

static void take_shares(const struct trace *trace, const struct first_wave *first,
			struct slowdown *slowdown)
{
	size_t n = trace->n_steps;
	struct remedy *last = &slowdown->last_stage;

	slowdown->comm = slowdown_share(slowdown, mean_time(first->comm, n));
	slowdown->levelled = slowdown_share(slowdown, mean_time(first->levelled, n));
	slowdown->pauses = first->pauses ? slowdown_share(slowdown, mean_time(first->pauses, n))
					 : NAN;
	last->time_without = last->time_only = last->share_without = last->share_only = NAN;
	if (trace->job.pp == 1)
		return;
	last->time_without = mean_time(first->all_but_last, n);
	last->time_only = mean_time(first->pp[trace->job.pp - 1], n);
	last->share_without = slowdown_share(slowdown, last->time_without);
	last->share_only = 1 - slowdown_share(slowdown, last->time_only);
}

static void take_first(const struct trace *trace, const struct first_wave *first,
		       struct slowdown *slowdown)
{
	size_t n = trace->n_steps;

	slowdown->step_simulated = copy_of(first->original, n);
	slowdown->simulated = mean_time(first->original, n);
	slowdown->ideal = mean_time(first->ideal, n);
	slowdown->s = slowdown->simulated / slowdown->ideal;
	slowdown->measurable = slowdown->simulated - slowdown->ideal > LEAST_LOSS * slowdown->ideal;
	slowdown->discrepancy = fabs(slowdown->simulated - slowdown->recorded) / slowdown->recorded;
	take_parts(trace, first, slowdown);
	take_shares(trace, first, slowdown);
}

int slowdown_find(const struct trace *trace, const struct graph *graph, const struct cost *cost,
		  size_t n_threads, struct slowdown *ret_slowdown, struct err *err)
{
	CLEANUP(slowdown_release) struct slowdown slowdown = { 0 };
	CLEANUP(first_wave_release) struct first_wave first = { 0 };
	CLEANUP(wave_release) struct wave wave = { 0 };
	int r;

	r = balance_find(trace, &slowdown.balance, err);
	if (r == 0)
		r = wave_open(&wave, trace, graph, cost, n_threads, err);
	if (r < 0)
		return r;
	find_recorded(trace, &slowdown);
	add_first(&wave, cost, &slowdown, &first);
	wave_run(&wave);
	take_first(trace, &first, &slowdown);
	slowdown_find_sets(trace, &wave, &slowdown);
	slowdown_find_nodes(trace, &wave, &slowdown);
	*ret_slowdown = slowdown;
	slowdown = (struct slowdown){ 0 };
	return 0;
}

void slowdown_release(struct slowdown *slowdown)
{
	free(slowdown->dp);
	free(slowdown->pp);
	free(slowdown->workers);
	free(slowdown->exact);
	free(slowdown->step_recorded);
	free(slowdown->step_simulated);
	free(slowdown->step_types);
	free(slowdown->step_dp);
	free(slowdown->step_pp);
	free(slowdown->top.workers);
	free(slowdown->x.workers);
	free(slowdown->node_times);
	free(slowdown->node_shares);
	balance_release(&slowdown->balance);
	*slowdown = (struct slowdown){ 0 };
}
