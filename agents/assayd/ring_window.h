/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample of a rank: what its rings record is gathered, for they hold RING_SLOTS operations each
 * and a sample has more, until lib/ring/ring_optrace.h makes a part of a trace of it. Pure memory.
 *
 * A sample is of a turn: all hosts count them alike by the real time, and a rank has one part a turn
 * at most. What is gathered is forgotten as soon as there is a part, or the turn's time is over.
 */
#pragma once

#include <stdint.h>

#include "agents/assayd/trace_rules.h"
#include "lib/base/macro.h"
#include "lib/ring/ring_optrace.h"
#include "lib/ring/ring_steps.h"

enum {
	RING_WINDOW_RINGS_MAX = RING_STEPS_RINGS_MAX,
	RING_WINDOW_OPS_MAX = 64 * 1024, /* of a rank: 9 MiB while they are gathered */
};

#define RING_WINDOW_AGAIN_US (5 * USEC_PER_SEC) /* from one attempt of a rank to the next */

/* Of one ring. */
struct ring_gathered {
	uint64_t id; /* which one */
	struct ring_comm comm;
	struct ring_op *ops; /* owned */
	size_t n, alloc;
	uint64_t from; /* number of the first that had not ended, or has not begun */
};

struct ring_window {
	uint64_t turn;
	bool over; /* the turn has its part, or will have none */
	struct ring_gathered rings[RING_WINDOW_RINGS_MAX];
	size_t n_rings, n_ops;
	int64_t after;		/* number of the last step that was sent; -1 */
	uint64_t attempted_us;	/* monotonic */
	size_t attempted_n_ops; /* there were so many then */
};

/* Empty, of turn 0. */
struct ring_window *ring_window_new(void);
void ring_window_free(void *window);

/* Forget what was gathered. */
void ring_window_clear(struct ring_window *w);

/* A turn that is another than before begins without anything. */
void ring_window_turn(struct ring_window *w, uint64_t turn);

/* From which number on a ring is to be read. */
uint64_t ring_window_from(const struct ring_window *w, uint64_t id);

/*
 * Add what was read of a ring from there on, of what began at `since_ns` or later. Of more rings or
 * operations than there is room for the turn has no part.
 */
void ring_window_add(struct ring_window *w, uint64_t id, const struct ring_comm *comm,
		     const struct ring_op *ops, size_t n, uint64_t since_ns);

/* Is it time to see whether there is a part? */
bool ring_window_is_due(const struct ring_window *w, uint64_t now_us);

/*
 * Make the part of `steps` steps. 0, and the turn is over; -EAGAIN: not yet; anything else: it will
 * have none, and `err` says why (as ring_optrace()).
 */
int ring_window_make(struct ring_window *w, const struct trace_place *place, unsigned steps,
		     uint64_t now_us, struct ring_part *ret, struct err *err);
