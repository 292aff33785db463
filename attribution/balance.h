/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How evenly computes are distributed in a trace: do forward and backward of the same micro-batch
 * vary together (sequence lengths), and are there long forwards without long backwards (pauses of
 * the interpreter)?
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "attribution/trace.h"

/*
 * Resolution of profiler clocks in seconds: CUDA events 0.5 us, Kineto 1 us. Smaller variation is
 * recording noise and correlates with nothing.
 */
#define BALANCE_RESOLUTION 1e-6

struct balance {
	double correlation;	   /* Pearson's r within workers and chunks; NAN: no variation */
	double pooled;		   /* Pearson's r over all */
	double spread;		   /* deviation of forward within these, over the overall mean */
	size_t n_pauses, n_paused; /* candidates for pauses, and workers that have any */
	double max_share;	   /* of the candidates on one worker; NAN if there are none */
	bool *original;	 /* owned, NULL if none: [key * n_lanes + lane], false for a candidate */
	bool *has_pause; /* owned: [key] */
	double *level;	 /* owned: [key]: mean of the computes of its type, stage and chunk */
};

/* -ENOMEM. */
int balance_find(const struct trace *trace, struct balance *ret_balance, struct err *err);
void balance_release(struct balance *balance);
