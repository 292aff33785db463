/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a job that has stopped: its ranks, the groups (communicators) that they meet in,
 * how far each rank is in each of them, and what hosts say of its processes and devices. Every
 * source (a flight-recorder dump, RAS, a ring of the NCCL plug-in, /proc) adds what it has;
 * hang_judge.h concludes who has stopped. Pure memory.
 *
 * A number that was not given is HANG_UNKNOWN, and HANG_NONE precedes the first: an absent answer
 * never counts as zero.
 *
 * Input is untrusted: everything that grows has a limit, and a failed allocation is an error
 * (-ENOMEM). Looking up a rank, a group or a position takes constant time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum {
	HANG_RANKS_MAX = 16384,
	HANG_GROUPS_MAX = 65536,	    /* per job */
	HANG_MEMBERS_MAX = 4 * 1024 * 1024, /* all groups together */
	HANG_POSITIONS_MAX = 1024 * 1024,   /* all ranks together */
	HANG_OPS_MAX = 1024 * 1024,	    /* all ranks together */
	HANG_MISSING_MAX = 256,		    /* sentences */
	HANG_NAMESAKES_MAX = 4096,	    /* groups with one name and size that are searched */
	HANG_NAME_SIZE = 96,
	HANG_WHERE_SIZE = 160,
	HANG_SENTENCE_SIZE = 256,
};

#define HANG_UNKNOWN INT64_C(-2)
#define HANG_NONE INT64_C(-1)		   /* none so far */
#define HANG_NUMBER_MAX (INT64_C(1) << 62) /* of an operation; leaves room to count on */
#define HANG_NOBODY UINT32_MAX		   /* a member of a group whose global rank is unknown */

/* Who has reported something about a rank; bits. */
enum hang_source {
	HANG_FLIGHT_RECORDER = 1,
	HANG_RAS = 2,
	HANG_RING = 4,
	HANG_PROCESS = 8,
	HANG_STACK = 16,
	HANG_DEVICE = 32,
};
enum { HANG_SOURCES = 6 };
extern const char
	*const hang_source_names[HANG_SOURCES + 1]; /* by bit: "flight-recorder" ...; NULL */

/* State of a process, from /proc. */
enum hang_process {
	HANG_PROCESS_UNKNOWN,
	HANG_PROCESS_RUNNING,  /* it computes on a CPU, and makes progress */
	HANG_PROCESS_SPINNING, /* it uses a whole CPU in one place of the user's program */
	HANG_PROCESS_SLEEPING, /* it waits for something other than the next ones */
	HANG_PROCESS_FUTEX,    /* it waits for a lock or another thread */
	HANG_PROCESS_DISK,     /* uninterruptible: it waits for a device or a file system */
	HANG_PROCESS_STOPPED,  /* stopped by a signal */
	HANG_PROCESS_TRACED,   /* held by a debugger */
	HANG_PROCESS_ZOMBIE,
	HANG_PROCESS_GONE, /* it ran, and has ended */
	HANG_PROCESSES
};
extern const char *const hang_process_names[HANG_PROCESSES + 1]; /* "unknown" "running" ...; NULL */

/* A communicator, the same on all its ranks; identified by name and, if known, by its members. */
struct hang_group {
	char name[HANG_NAME_SIZE], desc[HANG_NAME_SIZE];
	uint32_t *ranks; /* owned; [size] global ranks in the order of the group; HANG_NOBODY */
	size_t size;
	size_t n_known; /* members that are not HANG_NOBODY */
	uint32_t next;	/* 1 + index of the previous group with this name and size; 0: none */
	bool p2p;	/* it has sends and receives, so counters of members are not comparable */
};

/* Known members of a group: a list, or else some places. */
struct hang_member {
	uint32_t place, rank;
};
struct hang_members {
	size_t size;
	const uint32_t *ranks;		 /* [size], HANG_NOBODY; NULL: use the next two */
	const struct hang_member *known; /* by place, each once */
	size_t n_known;
};

/* How far a rank is in a group: numbers of the last collective that it has ... */
struct hang_position {
	uint32_t rank, group;
	int64_t enqueued, started, completed; /* HANG_UNKNOWN, HANG_NONE */
};

enum hang_op_state {
	HANG_OP_UNKNOWN,
	HANG_OP_ENQUEUED,
	HANG_OP_STARTED,
	HANG_OP_ENDED,
	HANG_OP_STATES
};
extern const char *const hang_op_state_names[HANG_OP_STATES + 1]; /* "unknown" "enqueued" ...; NULL */

/* An operation that has not ended, or ended recently. */
struct hang_op {
	uint32_t rank, group;
	int64_t seq;
	int64_t peer;  /* global rank of the other end of a send or receive; HANG_UNKNOWN */
	int64_t count; /* input elements; HANG_UNKNOWN */
	int64_t count_out;
	double for_s;  /* in this state; NAN */
	char name[40]; /* "all_reduce", "send", "recv" ...: the same words for all libraries */
	char dtype[24];
	uint8_t state; /* enum hang_op_state */
	uint8_t wait;  /* wait of its proxy: enum ring_wait (lib/ring/ring_layout.h), or 0 */
};

struct hang_rank {
	unsigned sources; /* enum hang_source; 0: nothing was reported */
	char node[HANG_NAME_SIZE];
	char gpu[HANG_NAME_SIZE]; /* name for people: "gpu 3" */
	int64_t pid;		  /* HANG_UNKNOWN */
	uint8_t process;	  /* enum hang_process */
	double process_s;	  /* observed in that state for; NAN */
	char wchan[48], syscall[48];
	char where[HANG_WHERE_SIZE]; /* innermost meaningful frame: "next (loader.py:31)" */
	int64_t xid; /* a fatal one since the job's last step; HANG_UNKNOWN, HANG_NONE */
	double gpu_util, gpu_power; /* 0 to 1; power relative to the job's usual; NAN */
	double rdma_bytes_s;	    /* NAN */
};
extern const struct hang_rank hang_rank_unknown; /* nothing was reported */

/* Hash index of an array: open addressing; slots hold 1 + index, 0 if empty. */
struct hang_index {
	uint32_t *slots; /* owned; a power of two of them */
	size_t n_slots, n_used;
};

struct hang_case {
	struct hang_rank *ranks; /* owned; [n_ranks], by global rank */
	size_t n_ranks;		 /* the world size, as far as reported */
	struct hang_group *groups;
	size_t n_groups, groups_alloc;
	struct hang_position *positions; /* at most one per rank and group */
	size_t n_positions, positions_alloc;
	struct hang_op *ops;
	size_t n_ops, ops_alloc;
	size_t n_members;
	char **missing; /* owned; sentences about what is unavailable, or cannot be right */
	size_t n_missing;
	size_t ranks_alloc;
	struct hang_index by_name, by_members, by_rank; /* groups, groups, positions */
};
struct err;

/* Zeroed: empty. */
void hang_case_release(struct hang_case *c);

/*
 * The rank; creates it, and all before it, if new. The pointer is valid until the next call that
 * can create one. -E2BIG, -EINVAL (a negative rank) with a sentence.
 */
int hang_case_rank(struct hang_case *c, int64_t rank, struct hang_rank **ret, struct err *err);

/*
 * The index of the group with this name and size, created if new. `ranks` (may be NULL: unknown;
 * entries may be HANG_NOBODY) fills in unknown members; contradicting ones create another group of
 * the same name. -EINVAL: a rank is listed twice; -E2BIG.
 */
int hang_case_group(struct hang_case *c, const char *name, const char *desc, const uint32_t *ranks,
		    size_t size, uint32_t *ret, struct err *err);

/* The same. O(members given) instead of O(size), unless the group is new. */
int hang_case_join(struct hang_case *c, const char *name, const char *desc,
		   const struct hang_members *members, uint32_t *ret, struct err *err);

/*
 * Merges what is known of a rank in a group: the larger of each number is kept. -E2BIG; -EINVAL,
 * also for a number beyond HANG_NUMBER_MAX.
 */
int hang_case_position(struct hang_case *c, const struct hang_position *position, struct err *err);
int hang_case_op(struct hang_case *c, const struct hang_op *op, struct err *err);

/* What is known of a rank in a group; NULL if nothing. */
const struct hang_position *hang_case_find(const struct hang_case *c, uint32_t rank, uint32_t group);

/* The place of a rank in a group, or -1. O(size). */
int64_t hang_case_place(const struct hang_group *group, uint32_t rank);

/* Adds a sentence about what is missing, once; beyond HANG_MISSING_MAX they are dropped. */
void hang_case_missing(struct hang_case *c, const char *fmt, ...) PRINTF(2, 3);
