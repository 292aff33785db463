/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rings that are held, and their processes. A process is watched through a pidfd, so its PID
 * cannot be reused unnoticed. The job and rank that it stated with its first ring apply to all
 * its rings.
 */
#pragma once

#include <stdint.h>

#include "agents/assayd/ring_memory.h"
#include "agents/assayd/ring_rules.h"
#include "agents/assayd/trace_rules.h"
#include "lib/base/macro.h"
#include "lib/ring/ring_read.h"

#define RING_SET_FINALIZED_US USEC_PER_MIN /* keep a ring so long after an orderly finalize */

struct ring_process {
	pid_t pid;
	uid_t uid;
	uint64_t start_ticks; /* with the PID, identifies the process */
	int pidfd;	      /* owned; -1: it had already ended when added */
	struct trace_place place;
	enum trace_refusal placed; /* TRACE_TAKEN: `place` is complete; TRACE_JOB: no job name */
	uint64_t ended_us;	   /* monotonic; 0: running */
	unsigned n_rings;
	bool kept;     /* `keep` was called for it */
	void *of_user; /* private data of the reader, initially NULL */
};

struct ring_entry {
	struct ring_process *process;
	struct ring_identity identity;
	const void *memory;	      /* owned */
	struct ring_control *control; /* owned; NULL: nothing can be requested */
	bool in_head;		      /* `control` is in the ring's head: the job can write it */
	uint32_t mask;		      /* last requested */
	struct ring_comm comm;	      /* as last read */
	uint64_t finalized_us;	      /* monotonic: when first seen finalized; 0: not */
	uint64_t since_ns; /* CLOCK_MONOTONIC: kernels recorded without a gap since; 0: not */
};

struct ring_set {
	struct ring_process **processes; /* owned, each; room for RING_PROCESSES_MAX */
	size_t n_processes;
	struct ring_entry *rings; /* owned */
	size_t n_rings, rings_alloc;
	struct ring_limits limits;
	void (*forget)(void *of_user); /* frees `of_user` when a process is dropped; may be NULL */
	/*
	 * Both may be NULL. Called when a ring is accepted (`fd` is borrowed) and when it is
	 * dropped; also with `ring` NULL (and `fd` -1) for its process, before its first ring and
	 * after its last one.
	 */
	void (*keep)(const struct ring_process *process, const struct ring_entry *ring, int fd);
	void (*let_go)(const struct ring_process *process, const struct ring_entry *ring);
};

/* The process that passes a ring; `pidfd` is bound to it, `pid` alone may have been reused. */
struct ring_owner {
	pid_t pid;
	uid_t uid;
	int pidfd; /* borrowed */
};

/*
 * Accept a ring; the caller keeps `fd`. Rings of ended processes are dropped to make room.
 * `*ret_control_fd` is for the job; if it is NULL, requests are written into the ring's head.
 * RING_TAKEN or the reason for the refusal.
 */
enum ring_refusal ring_set_add(struct ring_set *set, const struct ring_owner *owner, int fd,
			       int *ret_control_fd);

/* Find a process by PID and start time; NULL if no ring of it is held. */
struct ring_process *ring_set_find(const struct ring_set *set, const struct ring_process *said);

/*
 * Accept a ring that was held before a restart; `said` is what was known of its process: pid,
 * uid, start_ticks and place. Checks whether the process has ended since. Like ring_set_add(),
 * but `keep` is not called, and requests are written into the ring's head. The process stays
 * until the next ring_set_look(), even without rings.
 */
enum ring_refusal ring_set_adopt(struct ring_set *set, const struct ring_process *said, int fd);

/* Check which processes have ended, and drop rings whose hold time is over. */
void ring_set_look(struct ring_set *set, uint64_t now_us, uint64_t hold_us);

/* Request recording of `mask`; must be repeated every few seconds. */
void ring_set_mask(struct ring_entry *ring, uint32_t mask, uint64_t now_ns);

/*
 * Read a ring: its communicator into `comm`, and its operations starting at `from`, as
 * ring_read_ops() does. 0 if it cannot be read.
 */
size_t ring_set_read(struct ring_entry *ring, uint64_t from, uint64_t now_ns,
		     struct ring_op ret[static RING_SLOTS], struct ring_read_counts *counts);

/* Drop all rings. */
void ring_set_release(struct ring_set *set);

/*
 * The same, but jobs keep recording for a few seconds and `let_go` is not called: assayd is
 * stopping and may be restarted.
 */
void ring_set_leave(struct ring_set *set, uint64_t now_ns);
