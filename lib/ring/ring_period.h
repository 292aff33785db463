/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many operations make a step, found from their sequence alone: a training loop does the same
 * in each step, so the sequence of (communicator, function, bytes, peer) agrees with itself
 * shifted by a step: its autocorrelation. Pure.
 *
 * Each kind of operation (token) is asked by itself, however often it comes: forty equal gathers of
 * a step agree with themselves shifted by one, and would drown the norm that comes once. A kind
 * has a rhythm if at some shift it agrees in RING_PERIOD_LEAST; what is of evaluations, checkpoints
 * and warm-up has none. The period is the least shift at which all that have one agree nearly
 * as well as they ever do.
 *
 * What a sequence cannot tell: steps between which something comes each tenth time, often enough,
 * are steps of ten. ring_steps.h asks what operations are before it asks how many.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/ring/ring_op.h"

struct err;

enum {
	RING_PERIOD_TOKENS_MAX = 12288, /* that are looked at: the newest */
	RING_PERIOD_TIMES_MIN = 3,	/* so often a kind must have come, and a step */
};

#define RING_PERIOD_LEAST 0.5

struct ring_period {
	size_t n;	  /* operations */
	double agreement; /* of the kinds with a rhythm, shifted by it: 0 to 1 */
};

/* What an operation of ring `ring` is; 0 is none. `bytes` false: whatever its size. */
uint64_t ring_period_token(size_t ring, const struct ring_op *op, bool bytes);

/* 0; -ENODATA with a sentence: too few, or most of them have no rhythm. */
int ring_period_find(const uint64_t *tokens, size_t n, struct ring_period *ret, struct err *err);
