/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job with Megatron's layout (tensor, pipeline and data parallel groups, experts over a stage),
 * simulated until a fault stops it: what each rank has launched, what has ended, and who is to
 * blame. Deterministic by its seed.
 *
 * Model: a host launches the operations of its rank in order, at most `ahead` beyond the last one
 * that ended. A GPU begins an operation when all earlier ones, except asynchronous ones, and the
 * previous one in its group have ended. A collective ends on a member when all members have begun
 * it; a broadcast when all earlier members of the group have; a send or receive when its peer has.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

enum {
	WORLD_RANKS_MAX = 64,
	WORLD_GROUPS_MAX = 512,
	WORLD_RANK_GROUPS_MAX = 12,
	WORLD_OPS_MAX = 4096, /* per rank */
	WORLD_STEP_OPS_MAX = 256,
};

enum world_fault {
	WORLD_HOST_STALLED, /* the process stops launching */
	WORLD_GPU_STOPPED,  /* the GPU stops, and its latest completions are not recorded */
	WORLD_MISMATCH,	    /* it launches a different operation or size */
	WORLD_FABRIC,	    /* a collective does not end, on all members or on some */
	WORLD_KILLED,	    /* the process dies and leaves no dump */
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
extern const char *const world_kind_names[WORLD_KINDS]; /* PyTorch's names */

struct world_group {
	const char *desc;
	uint32_t ranks[WORLD_RANKS_MAX];
	size_t size;
};

struct world_op {
	uint8_t kind;
	uint8_t slot; /* index of its group in the rank's groups */
	uint8_t peer; /* index in the group */
	bool async, begun, done, seen;
	uint32_t seq;	 /* in the group: counts collectives, or sends and receives */
	uint32_t number; /* in the group: counts both */
	uint32_t pair;	 /* counts sends, or receives, with that peer */
	int64_t count;
};

struct world_rank {
	uint32_t groups[WORLD_RANK_GROUPS_MAX]; /* by slot, ascending */
	size_t n_groups;
	struct world_op step[WORLD_STEP_OPS_MAX]; /* the operations of a step, repeated */
	size_t n_step;
	struct world_op *ops; /* launched; owned */
	size_t n_ops, first;  /* all before `first` have ended */
	uint32_t colls[WORLD_RANK_GROUPS_MAX], p2ps[WORLD_RANK_GROUPS_MAX];  /* launched */
	uint32_t begun[WORLD_RANK_GROUPS_MAX], ended[WORLD_RANK_GROUPS_MAX]; /* collectives */
	uint32_t seen[WORLD_RANK_GROUPS_MAX]; /* number of the last recorded completion */
	uint32_t sent[2][WORLD_RANKS_MAX], got[2][WORLD_RANKS_MAX]; /* launched, begun; by peer */
	bool faulty;						    /* it is to get a fault */
	bool guilty;	 /* its fault struck before the job hung */
	size_t stops_at; /* the operation at which its fault strikes */
	size_t blind;	 /* of a stopped GPU: the number of unrecorded completions */
};

struct world {
	uint64_t random; /* state of splitmix64 */
	size_t tp, pp, dp, n_ranks, ahead;
	struct world_group groups[WORLD_GROUPS_MAX];
	size_t n_groups;
	struct world_rank ranks[WORLD_RANKS_MAX];
	enum world_fault fault;
	bool named_alone; /* each rank has a group of its own, as Megatron's experts do */
	int64_t broken_group, broken_seq; /* of WORLD_FABRIC; -1: none */
	bool partly;
	bool struck; /* the fault has struck */
};

/* Lays out a job and simulates it to its end; culprits have `guilty`. Free with world_free(). */
struct world *world_new(uint64_t seed, enum world_fault fault, size_t n_culprits);
void world_free(struct world *w);
DEFINE_CLEANUP(struct world *, world_free, world_freep);

/* Returns the next random number below `n` (splitmix64, Steele et al. 2014). */
uint64_t world_random(struct world *w, uint64_t n);
