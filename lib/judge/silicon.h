/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the computing speed of good hosts of a model spreads, and how slow the slowest good ones
 * are, from the tests of a fleet. Pure.
 */
#pragma once

#include <stddef.h>

/* One standard deviation of good GPUs of a kind: the widest of the fleets listed in docs/sim.md. */
#define SILICON_SPREAD 0.034

/* Smaller measured spreads are not credible. */
#define SILICON_SPREAD_LEAST 0.001

/*
 * The spread of few values is pulled towards SILICON_SPREAD, as if that was seen this many times.
 */
enum { SILICON_WEIGHT = 32 };

/*
 * One in two hundred good parts is this many standard deviations (of logarithms) below the middle:
 * 3.9 for a gamma distribution of shape 2.4, 3.6 with the exponential tail of docs/sim.md, 2.6 for
 * a normal one.
 */
#define SILICON_TAIL 3.7

struct silicon {
	double spread; /* one standard deviation, relative; 0: unknown */
	double low;    /* only one good GPU in two hundred is slower, 1 is usual; 0: unknown */
};

/* Keeps the wider spread and the lower limit of both: a job may have hosts of several models. */
void silicon_widen(struct silicon *into, const struct silicon *other);

/*
 * The spread of `n` ascending values relative to their median, as standard deviations of a normal
 * distribution. Uses the middle 80 %, so that neither bad parts nor the tail of good ones count.
 */
double silicon_spread(const double *sorted, size_t n);

/*
 * The same from the upper half alone, so parts that are slowed by something they share do not widen
 * it if they are fewer than half. Not pulled towards SILICON_SPREAD; 0 for n = 0.
 */
double silicon_better_spread(const double *sorted, size_t n);

/*
 * The value that one good part in two hundred does not reach; `spread` is one standard deviation.
 */
double silicon_limit(double usual, double spread);

/*
 * The same from `n` ascending values, in their unit; 0 for n = 0. The tail itself is not used,
 * since bad parts are in it too.
 */
double silicon_low(const double *sorted, size_t n);
