/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How good hardware varies, as a model: all parts of the value, 0.01 is 1 %.
 *
 *	value = rate x (1 + host) x (1 + part) x (1 + boot) x (1 + place at this time of day)
 *	             x (1 + rack in this hour) x (1 + swing at this time of day) x (1 + run)
 *
 * `host` and `part` are for good, `boot` until the host boots again. A part that computes differs
 * as silicon does (noise_silicon()), the others by a normal distribution. `run` is Student's t
 * with 4 degrees of freedom, whose tails are heavy, brought to this standard deviation. Pure: the
 * same seed gives the same numbers.
 *
 * Where the figures come from: docs/sim.md.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "tests/unit/random.h"

struct noise {
	double spread;	/* times `gpu`: 1 is what is told of fleets, 0.5 half of it */
	double gpu;	/* standard deviation between good GPUs of a model, for good */
	double link;	/* between links: copies and the network, for good */
	double memory;	/* between NUMA nodes, for good */
	double host;	/* between hosts, for good */
	double boot;	/* of a GPU from boot to boot */
	double place;	/* from the bottom of a rack to its top, at the warmest time of day */
	double run;	/* of one value between runs */
	double rack;	/* of all hosts of a rack together, anew each hour */
	double swing;	/* amplitude of a sine over the day, the same for all */
	double dip;	/* chance that a run is 5 to 15 % low once: whole, or in one part */
	double busy;	/* chance that a check of a run finds the device busy */
	double missing; /* ... or is cut off by its time limit */
	double reboot;	/* chance that a host boots again on one day */
	double other;	/* part of the hosts that have another RNIC firmware; another kernel; ... */
};

/* Of `spread`, at most. */
#define NOISE_SPREAD_MAX 4

struct noise noise_init(void);

/*
 * A good GPU: 1 on average but for its tail, standard deviation `sd`. Most are normal; 6 in 100 are
 * slower by an exponential of 1.32 sd besides, so that at 3.4 % about one in a hundred is 10 %
 * slow, one in a thousand 20 %.
 */
double noise_silicon(struct random *r, double sd);

/* Student's t with 4 degrees of freedom, of standard deviation 1. */
double noise_t4(struct random *r);

/* What all hosts of the rack share at this time, times what the whole fleet does: about 1. */
double noise_shared(const struct noise *noise, uint64_t seed, uint64_t rack, uint64_t now_us);

/* A host at `height` of its rack, 0 (bottom) to 1, at this time of day. */
double noise_place(const struct noise *noise, double height, uint64_t now_us);
