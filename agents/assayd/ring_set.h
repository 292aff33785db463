/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rings that are held, and the processes that they are of. A process is watched by a
 * descriptor, and its number is its own until that says that it has ended: what it said of its job
 * and rank when it handed over its first ring holds for all of them.
 */
#pragma once

#include <stdint.h>

#include "agents/assayd/ring_memory.h"
#include "agents/assayd/ring_rules.h"
#include "agents/assayd/trace_rules.h"
#include "lib/base/macro.h"
#include "lib/ring/ring_read.h"

#define RING_SET_FINALIZED_US USEC_PER_MIN /* who gave a communicator up in order left no riddle */

struct ring_process {
	pid_t pid;
	uid_t uid;
	int pidfd; /* owned */
	struct trace_place place;
	enum trace_refusal placed; /* TRACE_TAKEN: all of `place` holds; TRACE_JOB: no job's name */
	uint64_t ended_us;	   /* monotonic; 0: it runs */
	unsigned n_rings;
	void *of_user; /* of who reads the rings: NULL at first */
};

struct ring_entry {
	struct ring_process *process;
	struct ring_identity identity;
	const void *memory;	      /* owned */
	struct ring_control *control; /* owned */
	struct ring_comm comm;	      /* as it was read last */
	uint64_t finalized_us;	      /* seen to be given up then, monotonic; 0 */
	uint64_t since_ns; /* kernels are recorded since, without a break; CLOCK_MONOTONIC; 0: not */
};

struct ring_set {
	struct ring_process **processes; /* owned, each; room for RING_PROCESSES_MAX */
	size_t n_processes;
	struct ring_entry *rings; /* owned */
	size_t n_rings, rings_alloc;
	struct ring_limits limits;
	void (*forget)(void *of_user); /* of a process that goes; may be NULL */
};

/* Who hands it over; `pidfd` is of that very process, which `pid` alone need not be. */
struct ring_owner {
	pid_t pid;
	uid_t uid;
	int pidfd; /* borrowed */
};

/*
 * Hold one more; `fd` stays the caller's. What is of ended processes makes room. `*ret_control_fd`
 * is for the job. RING_TAKEN or why not.
 */
enum ring_refusal ring_set_add(struct ring_set *set, const struct ring_owner *owner, int fd,
			       int *ret_control_fd);

/* See who has ended, and let go of what has been held for long enough. */
void ring_set_look(struct ring_set *set, uint64_t now_us, uint64_t hold_us);

/* Record what `mask` says from now on; to be said again every few seconds. */
void ring_set_mask(struct ring_entry *ring, uint32_t mask, uint64_t now_ns);

/*
 * Read one: who it is of into its `comm`, and its operations from `from` on as ring_read_ops() does
 * it. 0 when it cannot be read.
 */
size_t ring_set_read(struct ring_entry *ring, uint64_t from, uint64_t now_ns,
		     struct ring_op ret[static RING_SLOTS], struct ring_read_counts *counts);

void ring_set_release(struct ring_set *set);
