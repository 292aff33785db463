/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job with several pipelines can do about hosts of known slowness without giving one up:
 * redistribute micro-batches among pipelines, recut the layers in each, both, and first collect the
 * slow hosts in one pipeline, as Malleus does (Li et al., SIGMOD 2025).
 *
 * A pipeline takes its duration under 1F1B (pipe_1f1b.h), a step that of the slowest. Exact: the
 * micro-batches, since a pipeline is never faster with one more, and the slowest stage of a cut
 * (layers_cut.h). Not exact: which hosts are together. `bound` is a lower bound for any
 * arrangement: all work over all speed, with no stage ever idle.
 *
 * A way that is not faster than the current state is not used: its plan is the current state.
 *
 * Stages with several model chunks keep their layers, and micro-batches are distributed in
 * multiples of the stages, as interleaved 1F1B needs.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/base/macro.h"

struct err;

enum {
	REARRANGE_WORKERS_MAX = 16384,
	REARRANGE_LAYERS_MAX = 512,
	REARRANGE_WORK_MAX = 1 << 28, /* pipelines * stages * micro-batches^2 */
};

/* All borrowed. Bytes and seconds are for one micro-batch on a good host. */
struct rearrange_job {
	size_t dp, pp, microbatches;	  /* current micro-batches of each pipeline */
	size_t chunks;			  /* per stage, interleaved if several; 0 is 1 */
	size_t layers;			  /* of the model: pp to REARRANGE_LAYERS_MAX */
	const double *forward, *backward; /* per layer, above 0 */
	const double *bytes;		  /* per layer; NULL: no memory limit */
	double room, ends;		  /* as in layers_cut.h */
	const size_t *split;		  /* current layers of each stage */
	const double *slowdown;		  /* [pipeline * pp + stage]: 1 is good */
};

enum rearrange_way {
	REARRANGE_MICROBATCHES,
	REARRANGE_LAYERS,
	REARRANGE_BOTH,
	REARRANGE_TOGETHER, /* slow hosts in one pipeline, then both */
	REARRANGE_WAYS
};

extern const char *const rearrange_names[REARRANGE_WAYS]; /* "microbatches", "layers" ... */

struct rearrange_plan {
	enum rearrange_way way;
	double time;	      /* of a step, as far as pipelines determine it */
	bool better;	      /* than now; if false, it is the current state */
	size_t *microbatches; /* owned, [dp] */
	size_t *split;	      /* owned, [dp * pp] */
	size_t *hosts;	      /* owned, [dp * pp]: which current worker takes this position */
};

struct rearrange_bounds {
	double now;   /* duration of a step */
	double bound; /* lower bound for any arrangement */
};

/* -EINVAL for a job out of bounds, -ERANGE if the current split does not fit in memory. */
int rearrange_now(const struct rearrange_job *job, struct rearrange_bounds *ret_bounds,
		  struct err *err);

/* The plan for that way. Errors as above. */
int rearrange_plan(const struct rearrange_job *job, enum rearrange_way way,
		   struct rearrange_plan *ret_plan, struct err *err);
void rearrange_plan_release(struct rearrange_plan *plan);

/* Bytes that hosts must receive for a plan: layers they do not have now. Maximum over hosts. */
double rearrange_bytes(const struct rearrange_job *job, const struct rearrange_plan *plan);
