/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How evenly the computes of a trace are spread: do forward and backward of the
 * same micro-batch go up and down together (sequence lengths), and do single
 * forwards take long whose backwards do not (pauses of the interpreter).
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "attribution/trace.h"

/*
 * What clocks of profilers tell apart, in seconds: CUDA events 0.5 us, Kineto 1 us. What varies
 * by less is noise of the recording and correlates with nothing.
 */
#define BALANCE_RESOLUTION 1e-6

struct balance {
	double correlation; /* Pearson's r of forward and backward, the mean of each worker and
			       chunk removed; NAN: they do not vary */
	double pooled;	    /* the same with nothing removed */
	double spread; /* deviation of forward from the mean of its worker and chunk, over the mean
			  of all */
	size_t n_pauses, n_paused; /* candidates, and workers that have any */
	double max_share;	   /* of the candidates on one worker; NAN without any */
	bool *original; /* owned, NULL without any: [key * n_lanes + lane], false for a candidate */
	bool *has_pause; /* owned: [key] */
	double *level;	 /* owned: [key]: mean of the computes of its type, stage and chunk */
};

/* -ENOMEM. */
int balance_find(const struct trace *trace, struct balance *ret_balance, struct err *err);
void balance_release(struct balance *balance);
