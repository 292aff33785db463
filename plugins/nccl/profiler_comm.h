/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The communicators of this process that are recorded, and what is asked of NCCL for them.
 *
 * A table of fixed places, made once. A place is EMPTY, OPENING while its owner fills it, LIVE, or
 * GONE. What is looked at from callbacks is atomic; nothing waits, nothing is allocated after init.
 * The ring of a communicator that is gone stays mapped, so that a call that comes late falls on
 * memory, and finds by its generation that it is late; when COMM_QUARANTINE others have gone after
 * it, empty memory takes its place, and the place may be taken by another.
 *
 * A child of fork(2) sees the table empty (MADV_WIPEONFORK) and has none of the rings
 * (MADV_DONTFORK): what NCCL calls there finds nothing, and nothing of the child can be taken for
 * something of its parent.
 *
 * What assayd wants it says in a page of its own, until a time that it moves on. When that has passed
 * it has gone, and when it comes again it knows nothing of us: then one call in a while hands the
 * ring over again (profiler_again.h), and what is wanted is said in the ring's head from then on.
 *
 * NCCL calls nobody while the mask is 0, and we have no thread; so while assayd has a ring but
 * wants nothing the mask is COMM_MASK_IDLE: its calls look at one word of assayd's page and go back
 * without a handle. No assayd, or a version that is not on the list: 0, for good.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/ring/ring_layout.h"
#include "plugins/nccl/profiler_again.h"
#include "plugins/nccl/profiler_api.h"
#include "plugins/nccl/profiler_handle.h"

enum {
	COMM_QUARANTINE = 8,
	COMM_MASK_IDLE = PROFILER_COLL,
	COMM_IDLE_CALLS = 16, /* while nothing is wanted, one in so many looks at the clock */
};

/* Free room of /dev/shm for each rank of the host that must be there when kernels are asked for,
   and when a communicator is made while they are. If once there was less, this process has none
   asked for any more. */
#define COMM_SHM_BYTES (UINT64_C(64) << 20)

/* The last two works of a channel: the start of one is heard before the stop of the one before. */
struct comm_channel {
	_Atomic uint64_t number,
		start_ns; /* of the last; the number is one too high, 0: none yet */
	_Atomic uint64_t number_before, start_before_ns;
};

struct profiler_comm {
	_Atomic uint32_t state;
	_Atomic uint32_t generation;		      /* 0: not live */
	_Atomic uint64_t gone;			      /* the how manieth to go */
	_Atomic(struct ring_head *) head;	      /* once mapped, at this address for good */
	_Atomic(const struct ring_control *) control; /* the page's, or that of its head */
	const struct ring_control *page;	      /* once mapped, at this address for good */
	struct again_offer offer;
	_Atomic uint32_t idle_calls;
	_Atomic uint32_t seen;	 /* of what assayd wants: that is in force */
	_Atomic bool expired;	 /* what it wanted ended, as it did not say that it still lives */
	_Atomic uint32_t wanted; /* mask for NCCL because of this one */
	_Atomic(int *) mask;	 /* NCCL's */
	uint32_t allowed, last_generation;
	int api;
	_Atomic int rank; /* -1: not known yet */
	int n_ranks, n_nodes;

	_Atomic uint32_t plan;	       /* groups of operations that are launched together, so far */
	_Atomic uint32_t plan_started; /* of which a kernel has been heard of */
	_Atomic uint64_t looked; /* operations before this one were looked at when a plan started */
	_Atomic uint64_t func_seq[RING_FUNCS],
		func_number[RING_FUNCS]; /* of the last; both + 1; 0: none */
	struct comm_channel channels[RING_CHANNELS];
	_Atomic uint32_t plans[RING_SLOTS];   /* which an operation is of */
	_Atomic uint32_t proxies[RING_SLOTS]; /* in flight of an operation */
};

/* What NCCL says of a communicator at its init. */
struct comm_who {
	int api, n_nodes, n_ranks, rank; /* rank -1, others 0: not known */
	uint64_t comm_id;
	const char *name; /* or NULL */
	int *mask;
	profiler_log_fn log; /* or NULL */
};

/*
 * Hand a ring of it to assayd and give NCCL its context, or NULL when nothing will be recorded.
 * What became of it is told once a process, in one line.
 */
void profiler_comm_open(const struct comm_who *who, void **ret_context);

/* Nothing comes of it any more. A context that is none is nothing. */
void profiler_comm_close(void *context);

/* The communicator of a live handle; NULL, and counted where that can be done: it is gone. */
struct profiler_comm *profiler_comm_find(struct handle h);

/* That of a context; NULL: nothing is recorded of it. */
struct profiler_comm *profiler_comm_of(const void *context);

/* The number of its place in the table. */
uint32_t profiler_comm_place(const struct profiler_comm *comm);

/* This process, as it was when the table was made; 0: it has none. */
int profiler_comm_pid(void);

/* Change NCCL's mask to what assayd wants now. */
void profiler_comm_ask(struct profiler_comm *comm);

/*
 * Has the time passed until which what is wanted holds? Then NCCL's mask is changed too, and back,
 * and the ring may be handed over again.
 */
bool profiler_comm_expired(struct profiler_comm *comm, uint64_t now_ns);

/* Nothing is wanted: is there still somebody who could want something? */
void profiler_comm_idle(struct profiler_comm *comm);

static inline struct ring_head *profiler_comm_head(struct profiler_comm *comm)
{
	return atomic_load_explicit(&comm->head, memory_order_relaxed);
}

static inline struct ring_slot *profiler_comm_slot(struct profiler_comm *comm, uint64_t number)
{
	char *ring = (char *)profiler_comm_head(comm);

	return (struct ring_slot *)(void *)(ring + RING_HEAD_SIZE +
					    number % RING_SLOTS * RING_SLOT_SIZE);
}

/* Counted by no lock and no locked instruction: a call that two threads make at once counts once. */
static inline bool profiler_comm_is_due(struct profiler_comm *comm)
{
	const uint32_t n = atomic_load_explicit(&comm->idle_calls, memory_order_relaxed) + 1;

	atomic_store_explicit(&comm->idle_calls, n, memory_order_relaxed);
	return n % COMM_IDLE_CALLS == 0;
}

/* Events that are wanted now; 0: none. Two loads, when nothing has changed. */
static inline uint32_t profiler_comm_wants(struct profiler_comm *comm)
{
	const struct ring_control *control =
		atomic_load_explicit(&comm->control, memory_order_relaxed);
	const uint32_t wants = atomic_load_explicit(&control->mask, memory_order_relaxed);

	if (wants != atomic_load_explicit(&comm->seen, memory_order_relaxed))
		profiler_comm_ask(comm);
	else if (!wants && profiler_comm_is_due(comm))
		profiler_comm_idle(comm);
	return wants;
}
