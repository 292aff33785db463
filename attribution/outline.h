/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job of a trace as its computes alone show it, for who asks what another way to deal work
 * would give: seconds of a micro-batch on a good worker of each stage, and how many times as long
 * each worker takes. Good is the median of the DP ranks of a stage (the lower of two in the middle:
 * of two replicas the faster one), so one slow worker does not move it; without another replica
 * each worker is as good as it is.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stddef.h>

#include "attribution/slowdown.h"

struct outline {
	size_t microbatches;		/* of a replica; 0: there are none, nothing is known */
	double *forward_s, *backward_s; /* owned: [stage], all chunks */
	double *slowdown;		/* owned: [d * pp + stage] */
	double pause_s; /* what a pause adds to a forward (balance.h); NAN: there is none */
};

struct outline outline_find(const struct trace *trace, const struct balance *balance);
void outline_release(struct outline *outline);
