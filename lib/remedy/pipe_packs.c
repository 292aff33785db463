/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/pipe_packs.h"

#include "lib/base/xalloc.h"

/* When a stage's last operation ended, and its last backward. */
struct stage {
	double done, backward;
};

static double at_most(const double *seconds, size_t n, size_t stages)
{
	double sum = 0, longest = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		sum += seconds[i];
		longest = MAX(longest, seconds[i]);
	}
	return sum + (double)(stages - 1) * longest;
}

double pipe_packs_play(const double *seconds, size_t n, size_t stages, double forward)
{
	CLEANUP(freep) struct stage *list = NULL;
	size_t round, p;

	if (n > PIPE_PACKS_WORK_MAX / stages)
		return at_most(seconds, n, stages);
	list = xcalloc(stages, sizeof(*list));
	for (round = 0; round < n + stages - 1; round++) {
		double before = 0;

		for (p = 0; p < stages && round < n; p++)
			before = list[p].done = MAX(list[p].done, before) + forward * seconds[round];
		for (p = 0; p < stages; p++) {
			const size_t behind = stages - 1 - p;
			/* Of the round before: the next stage has not had its turn yet. */
			const double needed = behind > 0 ? list[p + 1].backward : 0;

			if (round < behind || round - behind >= n)
				continue;
			list[p].done =
				MAX(list[p].done, needed) + (1 - forward) * seconds[round - behind];
			list[p].backward = list[p].done;
		}
	}
	return list[0].backward;
}
