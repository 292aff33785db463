/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job that has stopped, as far as it is known: its ranks, the groups (communicators) that they
 * meet in, how far each rank is in each of them, and what hosts say of its processes and devices.
 * Every source (a flight recorder's dump, RAS, a ring of the NCCL plug-in, /proc) puts in what it
 * has; hang_judge.h says from it who has stopped. Pure memory.
 *
 * A number that nobody said is HANG_UNKNOWN, and HANG_NONE stands before the first: an absent
 * answer is never taken for a zero.
 *
 * What comes in is of strangers: all that grows has a limit, and memory that is refused is an error
 * (-ENOMEM). Looking up a rank, a group or a position takes the same time however many there are.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum {
	HANG_RANKS_MAX = 16384,
	HANG_GROUPS_MAX = 65536,	    /* of a job */
	HANG_MEMBERS_MAX = 4 * 1024 * 1024, /* of all groups together */
	HANG_POSITIONS_MAX = 1024 * 1024,   /* of all ranks together */
	HANG_OPS_MAX = 1024 * 1024,	    /* of all ranks together */
	HANG_MISSING_MAX = 256,		    /* sentences */
	HANG_NAMESAKES_MAX = 4096, /* groups of one name and size that are looked through */
	HANG_NAME_SIZE = 96,
	HANG_WHERE_SIZE = 160,
	HANG_SENTENCE_SIZE = 256,
};

#define HANG_UNKNOWN INT64_C(-2)
#define HANG_NONE INT64_C(-1)		   /* none so far */
#define HANG_NUMBER_MAX (INT64_C(1) << 62) /* of an operation: what is counted on from it fits */
#define HANG_NOBODY UINT32_MAX		   /* a member of a group whose global rank nobody said */

/* Who has said something of a rank: bits. */
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

/* What a process does, as /proc tells. */
enum hang_process {
	HANG_PROCESS_UNKNOWN,
	HANG_PROCESS_RUNNING,  /* it computes on a processor, and this moves */
	HANG_PROCESS_SPINNING, /* it takes a whole processor in one place of the user's program */
	HANG_PROCESS_SLEEPING, /* it waits for something that is not one of the next */
	HANG_PROCESS_FUTEX,    /* it waits for a lock or another thread */
	HANG_PROCESS_DISK,     /* uninterruptible: it waits for a device or a file system */
	HANG_PROCESS_STOPPED,  /* a signal stopped it */
	HANG_PROCESS_TRACED,   /* a debugger has it */
	HANG_PROCESS_ZOMBIE,
	HANG_PROCESS_GONE, /* it ran, and has ended */
	HANG_PROCESSES
};
extern const char *const hang_process_names[HANG_PROCESSES + 1]; /* "unknown" "running" ...; NULL */

/* A communicator, the same on all its ranks: known by its name and, where they are known, members. */
struct hang_group {
	char name[HANG_NAME_SIZE], desc[HANG_NAME_SIZE];
	uint32_t *ranks; /* owned; [size] global ranks in the group's order, HANG_NOBODY */
	size_t size;
	size_t n_known; /* members that are not HANG_NOBODY */
	uint32_t next;	/* the group of the same name and size before this one, and 1; 0: none */
	bool p2p;	/* it carries sends and receives: counters of its members do not compare */
};

/* What is said of a group's members: a list, or else some places. */
struct hang_member {
	uint32_t place, rank;
};
struct hang_members {
	size_t size;
	const uint32_t *ranks;		 /* [size], HANG_NOBODY; NULL: the next ones count */
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

/* An operation that has not ended, or ended lately. */
struct hang_op {
	uint32_t rank, group;
	int64_t seq;
	int64_t peer;  /* global rank of a send's or receive's other end; HANG_UNKNOWN */
	int64_t count; /* elements in; HANG_UNKNOWN */
	int64_t count_out;
	double for_s;  /* in this state; NAN */
	char name[40]; /* "all_reduce", "send", "recv" ...: of any library, in these words */
	char dtype[24];
	uint8_t state; /* enum hang_op_state */
	uint8_t wait;  /* what its proxy waits for: enum ring_wait (lib/ring/ring_layout.h), 0 */
};

struct hang_rank {
	unsigned sources; /* enum hang_source; 0: nobody said anything of it */
	char node[HANG_NAME_SIZE];
	char gpu[HANG_NAME_SIZE]; /* as people know it: "gpu 3" */
	int64_t pid;		  /* HANG_UNKNOWN */
	uint8_t process;	  /* enum hang_process */
	double process_s;	  /* it is seen so for; NAN */
	char wchan[48], syscall[48];
	char where[HANG_WHERE_SIZE]; /* innermost frame that says something: "next (loader.py:31)" */
	int64_t xid; /* a fatal one since the job's last step; HANG_UNKNOWN, HANG_NONE */
	double gpu_util, gpu_power; /* 0 to 1; power as part of the job's own usual; NAN */
	double rdma_bytes_s;	    /* NAN */
};
extern const struct hang_rank hang_rank_unknown; /* nobody said anything */

/* Places of an array by a hash: open addressing, a place and 1, 0 where there is none. */
struct hang_index {
	uint32_t *slots; /* owned; a power of two of them */
	size_t n_slots, n_used;
};

struct hang_case {
	struct hang_rank *ranks; /* owned; [n_ranks], by global rank */
	size_t n_ranks;		 /* the world, as far as anybody said */
	struct hang_group *groups;
	size_t n_groups, groups_alloc;
	struct hang_position *positions; /* one of a rank and group */
	size_t n_positions, positions_alloc;
	struct hang_op *ops;
	size_t n_ops, ops_alloc;
	size_t n_members;
	char **missing; /* owned; sentences of what could not be had, or cannot be right */
	size_t n_missing;
	size_t ranks_alloc;
	struct hang_index by_name, by_members, by_rank; /* groups, groups, positions */
};
struct err;

/* Zeroes are a case of nobody. */
void hang_case_release(struct hang_case *c);

/*
 * The rank, made with all before it if it is new. The pointer is good until the next call that may
 * make one. -E2BIG, -EINVAL (a negative rank) with a sentence.
 */
int hang_case_rank(struct hang_case *c, int64_t rank, struct hang_rank **ret, struct err *err);

/*
 * The place of the group of this name and size, made if it is new. `ranks` (may be NULL: not known;
 * entries may be HANG_NOBODY) fills in what was not known; ones that contradict make another group
 * of the same name. -EINVAL: a rank that is named twice; -E2BIG.
 */
int hang_case_group(struct hang_case *c, const char *name, const char *desc, const uint32_t *ranks,
		    size_t size, uint32_t *ret, struct err *err);

/* The same. O(what is said), and not O(size), unless the group is new. */
int hang_case_join(struct hang_case *c, const char *name, const char *desc,
		   const struct hang_members *members, uint32_t *ret, struct err *err);

/* Take what is known of a rank in a group: of each number the larger one stands. -E2BIG, -EINVAL,
 * also of a number beyond HANG_NUMBER_MAX. */
int hang_case_position(struct hang_case *c, const struct hang_position *position, struct err *err);
int hang_case_op(struct hang_case *c, const struct hang_op *op, struct err *err);

/* What is known of a rank in a group; NULL: nothing. */
const struct hang_position *hang_case_find(const struct hang_case *c, uint32_t rank, uint32_t group);

/* The place of a rank in a group, or -1. O(size). */
int64_t hang_case_place(const struct hang_group *group, uint32_t rank);

/* Note a sentence of what is missing, once; those beyond HANG_MISSING_MAX are dropped. */
void hang_case_missing(struct hang_case *c, const char *fmt, ...) PRINTF(2, 3);
