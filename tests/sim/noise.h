/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of the variation of good hardware. All terms are relative: 0.01 is 1 %.
 *
 *	value = rate x (1 + host) x (1 + part) x (1 + boot) x (1 + place at this time of day)
 *	             x (1 + rack in this hour) x (1 + swing at this time of day) x (1 + run)
 *
 * `host` and `part` are permanent, `boot` lasts until the next boot. Compute varies like silicon
 * (noise_silicon()), the other parts are normally distributed. `run` is a heavy-tailed Student's t
 * with 4 degrees of freedom, scaled to this standard deviation. Pure: the same seed gives the same
 * numbers.
 *
 * docs/sim.md has the sources of the figures.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "tests/unit/random.h"

struct noise {
	double spread;	/* multiplies `gpu`: 1 is what is published about fleets */
	double gpu;	/* standard deviation between good GPUs of a model, permanent */
	double link;	/* between links (copies and network), permanent */
	double memory;	/* between NUMA nodes, permanent */
	double host;	/* between hosts, permanent */
	double boot;	/* of a GPU between boots */
	double place;	/* from bottom to top of a rack, at the warmest time of day */
	double run;	/* of one value between runs */
	double rack;	/* of all hosts of a rack together, changes each hour */
	double swing;	/* amplitude of a daily sine, the same for all */
	double dip;	/* probability that a run, or one part of it, is once 5 to 15 % low */
	double busy;	/* probability that a check of a run finds the device busy */
	double missing; /* ... or is cut off by its time limit */
	double reboot;	/* probability that a host reboots on a day */
	double other;	/* fraction of the hosts with another RNIC firmware; another kernel; ... */
};

/* The maximum of `spread`. */
#define NOISE_SPREAD_MAX 4

struct noise noise_init(void);

/*
 * Returns the speed of a good GPU: 1 on average without its tail, standard deviation `sd`. Most are
 * normally distributed; 6 in 100 are also slower by an exponential of mean 1.32 sd, so that at 3.4
 * % about one in a hundred is 10 % slow, and one in a thousand 20 %.
 */
double noise_silicon(struct random *r, double sd);

/* Student's t with 4 degrees of freedom, of standard deviation 1. */
double noise_t4(struct random *r);

/* Returns the factor shared by all hosts of the rack at this time, times that of the fleet. */
double noise_shared(const struct noise *noise, uint64_t seed, uint64_t rack, uint64_t now_us);

/* Returns the factor of a host at `height` in its rack, 0 (bottom) to 1, at this time of day. */
double noise_place(const struct noise *noise, double height, uint64_t now_us);
