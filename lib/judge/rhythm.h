/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rhythm of a job, from a counter of its host. A synchronous job sends in bursts, one per step,
 * so the bytes of its RNICs show how long a step takes, when the last one came, and when the rate
 * changed, without asking the job (MegaScale, arXiv:2402.15627, 4.2). Pure.
 *
 * - The period is the lag of the first of the highest peaks of the autocorrelation of the rate. It
 *   counts if it is RHYTHM_SIGMAS above what noise with the same short memory shows by chance
 *   (Bartlett's formula, summed up to the first zero), if there is a peak at twice the lag, and if
 *   RHYTHM_PERIODS_LEAST periods were seen.
 * - A counter has stopped if it has not moved for RHYTHM_STOP_PERIODS periods, or for RHYTHM_STOP_S
 *   if no period is known. A checkpoint is a stop too, so a stop alone is not a hang.
 * - A change is where the rate, period by period, splits best into two levels, if that explains
 *   more than splitting noise would (Bayesian information criterion, with RHYTHM_SPLIT_FACTOR).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum {
	RHYTHM_SAMPLES_MAX = 8192,
	RHYTHM_SAMPLES_LEAST = 32,
	RHYTHM_GRID_MAX = 4096, /* points of the rate; longer series are resampled */
	RHYTHM_HOSTS_LEAST = 4, /* with fewer, nobody can say which one differs */
};

#define RHYTHM_SIGMAS 5.0
#define RHYTHM_STRENGTH_LEAST 0.2
#define RHYTHM_PERIODS_LEAST 4.0
#define RHYTHM_STOP_PERIODS 3.0
#define RHYTHM_STOP_S 10.0
#define RHYTHM_QUIET 0.02 /* of the usual rate; less is keep-alive traffic, not a step */
#define RHYTHM_SPLIT_FACTOR 3.0
#define RHYTHM_CHANGE_LEAST 0.05
#define RHYTHM_PERIOD_DIFFERS 0.05 /* of the others' median */
#define RHYTHM_RATE_DIFFERS 0.2

/* One reading of a counter: when (CLOCK_MONOTONIC), and the total since any start. */
struct rhythm_sample {
	uint64_t at_us;
	uint64_t total;
};

struct rhythm {
	double seen_s;	 /* from the first sample to the last */
	double rate;	 /* per second, mean of the time in which it moved */
	double period_s; /* NAN: none found */
	double strength; /* autocorrelation at the period, up to 1 */
	double still_s;	 /* from its last movement to the last sample */
	bool stopped;
	double changed_s; /* how long before the last sample the rate changed; NAN: it did not */
	double change;	  /* rate after / rate before; NAN */
};

/*
 * Analyses samples in order of time; a total that falls is a counter that was reset. -ENODATA:
 * fewer than RHYTHM_SAMPLES_LEAST, or no time passed; -EINVAL: times that do not increase, or more
 * than RHYTHM_SAMPLES_MAX; -ENOMEM.
 */
int rhythm_of(const struct rhythm_sample *samples, size_t n, struct rhythm *ret);

/* How a host differs from the other hosts of its job; bits. */
enum rhythm_differs {
	RHYTHM_STOPPED_ALONE = 1, /* it has stopped, most others have not */
	RHYTHM_MOVES_ALONE = 2,	  /* most others have stopped, it has not */
	RHYTHM_STOPPED_FIRST = 4, /* all have; this one over a period before the next */
	RHYTHM_OTHER_PERIOD = 8,  /* it has another period, so it is not part of the same steps */
	RHYTHM_SENDS_LESS = 16,	  /* less than others per step, as if a path or rail were gone */
	RHYTHM_SENDS_MORE = 32,
};

/*
 * For `n` hosts of one job, sampled at the same time; `ret` has n entries. With fewer than
 * RHYTHM_HOSTS_LEAST, none differs.
 */
void rhythm_peers(const struct rhythm *hosts, size_t n, unsigned *ret);
