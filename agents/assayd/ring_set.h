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
	uint64_t start_ticks; /* with its number it is this process, and no later one */
	int pidfd;	      /* owned; -1: it had ended before it was met here */
	struct trace_place place;
	enum trace_refusal placed; /* TRACE_TAKEN: all of `place` holds; TRACE_JOB: no job's name */
	uint64_t ended_us;	   /* monotonic; 0: it runs */
	unsigned n_rings;
	bool kept;     /* `keep` of the set was told of it */
	void *of_user; /* of who reads the rings: NULL at first */
};

struct ring_entry {
	struct ring_process *process;
	struct ring_identity identity;
	const void *memory;	      /* owned */
	struct ring_control *control; /* owned; NULL: nothing can be asked of it */
	bool in_head;		      /* `control` is in its head, where the job could write too */
	uint32_t mask;		      /* what was asked of it last */
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
	/* May be NULL, both. Of a ring that is held from now on, with its descriptor, which is
	   borrowed; of one that is let go. And of its process, `ring` NULL (`fd` -1): before its
	   first, and when all of its have been let go. */
	void (*keep)(const struct ring_process *process, const struct ring_entry *ring, int fd);
	void (*let_go)(const struct ring_process *process, const struct ring_entry *ring);
};

/* Who hands it over; `pidfd` is of that very process, which `pid` alone need not be. */
struct ring_owner {
	pid_t pid;
	uid_t uid;
	int pidfd; /* borrowed */
};

/*
 * Hold one more; `fd` stays the caller's. What is of ended processes makes room. `*ret_control_fd`
 * is for the job; without one (NULL) what is wanted is said in the ring's head. RING_TAKEN or why
 * not.
 */
enum ring_refusal ring_set_add(struct ring_set *set, const struct ring_owner *owner, int fd,
			       int *ret_control_fd);

/* The process that this is said to be, by its number and start; NULL: none of its is held. */
struct ring_process *ring_set_find(const struct ring_set *set, const struct ring_process *said);

/*
 * Hold one that was held before a restart; `said` is what was known of its process then: pid, uid,
 * start_ticks and its place. That it may have ended since is found out. As ring_set_add(), but
 * `keep` is not called; what is wanted of it is said in its head. The process stays, also without a
 * ring, until the next ring_set_look().
 */
enum ring_refusal ring_set_adopt(struct ring_set *set, const struct ring_process *said, int fd);

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

/* Let go of all of them. */
void ring_set_release(struct ring_set *set);

/* The same, but jobs go on for a few seconds, and nobody is told: assayd ends, and may come again. */
void ring_set_leave(struct ring_set *set, uint64_t now_ns);
