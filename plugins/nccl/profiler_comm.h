/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorded communicators of this process, and the event mask set in NCCL for them.
 *
 * A table of fixed size, created once. An entry is EMPTY, OPENING while its owner fills it in,
 * LIVE, or GONE. Everything that callbacks look at is atomic; nothing blocks, and nothing is
 * allocated after init. The ring of a communicator that is gone stays mapped, so that a late call
 * touches valid memory and recognises by the generation that it is late. After COMM_QUARANTINE more
 * have gone, it is replaced with empty memory, and the entry can be reused (earlier if no entry is
 * unused).
 *
 * A child of fork(2) sees an empty table (MADV_WIPEONFORK) and has none of the rings
 * (MADV_DONTFORK). NCCL calls in the child find nothing, so that nothing of the child can be
 * mistaken for its parent's.
 *
 * assayd writes its requests to a page of its own, with an expiry time that it keeps extending. If
 * they expire, that assayd has gone, and a new one does not know us. Then calls at intervals hand
 * the ring over again (profiler_again.h), and from then on requests are written to the head of the
 * ring.
 *
 * While the mask is 0 NCCL never calls, and we have no thread. So while assayd has a ring but
 * requests nothing, the mask is COMM_MASK_IDLE: calls then look at one word of assayd's page and
 * return without a handle. Without assayd, or with an NCCL version that is not on the list, the
 * mask stays 0 for good.
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
	COMM_IDLE_CALLS = 16, /* while nothing is requested, calls between clock readings */
};

/*
 * Required free space in /dev/shm per local rank, checked when kernel events are requested and when
 * a communicator is created while they are. If there was ever less, this process never records
 * kernel events again.
 */
#define COMM_SHM_BYTES (UINT64_C(64) << 20)

/* The last two operations of a channel: one may start before the stop of the other is reported. */
struct comm_channel {
	_Atomic uint64_t number, start_ns; /* of the last; number + 1, 0: none yet */
	_Atomic uint64_t number_before, start_before_ns;
};

struct profiler_comm {
	_Atomic uint32_t state;
	_Atomic uint32_t generation;		      /* 0: not live */
	_Atomic uint64_t gone;			      /* n if it was the n-th to go */
	_Atomic(struct ring_head *) head;	      /* once mapped, its address never changes */
	_Atomic(const struct ring_control *) control; /* in the page, or in the head */
	const struct ring_control *page;	      /* once mapped, its address never changes */
	struct again_offer offer;
	_Atomic uint32_t idle_calls;
	_Atomic uint32_t seen;	 /* the request of assayd in force */
	_Atomic bool expired;	 /* the request expired, as assayd did not extend it */
	_Atomic uint32_t wanted; /* NCCL mask for this communicator */
	_Atomic(int *) mask;	 /* NCCL's variable */
	uint32_t allowed, last_generation;
	int api;
	_Atomic int rank; /* -1: not known yet */
	int n_ranks, n_nodes;

	_Atomic uint32_t plan;	       /* groups of operations launched together, so far */
	_Atomic uint32_t plan_started; /* the last one with a known kernel start */
	_Atomic uint64_t looked;       /* operations before this were checked when a plan started */
	_Atomic uint64_t func_seq[RING_FUNCS],
		func_number[RING_FUNCS]; /* of the last operation; both + 1; 0: none */
	struct comm_channel channels[RING_CHANNELS];
	_Atomic uint32_t plans[RING_SLOTS];   /* the plan of an operation */
	_Atomic uint32_t proxies[RING_SLOTS]; /* outstanding proxies of an operation */
};

/* What NCCL says about a communicator at its init. */
struct comm_who {
	int api, n_nodes, n_ranks, rank; /* rank -1, others 0: unknown */
	uint64_t comm_id;
	const char *name; /* may be NULL */
	int *mask;
	profiler_log_fn log; /* may be NULL */
};

/*
 * Hand a ring for the communicator to assayd and return the context for NCCL, or NULL if nothing
 * will be recorded. The outcome is logged in one line, once per process.
 */
void profiler_comm_open(const struct comm_who *who, void **ret_context);

/* Stop recording the communicator. Does nothing if `context` is not one of ours. */
void profiler_comm_close(void *context);

/* The communicator of a handle. NULL if it is gone, which is counted if possible. */
struct profiler_comm *profiler_comm_find(struct handle h);

/* The communicator of a context; NULL if it is not recorded. */
struct profiler_comm *profiler_comm_of(const void *context);

/* Its index in the table. */
uint32_t profiler_comm_place(const struct profiler_comm *comm);

/* The pid of this process when the table was created; 0 if there is no table. */
int profiler_comm_pid(void);

/* Update NCCL's mask to assayd's current request. */
void profiler_comm_ask(struct profiler_comm *comm);

/* Has the request expired? Also updates NCCL's mask, and may hand the ring over again. */
bool profiler_comm_expired(struct profiler_comm *comm, uint64_t now_ns);

/* Called while nothing is requested: checks that assayd is still there. */
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

/* Counts without a lock or locked instruction, so two simultaneous calls may count as one. */
static inline bool profiler_comm_is_due(struct profiler_comm *comm)
{
	const uint32_t n = atomic_load_explicit(&comm->idle_calls, memory_order_relaxed) + 1;

	atomic_store_explicit(&comm->idle_calls, n, memory_order_relaxed);
	return n % COMM_IDLE_CALLS == 0;
}

/* The events requested now; 0: none. Two loads if nothing has changed. */
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
