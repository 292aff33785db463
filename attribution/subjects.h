/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The units that can be blamed: named nodes with all their workers. If nodes have no names, or a
 * node has all workers of a stage, so that there is no peer on another node, each worker
 * (tensor-parallel group) by itself. Pure.
 */
#pragma once

#include <stdint.h>

#include "attribution/pace.h"
#include "attribution/trace.h"
#include "attribution/trace_job.h"

struct subject {
	const uint32_t *workers; /* ascending: [d * pp + stage] */
	size_t n;
	uint32_t worst;		 /* of them; set by subjects_worst() */
	double excess, transfer; /* s per step above the median: computes, transfers */
};

struct subjects {
	struct subject *list; /* owned */
	size_t n;
	uint32_t *workers; /* owned */
};

struct subjects subjects_of(const struct trace_job *job);
/* The subject of this worker. Borrowed. */
const struct subject *subjects_with(const struct subjects *subjects, uint32_t worker);

void subjects_release(struct subjects *subjects);

/*
 * Find the subjects that most exceed the median of their stage: `n_compute` by their computes,
 * worst first, then `n_transfer` others by their transfers. `nobody` is false for each worker;
 * `ret` has room for all subjects. Returns how many.
 */
size_t subjects_worst(struct subjects *subjects, const struct pace *pace, const bool *nobody,
		      size_t n_compute, size_t n_transfer, const struct subject **ret);
