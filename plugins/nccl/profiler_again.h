/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ring is handed over again, when assayd was started anew and knows nothing of it.
 *
 * That is done where NCCL calls, as we have no thread, in a call that has found that what assayd
 * wanted has ended. Such a call takes some ten microseconds. So it is one a second of all this
 * process's, while rings are taken; and none for AGAIN_WAIT_S, then twice as long, and so on to
 * AGAIN_WAIT_MAX_S, when nobody was there, or one that was sent did not get an answer in its head.
 * Nothing waits: where another thread is at it, or the queue of the socket is full, it is left out.
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

/* Of the process; zeroes at first. */
struct again_pace {
	_Atomic uint64_t due_ns; /* CLOCK_MONOTONIC; nothing is handed over before */
	_Atomic uint32_t wait_s; /* after the next time that nobody is there; 0: AGAIN_WAIT_S */
};

/* What it takes, of one ring; zeroes: it is never handed over. */
struct again_offer {
	struct sockaddr_un where;
	_Atomic int ring;	 /* its descriptor + 1; 0: none; less: a call is using it */
	uint64_t device, inode;	 /* what the descriptor is of: the job may have closed it */
	_Atomic uint64_t due_ns; /* as above, of this one */
	_Atomic uint32_t wait_s;
};

/* Keep what it takes, and the descriptor, which is no longer the caller's. */
void profiler_again_keep(struct again_offer *offer, const struct sockaddr_un *where, int ring);

/* Close the descriptor: the ring is given up. */
void profiler_again_forget(struct again_offer *offer);

/* Somebody has it, and says so: the next time begins with the shortest wait. */
void profiler_again_taken(struct again_offer *offer);

/* Hand it over, if it is time; how often and how long it took at most is written into its head. */
void profiler_again(struct again_offer *offer, struct again_pace *pace, struct ring_head *head,
		    uint64_t now_ns);
