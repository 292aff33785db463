/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/pack_pace.h"

#include <math.h>
#include <stdlib.h>

#include "attribution/pace.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/pipe_packs.h"

/* Seconds: stages that compute less are not compared. */
#define SHORTEST 1e-9

/* Index of a trace's computes. */
struct packs {
	const struct trace *trace;
	const double *seconds; /* indexed like trace->duration */
	size_t dp, pp, n;      /* n: packs per pipeline and step */
	size_t *first[2];      /* owned: [stage]: key of its first forward, backward */
};

static double seconds_of(const struct packs *packs, bool backward, size_t d, size_t p, size_t i,
			 size_t step)
{
	const size_t key = packs->first[backward][p] + i;

	return packs->seconds[key * packs->trace->n_lanes + step * packs->dp + d];
}

static struct packs packs_of(const struct attribution *a)
{
	const struct trace *trace = a->trace;
	struct packs packs = { .trace = trace,
			       .seconds = a->cost.value,
			       .dp = trace->job.dp,
			       .pp = trace->job.pp,
			       .first = { xcalloc(trace->job.pp, sizeof(size_t)),
					  xcalloc(trace->job.pp, sizeof(size_t)) } };
	size_t i = trace->n_keys;

	while (i-- > 0) {
		const struct trace_key *key = &trace->keys[i];

		if (key->type != OP_FORWARD_COMPUTE && key->type != OP_BACKWARD_COMPUTE)
			continue;
		packs.first[key->type == OP_BACKWARD_COMPUTE][key->stage] = i;
		packs.n += key->type == OP_FORWARD_COMPUTE && key->stage == 0;
	}
	return packs;
}

static void packs_release(struct packs *packs)
{
	free(packs->first[0]);
	free(packs->first[1]);
}

/* Online mean and variance (Welford, Technometrics 4, 1962). */
struct moments {
	size_t n;
	double mean, squares;
};

static void add(struct moments *m, double value)
{
	const double before = value - m->mean;

	m->mean += before / (double)++m->n;
	m->squares += before * (value - m->mean);
}

static double variance(const struct moments *m)
{
	return m->n > 1 ? m->squares / (double)(m->n - 1) : 0;
}

/* Variation of an operation: of the share of backward from pack to pack. */
static double noise_of(const struct packs *packs)
{
	double sum = 0;
	size_t d, p, i, step, n = 0;

	for (d = 0; d < packs->dp; d++) {
		for (p = 0; p < packs->pp; p++) {
			struct moments m = { .n = 0 };

			for (step = 0; step < packs->trace->n_steps; step++) {
				for (i = 0; i < packs->n; i++) {
					double f = seconds_of(packs, false, d, p, i, step);
					double b = seconds_of(packs, true, d, p, i, step);

					if (f > 0 && b > 0)
						add(&m, log(b / f));
				}
			}
			sum += variance(&m) / 2;
			n++;
		}
	}
	return sqrt(sum / (double)n);
}

static double pipelines_of(const struct packs *packs)
{
	const size_t n = packs->n * packs->pp;
	CLEANUP(freep) double *each = xcalloc(2 * n, sizeof(*each));
	const struct pipe_packs play = { .n = packs->n,
					 .stages = packs->pp,
					 .each = { each, each + n } };
	double sum = 0;
	size_t step, d, p, i;

	for (step = 0; step < packs->trace->n_steps; step++) {
		double slowest = 0;

		for (d = 0; d < packs->dp; d++) {
			double seconds;

			for (p = 0; p < packs->pp; p++) {
				for (i = 0; i < packs->n; i++) {
					each[p * packs->n + i] =
						seconds_of(packs, false, d, p, i, step);
					each[n + p * packs->n + i] =
						seconds_of(packs, true, d, p, i, step);
				}
			}
			seconds = pipe_packs_play(&play);
			slowest = MAX(slowest, seconds);
		}
		sum += slowest;
	}
	return sum / (double)packs->trace->n_steps;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Median. Reorders `v`. */
static double middle(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Slowdown of each worker relative to the middle of its stage, whatever the reason. */
static void compare(const struct packs *packs, const double *mean, double *slowdown, double *levels)
{
	CLEANUP(freep) double *stage = xcalloc(packs->dp, sizeof(*stage));
	size_t d, p;

	for (p = 0; p < packs->pp; p++) {
		for (d = 0; d < packs->dp; d++)
			stage[d] = mean[d * packs->pp + p];
		levels[p] = MAX(middle(stage, packs->dp), SHORTEST);
		for (d = 0; d < packs->dp; d++)
			slowdown[d * packs->pp + p] = mean[d * packs->pp + p] / levels[p];
	}
}

/*
 * The packs of a pipeline, each by a stage that is not slow, relative to the middle of all.
 * Ascending.
 */
static void pipeline_packs(const struct packs *packs, const double *levels, size_t d, double *values)
{
	CLEANUP(freep) double *stages = xcalloc(packs->pp, sizeof(*stages));
	size_t step, i, p, n = 0;

	for (step = 0; step < packs->trace->n_steps; step++) {
		for (i = 0; i < packs->n; i++) {
			for (p = 0; p < packs->pp; p++)
				stages[p] = (seconds_of(packs, false, d, p, i, step) +
					     seconds_of(packs, true, d, p, i, step)) *
					    (double)packs->n / levels[p];
			qsort(stages, packs->pp, sizeof(*stages), by_value);
			values[n++] = stages[(packs->pp - 1) / 2];
		}
	}
	qsort(values, n, sizeof(*values), by_value);
}

/* A pipeline: mean of its packs, mean of the cheaper half, and variance of the latter. */
struct lane {
	double all, half, chance;
};

/*
 * Long sequences are few, so the mean of all packs is mostly luck; that of the cheaper half says
 * more. The variance of a trimmed mean is from Tukey and McLaughlin, Sankhya A 25, 1963; dealing
 * packs without replacement leaves 1 - 1 / dp of it.
 */
static struct lane lane_of(const struct packs *packs, const double *values, size_t n)
{
	const size_t half = (n + 1) / 2;
	const double kept = (double)half / (double)n;
	struct moments all = { .n = 0 }, lower = { .n = 0 }, cut = { .n = 0 };
	size_t i;

	for (i = 0; i < n; i++) {
		add(&all, values[i]);
		add(&cut, MIN(values[i], values[half - 1]));
		if (i < half)
			add(&lower, values[i]);
	}
	return (struct lane){ all.mean, lower.mean,
			      variance(&cut) / (kept * kept * (double)n) *
				      (1 - 1 / (double)packs->dp) };
}

/* Reduce the differences between pipelines to the part that is their own. */
static void take_own(const struct packs *packs, const double *levels, double *slowdown)
{
	const size_t n = packs->n * packs->trace->n_steps;
	CLEANUP(freep) struct lane *pipelines = xcalloc(packs->dp, sizeof(*pipelines));
	CLEANUP(freep) double *values = xcalloc(MAX(n, packs->dp), sizeof(*values));
	struct moments seen = { .n = 0 };
	double level, chance = 0, part;
	size_t d, p;

	for (d = 0; d < packs->dp; d++) {
		pipeline_packs(packs, levels, d, values);
		pipelines[d] = lane_of(packs, values, n);
	}
	for (d = 0; d < packs->dp; d++)
		values[d] = pipelines[d].half;
	level = MAX(middle(values, packs->dp), SHORTEST);
	for (d = 0; d < packs->dp; d++) {
		add(&seen, pipelines[d].half / level);
		chance += pipelines[d].chance / (level * level) / (double)packs->dp;
	}
	part = variance(&seen) > chance ? 1 - chance / variance(&seen) : 0;
	for (d = 0; d < packs->dp; d++)
		for (p = 0; p < packs->pp; p++)
			slowdown[d * packs->pp + p] *= (1 + part * (pipelines[d].half / level - 1)) /
						       MAX(pipelines[d].all, SHORTEST);
}

struct pack_pace pack_pace_of(const struct attribution *a)
{
	CLEANUP(packs_release) struct packs packs = packs_of(a);
	const size_t workers = packs.dp * packs.pp;
	CLEANUP(freep) double *mean = xcalloc(workers, sizeof(*mean));
	CLEANUP(freep) double *levels = xcalloc(packs.pp, sizeof(*levels));
	struct pack_pace pace = { .slowdown = xcalloc(workers, sizeof(*pace.slowdown)) };
	size_t w, i, step;

	for (w = 0; w < workers; w++) {
		for (step = 0; step < a->trace->n_steps; step++)
			for (i = 0; i < packs.n; i++)
				mean[w] += seconds_of(&packs, false, w / packs.pp, w % packs.pp, i,
						      step) +
					   seconds_of(&packs, true, w / packs.pp, w % packs.pp, i,
						      step);
		mean[w] /= (double)a->trace->n_steps;
		pace.work += mean[w] / (double)workers;
	}
	compare(&packs, mean, pace.slowdown, levels);
	take_own(&packs, levels, pace.slowdown);
	pace.noise = noise_of(&packs);
	pace.pipelines = pipelines_of(&packs);
	return pace;
}

void pack_pace_release(struct pack_pace *pace)
{
	free(pace->slowdown);
	*pace = (struct pack_pace){ .work = 0 };
}
