/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses which sequence lengths go together, and which plan runs each of these groups. HotSPa (Ge
 * et al., SOSP 2024) leaves that choice to a person, who sets its bounds.
 *
 * A stage takes start + token * n + square * (sum of squared lengths) seconds, forward and
 * backward, for a pack padded to n tokens: attention grows with the square of each sequence, the
 * rest with tokens. Packs are made as by hotspa_group(), padded to the longest sequence of the
 * group or to the capacity of the plan, whichever is faster. They go to the pipelines in turn,
 * costliest first, and each pipeline is simulated under 1F1B (pipe_packs.h) with its own stages,
 * which may be slower than others. If they differ, only pipelines that may be the slowest according
 * to bounds are simulated, at most HOTSPA_PLAN_PLAYED_MAX.
 *
 * A step consists of its groups, one after the other, with a switch of plans between them, and back
 * to the first at the end. Exact over all partitions of the lengths and all choices of plans, each
 * used at most once.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "lib/remedy/hotspa.h"

enum {
	HOTSPA_PLAN_LENGTHS_MAX = 32,
	HOTSPA_PLAN_PLANS_MAX = 8, /* all 2^n sets of them are searched */
	HOTSPA_PLAN_TOKENS_MAX = 1 << 27,
	HOTSPA_PLAN_PLAYED_MAX = 16,
	HOTSPA_PLAN_NOISY_TIMES = 16,
	HOTSPA_PLAN_NOISY_WORK_MAX = 1 << 22, /* operations of all samples, or of one */
};

struct hotspa_plan_length {
	uint64_t tokens, count;
};

struct hotspa_plan_way {
	size_t pp, dp;
	uint64_t tokens;	     /* capacity: the longest pack */
	double start, token, square; /* seconds, as above; not negative */
	/* [dp * pp]: slowdown of stage p of pipeline d, at d * pp + p; NULL: 1 for all. */
	const double *slow;
};

struct hotspa_plan_wish {
	const struct hotspa_plan_length *lengths; /* tokens descend */
	size_t n;
	const struct hotspa_plan_way *ways;
	size_t n_ways;
	const double *cost; /* [a * n_ways + b]: seconds of a switch; 0 if a == b */
	double forward;	    /* forward's part of a pack's seconds, 0 to 1 */
};

/* A range of lengths. */
struct hotspa_plan_group {
	size_t from, until; /* indexes into `lengths`, end exclusive */
	size_t way;
	uint64_t bound; /* tokens of a pack */
	uint64_t packs;
	double seconds; /* of the slowest pipeline */
	double work;	/* seconds of a stage for all packs, in the mean pipeline */
};

struct hotspa_plan {
	struct hotspa_plan_group groups[HOTSPA_PLAN_PLANS_MAX]; /* longest first */
	size_t n;
	size_t order[HOTSPA_PLAN_PLANS_MAX + 1]; /* ways: from that of the longest, and back to it */
	double switches, total;			 /* seconds per step */
	struct hotspa_plan_group single; /* the fastest way alone; INFINITY: none can hold all */
};

/*
 * Fits start, token and square to two measurements of a pack that is one sequence: `seconds[i]` for
 * `tokens[i]`, ascending. If the longer one takes more per token, the rest is due to the square,
 * else to the start. -EINVAL: the longer one takes less time, or more than a square explains.
 */
int hotspa_plan_fit(const uint64_t *tokens, const double *seconds, struct hotspa_plan_way *way,
		    struct err *err);

/* All lengths with one way; its seconds are INFINITY if it cannot hold the longest. */
struct hotspa_plan_group hotspa_plan_alone(const struct hotspa_plan_wish *wish, size_t way);

/*
 * Mean duration of a group over HOTSPA_PLAN_NOISY_TIMES samples in which operations vary by
 * `noise`, the standard deviation of their logarithms, with the same mean: stages wait for each
 * other, and all for the slowest pipeline. Deterministic. INFINITY stays INFINITY.
 */
double hotspa_plan_noisy(const struct hotspa_plan_wish *wish, const struct hotspa_plan_group *group,
			 double noise);

/*
 * The groups that take least time, of equals those with fewest ways; one group if no switch pays
 * off. -EINVAL: counts beyond their limits, lengths that do not descend. -ERANGE: no way can hold
 * the longest.
 */
int hotspa_plan_find(const struct hotspa_plan_wish *wish, struct hotspa_plan *ret_plan,
		     struct err *err);
