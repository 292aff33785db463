/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that sees data land in memory of this host, and when.
 *
 * A device in software does all its work inside the call that posts a request,
 * its own answer to itself included: whoever posts sees the data only after
 * that. Another core sees it when it is there, as the other process of a
 * ping-pong does.
 *
 * A core that has something else to do may see it late, or not at all: who
 * posts looks too.
 *
 *	watch_start -> (a mark lands, watch_saw) ... -> watch_stop
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "probes/rdma/core_keep.h"

struct err;
struct rdma_engine;

struct watch {
	struct rdma_engine *engine;	  /* its clock: rdma_ticks() */
	const volatile unsigned char *at; /* where marks land, each another than the one before */
	_Atomic uint64_t ticks;		  /* when `mark` was seen */
	atomic_uchar mark;		  /* the last that was */
	atomic_bool stop;
	bool runs;
	pthread_t thread;
};

/*
 * Begin, when there is something at `w->at` that is no mark to come: on any core but that which
 * the caller `keep`s until the end. Where he keeps none, or has only that, it does not run.
 * -EAGAIN: no thread to be had.
 */
int watch_start(struct watch *w, const struct core_keep *keep, struct err *err);

/* Has `mark` been seen, after `since`? Then when. No other may land until this returned true,
 * or the caller has seen it itself. */
static inline bool watch_saw(const struct watch *w, unsigned char mark, uint64_t since,
			     uint64_t *ret_ticks)
{
	uint64_t ticks;

	if (atomic_load_explicit(&w->mark, memory_order_acquire) != mark)
		return false;
	ticks = atomic_load_explicit(&w->ticks, memory_order_relaxed);
	if (ticks < since)
		return false;
	*ret_ticks = ticks;
	return true;
}

/* Harmless when it does not run. */
void watch_stop(struct watch *w);
