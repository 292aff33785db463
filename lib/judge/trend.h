/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What something usually reaches beside those that share its conditions: its control.
 * Each run gives the ratio of its value to the control's in that run, so that what
 * both have in common (the heat of the day, a rack, a driver) cancels, and a drop is a
 * drop of its own (difference in differences: Ashenfelter and Card 1985, with ratios). A
 * part's control is the median of the other parts of its host, a host's is the fleet. Pure.
 *
 * The last TREND_MAX ratios are kept as logarithms of 16 bits, 0.02 % apart; of a median
 * of so many the statistical error is a third of one run's.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum { TREND_MAX = 12 };

struct trend {
	int16_t logs[TREND_MAX]; /* a ring */
	uint8_t n, next;
};

/* One more run: `ratio` of value to control. What is not above 0 is not noted. */
void trend_push(struct trend *t, double ratio);

/* The ratios that it had, in any order; returns how many. */
size_t trend_ratios(const struct trend *t, double ret_ratios[static TREND_MAX]);

/* Their median; NAN when there is none. */
double trend_usual(const struct trend *t);

/*
 * The center of several parts as one value: the mean of their logarithms without the
 * lowest and the highest. Of 8 parts that vary alike its error is 0.7 of the median's,
 * and one part that is sick does not move it by more than its share. `sorted` ascending, all
 * above 0; NAN for n = 0.
 */
double trend_center(const double *sorted, size_t n);
