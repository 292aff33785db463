/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How good hardware varies, as a model: all parts of the value, 0.01 is 1 %.
 *
 *	value = rate x (1 + host) x (1 + part) x (1 + rack in this hour)
 *	             x (1 + swing at this time of day) x (1 + run)
 *
 * `host` and `part` are for good. `run` is Student's t with 4 degrees of freedom, whose
 * tails are heavy, brought to this standard deviation. Pure: the same seed gives the
 * same numbers.
 */
#pragma once

#include <stdint.h>

#include "lib/macro.h"
#include "tests/unit/random.h"

struct noise {
	double gpu;   /* standard deviation between the parts of a host, for good */
	double host;  /* between hosts, for good */
	double run;   /* of one value between runs */
	double rack;  /* of all hosts of a rack together, anew each hour */
	double swing; /* amplitude of a sine over the day, the same for all */
	double dip;   /* chance that a run is 5 to 15 % low once: whole, or in one part */
};

/* The figures of the issue. */
struct noise noise_init(void);

/* Student's t with 4 degrees of freedom, of standard deviation 1. */
double noise_t4(struct random *r);

/* What all hosts of the rack share at this time, times what the whole fleet does: about 1. */
double noise_shared(const struct noise *noise, uint64_t seed, uint64_t rack, uint64_t now_us);
