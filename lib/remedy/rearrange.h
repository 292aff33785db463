/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a job of several pipelines can do about hosts of known slowness without giving one up: deal
 * micro-batches to the pipelines, cut layers otherwise in each, both, and put the slow hosts
 * together in one pipeline first, as Malleus does (Li et al., SIGMOD 2025).
 *
 * A pipeline takes what 1F1B takes (pipe_1f1b.h), a step what the slowest of them takes. Exact:
 * the micro-batches, for a pipeline never takes less for one more; the slowest stage of a cut
 * (layers_cut.h). Not exact: which hosts stand together. `bound` is what no arrangement beats:
 * all work over all speed, with no stage ever idle.
 *
 * A way that is not faster than what there is now is not given: it stays as it is.
 *
 * Stages of several chunks of the model keep their layers, and micro-batches are dealt in multiples
 * of the stages, as interleaved 1F1B needs them.
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

/* All borrowed. Bytes and seconds are of one micro-batch on a good host. */
struct rearrange_job {
	size_t dp, pp, microbatches;	  /* micro-batches of each pipeline now */
	size_t chunks;			  /* of a stage, interleaved if several; 0 is 1 */
	size_t layers;			  /* of the model: pp to REARRANGE_LAYERS_MAX */
	const double *forward, *backward; /* of each layer, above 0 */
	const double *bytes;		  /* of each layer; NULL: memory is no bound */
	double room, ends;		  /* as in layers_cut.h */
	const size_t *split;		  /* layers of each stage now */
	const double *slowdown;		  /* [pipeline * pp + stage]: 1 is a good one */
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
	double time;	      /* of a step, as far as pipelines make it */
	bool better;	      /* than now; else it is what there is now */
	size_t *microbatches; /* owned, [dp] */
	size_t *split;	      /* owned, [dp * pp] */
	size_t *hosts;	      /* owned, [dp * pp]: which worker of now stands there */
};

struct rearrange_bounds {
	double now;   /* a step */
	double bound; /* what no arrangement beats */
};

/* -EINVAL for a job out of its bounds, -ERANGE for a split of now that does not fit in the memory. */
int rearrange_now(const struct rearrange_job *job, struct rearrange_bounds *ret_bounds,
		  struct err *err);

/* A plan of that way. Errors as above. */
int rearrange_plan(const struct rearrange_job *job, enum rearrange_way way,
		   struct rearrange_plan *ret_plan, struct err *err);
void rearrange_plan_release(struct rearrange_plan *plan);

/* Bytes that hosts must get for a plan: layers that they do not have now. The most of one host. */
double rearrange_bytes(const struct rearrange_job *job, const struct rearrange_plan *plan);
