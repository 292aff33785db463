/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/pipe_packs.h"

#include "lib/base/xalloc.h"

/* When a stage's last operation ended, and its last backward. */
struct stage {
	double done, backward;
};

static double slow_of(const double *slow, size_t stage)
{
	return slow ? slow[stage] : 1;
}

double pipe_packs_at_most(double sum, double longest, size_t stages, const double *slow)
{
	double all = 0, slowest = 0;
	size_t p;

	for (p = 0; p < stages; p++) {
		all += slow_of(slow, p);
		slowest = MAX(slowest, slow_of(slow, p));
	}
	return sum * slowest + longest * (all - slowest);
}

/* For pack `i` on stage `p`. */
static double operation(const struct pipe_packs *packs, bool backward, size_t p, size_t i)
{
	const double part = backward ? 1 - packs->forward : packs->forward;
	const double alone = packs->each[backward] ? packs->each[backward][p * packs->n + i]
						   : packs->seconds[i] * part;

	return alone * slow_of(packs->slow, p);
}

static double at_most(const struct pipe_packs *packs)
{
	double sum = 0, longest = 0;
	size_t i;

	for (i = 0; i < packs->n; i++) {
		double seconds = packs->each[0] ? 0 : packs->seconds[i];
		size_t p;

		for (p = 0; p < packs->stages && packs->each[0]; p++)
			seconds = MAX(seconds, packs->each[0][p * packs->n + i] +
						       packs->each[1][p * packs->n + i]);
		sum += seconds;
		longest = MAX(longest, seconds);
	}
	return pipe_packs_at_most(sum, longest, packs->stages, packs->slow);
}

double pipe_packs_play(const struct pipe_packs *packs)
{
	CLEANUP(freep) struct stage *list = NULL;
	const size_t n = packs->n, stages = packs->stages;
	size_t round, p;

	if (n > PIPE_PACKS_WORK_MAX / stages)
		return at_most(packs);
	list = xcalloc(stages, sizeof(*list));
	for (round = 0; round < n + stages - 1; round++) {
		double before = 0;

		for (p = 0; p < stages && round < n; p++)
			before = list[p].done =
				MAX(list[p].done, before) + operation(packs, false, p, round);
		for (p = 0; p < stages; p++) {
			const size_t behind = stages - 1 - p;
			/* Of the previous round: the next stage has not had its turn yet. */
			const double needed = behind > 0 ? list[p + 1].backward : 0;

			if (round < behind || round - behind >= n)
				continue;
			list[p].done = MAX(list[p].done, needed) +
				       operation(packs, true, p, round - behind);
			list[p].backward = list[p].done;
		}
	}
	return list[0].backward;
}
