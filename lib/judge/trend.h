/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a value usually is relative to a control, which shares its conditions. Each run gives the
 * ratio of the value to its control in that run, so that what affects both (the heat of the day, a
 * rack, a driver) cancels, and a drop of the ratio is one of its own (difference in differences:
 * Ashenfelter and Card 1985, with ratios). The control of a part is the median of the other parts
 * of its host; that of a host is the fleet. Pure.
 *
 * The last TREND_MAX ratios are kept as 16-bit logarithms, in steps of 0.02 %. The statistical
 * error of their median is a third of that of one run.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum { TREND_MAX = 12 };

struct trend {
	int16_t logs[TREND_MAX]; /* ring buffer */
	uint8_t n, next;
};

/* Adds the ratio of value to control of one run. Values not above 0 are ignored. */
void trend_push(struct trend *t, double ratio);

/* Copies the ratios, in any order; returns how many. */
size_t trend_ratios(const struct trend *t, double ret_ratios[static TREND_MAX]);

/* Their median; NAN if there are none. */
double trend_usual(const struct trend *t);

/*
 * One value for several parts: the mean of their logarithms without the lowest and the highest. For
 * 8 parts with the same spread its error is 0.7 of the median's, and one bad part does not move it
 * by more than its share. `sorted` is ascending, all above 0; NAN for n = 0.
 */
double trend_center(const double *sorted, size_t n);
