/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far good hosts of a model differ in what they compute, and how slow the slowest good ones
 * are, by the tests of a fleet. Pure.
 */
#pragma once

#include <stddef.h>

/* One standard deviation of good GPUs of a kind: the widest of the fleets that docs/sim.md names. */
#define SILICON_SPREAD 0.034

/* A fleet that shows less does not say it well. */
#define SILICON_SPREAD_LEAST 0.001

/* The spread of few is drawn to SILICON_SPREAD as if that had been seen so many times. */
enum { SILICON_WEIGHT = 32 };

/*
 * Standard deviations of good silicon, as logarithms, that one in two hundred is below: 3.9 by a gamma
 * distribution of shape 2.4, 3.6 with the exponential tail of docs/sim.md, 2.6 by a normal one.
 */
#define SILICON_TAIL 3.7

struct silicon {
	double spread; /* one standard deviation, a part of 1; 0: not said */
	double low;    /* so slow is one good GPU in two hundred, 1 is usual; 0: not said */
};

/* Of both the wider, and the lower: a job may have hosts of several models. */
void silicon_widen(struct silicon *into, const struct silicon *other);

/*
 * The spread of `n` values, ascending, relative to their median. Of the middle 80 %, so that
 * neither sick ones nor the tail of good ones make it, as standard deviations of a normal
 * distribution.
 */
double silicon_spread(const double *sorted, size_t n);

/*
 * Likewise of the better half alone, from the middle on: it is not wider for those that something
 * they share slows, fewer than half. Drawn to nothing; 0 of none.
 */
double silicon_better_spread(const double *sorted, size_t n);

/* What one good one in two hundred does not reach where `usual` is, and `spread` one deviation. */
double silicon_limit(double usual, double spread);

/*
 * What one good one in two hundred does not reach, in the unit of the `n` values, ascending; 0 of
 * none. The tail itself is not looked at, as sick ones are there too.
 */
double silicon_low(const double *sorted, size_t n);
