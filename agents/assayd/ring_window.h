/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects a sample of a rank. Its rings hold only RING_SLOTS operations each, and a sample has
 * more, so they are gathered here until lib/ring/ring_optrace.h makes a part of a trace from
 * them. Only memory, no I/O.
 *
 * A sample belongs to a turn: all hosts number turns alike by real time, and a rank makes at most
 * one part per turn. Gathered operations are freed once there is a part, or the turn has ended.
 */
#pragma once

#include <stdint.h>

#include "agents/assayd/trace_rules.h"
#include "lib/base/macro.h"
#include "lib/ring/ring_optrace.h"
#include "lib/ring/ring_steps.h"

enum {
	RING_WINDOW_RINGS_MAX = RING_STEPS_RINGS_MAX,
	RING_WINDOW_OPS_MAX = 64 * 1024, /* per rank: 9 MiB while gathering */
};

#define RING_WINDOW_AGAIN_US (5 * USEC_PER_SEC) /* between attempts for a rank */

/* The operations gathered from one ring. */
struct ring_gathered {
	uint64_t id; /* ring id */
	struct ring_comm comm;
	struct ring_op *ops; /* owned */
	size_t n, alloc;
	uint64_t from; /* first number that had not ended, or not begun */
};

struct ring_window {
	uint64_t turn;
	bool over; /* it has its part of this turn, or will get none */
	struct ring_gathered rings[RING_WINDOW_RINGS_MAX];
	size_t n_rings, n_ops;
	int64_t after;		/* last step sent, or -1 */
	uint64_t attempted_us;	/* monotonic */
	size_t attempted_n_ops; /* operations at that time */
};

/* An empty window for turn 0. */
struct ring_window *ring_window_new(void);
void ring_window_free(void *window);

/* Drop what was gathered. */
void ring_window_clear(struct ring_window *w);

/* Set the turn; a new one starts empty. */
void ring_window_turn(struct ring_window *w, uint64_t turn);

/* The number from which to read a ring. */
uint64_t ring_window_from(const struct ring_window *w, uint64_t id);

/*
 * Add operations read from there on; those that began before `since_ns` are skipped. If there are
 * too many rings or operations, the turn gets no part.
 */
void ring_window_add(struct ring_window *w, uint64_t id, const struct ring_comm *comm,
		     const struct ring_op *ops, size_t n, uint64_t since_ns);

/* Is it time to try to make a part? */
bool ring_window_is_due(const struct ring_window *w, uint64_t now_us);

/*
 * Make a part of `steps` steps. 0: done, the turn is over. -EAGAIN: not enough yet. Any other
 * error: this turn gets no part, and `err` says why (as ring_optrace()).
 */
int ring_window_make(struct ring_window *w, const struct trace_place *place, unsigned steps,
		     uint64_t now_us, struct ring_part *ret, struct err *err);
