/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines with any number of stages each, and the distribution of a step's micro-batches among
 * them by their duration under 1F1B (pipe_1f1b.h) or, if stages have several model chunks, under
 * interleaved 1F1B (pipe_schedule.h), where all chunks take the same part of their stage.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include "lib/base/macro.h"

struct pipeline {
	double *forward, *backward; /* owned: seconds of each stage per micro-batch */
	size_t stages, chunks;	    /* chunks per stage; 0 is 1 */
};

/* The model, whose layers are cut into stages. */
struct pipeline_model {
	const double *forward, *backward; /* seconds per layer on a good host; borrowed */
	size_t layers;
};

/* Stage p has split[p] layers and slowdown[hosts[p]]; `hosts` NULL: all are good. */
struct pipeline pipeline_of(const struct pipeline_model *model, const size_t *split,
			    const double *slowdown, const size_t *hosts, size_t stages);
void pipeline_release(struct pipeline *pipeline);

/*
 * Duration of a step with this many micro-batches. NAN beyond the limits of pipe_schedule_play(),
 * and with several chunks if micro-batches are not a multiple of pipeline_unit().
 */
double pipeline_time(const struct pipeline *pipeline, size_t microbatches);

/*
 * Micro-batches come in multiples of this: the number of stages, if these have several chunks, or
 * 1.
 */
size_t pipeline_unit(const struct pipeline *pipeline);

/*
 * Distributes `total` micro-batches, at least `n`, among `n` pipelines so that the slowest takes
 * least: at least one each, in multiples of the unit (the same for all pipelines, and a divisor of
 * `total`). Exact: moves them from the slowest pipeline to the one that takes least with one more,
 * until that is no improvement, since no pipeline gets faster with one more. Of equals, those that
 * are slow (at total / n each) take as few as possible. Fills ret_counts[n] and returns the time of
 * the slowest; beyond the limits of pipe_schedule_play() INFINITY, with an even distribution.
 */
double pipeline_deal(const struct pipeline *pipelines, size_t n, size_t total, size_t *ret_counts);
