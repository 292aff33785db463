/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job as Megatron lays it out (tensor, pipeline and data parallel groups, experts over a stage),
 * played until a fault stops it: what each rank has launched, what ended, and who is to blame. All
 * of it follows from the seed.
 *
 * Model: a host launches the operations of its rank in order, at most `ahead` beyond what has ended.
 * A GPU begins an operation when those before it have ended (but for asynchronous ones) and the one
 * before it in its group. A collective ends on a member once all members have begun it; a broadcast
 * once all before it in the group's order have; a send or receive once its other end has begun.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum {
	WORLD_RANKS_MAX = 64,
	WORLD_GROUPS_MAX = 512,
	WORLD_RANK_GROUPS_MAX = 12,
	WORLD_OPS_MAX = 4096, /* of a rank */
	WORLD_STEP_OPS_MAX = 256,
};

enum world_fault {
	WORLD_HOST_STALLED, /* the process launches nothing any more */
	WORLD_GPU_STOPPED,  /* the GPU does nothing more, and what ended lately is not seen */
	WORLD_MISMATCH,	    /* another operation or size */
	WORLD_FABRIC,	    /* a collective does not end, on all members or on some */
	WORLD_KILLED,	    /* the process is gone, and so its dump */
	WORLD_FAULTS
};
extern const char *const world_fault_names[WORLD_FAULTS + 1];

enum world_kind {
	WORLD_ALL_REDUCE,
	WORLD_ALL_GATHER,
	WORLD_REDUCE_SCATTER,
	WORLD_ALL_TO_ALL,
	WORLD_BROADCAST,
	WORLD_SEND,
	WORLD_RECV,
	WORLD_KINDS
};
extern const char *const world_kind_names[WORLD_KINDS]; /* as PyTorch calls them */

struct world_group {
	const char *desc;
	uint32_t ranks[WORLD_RANKS_MAX];
	size_t size;
};

struct world_op {
	uint8_t kind;
	uint8_t slot; /* of the rank's groups */
	uint8_t peer; /* place in the group */
	bool async, begun, done, seen;
	uint32_t seq;	 /* in the group: of collectives, or of sends and receives */
	uint32_t number; /* in the group, of both */
	uint32_t pair;	 /* of sends or receives with that peer */
	int64_t count;
};

struct world_rank {
	uint32_t groups[WORLD_RANK_GROUPS_MAX]; /* by slot, ascending */
	size_t n_groups;
	struct world_op step[WORLD_STEP_OPS_MAX]; /* the program, again and again */
	size_t n_step;
	struct world_op *ops; /* owned; launched */
	size_t n_ops, first;  /* all before `first` have ended */
	uint32_t colls[WORLD_RANK_GROUPS_MAX], p2ps[WORLD_RANK_GROUPS_MAX];  /* launched */
	uint32_t begun[WORLD_RANK_GROUPS_MAX], ended[WORLD_RANK_GROUPS_MAX]; /* collectives */
	uint32_t seen[WORLD_RANK_GROUPS_MAX]; /* numbers of the last that was seen to end */
	uint32_t sent[2][WORLD_RANKS_MAX], got[2][WORLD_RANKS_MAX]; /* launched, begun: by place */
	bool faulty;						    /* chosen; */
	bool guilty;	 /* its fault came before the job stood still */
	size_t stops_at; /* its fault: number of the operation */
	size_t blind;	 /* of a GPU that stopped: so many of the last ends are not seen */
};

struct world {
	uint64_t random; /* state of splitmix64 */
	size_t tp, pp, dp, n_ranks, ahead;
	struct world_group groups[WORLD_GROUPS_MAX];
	size_t n_groups;
	struct world_rank ranks[WORLD_RANKS_MAX];
	enum world_fault fault;
	bool named_alone; /* each rank has a group of its own, as Megatron's experts do */
	int64_t broken_group, broken_seq; /* of the fabric; -1 */
	bool partly;
	bool struck; /* the fault has come */
};

/* Lay it out and play it to its end; culprits have `guilty`. Free it. */
struct world *world_new(uint64_t seed, enum world_fault fault, size_t n_culprits);
void world_free(struct world *w);
DEFINE_CLEANUP(struct world *, world_free, world_freep);

/* The next number below `n` of the world's own row (splitmix64, Steele et al. 2014). */
uint64_t world_random(struct world *w, uint64_t n);
