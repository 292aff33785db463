/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The step time of a job once the hosts that slow it are replaced, when a restart pays off, and
 * whether the prediction came true. Pure.
 *
 * assay-attribute computes for a set of hosts what replacing it with hosts at the median of the
 * others would gain, as a share of a step, with its 95 % interval (attribution/suspects.h). So,
 * from the step time `before`:
 *
 *   after = before (1 - gain)       low = before (1 - gain.high)    high = before (1 - gain.low)
 *
 * A restart costs `restart` and then saves before - after in each step: it has paid off after n =
 * ceil(restart / (before - after)) steps, which take n * after.
 *
 * The prediction held if the next run's step time is within the interval or within
 * PREDICTION_TOLERANCE of `after`, whichever is wider: the interval covers the variation of steps,
 * but not that the replacement is no closer to the median than other hosts are. A run faster than
 * predicted is a failed prediction, too.
 *
 * A class is trusted until its predictions fail. They are the last `of` at most; while there are
 * fewer, the missing ones count as held. So a single failure of a new class does not cost it the
 * trust, which is lost as soon as no further success could restore the rate of a full list.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

#define PREDICTION_TOLERANCE 0.03

/* Minimum number of steps of the next run, and how long to wait for them. */
enum { PREDICTION_STEPS = 20 };
#define PREDICTION_WAITS_US USEC_PER_DAY

/* A share of a step, with its 95 % interval; NAN: unknown. */
struct prediction_gain {
	double value, low, high;
};

/* In seconds. */
struct prediction {
	double before_s, after_s;
	double low_s, high_s; /* after_s if the gain had no interval */
	double restart_s;
	double pays_steps; /* whole number of steps after which a restart has paid off */
	double pays_s;	   /* and the time they take */
};

/* Returns false if nothing is gained or the numbers are invalid. */
bool prediction_make(double before_s, const struct prediction_gain *gain, double restart_s,
		     struct prediction *ret);

/* Does a restart pay off within that time, even at the lower end of the interval? */
bool prediction_pays_within(const struct prediction *prediction, double seconds);

/* Did it come true? */
bool prediction_held(const struct prediction *prediction, double measured_s);

/*
 * With `held` of the last `checked` predictions true (at most `of`), must a class no longer evict?
 */
bool prediction_is_distrusted(uint64_t held, uint64_t checked, double least, uint64_t of);

/* Mean step time over windows of one run, weighted by their steps. Initially zero. */
struct prediction_mean {
	double seconds;
	uint64_t steps;
};
void prediction_add_window(struct prediction_mean *mean, double step_s, uint64_t steps);
