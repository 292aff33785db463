/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/pipe_1f1b.h"

#include <math.h>
#include <stdlib.h>

#include "lib/remedy/pipe_schedule.h"

double pipe_1f1b(const double *forward, const double *backward, size_t stages, size_t microbatches,
		 struct pipe_ends *ret_ends)
{
	const struct pipe_schedule_wish wish = {
		.kind = PIPE_SCHEDULE_1F1B,
		.stages = stages,
		.microbatches = microbatches,
		.chunks = 1,
		.forward = forward,
		.backward = backward,
	};
	struct pipe_schedule schedule = { 0 };
	double time;

	if (pipe_schedule_play(&wish, &schedule, NULL) < 0)
		return NAN;
	time = schedule.time;
	if (ret_ends) {
		*ret_ends = (struct pipe_ends){ schedule.forward, schedule.backward };
		schedule.forward = NULL;
		schedule.backward = NULL;
	}
	pipe_schedule_release(&schedule);
	return time;
}

void pipe_1f1b_release(struct pipe_ends *ends)
{
	free(ends->forward);
	free(ends->backward);
	*ends = (struct pipe_ends){ 0 };
}
