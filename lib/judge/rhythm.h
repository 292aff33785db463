/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rhythm of a job as a counter of its host shows it: a synchronous job sends in bursts, once a
 * step, and the bytes of its RNICs tell how long a step takes, since when none came, and when it
 * began to send more or less; nobody has to ask the job (MegaScale, arXiv:2402.15627, 4.2). Pure.
 *
 *  - the period is the lag of the first of the highest peaks of the autocorrelation of the rate.
 *    It counts when it stands RHYTHM_SIGMAS above what noise of the same short memory shows by
 *    chance (Bartlett's formula, summed up to the first zero), comes back at twice the lag, and
 *    RHYTHM_PERIODS_LEAST of it were seen;
 *  - a counter has stopped when it has not moved for RHYTHM_STOP_PERIODS periods, or, when none is
 *    known, RHYTHM_STOP_S: a checkpoint is a stop too, so a stop alone is no hang;
 *  - a change is where the rate, a period at a time, splits best into two levels, when that explains
 *    more than a split of noise does (Bayesian information criterion, with RHYTHM_SPLIT_FACTOR).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum {
	RHYTHM_SAMPLES_MAX = 8192,
	RHYTHM_SAMPLES_LEAST = 32,
	RHYTHM_GRID_MAX = 4096, /* points of the rate: longer series are thinned */
	RHYTHM_HOSTS_LEAST = 4, /* fewer cannot say which one differs */
};

#define RHYTHM_SIGMAS 5.0
#define RHYTHM_STRENGTH_LEAST 0.2
#define RHYTHM_PERIODS_LEAST 4.0
#define RHYTHM_STOP_PERIODS 3.0
#define RHYTHM_STOP_S 10.0
#define RHYTHM_QUIET 0.02 /* of the usual rate: what keeps a connection up is no step */
#define RHYTHM_SPLIT_FACTOR 3.0
#define RHYTHM_CHANGE_LEAST 0.05
#define RHYTHM_PERIOD_DIFFERS 0.05 /* of the others' median */
#define RHYTHM_RATE_DIFFERS 0.2

/* A counter as it was read: when (CLOCK_MONOTONIC), and its sum since any beginning. */
struct rhythm_sample {
	uint64_t at_us;
	uint64_t total;
};

struct rhythm {
	double seen_s;	 /* from the first sample to the last */
	double rate;	 /* a second, mean of the time in which it moved */
	double period_s; /* NAN: none that counts */
	double strength; /* of it: the autocorrelation at its lag, up to 1 */
	double still_s;	 /* since it moved last, up to the last sample */
	bool stopped;
	double changed_s; /* so long before the last sample the rate changed; NAN: it did not */
	double change;	  /* rate after / rate before; NAN */
};

/*
 * What the samples (in order of time; a total that falls is a counter that began anew) show.
 * -ENODATA: fewer than RHYTHM_SAMPLES_LEAST, or no time passed; -EINVAL: times that do not rise, or
 * more than RHYTHM_SAMPLES_MAX; -ENOMEM.
 */
int rhythm_of(const struct rhythm_sample *samples, size_t n, struct rhythm *ret);

/* What one host of a job shows that the others do not: bits. */
enum rhythm_differs {
	RHYTHM_STOPPED_ALONE = 1, /* it has stopped, and most others have not */
	RHYTHM_MOVES_ALONE = 2,	  /* most others have stopped, and it has not */
	RHYTHM_STOPPED_FIRST = 4, /* all have, this one by more than a period before the next */
	RHYTHM_OTHER_PERIOD = 8,  /* it has another period: it is not of the same steps */
	RHYTHM_SENDS_LESS = 16,	  /* than the others in a step, as if a path or rail were gone */
	RHYTHM_SENDS_MORE = 32,
};

/* Of `n` hosts of one job, sampled in the same time; `ret` has n. Fewer than RHYTHM_HOSTS_LEAST:
 * none differs. */
void rhythm_peers(const struct rhythm *hosts, size_t n, unsigned *ret);
