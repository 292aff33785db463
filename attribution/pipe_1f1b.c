/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/pipe_1f1b.h"

#include "lib/base/xalloc.h"

/* A stage while its schedule is played. */
struct stage {
	size_t forwards, backwards; /* done */
	double ready;		    /* when it is free */
};

struct play {
	const double *forward, *backward;
	size_t n_stages, n;
	struct stage *stages;
	struct pipe_ends ends;
};

/* Forward is next on a stage: it warms up, or has given back as many as it took since. */
static bool forward_is_next(const struct play *play, size_t p)
{
	const struct stage *stage = &play->stages[p];
	size_t warm_up = MIN(play->n_stages - 1 - p, play->n);

	return stage->forwards < play->n && stage->forwards <= stage->backwards + warm_up;
}

static bool do_forward(struct play *play, size_t p)
{
	struct stage *stage = &play->stages[p];
	size_t i = stage->forwards;
	double start = stage->ready;

	if (p > 0 && play->stages[p - 1].forwards <= i)
		return false;
	if (p > 0)
		start = MAX(start, play->ends.forward[(p - 1) * play->n + i]);
	stage->ready = start + play->forward[p];
	play->ends.forward[p * play->n + i] = stage->ready;
	stage->forwards++;
	return true;
}

static bool do_backward(struct play *play, size_t p)
{
	struct stage *stage = &play->stages[p];
	size_t i = stage->backwards;
	double start = stage->ready;

	if (i == play->n || stage->forwards <= i)
		return false;
	if (p + 1 < play->n_stages && play->stages[p + 1].backwards <= i)
		return false;
	if (p + 1 < play->n_stages)
		start = MAX(start, play->ends.backward[(p + 1) * play->n + i]);
	stage->ready = start + play->backward[p];
	play->ends.backward[p * play->n + i] = stage->ready;
	stage->backwards++;
	return true;
}

double pipe_1f1b(const double *forward, const double *backward, size_t stages, size_t microbatches,
		 struct pipe_ends *ret_ends)
{
	struct play play = {
		.forward = forward,
		.backward = backward,
		.n_stages = stages,
		.n = microbatches,
		.stages = xcalloc(stages + 1, sizeof(struct stage)),
		.ends = { xcalloc(stages * microbatches + 1, sizeof(double)),
			  xcalloc(stages * microbatches + 1, sizeof(double)) },
	};
	double time = 0;
	bool moved = true;
	size_t p;

	while (moved) {
		for (moved = false, p = 0; p < stages; p++) {
			while (forward_is_next(&play, p) ? do_forward(&play, p)
							 : do_backward(&play, p))
				moved = true;
		}
	}
	for (p = 0; p < stages; p++)
		time = MAX(time, play.stages[p].ready);
	free(play.stages);
	if (ret_ends)
		*ret_ends = play.ends;
	else
		pipe_ends_release(&play.ends);
	return time;
}

void pipe_ends_release(struct pipe_ends *ends)
{
	free(ends->forward);
	free(ends->backward);
	*ends = (struct pipe_ends){ 0 };
}
