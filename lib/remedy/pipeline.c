/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/pipeline.h"

#include <math.h>

#include "lib/base/xalloc.h"
#include "lib/remedy/pipe_1f1b.h"
#include "lib/remedy/pipe_schedule.h"

/* Times closer than this, relatively, are equal. */
#define SAME 1e-9

struct pipeline pipeline_of(const struct pipeline_model *model, const size_t *split,
			    const double *slowdown, const size_t *hosts, size_t stages)
{
	struct pipeline pipeline = { xcalloc(stages, sizeof(double)),
				     xcalloc(stages, sizeof(double)), stages, 1 };
	size_t p, i, at = 0;

	for (p = 0; p < stages; p++) {
		for (i = 0; i < split[p] && at < model->layers; i++, at++) {
			pipeline.forward[p] += model->forward[at];
			pipeline.backward[p] += model->backward[at];
		}
		pipeline.forward[p] *= hosts ? slowdown[hosts[p]] : 1;
		pipeline.backward[p] *= hosts ? slowdown[hosts[p]] : 1;
	}
	return pipeline;
}

void pipeline_release(struct pipeline *pipeline)
{
	free(pipeline->forward);
	free(pipeline->backward);
	*pipeline = (struct pipeline){ .stages = 0 };
}

size_t pipeline_unit(const struct pipeline *pipeline)
{
	return pipeline->chunks > 1 ? pipeline->stages : 1;
}

/* Virtual stage c * P + p is chunk c of stage p. */
static double interleaved(const struct pipeline *pipeline, size_t microbatches)
{
	const size_t n = pipeline->stages * pipeline->chunks;
	CLEANUP(freep) double *forward = xcalloc(n, sizeof(*forward));
	CLEANUP(freep) double *backward = xcalloc(n, sizeof(*backward));
	CLEANUP(pipe_schedule_release) struct pipe_schedule played = { .time = (double)NAN };
	const struct pipe_schedule_wish wish = { .kind = PIPE_SCHEDULE_INTERLEAVED,
						 .stages = pipeline->stages,
						 .microbatches = microbatches,
						 .chunks = pipeline->chunks,
						 .forward = forward,
						 .backward = backward };
	size_t i;

	for (i = 0; i < n; i++) {
		const size_t p = i % pipeline->stages;

		forward[i] = pipeline->forward[p] / (double)pipeline->chunks;
		backward[i] = pipeline->backward[p] / (double)pipeline->chunks;
	}
	return pipe_schedule_play(&wish, &played, NULL) < 0 ? (double)NAN : played.time;
}

double pipeline_time(const struct pipeline *pipeline, size_t microbatches)
{
	if (pipeline->chunks > 1)
		return interleaved(pipeline, microbatches);
	return pipe_1f1b(pipeline->forward, pipeline->backward, pipeline->stages, microbatches,
			 NULL);
}

struct deal;

/* A tournament tree: the first of all, updated in O(log n) when one changes. */
struct first {
	size_t *winners; /* of each match; 1 is the final, leaves start at `width` */
	size_t width;
	bool (*is_before)(const struct deal *deal, size_t a, size_t b);
};

/* Pipelines while micro-batches are distributed. */
struct deal {
	const struct pipeline *all; /* borrowed from the caller */
	double *even;		    /* speed of each, with `each` units */
	double *times, *next;	    /* with its count, and with one more */
	size_t n, each, *counts;    /* the caller's; counts are in units */
	size_t unit;
	struct first giver, taker;
};

/* INFINITY for more than can be simulated. */
static double play(const struct deal *deal, size_t d, size_t units)
{
	const double time = pipeline_time(&deal->all[d], units * deal->unit);

	return isnan(time) ? INFINITY : time;
}

/* --- tournament --- */

/* Takes most and has more than one; the last of equals. */
static bool gives_before(const struct deal *deal, size_t a, size_t b)
{
	if ((deal->counts[a] > 1) != (deal->counts[b] > 1))
		return deal->counts[a] > 1;
	return deal->times[a] != deal->times[b] ? deal->times[a] > deal->times[b] : a > b;
}

/* Takes least with one more; the first of equals. */
static bool takes_before(const struct deal *deal, size_t a, size_t b)
{
	return deal->next[a] != deal->next[b] ? deal->next[a] < deal->next[b] : a < b;
}

/* n stands for nobody, and loses. */
static void play_match(const struct deal *deal, struct first *first, size_t i)
{
	const size_t a = first->winners[2 * i], b = first->winners[2 * i + 1];

	first->winners[i] = b == deal->n || (a < deal->n && first->is_before(deal, a, b)) ? a : b;
}

static void first_init(const struct deal *deal, struct first *first)
{
	size_t i;

	for (first->width = 1; first->width < deal->n; first->width *= 2)
		;
	first->winners = xcalloc(2 * first->width, sizeof(*first->winners));
	for (i = 0; i < first->width; i++)
		first->winners[first->width + i] = MIN(i, deal->n);
	for (i = first->width - 1; i > 0; i--)
		play_match(deal, first, i);
}

static void first_change(const struct deal *deal, struct first *first, size_t d)
{
	size_t i;

	for (i = (first->width + d) / 2; i > 0; i /= 2)
		play_match(deal, first, i);
}

static void changed(struct deal *deal, size_t d)
{
	first_change(deal, &deal->giver, d);
	first_change(deal, &deal->taker, d);
}

/* n: nobody. */
static size_t giver(const struct deal *deal)
{
	const size_t d = deal->giver.winners[1];

	return deal->counts[d] > 1 ? d : deal->n;
}

static size_t quickest(const struct deal *deal)
{
	return deal->taker.winners[1];
}

/* --- distribution --- */

static void give(struct deal *deal, size_t d)
{
	deal->times[d] = deal->next[d];
	deal->next[d] = play(deal, d, ++deal->counts[d] + 1);
	changed(deal, d);
}

static void take(struct deal *deal, size_t d)
{
	deal->next[d] = deal->times[d];
	deal->times[d] = play(deal, d, --deal->counts[d]);
	changed(deal, d);
}

/* In proportion to speed, which is near the optimum. Returns the excess over `total`. */
static size_t deal_by_speed(struct deal *deal, size_t total)
{
	double speed = 0;
	size_t given = 0, d;

	for (d = 0; d < deal->n; d++)
		speed += 1 / deal->even[d];
	for (d = 0; d < deal->n; d++) {
		const double part = (double)total / deal->even[d] / speed;

		deal->counts[d] = MAX((size_t)ceil(part * (1 - SAME)), (size_t)1);
		deal->times[d] = deal->counts[d] == deal->each ? deal->even[d]
							       : play(deal, d, deal->counts[d]);
		deal->next[d] = play(deal, d, deal->counts[d] + 1);
		given += deal->counts[d];
	}
	return given - total;
}

/* Moves from the slowest to the fastest while that is an improvement; the result is optimal. */
static void balance(struct deal *deal, size_t too_many)
{
	size_t from, to;

	for (; too_many > 0; too_many--)
		take(deal, giver(deal));
	while ((from = giver(deal)) < deal->n) {
		to = quickest(deal);
		if (deal->next[to] >= deal->times[from] * (1 - SAME))
			return;
		take(deal, from);
		give(deal, to);
	}
}

static double slowest(const struct deal *deal)
{
	double time = 0;
	size_t d;

	for (d = 0; d < deal->n; d++)
		time = MAX(time, deal->times[d]);
	return time;
}

/* A pipeline that takes one more within `limit` and is faster than `from`; n: none. */
static size_t taker(const struct deal *deal, size_t from, double limit)
{
	size_t best = deal->n, d;

	for (d = 0; d < deal->n; d++) {
		if (deal->next[d] > limit || deal->even[d] >= deal->even[from] * (1 - SAME))
			continue;
		if (best == deal->n || deal->next[d] < deal->next[best])
			best = d;
	}
	return best;
}

/* Of equals, slow pipelines take as few as possible: they are the ones that may get slower. */
static void spare_slow(struct deal *deal)
{
	const double limit = slowest(deal) * (1 + SAME);
	double fastest = INFINITY;
	size_t d, to;

	for (d = 0; d < deal->n; d++)
		fastest = MIN(fastest, deal->even[d]);
	for (d = 0; d < deal->n && deal->next[quickest(deal)] <= limit; d++) {
		while (fastest < deal->even[d] * (1 - SAME) && deal->counts[d] > 1 &&
		       (to = taker(deal, d, limit)) < deal->n) {
			take(deal, d);
			give(deal, to);
		}
	}
}

static void deal_units(struct deal *deal, size_t units)
{
	const size_t too_many = deal_by_speed(deal, units);

	first_init(deal, &deal->giver);
	first_init(deal, &deal->taker);
	balance(deal, too_many);
	spare_slow(deal);
	free(deal->giver.winners);
	free(deal->taker.winners);
}

double pipeline_deal(const struct pipeline *pipelines, size_t n, size_t total, size_t *ret_counts)
{
	CLEANUP(freep) double *even = xcalloc(n, sizeof(*even));
	CLEANUP(freep) double *times = xcalloc(n, sizeof(*times));
	CLEANUP(freep) double *next = xcalloc(n, sizeof(*next));
	const size_t unit = pipeline_unit(pipelines), units = total / unit;
	struct deal deal = { pipelines,
			     even,
			     times,
			     next,
			     n,
			     units / n,
			     ret_counts,
			     unit,
			     { .is_before = gives_before },
			     { .is_before = takes_before } };
	bool played = total % unit == 0;
	size_t d;

	for (d = 0; d < n; d++) {
		ret_counts[d] = units / n + (d < units % n);
		even[d] = play(&deal, d, deal.each);
		played = played && isfinite(even[d]);
	}
	if (played)
		deal_units(&deal, units);
	for (d = 0; d < n; d++)
		ret_counts[d] *= unit;
	return played ? slowest(&deal) : INFINITY;
}
