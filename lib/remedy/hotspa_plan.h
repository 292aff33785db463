/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lengths of sequence go together, and which plan runs each of these groups: the choice
 * that HotSPa (Ge et al., SOSP 2024) leaves to a person, who sets its bounds.
 *
 * A stage takes start + token * n + square * (sum of squared lengths) seconds, forward and
 * backward, for a pack padded to n tokens: attention grows with the square of each sequence, all
 * else with tokens. Packs are made as hotspa_group() makes them, padded to the longest sequence
 * of the group or to what the plan holds, whichever is faster. They go to the pipelines in turn,
 * costliest first, and each pipeline plays them under 1F1B (pipe_packs.h) on its own stages, which
 * may be slower than others. Where these differ, of many pipelines just those are played that
 * bounds say may be the slowest, HOTSPA_PLAN_PLAYED_MAX at most.
 *
 * A step is its groups, one after the other, and a switch of plans between them, back to the
 * first at its end. Exact over all cuts of the lengths and all choices of plans, each used once
 * at most.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "lib/remedy/hotspa.h"

enum {
	HOTSPA_PLAN_LENGTHS_MAX = 32,
	HOTSPA_PLAN_PLANS_MAX = 8, /* 2^n sets of them are looked at */
	HOTSPA_PLAN_TOKENS_MAX = 1 << 27,
	HOTSPA_PLAN_PLAYED_MAX = 16,
	HOTSPA_PLAN_NOISY_TIMES = 16,
	HOTSPA_PLAN_NOISY_WORK_MAX = 1 << 22, /* operations of all times, or one time */
};

struct hotspa_plan_length {
	uint64_t tokens, count;
};

struct hotspa_plan_way {
	size_t pp, dp;
	uint64_t tokens;	     /* the longest pack that it holds */
	double start, token, square; /* seconds, as above; none is below 0 */
	/* [dp * pp]: times as long on stage p of pipeline d, at d * pp + p; NULL: 1 on all. */
	const double *slow;
};

struct hotspa_plan_wish {
	const struct hotspa_plan_length *lengths; /* tokens descend */
	size_t n;
	const struct hotspa_plan_way *ways;
	size_t n_ways;
	const double *cost; /* [a * n_ways + b]: seconds of a switch; 0 where a == b */
	double forward;	    /* part of a pack's seconds that is forward, 0 to 1 */
};

/* A run of lengths. */
struct hotspa_plan_group {
	size_t from, until; /* places in `lengths`, without the last */
	size_t way;
	uint64_t bound; /* tokens of a pack */
	uint64_t packs;
	double seconds; /* of the slowest pipeline */
	double work;	/* seconds of a stage in all packs, of the mean pipeline */
};

struct hotspa_plan {
	struct hotspa_plan_group groups[HOTSPA_PLAN_PLANS_MAX]; /* longest first */
	size_t n;
	size_t order[HOTSPA_PLAN_PLANS_MAX + 1]; /* ways: from that of the longest and back to it */
	double switches, total;			 /* seconds of a step */
	struct hotspa_plan_group single; /* the fastest way alone; INFINITY: none holds all */
};

/*
 * start, token and square through two measurements of a pack that is one sequence: `seconds[i]`
 * for `tokens[i]`, ascending. Where a token takes longer in the longer one the rest is for its
 * square, else it is the start. -EINVAL: the longer one takes less time, or more than by the
 * square.
 */
int hotspa_plan_fit(const uint64_t *tokens, const double *seconds, struct hotspa_plan_way *way,
		    struct err *err);

/* All lengths by one way; its seconds are INFINITY when it does not hold the longest. */
struct hotspa_plan_group hotspa_plan_alone(const struct hotspa_plan_wish *wish, size_t way);

/*
 * What a group takes, in the mean of HOTSPA_PLAN_NOISY_TIMES, when operations differ by `noise`,
 * the standard deviation of their logarithms, and take as long in the mean: stages wait for each
 * other, and all for the slowest pipeline. The same each time. A group whose seconds are INFINITY
 * keeps them.
 */
double hotspa_plan_noisy(const struct hotspa_plan_wish *wish, const struct hotspa_plan_group *group,
			 double noise);

/*
 * The groups that take least time, of equals those of fewest ways; one group when no switch pays.
 * -EINVAL: counts out of their limits, lengths that do not descend. -ERANGE: no way holds the
 * longest.
 */
int hotspa_plan_find(const struct hotspa_plan_wish *wish, struct hotspa_plan *ret_plan,
		     struct err *err);
