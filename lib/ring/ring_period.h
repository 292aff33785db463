/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds how many operations make a step from their sequence alone: a training loop does the same in
 * each step, so the sequence of (communicator, function, bytes, peer) matches itself shifted by a
 * step: its autocorrelation. Pure.
 *
 * Each kind of operation (token) is evaluated by itself, however often it comes: forty equal
 * gathers in a step match themselves shifted by one, and would drown the norm that comes once. A
 * kind has a rhythm if at some shift at least RING_PERIOD_LEAST of it match; evaluations,
 * checkpoints and warm-up have none. The period is the least shift at which all kinds with a rhythm
 * match nearly as well as they ever do.
 *
 * A sequence alone cannot tell some cases apart: if something comes in each tenth step, often
 * enough, the period is ten steps. So ring_steps.h first looks at what operations are, then at how
 * many.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/ring/ring_op.h"

struct err;

enum {
	RING_PERIOD_TOKENS_MAX = 12288, /* examined: the newest */
	RING_PERIOD_TIMES_MIN = 3,	/* least occurrences of a kind, and of a step */
};

#define RING_PERIOD_LEAST 0.5

struct ring_period {
	size_t n;	  /* operations */
	double agreement; /* of the kinds with a rhythm, at that shift: 0 to 1 */
};

/* The token of an operation in ring `ring`; never 0. `bytes` false: ignores its size. */
uint64_t ring_period_token(size_t ring, const struct ring_op *op, bool bytes);

/* Returns 0; -ENODATA with a sentence: too few, or most have no rhythm. */
int ring_period_find(const uint64_t *tokens, size_t n, struct ring_period *ret, struct err *err);
