/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/balance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"

/*
 * A pause: a forward this far above its worker's median, with a backward at most this far above
 * its own.
 */
#define PAUSE_FORWARD 1.5
#define PAUSE_BACKWARD 1.2

/* Forward and backward compute of a micro-batch on a stage. */
struct couple {
	uint32_t forward, backward;
	uint32_t part; /* index of its stage and chunk among those that have any */
	uint32_t stage;
};

struct couples {
	struct couple *list;
	size_t n, n_parts;
};

/* Sums of a DP rank in a part, or of all. */
struct sums {
	double n, forward, backward;
};

static size_t part_of(const struct trace *trace, const struct trace_key *key)
{
	return key->stage * (size_t)trace->job.vpp + (size_t)MAX(key->mc, 0);
}

struct compute {
	uint32_t part, key;
	int mb;
	uint8_t type;
};

/* By part and micro-batch, backward before forward. */
static int by_part(const void *a, const void *b)
{
	const struct compute *left = a, *right = b;

	if (left->part != right->part)
		return left->part < right->part ? -1 : 1;
	if (left->mb != right->mb)
		return left->mb < right->mb ? -1 : 1;
	return (left->type > right->type) - (left->type < right->type);
}

static struct couples find_couples(const struct trace *trace)
{
	CLEANUP(freep) struct compute *sorted = xcalloc(trace->n_keys + 1, sizeof(*sorted));
	struct couples couples = { .list = xcalloc(trace->n_keys + 1, sizeof(struct couple)) };
	uint32_t newest = 0;
	size_t i, n = 0;

	for (i = 0; i < trace->n_keys; i++) {
		const struct trace_key *key = &trace->keys[i];

		if (optype_is_compute(key->type) && key->mb >= 0)
			sorted[n++] = (struct compute){ (uint32_t)part_of(trace, key), (uint32_t)i,
							key->mb, key->type };
	}
	qsort(sorted, n, sizeof(*sorted), by_part);
	for (i = 1; i < n; i++) {
		const struct compute *backward = &sorted[i - 1], *forward = &sorted[i];

		if (backward->type != OP_BACKWARD_COMPUTE || forward->type != OP_FORWARD_COMPUTE ||
		    backward->part != forward->part || backward->mb != forward->mb)
			continue;
		couples.n_parts += couples.n == 0 || newest != forward->part;
		newest = forward->part;
		couples.list[couples.n++] = (struct couple){ forward->key, backward->key,
							     (uint32_t)couples.n_parts - 1,
							     trace->keys[forward->key].stage };
	}
	return couples;
}

static void add_up(const struct trace *trace, const struct couples *couples, struct sums *parts,
		   struct sums *all)
{
	size_t i, lane, dp = trace->job.dp;

	for (i = 0; i < couples->n; i++) {
		const double *f = trace_row(trace, trace->duration, couples->list[i].forward);
		const double *b = trace_row(trace, trace->duration, couples->list[i].backward);
		struct sums *part = parts + couples->list[i].part * dp;

		for (lane = 0; lane < trace->n_lanes; lane++) {
			part[lane % dp].n++;
			part[lane % dp].forward += f[lane];
			part[lane % dp].backward += b[lane];
		}
	}
	for (i = 0; i < couples->n_parts * dp; i++) {
		all->n += parts[i].n;
		all->forward += parts[i].forward;
		all->backward += parts[i].backward;
	}
}

/* Second moments about given means. */
struct moments {
	double ff, bb, fb;
};

static void add_moment(struct moments *moments, double f, double b)
{
	moments->ff += f * f;
	moments->bb += b * b;
	moments->fb += f * b;
}

static double correlation_of(const struct moments *moments, double n)
{
	double forward = sqrt(moments->ff), backward = sqrt(moments->bb);

	if (!(MIN(forward, backward) > BALANCE_RESOLUTION * sqrt(n)))
		return NAN;
	return moments->fb / (forward * backward);
}

static void correlate(const struct trace *trace, const struct couples *couples,
		      struct balance *balance)
{
	size_t i, lane, dp = trace->job.dp;
	CLEANUP(freep)
	struct sums *parts = xcalloc((size_t)trace->job.pp * trace->job.vpp * dp, sizeof(*parts));
	struct moments centred = { 0 }, pooled = { 0 };
	struct sums all = { 0 };

	add_up(trace, couples, parts, &all);
	for (i = 0; i < couples->n; i++) {
		const double *f = trace_row(trace, trace->duration, couples->list[i].forward);
		const double *b = trace_row(trace, trace->duration, couples->list[i].backward);
		const struct sums *part = parts + couples->list[i].part * dp;

		for (lane = 0; lane < trace->n_lanes; lane++) {
			const struct sums *mine = &part[lane % dp];

			add_moment(&centred, f[lane] - mine->forward / mine->n,
				   b[lane] - mine->backward / mine->n);
			add_moment(&pooled, f[lane] - all.forward / all.n,
				   b[lane] - all.backward / all.n);
		}
	}
	balance->correlation = correlation_of(&centred, all.n);
	balance->pooled = correlation_of(&pooled, all.n);
	balance->spread = all.forward > 0 ? sqrt(centred.ff / all.n) / (all.forward / all.n) : NAN;
}

/* Mean of all computes of each type, stage and chunk. */
static void level(const struct trace *trace, struct balance *balance)
{
	size_t i, lane, n_parts = (size_t)trace->job.pp * trace->job.vpp;
	CLEANUP(freep) struct sums *parts = xcalloc(n_parts * 2, sizeof(*parts));

	balance->level = xcalloc(trace->n_keys + 1, sizeof(*balance->level));
	for (i = 0; i < trace->n_keys; i++) {
		const struct trace_key *key = &trace->keys[i];
		const double *row = trace_row(trace, trace->duration, i);
		struct sums *part = parts + part_of(trace, key) * 2;

		if (!optype_is_compute(key->type))
			continue;
		part += key->type == OP_FORWARD_COMPUTE;
		part->n += (double)trace->n_lanes;
		for (lane = 0; lane < trace->n_lanes; lane++)
			part->forward += row[lane];
	}
	for (i = 0; i < trace->n_keys; i++) {
		const struct trace_key *key = &trace->keys[i];
		const struct sums *part = parts + part_of(trace, key) * 2;

		part += key->type == OP_FORWARD_COMPUTE;
		if (optype_is_compute(key->type))
			balance->level[i] = part->forward / part->n;
	}
}

/* Medians of forward and backward of each DP rank on the stage of these couples. */
static void find_medians(const struct trace *trace, const struct couple *couples, size_t n,
			 double *values, struct sums *medians)
{
	size_t i, d, step, side, dp = trace->job.dp;

	for (d = 0; d < dp; d++) {
		for (side = 0; side < 2; side++) {
			size_t at = 0;

			for (i = 0; i < n; i++) {
				const double *row =
					trace_row(trace, trace->duration,
						  side ? couples[i].backward : couples[i].forward);

				for (step = 0; step < trace->n_steps; step++)
					values[at++] = row[step * dp + d];
			}
			*(side ? &medians[d].backward : &medians[d].forward) =
				stats_median_of(values, at);
		}
	}
}

static int mark(const struct trace *trace, struct balance *balance, uint32_t key, size_t lane,
		struct err *err)
{
	size_t n = trace->n_keys * trace->n_lanes;

	if (!balance->original) {
		balance->original = malloc(n * sizeof(bool));
		balance->has_pause = xcalloc(trace->n_keys, sizeof(bool));
		if (!balance->original)
			return err_set(err, ENOMEM, "no memory for %zu operations", n);
		memset(balance->original, true, n * sizeof(bool));
	}
	balance->original[key * trace->n_lanes + lane] = false;
	balance->has_pause[key] = true;
	balance->n_pauses++;
	return 0;
}

/* Find the candidates of one stage; `counts` are per DP rank. */
static int find_pauses(const struct trace *trace, const struct couple *couples, size_t n,
		       struct balance *balance, struct err *err)
{
	size_t i, lane, d, dp = trace->job.dp, most = 0;
	CLEANUP(freep) double *values = malloc(n * trace->n_steps * sizeof(*values));
	CLEANUP(freep) struct sums *medians = xcalloc(dp, sizeof(*medians));
	CLEANUP(freep) size_t *counts = xcalloc(dp, sizeof(*counts));
	int r;

	if (!values)
		return err_set(err, ENOMEM, "no memory for %zu operations", n * trace->n_steps);
	find_medians(trace, couples, n, values, medians);
	for (i = 0; i < n; i++) {
		const double *f = trace_row(trace, trace->duration, couples[i].forward);
		const double *b = trace_row(trace, trace->duration, couples[i].backward);

		for (lane = 0; lane < trace->n_lanes; lane++) {
			const struct sums *median = &medians[lane % dp];

			if (f[lane] <= PAUSE_FORWARD * median->forward ||
			    b[lane] > PAUSE_BACKWARD * median->backward)
				continue;
			counts[lane % dp]++;
			r = mark(trace, balance, couples[i].forward, lane, err);
			if (r < 0)
				return r;
		}
	}
	for (d = 0; d < dp; d++) {
		balance->n_paused += counts[d] > 0;
		most = MAX(most, counts[d]);
	}
	balance->max_share = (double)MAX(most, (size_t)balance->max_share);
	return 0;
}

int balance_find(const struct trace *trace, struct balance *ret_balance, struct err *err)
{
	struct couples couples = find_couples(trace);
	CLEANUP(freep) struct couple *list = couples.list;
	CLEANUP(balance_release) struct balance balance = { .max_share = 0 };
	size_t i, j;
	int r;

	correlate(trace, &couples, &balance);
	level(trace, &balance);
	for (i = 0; i < couples.n; i = j) {
		for (j = i; j < couples.n && list[j].stage == list[i].stage; j++)
			;
		r = find_pauses(trace, list + i, j - i, &balance, err);
		if (r < 0)
			return r;
	}
	/* was the largest number of candidates of one worker */
	balance.max_share = balance.n_pauses ? balance.max_share / (double)balance.n_pauses : NAN;
	*ret_balance = balance;
	balance = (struct balance){ 0 };
	return 0;
}

void balance_release(struct balance *balance)
{
	free(balance->original);
	free(balance->has_pause);
	free(balance->level);
	*balance = (struct balance){ 0 };
}
