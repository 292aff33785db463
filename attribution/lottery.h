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
 * Where it is known how fast the hosts are by their own tests, the level is that of a host of usual
 * speed: the median of times multiplied by speeds. What is left of the spread is small, so the
 * level of few hosts is known well, and a host is held against the fleet, not against whom the
 * lottery gave it for neighbours. Speeds that do not explain the times, or that most of the hosts
 * do not have, are not used.
 *
 * Pure.
 */
#pragma once

#include "attribution/pace.h"
#include "lib/judge/silicon.h"

#define LOTTERY_SPREAD SILICON_SPREAD

/*
 * What speeds leave of it: what a host differs in a job from its own tests, by heat, its place and
 * noise. Those of docs/sim.md add up to about as much.
 */
#define LOTTERY_LEFT 0.015

enum { LOTTERY_WEIGHT = 32 }; /* tests/attribution/windows, seeds below 3000 */

/*
 * A slow host computes this much longer than the slowest of the others: 5 %, and what levels of
 * stages are not known to.
 */
#define LOTTERY_APART 0.06

/*
 * Standard deviations of the lottery that a slow host is beyond. One good host in two hundred is
 * 4 of them slow, where the tail is heavy, and a level and a spread found of 16 hosts are off by
 * a quarter: at 6, fewer than one in a thousand jobs suspects a host that is not at least that
 * slow (tests/attribution/windows, seeds below 3000). Each further host of a set is beyond so many
 * more: that two of a job are sick is rarer than that the lottery made two slow.
 */
#define LOTTERY_BEYOND 6.0
#define LOTTERY_BEYOND_MORE 1.6

/*
 * With speeds a slow host is below what one good GPU in two hundred does not reach, by so many
 * standard errors of the level (tests/attribution/windows `tested`, the same seeds).
 */
#define LOTTERY_TESTED_ERRORS 1.5

/*
 * And it is so much slower than the slowest of the others: 5 %, and what is not known of these. At
 * 0.05 three windows in two thousand are false (`windows tested`, seeds to 4000), at 0.0525 none.
 */
#define LOTTERY_TESTED_APART 0.0525

/* What is known before the trace. */
struct lottery_known {
	double spread;	      /* of good hosts: one standard deviation, a part of 1 */
	const double *speeds; /* borrowed: [worker], 1 is usual, NAN not known; NULL: of nobody */
	double low;	      /* with speeds: so slow is one good GPU in two hundred */
};

struct lottery {
	const struct pace *pace;
	const double *speeds; /* borrowed: as they are known; NULL: of nobody */
	double *level; /* owned: s a step, [stage]; 0: nobody is left on it, or nothing is computed */
	double *error; /* owned: standard error of it, relative, [stage] */
	double most;   /* of the others: the largest ratio; 0: there are none */
	double spread; /* of good hosts */
	double low;    /* as it is known */
	bool tested;   /* the level is that of a host of usual speed */
};

/* Of the workers that are not `left_out` ([worker]). The pace is borrowed. */
struct lottery lottery_of(const struct pace *pace, const bool *left_out,
			  const struct lottery_known *known);
void lottery_release(struct lottery *lottery);

/* How many times as long as its level a worker computes; 1 where there is none. */
double lottery_ratio(const struct lottery *lottery, size_t worker);

/*
 * The ratio that a worker has at least who was left out, with `hosts` in all, when he is slower
 * than the lottery makes good ones: `beyond` is LOTTERY_BEYOND, unless the user says otherwise.
 */
double lottery_least(const struct lottery *lottery, size_t worker, double beyond, size_t hosts);
