/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/lottery.h"

#include <math.h>
#include <stdlib.h>

#include "attribution/trace_job.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"

/* Seconds: shorter times cannot be compared. */
#define SHORTEST 1e-7

/* A smaller spread, relative to that of good silicon, is not credible. */
#define LEAST 0.05

/* A host further from the others is of another kind, or slow. */
#define FAR (3 * LOTTERY_LEFT)

/* One-sided 5 % point of the normal distribution, in standard deviations. */
#define TWENTIETH 1.645

/* Variance of the median of many normal samples relative to that of the mean: pi / 2. */
#define MEDIAN 1.5708

/* One stage while levels are computed. */
struct stage {
	size_t n;	 /* workers not left out */
	double variance; /* of its median, relative to that of one host */
};

struct finder {
	struct lottery *lottery;
	const bool *left_out;
	const double *speeds;  /* applied to the times; NULL: none */
	const double *counted; /* only workers with a value here count in `squares`; NULL: all */
	double *values;	       /* owned: room for all workers */
	struct stage *stages;  /* owned */
	double squares;	       /* of relative deviations from the medians of stages */
	double near;	       /* the same, each limited to FAR */
	double spread;	       /* remaining between hosts of a stage */
	size_t free, used;     /* degrees of freedom; stages with workers */
};

static void finder_release(struct finder *finder)
{
	free(finder->values);
	free(finder->stages);
}

static double time_of(const struct pace *pace, size_t worker)
{
	size_t stage = worker % pace->trace->job.pp, type;
	double time = 0;

	for (type = 0; type < OPTYPE_N; type++) {
		if (optype_is_compute((enum optype)type))
			time += pace->count[stage * OPTYPE_N + type] *
				pace->mean[worker * OPTYPE_N + type];
	}
	return time;
}

/* The time of a host of usual speed; unknown speeds count as usual. */
static double usual_time_of(const struct finder *finder, size_t worker)
{
	double speed = finder->speeds ? finder->speeds[worker] : 1;

	return time_of(finder->lottery->pace, worker) * (isnan(speed) ? 1 : speed);
}

static bool is_counted(const struct finder *finder, size_t worker)
{
	return !finder->left_out[worker] && !(finder->counted && isnan(finder->counted[worker]));
}

/* Store the times of the other workers of some stages in finder.values. Returns how many. */
static size_t times_of(struct finder *finder, size_t begin, size_t end)
{
	const struct pace *pace = finder->lottery->pace;
	size_t dp = pace->trace->job.dp, pp = pace->trace->job.pp, stage, d, n = 0;

	for (stage = begin; stage < end; stage++) {
		for (d = 0; d < dp; d++) {
			if (!finder->left_out[d * pp + stage])
				finder->values[n++] = usual_time_of(finder, d * pp + stage);
		}
	}
	return n;
}

/* 1 for a single one, pi / 2n for many. */
static double variance_of_median(size_t n)
{
	return MEDIAN / ((double)n + MEDIAN - 1);
}

static void find_stage(struct finder *finder, size_t stage)
{
	const struct trace_job *job = &finder->lottery->pace->trace->job;
	size_t n = times_of(finder, stage, stage + 1), d, counted = 0;
	double level = n ? stats_median_of(finder->values, n) : 0;

	finder->stages[stage] = (struct stage){ 0 };
	finder->lottery->level[stage] = 0;
	if (level <= SHORTEST)
		return;
	for (d = 0; d < job->dp; d++) {
		double square = pow(usual_time_of(finder, d * job->pp + stage) / level - 1, 2);

		if (!is_counted(finder, d * job->pp + stage))
			continue;
		finder->squares += square;
		finder->near += MIN(square, FAR * FAR);
		counted++;
	}
	finder->stages[stage] = (struct stage){ n, variance_of_median(n) };
	finder->lottery->level[stage] = level;
	finder->free += counted ? counted - 1 : 0;
	finder->used++;
}

static void find_stages(struct finder *finder, const double *speeds, const double *counted)
{
	size_t stage;

	finder->speeds = speeds;
	finder->counted = counted;
	finder->squares = finder->near = 0;
	finder->free = finder->used = 0;
	for (stage = 0; stage < finder->lottery->pace->trace->job.pp; stage++)
		find_stage(finder, stage);
}

/* Are the speeds of at least half of the others known? */
static bool knows_most(const struct finder *finder, const double *speeds, size_t n)
{
	size_t i, others = 0, known = 0;

	for (i = 0; i < n; i++) {
		others += !finder->left_out[i];
		known += !finder->left_out[i] && !isnan(speeds[i]);
	}
	return 2 * known >= others;
}

/*
 * Do the speeds explain the times of workers that have one? Yes if the deviations with speeds are
 * not larger than without, allowing for what 19 of 20 jobs of this size have by chance: a few
 * hosts that happen to be alike deviate less without. A host that has become slow since its tests
 * deviates as much either way.
 */
static bool explains(struct finder *finder, const double *speeds)
{
	double without;

	find_stages(finder, NULL, speeds);
	without = finder->near;
	find_stages(finder, speeds, speeds);
	return finder->near <=
	       without + pow(LOTTERY_LEFT, 2) * TWENTIETH * sqrt(2 * (double)finder->free);
}

/* With speeds if they explain the times, else without. */
static void find_levels(struct finder *finder, const double *speeds, size_t n)
{
	if (speeds && knows_most(finder, speeds, n))
		finder->lottery->tested = explains(finder, speeds);
	if (!finder->lottery->tested)
		find_stages(finder, NULL, NULL);
}

static double spread_of(const struct finder *finder, double usual)
{
	double seen = finder->free ? sqrt(finder->squares / (double)finder->free) : usual;
	double weight = LOTTERY_WEIGHT, free = (double)finder->free;

	seen = MAX(seen, LEAST * usual);
	return exp((weight * log(usual) + free * log(seen)) / (weight + free));
}

/* Relative variance between stages beyond the chance variation of their medians. */
static double between_stages(const struct finder *finder)
{
	const struct lottery *lottery = finder->lottery;
	size_t pp = lottery->pace->trace->job.pp, stage;
	double n = (double)finder->used, mean = 0, seen = 0, chance = 0;

	for (stage = 0; stage < pp; stage++)
		mean += lottery->level[stage] / n;
	for (stage = 0; stage < pp; stage++) {
		if (finder->stages[stage].n == 0)
			continue;
		seen += pow(lottery->level[stage] / mean - 1, 2) / (n - 1);
		chance += finder->stages[stage].variance * pow(finder->spread, 2) / n;
	}
	/* With speeds, equal stages hardly differ: only count what chance rarely explains. */
	if (lottery->tested)
		chance *= 1 + sqrt(2 / (n - 1));
	return MAX(seen - chance, 0);
}

static void draw_together(struct finder *finder)
{
	struct lottery *lottery = finder->lottery;
	size_t pp = lottery->pace->trace->job.pp, stage, n;
	double between = INFINITY, all = 0, error = 0;

	if (finder->used > 1) {
		n = times_of(finder, 0, pp);
		between = between_stages(finder);
		all = stats_median_of(finder->values, n);
		error = variance_of_median(n) * pow(finder->spread, 2);
	}
	for (stage = 0; stage < pp; stage++) {
		double chance = finder->stages[stage].variance * pow(finder->spread, 2);
		double own = isinf(between) ? 1 : between / (between + chance);

		if (finder->stages[stage].n == 0)
			continue;
		lottery->level[stage] = own == 1 ? lottery->level[stage]
						 : all + (lottery->level[stage] - all) * own;
		lottery->error[stage] = sqrt(own * chance + (1 - own) * error);
	}
}

double lottery_ratio(const struct lottery *lottery, size_t worker)
{
	double level = lottery->level[worker % lottery->pace->trace->job.pp];

	return level > 0 ? time_of(lottery->pace, worker) / level : 1;
}

/*
 * Logarithm of the ratio of a worker that is slower than `limit`, by its times alone, or by both
 * its times and its own tests, weighted by their uncertainty, provided that the job shows it to
 * be that slow, too: its state may have changed since its tests.
 */
static double least_tested(const struct lottery *lottery, size_t worker, double limit)
{
	double error = lottery->error[worker % lottery->pace->trace->job.pp];
	double alone = limit + LOTTERY_TESTED_ERRORS * error, part, both;

	if (isnan(lottery->speeds[worker]) || error <= 0)
		return alone;
	part = pow(error / LOTTERY_LEFT, 2); /* weight of its tests relative to its times */
	both = (1 + part) * limit + LOTTERY_TESTED_ERRORS * error * sqrt(1 + part) +
	       part * log(lottery->speeds[worker]);
	return MIN(alone, MAX(limit, both));
}

double lottery_least(const struct lottery *lottery, size_t worker, double beyond, size_t hosts)
{
	double more = LOTTERY_BEYOND_MORE * (double)(hosts - 1);
	double apart =
		lottery->most * (1 + (lottery->tested ? LOTTERY_TESTED_APART : LOTTERY_APART));

	if (!lottery->tested)
		return MAX(apart, 1 + (beyond + more) * lottery->spread);
	return MAX(apart, exp(least_tested(lottery, worker,
					   more * lottery->spread -
						   log(lottery->low) * beyond / LOTTERY_BEYOND)));
}

struct lottery lottery_of(const struct pace *pace, const bool *left_out,
			  const struct lottery_known *known)
{
	size_t pp = pace->trace->job.pp, n = (size_t)pace->trace->job.dp * pp, i;
	struct lottery lottery = { .pace = pace,
				   .speeds = known->speeds,
				   .level = xcalloc(pp, sizeof(*lottery.level)),
				   .error = xcalloc(pp, sizeof(*lottery.error)) };
	CLEANUP(finder_release)
	struct finder finder = { .lottery = &lottery,
				 .left_out = left_out,
				 .values = xcalloc(n, sizeof(*finder.values)),
				 .stages = xcalloc(pp, sizeof(*finder.stages)) };

	find_levels(&finder, known->speeds, n);
	finder.spread = spread_of(&finder, lottery.tested ? LOTTERY_LEFT : known->spread);
	lottery.low = known->low;
	lottery.spread = lottery.tested ? known->spread : finder.spread;
	draw_together(&finder);
	for (i = 0; i < n; i++) {
		if (!left_out[i])
			lottery.most = MAX(lottery.most, lottery_ratio(&lottery, i));
	}
	return lottery;
}

void lottery_release(struct lottery *lottery)
{
	free(lottery->level);
	free(lottery->error);
	*lottery = (struct lottery){ 0 };
}
