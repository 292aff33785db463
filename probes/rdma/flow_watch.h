/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that sees when data lands in the memory of this host.
 *
 * A software device does all its work, including answering itself, inside the call that posts a
 * request. The posting thread sees the data only after that call returns. Another core sees it when
 * it arrives, as the second process of a ping-pong would.
 *
 * If that core is busy, it may see the data late or not at all, so the posting thread looks as
 * well.
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
	struct rdma_engine *engine;	  /* for its clock, rdma_ticks() */
	const volatile unsigned char *at; /* where marks land; consecutive marks differ */
	_Atomic uint64_t ticks;		  /* when `mark` was seen */
	atomic_uchar mark;		  /* the last mark seen */
	atomic_bool stop;
	bool runs;
	pthread_t thread;
};

/*
 * Start the thread on any core except the one that the caller is pinned to by `keep`. `w->at` must
 * already hold a value that is not one of the marks to come. If the caller is not pinned, or has no
 * other core, the thread is not started and 0 is returned. -EAGAIN: no thread available.
 */
int watch_start(struct watch *w, const struct core_keep *keep, struct err *err);

/*
 * Returns true if `mark` was seen at or after `since`, and when. The caller must not let another
 * mark land until this returns true or until it has seen the mark itself.
 */
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

/* Does nothing if the thread is not running. */
void watch_stop(struct watch *w);
