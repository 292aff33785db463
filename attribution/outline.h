/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job as its computes show it, for planners of other work distributions: seconds per
 * micro-batch on a good worker of each stage, and the slowdown of each worker. Good is the median
 * of the DP ranks of a stage (the lower of the middle two: with two replicas the faster one), so
 * a single slow worker does not affect it. Without other replicas every worker counts as good.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stddef.h>

#include "attribution/slowdown.h"

struct outline {
	size_t microbatches;		/* per replica; 0: there are none, nothing is known */
	double *forward_s, *backward_s; /* owned: [stage], all chunks */
	double *slowdown;		/* owned: [d * pp + stage] */
	double pause_s; /* what a pause adds to a forward (balance.h); NAN: no pauses */
};

struct outline outline_find(const struct trace *trace, const struct balance *balance);
void outline_release(struct outline *outline);
