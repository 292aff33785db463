/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/pace.h"

#include <math.h>
#include <stdlib.h>

#include "attribution/crew.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"

/* Seconds: shorter times cannot be compared. */
#define SHORTEST 1e-7

/* Computes means over all keys of a kind on a stage, and medians for transfers. */
struct finder {
	struct pace *pace;
	const struct cost *cost;
	const size_t *first; /* first key of each kind on a stage, and one past the last */
	double *values;	     /* scratch of all threads */
	size_t room;	     /* per thread */
};

static void find_mean(const struct trace *trace, const struct finder *finder, size_t key, size_t end)
{
	const struct trace_key *what = &trace->keys[key];
	size_t dp = trace->job.dp, stride = (size_t)trace->job.pp * OPTYPE_N, d, step, i;
	double *mean = finder->pace->mean + what->stage * OPTYPE_N + what->type;

	for (i = key; i < end; i++) {
		const double *row = trace_row(trace, finder->cost->value, i);

		for (step = 0; step < trace->n_steps; step++, row += dp) {
			for (d = 0; d < dp; d++)
				mean[d * stride] += row[d];
		}
	}
	for (d = 0; d < dp; d++)
		mean[d * stride] /= (double)(end - key) * (double)trace->n_steps;
}

static void find_median(const struct trace *trace, const struct finder *finder, size_t key,
			size_t end, double *values)
{
	const struct trace_key *what = &trace->keys[key];
	size_t dp = trace->job.dp, d, step, i, n;

	for (d = 0; d < dp; d++) {
		n = 0;
		for (i = key; i < end; i++) {
			const double *row = trace_row(trace, finder->cost->value, i);

			for (step = 0; step < trace->n_steps; step++)
				values[n++] = row[step * dp + d];
		}
		finder->pace->median[(d * trace->job.pp + what->stage) * OPTYPE_N + what->type] =
			stats_median_of(values, n);
	}
}

static void find_kind(void *context, size_t i, size_t thread)
{
	const struct finder *finder = context;
	const struct trace *trace = finder->pace->trace;
	size_t key = finder->first[i], end = finder->first[i + 1];
	const struct trace_key *what = &trace->keys[key];

	finder->pace->count[what->stage * OPTYPE_N + what->type] = (uint32_t)(end - key);
	find_mean(trace, finder, key, end);
	if (optype_is_communication(what->type))
		find_median(trace, finder, key, end, finder->values + thread * finder->room);
}

struct pace pace_find(const struct trace *trace, const struct cost *cost, size_t n_threads)
{
	size_t n = (size_t)trace->job.dp * trace->job.pp, i, kinds = 0, most = 0;
	struct pace pace = {
		.trace = trace,
		.mean = xcalloc(n * OPTYPE_N, sizeof(double)),
		.median = xcalloc(n * OPTYPE_N, sizeof(double)),
		.count = xcalloc((size_t)trace->job.pp * OPTYPE_N, sizeof(uint32_t)),
	};
	CLEANUP(freep) size_t *first = xcalloc(trace->n_keys + 1, sizeof(*first));
	CLEANUP(freep) double *values = NULL;
	struct finder finder = { &pace, cost, first, NULL, 0 };

	for (i = 0; i < trace->n_keys; i++) {
		if (i == 0 || trace->keys[i].stage != trace->keys[i - 1].stage ||
		    trace->keys[i].type != trace->keys[i - 1].type)
			first[kinds++] = i;
		most = MAX(most, i + 1 - first[kinds - 1]);
	}
	first[kinds] = trace->n_keys;
	finder.room = most * trace->n_steps;
	values = xcalloc(finder.room * n_threads + 1, sizeof(*values));
	finder.values = values;
	crew_run(n_threads, kinds, find_kind, &finder);
	return pace;
}

void pace_release(struct pace *pace)
{
	free(pace->mean);
	free(pace->median);
	free(pace->count);
	*pace = (struct pace){ 0 };
}

void pace_level_release(struct pace_level *level)
{
	free(level->mean);
	free(level->median);
	free(level->alike);
	*level = (struct pace_level){ 0 };
}

/* The operations that define a level: of one stage, or of all that have the kind. */
struct pool_of {
	size_t stage;
	bool any_stage;
	enum optype type;
	const bool *left_out; /* [worker] */
};

/*
 * Median over these of a table like struct pace.mean; 0: none. `values` has room for all workers.
 */
static double level_of(const struct pace *pace, const struct pool_of *who, const double *table,
		       double *values)
{
	size_t dp = pace->trace->job.dp, pp = pace->trace->job.pp, d, s, n = 0;
	size_t end = who->any_stage ? pp : who->stage + 1;

	for (s = who->any_stage ? 0 : who->stage; s < end; s++) {
		if (pace->count[s * OPTYPE_N + who->type] == 0)
			continue;
		for (d = 0; d < dp; d++) {
			if (!who->left_out[d * pp + s])
				values[n++] = table[(d * pp + s) * OPTYPE_N + who->type];
		}
	}
	return n ? stats_median_of(values, n) : 0;
}

/* Number of workers of a stage that are left out. */
static size_t count_out(const struct pace *pace, size_t stage, const bool *left_out)
{
	size_t dp = pace->trace->job.dp, pp = pace->trace->job.pp, d, n = 0;

	for (d = 0; d < dp; d++)
		n += left_out[d * pp + stage];
	return n;
}

struct pace_level pace_level_of(const struct pace *pace, const bool *left_out, bool all_stages)
{
	size_t dp = pace->trace->job.dp, pp = pace->trace->job.pp, stage, type;
	CLEANUP(freep) double *values = xcalloc(dp * pp, sizeof(*values));
	struct pace_level level = {
		.mean = xcalloc(pp * OPTYPE_N, sizeof(double)),
		.median = xcalloc(pp * OPTYPE_N, sizeof(double)),
		.alike = xcalloc(pp, sizeof(bool)),
	};

	for (stage = 0; stage < pp; stage++) {
		size_t out = count_out(pace, stage, left_out);
		bool alike = level.alike[stage] = out < dp;

		for (type = 0; type < OPTYPE_N && (all_stages || out); type++) {
			size_t at = stage * OPTYPE_N + type;
			struct pool_of who = { stage, !alike, (enum optype)type, left_out };

			if (pace->count[at] == 0)
				continue;
			level.mean[at] = level_of(pace, &who, pace->mean, values);
			level.median[at] = level_of(pace, &who, pace->median, values);
		}
	}
	return level;
}

double pace_scale(const struct pace *pace, const struct pace_level *level, size_t worker,
		  enum optype type)
{
	double own = pace->mean[worker * OPTYPE_N + type];
	double others = level->mean[worker % pace->trace->job.pp * OPTYPE_N + type];

	return own > SHORTEST && others > 0 ? others / own : 1;
}

struct whatif_pace pace_even(const struct pace *pace, const struct pace_level *level, size_t worker,
			     enum optype type)
{
	return (struct whatif_pace){ pace_scale(pace, level, worker, type), 0 };
}

struct whatif_pace pace_replaced(const struct pace *pace, const struct pace_level *level,
				 size_t worker, enum optype type, bool transfers)
{
	if (!optype_is_communication(type))
		return (struct whatif_pace){ pace_scale(pace, level, worker, type), 0 };
	if (!transfers)
		return (struct whatif_pace){ 1, 0 };
	return (struct whatif_pace){ 0,
				     level->median[worker % pace->trace->job.pp * OPTYPE_N + type] };
}

double pace_excess_of(const struct pace *pace, const struct pace_level *level, size_t worker,
		      enum optype type)
{
	size_t at = worker % pace->trace->job.pp * OPTYPE_N + type;

	return pace->count[at] * (pace->mean[worker * OPTYPE_N + type] - level->mean[at]);
}

double pace_excess(const struct pace *pace, const struct pace_level *level, size_t worker,
		   bool transfers)
{
	double excess = 0;
	size_t type;

	for (type = 0; type < OPTYPE_N; type++) {
		if (optype_is_communication((enum optype)type) == transfers)
			excess += pace_excess_of(pace, level, worker, (enum optype)type);
	}
	return excess;
}
