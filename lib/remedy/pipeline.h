/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines as they may be, of any number of stages each, and the micro-batches of a step dealt
 * to them by what 1F1B takes (pipe_1f1b.h), or where stages have several chunks of the model by
 * what interleaved 1F1B does (pipe_schedule.h): each chunk takes the same part of its stage.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/base/macro.h"

struct pipeline {
	double *forward, *backward; /* owned: seconds of each stage for one micro-batch */
	size_t stages, chunks;	    /* chunks of a stage; 0 is 1 */
};

/* The model, whose layers are cut into stages. */
struct pipeline_model {
	const double *forward, *backward; /* seconds of each layer on a good host; borrowed */
	size_t layers;
};

/* Stage p has split[p] layers, and takes slowdown[hosts[p]] times longer; `hosts` NULL: all are good. */
struct pipeline pipeline_of(const struct pipeline_model *model, const size_t *split,
			    const double *slowdown, const size_t *hosts, size_t stages);
void pipeline_release(struct pipeline *pipeline);

/*
 * A step of so many micro-batches. NAN beyond the bounds of pipe_schedule_play(), and with chunks
 * for micro-batches that are no multiple of pipeline_unit().
 */
double pipeline_time(const struct pipeline *pipeline, size_t microbatches);

/* Micro-batches come in multiples of this: of the stages, where these have several chunks; else 1. */
size_t pipeline_unit(const struct pipeline *pipeline);

/*
 * Deal `total` micro-batches, at least `n`, to `n` pipelines so that the slowest takes least, at
 * least one each, and all of a unit (which all pipelines have alike, and `total` is a multiple of).
 * Exact: from the slowest to the one that takes least with one more, until that takes no less, for
 * none ever takes less for one more. Of equals those that are slow (at total / n each) take as few
 * as they can. ret_counts[n]; the time of the slowest, or INFINITY, dealt evenly, where that is
 * beyond the bounds of pipe_schedule_play().
 */
double pipeline_deal(const struct pipeline *pipelines, size_t n, size_t total, size_t *ret_counts);
