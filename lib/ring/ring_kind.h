/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a communicator of a job is for, from its size and the rank's place in it, given the shape of
 * the job; and what an operation in it is in terms of optrace/1. Pure.
 *
 * Rank r of a job dp x pp x tp is r % tp in its tensor-parallel group, replica r / tp % dp, stage r
 * / (tp * dp), as in Megatron. If two groups have the same size and the rank has the same place in
 * both, functions and sizes decide; if these do not either, that is reported and nothing is
 * guessed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/ring/ring_op.h"

struct err;

enum ring_kind {
	RING_KIND_NONE,	    /* none of these: its operations are part of computing */
	RING_KIND_TENSOR,   /* within a worker: the same */
	RING_KIND_DATA,	    /* the replicas of a stage */
	RING_KIND_PIPELINE, /* the stages of a replica, or two of them */
	RING_KIND_MODEL,    /* all of a replica, or of the job */
	RING_KIND_EMBEDDING /* first and last stage */
};

/* Operations of optrace/1 that rings show; names in ring_kind_names. */
enum ring_work {
	RING_WORK_NONE,
	RING_WORK_FORWARD_SEND,
	RING_WORK_FORWARD_RECV,
	RING_WORK_BACKWARD_SEND,
	RING_WORK_BACKWARD_RECV,
	RING_WORK_PARAMS,
	RING_WORK_GRADS,
	RING_WORK_EMBEDDING,
	RING_WORK_CLIP,
	RING_WORK_FORWARD,
	RING_WORK_BACKWARD,
	RING_WORK_OPTIMIZER,
	RING_WORKS
};
extern const char *const ring_work_names[RING_WORKS]; /* "" "forward-send" ... */

/* An all-reduce of at most this size is a norm or a flag, not gradients. */
enum { RING_KIND_SMALL_BYTES = 1024 };

/* The shape of the job, and the rank of the process. */
struct ring_shape {
	unsigned dp, pp, tp;
	int64_t rank;
};

static inline unsigned ring_shape_tensor(const struct ring_shape *s)
{
	return (unsigned)(s->rank % s->tp);
}
static inline unsigned ring_shape_replica(const struct ring_shape *s)
{
	return (unsigned)(s->rank / s->tp % s->dp);
}
static inline unsigned ring_shape_stage(const struct ring_shape *s)
{
	return (unsigned)(s->rank / s->tp / s->dp);
}

/* -EINVAL: a size of 0, more than 16384 ranks, or a rank out of range. */
int ring_kind_check_shape(const struct ring_shape *s, struct err *err);

/*
 * Finds the kind of each of `n` rings of one process. -ENODATA with a sentence: there is no
 * communicator for replicas or stages, or it cannot be told from another.
 */
int ring_kind_find(const struct ring_view *rings, size_t n, const struct ring_shape *shape,
		   enum ring_kind *kinds, struct err *err);

/* What an operation is. -ENODATA: to or from a stage that is not a neighbour (model chunks). */
int ring_kind_work(enum ring_kind kind, const struct ring_comm *comm, const struct ring_op *op,
		   const struct ring_shape *shape, struct err *err);
