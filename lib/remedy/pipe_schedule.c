/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/pipe_schedule.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"

static const char *const names[] = { [PIPE_SCHEDULE_1F1B] = "1f1b",
				     [PIPE_SCHEDULE_INTERLEAVED] = "interleaved",
				     [PIPE_SCHEDULE_ZB_H1] = "zb-h1" };

/* Bytes are added and subtracted, with rounding. */
#define SAME 1e-9

/* A stage during the simulation: how many operations it has done, of all its chunks. */
struct stage {
	size_t forwards, backwards, weights;
	size_t warm_up; /* how far forwards may be ahead of backwards, minus one */
	double ready;	/* when it is free */
	double busy, held;
};

struct play {
	const struct pipe_schedule_wish *wish;
	size_t total; /* forwards per stage */
	struct stage *stages;
	struct pipe_schedule out;
};

static size_t warm_up(const struct pipe_schedule_wish *wish, size_t p)
{
	size_t behind = wish->stages - 1 - p;

	if (wish->kind == PIPE_SCHEDULE_INTERLEAVED)
		behind = 2 * behind + (wish->chunks - 1) * wish->stages;
	return MIN(behind, wish->microbatches * wish->chunks);
}

/* For operation k of one kind: its micro-batch, and its chunk counted from the first. */
static size_t microbatch_of(const struct pipe_schedule_wish *wish, size_t k)
{
	return wish->chunks == 1
		       ? k
		       : k / (wish->stages * wish->chunks) * wish->stages + k % wish->stages;
}

static size_t chunk_of(const struct pipe_schedule_wish *wish, size_t k)
{
	return wish->chunks == 1 ? 0 : k % (wish->stages * wish->chunks) / wish->stages;
}

/* Occupies the stage from when both it and the inputs are ready. */
static double occupy(struct stage *stage, double needed, double seconds)
{
	stage->ready = MAX(stage->ready, needed) + seconds;
	stage->busy += seconds;
	return stage->ready;
}

static double transfer(const struct pipe_schedule_wish *wish, size_t from)
{
	return wish->transfer ? wish->transfer[from] : 0;
}

static void hold(struct play *play, size_t p, size_t at, double part)
{
	struct stage *stage = &play->stages[p];

	if (!play->wish->activation)
		return;
	stage->held += part * play->wish->activation[at];
	play->out.peak[p] = MAX(play->out.peak[p], stage->held);
}

static bool do_forward(struct play *play, size_t p)
{
	const struct pipe_schedule_wish *wish = play->wish;
	struct stage *stage = &play->stages[p];
	size_t i = microbatch_of(wish, stage->forwards);
	size_t at = chunk_of(wish, stage->forwards) * wish->stages + p;
	double needed = 0;

	if (at > 0) {
		needed = play->out.forward[(at - 1) * wish->microbatches + i];
		if (isnan(needed))
			return false;
		needed += transfer(wish, at - 1);
	}
	play->out.forward[at * wish->microbatches + i] = occupy(stage, needed, wish->forward[at]);
	hold(play, p, at, 1);
	stage->forwards++;
	return true;
}

static bool do_backward(struct play *play, size_t p)
{
	const struct pipe_schedule_wish *wish = play->wish;
	struct stage *stage = &play->stages[p];
	size_t i = microbatch_of(wish, stage->backwards);
	size_t at = (wish->chunks - 1 - chunk_of(wish, stage->backwards)) * wish->stages + p;
	bool last = at + 1 == wish->stages * wish->chunks;
	double needed = last ? play->out.forward[at * wish->microbatches + i]
			     : play->out.backward[(at + 1) * wish->microbatches + i];

	if (isnan(needed))
		return false;
	if (!last)
		needed += transfer(wish, at);
	play->out.backward[at * wish->microbatches + i] = occupy(stage, needed, wish->backward[at]);
	hold(play, p, at, play->out.weight ? wish->kept - 1 : -1);
	stage->backwards++;
	return true;
}

static bool do_weight(struct play *play, size_t p)
{
	struct stage *stage = &play->stages[p];

	play->out.weight[p * play->wish->microbatches + stage->weights] =
		occupy(stage, 0, play->wish->weight[p]);
	hold(play, p, p, -play->wish->kept);
	stage->weights++;
	return true;
}

/* Runs the next operation of a stage; false if it waits, or has none left. */
static bool do_next(struct play *play, size_t p)
{
	struct stage *stage = &play->stages[p];
	bool ends = stage->backwards == play->total;

	if (play->out.weight && stage->weights < stage->backwards &&
	    (ends || stage->weights + p < stage->backwards))
		return do_weight(play, p);
	if (stage->forwards < play->total && stage->forwards <= stage->backwards + stage->warm_up)
		return do_forward(play, p);
	return !ends && do_backward(play, p);
}

static int check(const struct pipe_schedule_wish *wish, struct err *err)
{
	size_t past;

	if (wish->stages == 0 || wish->stages > PIPE_SCHEDULE_STAGES_MAX)
		return err_set(err, EINVAL, "%zu stages: expected 1 to %d", wish->stages,
			       PIPE_SCHEDULE_STAGES_MAX);
	if (wish->chunks == 0 || wish->chunks > PIPE_SCHEDULE_CHUNKS_MAX)
		return err_set(err, EINVAL, "%zu chunks of a stage: expected 1 to %d", wish->chunks,
			       PIPE_SCHEDULE_CHUNKS_MAX);
	if (wish->kind != PIPE_SCHEDULE_INTERLEAVED && wish->chunks > 1)
		return err_set(err, EINVAL, "%zu chunks of a stage: %s has one", wish->chunks,
			       pipe_schedule_name(wish->kind));
	if (wish->microbatches > PIPE_SCHEDULE_WORK_MAX / (wish->stages * wish->chunks))
		return err_set(err, EINVAL,
			       "%zu stages of %zu chunks and %zu micro-batches: expected a product "
			       "of at most %d",
			       wish->stages, wish->chunks, wish->microbatches,
			       PIPE_SCHEDULE_WORK_MAX);
	past = wish->microbatches % wish->stages;
	if (wish->kind == PIPE_SCHEDULE_INTERLEAVED && past > 0)
		return err_set(err, ERANGE,
			       "%zu micro-batches are %zu more than a multiple of %zu stages",
			       wish->microbatches, past, wish->stages);
	return 0;
}

static double *not_yet(size_t n)
{
	double *ends = xcalloc(n + 1, sizeof(*ends));
	size_t i;

	for (i = 0; i < n; i++)
		ends[i] = NAN;
	return ends;
}

static int check_room(const struct pipe_schedule_wish *wish, const struct pipe_schedule *schedule,
		      struct err *err)
{
	size_t p;

	for (p = 0; p < wish->stages && wish->room; p++)
		if (schedule->peak[p] > wish->room[p] * (1 + SAME))
			return err_set(err, ERANGE,
				       "stage %zu holds activations of %.6g, %.6g more than the "
				       "%.6g it has room for",
				       p, schedule->peak[p], schedule->peak[p] - wish->room[p],
				       wish->room[p]);
	return 0;
}

static void play_all(struct play *play)
{
	size_t p, n = play->wish->stages;
	bool moved = true;

	for (p = 0; p < n; p++)
		play->stages[p].warm_up = warm_up(play->wish, p);
	while (moved) {
		for (moved = false, p = 0; p < n; p++)
			while (do_next(play, p))
				moved = true;
	}
	for (p = 0; p < n; p++)
		play->out.time = MAX(play->out.time, play->stages[p].ready);
	for (p = 0; p < n; p++)
		play->out.idle[p] = play->out.time - play->stages[p].busy;
}

int pipe_schedule_play(const struct pipe_schedule_wish *wish, struct pipe_schedule *ret_schedule,
		       struct err *err)
{
	CLEANUP(freep) struct stage *stages = NULL;
	struct play play = { .wish = wish };
	size_t n;
	int r = check(wish, err);

	if (r < 0)
		return r;
	n = wish->stages * wish->chunks * wish->microbatches;
	stages = xcalloc(wish->stages, sizeof(*stages));
	play.stages = stages;
	play.total = wish->chunks * wish->microbatches;
	play.out.forward = not_yet(n);
	play.out.backward = not_yet(n);
	play.out.weight = wish->kind == PIPE_SCHEDULE_ZB_H1 ? not_yet(n) : NULL;
	play.out.idle = xcalloc(wish->stages, sizeof(double));
	play.out.peak = xcalloc(wish->stages, sizeof(double));
	play_all(&play);
	r = check_room(wish, &play.out, err);
	if (r < 0) {
		pipe_schedule_release(&play.out);
		return r;
	}
	*ret_schedule = play.out;
	return 0;
}

void pipe_schedule_release(struct pipe_schedule *schedule)
{
	free(schedule->forward);
	free(schedule->backward);
	free(schedule->weight);
	free(schedule->idle);
	free(schedule->peak);
	*schedule = (struct pipe_schedule){ 0 };
}

const char *pipe_schedule_name(enum pipe_schedule_kind kind)
{
	return names[kind];
}

int pipe_schedule_kind(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (streq(names[i], name))
			return (int)i;
	return -1;
}
