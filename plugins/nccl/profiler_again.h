/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands a ring over again after assayd was restarted and no longer knows about it.
 *
 * We have no thread, so this happens inside a call from NCCL that finds assayd's last request
 * expired. Such a call takes some ten microseconds, so this process makes at most one per second
 * while rings are accepted. If nobody is there, or assayd did not confirm a ring in its head, the
 * next attempt waits for AGAIN_WAIT_S, then twice as long, and so on up to AGAIN_WAIT_MAX_S. It
 * never blocks: if another thread is doing it, or the socket's queue is full, it is skipped.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <sys/un.h>

#include "lib/ring/ring_layout.h"

enum {
	AGAIN_PAUSE_S = 1,
	AGAIN_WAIT_S = 10,
	AGAIN_WAIT_MAX_S = 160,
};

/* Per process; zero-initialised. */
struct again_pace {
	_Atomic uint64_t due_ns; /* CLOCK_MONOTONIC; no handover before */
	_Atomic uint32_t wait_s; /* for the next time nobody is there; 0: AGAIN_WAIT_S */
};

/* Per ring; zero-initialised: it is never handed over. */
struct again_offer {
	struct sockaddr_un where;
	_Atomic int ring;	 /* descriptor + 1; 0: none; negative: in use by a call */
	uint64_t device, inode;	 /* of the ring: the job may have closed the descriptor */
	_Atomic uint64_t due_ns; /* as above, for this ring */
	_Atomic uint32_t wait_s;
};

/* Store what a handover needs. Takes ownership of the descriptor. */
void profiler_again_keep(struct again_offer *offer, const struct sockaddr_un *where, int ring);

/* Close the descriptor: the ring is given up. */
void profiler_again_forget(struct again_offer *offer);

/* assayd has the ring and has confirmed it: the next attempt starts with the shortest wait. */
void profiler_again_taken(struct again_offer *offer);

/* Hand the ring over if it is time. Counts it, and its longest duration, in the ring's head. */
void profiler_again(struct again_offer *offer, struct again_pace *pace, struct ring_head *head,
		    uint64_t now_ns);
