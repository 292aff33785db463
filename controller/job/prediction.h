/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job will take a step once the hosts that slow it are replaced, when a restart pays, and
 * whether it came so. Pure.
 *
 * assay-attribute says of a set of hosts what replacing it by hosts at the median of the others
 * would gain, as a part of a step, with the interval that holds it with 95 % (attribution/
 * suspects.h). So, of a step of `before`:
 *
 *	after = before (1 - gain)	low = before (1 - gain.high)	high = before (1 - gain.low)
 *
 * A restart costs `restart` and from then on saves before - after in each step: it has paid after
 * n = ceil(restart / (before - after)) steps, which take n * after.
 *
 * It held when the next run of the job takes a step within the interval, or within
 * PREDICTION_TOLERANCE of `after`, whichever is wider: the interval knows how steps differ, and not
 * that the host which comes in place is no more at the median than others are. Who is faster than
 * predicted was predicted wrongly as well.
 *
 * A class is trusted until its predictions fail: as those are the last `of` at most, and there may
 * be fewer, the ones that are not there yet count as held. So one wrong prediction of a new class
 * takes nothing from it, and what a full list would take is taken as soon as no more luck could
 * make it good.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

#define PREDICTION_TOLERANCE 0.03

/* Steps of the next run that it is held against, at least; and how long it waits for them. */
enum { PREDICTION_STEPS = 20 };
#define PREDICTION_WAITS_US USEC_PER_DAY

/* A part of a step, with its 95 % interval; NAN: not known. */
struct prediction_gain {
	double value, low, high;
};

/* In seconds. */
struct prediction {
	double before_s, after_s;
	double low_s, high_s; /* after_s where the gain had no interval */
	double restart_s;
	double pays_steps; /* a whole number: so many steps after a restart it has paid */
	double pays_s;	   /* and so long after */
};

/* False: nothing is gained, or the numbers are none. */
bool prediction_make(double before_s, const struct prediction_gain *gain, double restart_s,
		     struct prediction *ret);

/* Does a restart pay within so long, even where the least is gained that the interval holds? */
bool prediction_pays_within(const struct prediction *prediction, double seconds);

/* Did it come so? */
bool prediction_held(const struct prediction *prediction, double measured_s);

/* May a class of which `held` of the last `checked` predictions held, at most `of`, evict no more? */
bool prediction_is_distrusted(uint64_t held, uint64_t checked, double least, uint64_t of);

/* The mean step of windows of one run, each as long as it has steps. Begins with zeros. */
struct prediction_mean {
	double seconds;
	uint64_t steps;
};
void prediction_add_window(struct prediction_mean *mean, double step_s, uint64_t steps);
