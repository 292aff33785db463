/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An abort sets a flag that waiting kernels look at, and then frees what the
 * communicator had, which waits for the GPU: that of a GPU which does not look
 * any more may never come back. So each is called in a thread of its own, and
 * who does not come back tells whose GPU it is.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/coll/nccl_group.h"

/* On the heap, and kept when a thread stays: it may still come back. */
struct aborts {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned left; /* that have not come back */
	struct abort {
		struct aborts *all;
		unsigned (*call)(struct ncclComm *comm);
		struct ncclComm *comm; /* NULL: came back, or none */
		pthread_t thread;
		bool threaded;
	} one[COLL_RANKS_MAX];
};

static void *run(void *argument)
{
	struct abort *one = argument;
	struct aborts *all = one->all;

	(void)one->call(one->comm);
	(void)pthread_mutex_lock(&all->lock);
	one->comm = NULL;
	all->left--;
	(void)pthread_cond_signal(&all->changed);
	(void)pthread_mutex_unlock(&all->lock);
	return NULL;
}

static void begin(struct abort *one)
{
	one->threaded = pthread_create(&one->thread, NULL, run, one) == 0;
	/* Without a thread whoever watches over all of this ends it. */
	if (!one->threaded)
		(void)run(one);
}

/* Until all are back or the time is up: those that are not. */
static uint64_t wait_for(struct aborts *all, uint64_t deadline_us)
{
	const struct timespec at = {
		.tv_sec = (time_t)(deadline_us / USEC_PER_SEC),
		.tv_nsec = (long)(deadline_us % USEC_PER_SEC * 1000),
	};
	uint64_t held = 0;
	bool in_time = true;
	unsigned i;

	(void)pthread_mutex_lock(&all->lock);
	while (all->left > 0 && in_time)
		in_time = pthread_cond_clockwait(&all->changed, &all->lock, CLOCK_MONOTONIC, &at) !=
			  ETIMEDOUT;
	for (i = 0; i < COLL_RANKS_MAX; i++) {
		if (all->one[i].comm)
			held |= COLL_RANK_BIT(i);
	}
	(void)pthread_mutex_unlock(&all->lock);
	return held;
}

/* Ranks whose communicators were not aborted in time. */
static uint64_t abort_all(struct nccl_group *g)
{
	struct aborts *all = xcalloc(1, sizeof(*all));
	uint64_t held;
	unsigned i;

	(void)pthread_mutex_init(&all->lock, NULL);
	(void)pthread_cond_init(&all->changed, NULL);
	for (i = 0; i < g->coll.n; i++) {
		all->one[i] = (struct abort){ all, g->call.abort, g->ranks[i].comm };
		all->left += g->ranks[i].comm != NULL;
		g->ranks[i].comm = NULL;
	}
	for (i = 0; i < g->coll.n; i++) {
		if (all->one[i].comm)
			begin(&all->one[i]);
	}
	held = wait_for(all, clock_mono_us() + NCCL_ABORT_US);
	for (i = 0; !held && i < g->coll.n; i++) {
		if (all->one[i].threaded)
			(void)pthread_join(all->one[i].thread, NULL);
	}
	if (held) {
		accel_leave_at_once();
		return held;
	}
	(void)pthread_cond_destroy(&all->changed);
	(void)pthread_mutex_destroy(&all->lock);
	free(all);
	return 0;
}

void nccl_comms_abort(struct nccl_group *g)
{
	uint64_t deadline_us;
	bool any = false;
	unsigned i;

	for (i = 0; i < g->coll.n; i++)
		any |= g->ranks[i].comm != NULL;
	if (!any)
		return;
	g->held = abort_all(g);
	deadline_us = g->ops->now_us(g->accel) + NCCL_DRAIN_US;
	for (i = 0; i < g->coll.n; i++) {
		struct nccl_rank *rank = &g->ranks[i];

		if (rank->stream && !(g->held & COLL_RANK_BIT(i)) &&
		    g->ops->stream_wait(rank->stream, deadline_us, NULL) == -ETIMEDOUT)
			g->held |= COLL_RANK_BIT(i);
	}
}
