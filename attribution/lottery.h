/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The silicon lottery: how much good hosts with the same work differ in a job, and how slow a
 * host is relative to that.
 *
 * Model. A worker's time is that of its computes per step; its ratio is that time over the level
 * of its stage. The level is the median of the other workers of the stage, shrunk towards the
 * median of all stages as far as the stages differ no more than such medians do by chance (James,
 * Stein 1961, with the variance between stages from its moments): few replicas determine a level
 * badly, and most stages have the same layers. The spread is the standard deviation within
 * stages, shrunk towards that of good silicon, in logarithms, as if that had been observed
 * LOTTERY_WEIGHT times: the spread of few hosts is uncertain, and hosts that hardly differ must
 * not make it zero.
 *
 * If the speeds of the hosts in their own tests are known, the level is that of a host of usual
 * speed: the median of times multiplied by speeds. The remaining spread is small, so few hosts
 * determine the level well, and a host is compared with the fleet, not with its neighbours by
 * chance. Speeds are ignored if they do not explain the times, or are unknown for most of the
 * hosts.
 *
 * Pure.
 */
#pragma once

#include "attribution/pace.h"
#include "lib/judge/silicon.h"

#define LOTTERY_SPREAD SILICON_SPREAD

/*
 * The spread that remains with speeds: a host differs between a job and its own tests by heat,
 * place and noise. Those in docs/sim.md add up to about this.
 */
#define LOTTERY_LEFT 0.015

enum { LOTTERY_WEIGHT = 32 }; /* tests/attribution/windows, seeds below 3000 */

/*
 * A slow host takes at least this much longer than the slowest of the others: 5 %, plus the
 * uncertainty of stage levels.
 */
#define LOTTERY_APART 0.06

/*
 * How many standard deviations slower a slow host is. With a heavy tail one good host in two
 * hundred is 4 of them slow, and a level and a spread found from 16 hosts are off by a quarter:
 * at 6, fewer than one in a thousand jobs suspects a host that is not at least that slow
 * (tests/attribution/windows, seeds below 3000). Each further host of a set must be slower by
 * LOTTERY_BEYOND_MORE: two sick hosts in a job are rarer than two that the lottery made slow.
 */
#define LOTTERY_BEYOND 6.0
#define LOTTERY_BEYOND_MORE 1.6

/*
 * With speeds, a slow host is slower than one good GPU in two hundred by this many standard
 * errors of the level (tests/attribution/windows `tested`, the same seeds).
 */
#define LOTTERY_TESTED_ERRORS 1.5

/*
 * With speeds, a slow host is at least this much slower than the slowest of the others: 5 %, plus
 * their uncertainty. At 0.05 three windows in two thousand are false (`windows tested`, seeds to
 * 4000), at 0.0525 none.
 */
#define LOTTERY_TESTED_APART 0.0525

/* Prior knowledge. */
struct lottery_known {
	double spread;	      /* of good hosts: one standard deviation, relative */
	const double *speeds; /* borrowed: [worker], 1 is usual, NAN unknown; NULL: all unknown */
	double low;	      /* with speeds: one good GPU in two hundred is slower */
};

struct lottery {
	const struct pace *pace;
	const double *speeds; /* borrowed: as given; NULL: unknown */
	double *level; /* owned: seconds per step, [stage]; 0: no workers left, or no computes */
	double *error; /* owned: its relative standard error, [stage] */
	double most;   /* largest ratio of the others; 0: there are none */
	double spread; /* of good hosts */
	double low;    /* as given */
	bool tested;   /* the level is that of a host of usual speed */
};

/* Fit it to the workers that are not `left_out` ([worker]). Borrows `pace`. */
struct lottery lottery_of(const struct pace *pace, const bool *left_out,
			  const struct lottery_known *known);
void lottery_release(struct lottery *lottery);

/* A worker's time relative to its level; 1 if that is unknown. */
double lottery_ratio(const struct lottery *lottery, size_t worker);

/*
 * The smallest ratio at which a left-out worker, with `hosts` left out in all, is slower than the
 * lottery explains. `beyond` is LOTTERY_BEYOND unless the user sets it.
 */
double lottery_least(const struct lottery *lottery, size_t worker, double beyond, size_t hosts);
