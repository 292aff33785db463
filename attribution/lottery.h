/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lottery of silicon: how far good hosts that do the same work differ in a job, and how slow
 * a host is beside that.
 *
 * Model. A worker's time is what its computes take a step; its ratio is that over the level of its
 * stage. The level is the median of the others of the stage, drawn to the median of all stages as
 * far as stages do not differ by more than such medians do by chance (James, Stein 1961, with the
 * variance between stages by its moments): few replicas do not say well what is usual, and most
 * stages hold the same layers. The spread is the standard deviation within stages, drawn to that of
 * good silicon, as logarithms and as if that had been seen LOTTERY_WEIGHT times: the spread of few
 * hosts is known badly, and those that hardly differ must still say so.
 *
 * Pure.
 */
#pragma once

#include "attribution/pace.h"

/* One standard deviation of good GPUs of a kind: the widest of the fleets that docs/sim.md names. */
#define LOTTERY_SPREAD 0.034

enum { LOTTERY_WEIGHT = 32 }; /* tests/attribution/windows, seeds below 3000 */

struct lottery {
	const struct pace *pace;
	double *level; /* owned: s a step, [stage]; 0: nobody is left on it, or nothing is computed */
	double most;   /* of the others: the largest ratio; 0: there are none */
	double spread;
};

/*
 * Of the workers that are not `left_out` ([worker]), where good silicon has this spread. The pace
 * is borrowed.
 */
struct lottery lottery_of(const struct pace *pace, const bool *left_out, double spread);
void lottery_release(struct lottery *lottery);

/* How many times as long as its level a worker computes; 1 where there is none. */
double lottery_ratio(const struct lottery *lottery, size_t worker);
