/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom one can blame: named nodes with all of their workers. Where nodes have no names, or a
 * node has all workers of a stage, so that none on another node does the same, each worker
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
	double excess, transfer; /* s a step that it takes more than others; likewise */
};

struct subjects {
	struct subject *list; /* owned */
	size_t n;
	uint32_t *workers; /* owned */
};

struct subjects subjects_of(const struct trace_job *job);
/* The one that this worker belongs to. Borrowed. */
const struct subject *subjects_with(const struct subjects *subjects, uint32_t worker);

void subjects_release(struct subjects *subjects);

/*
 * Those that take most time more than the median of their stage: `n_compute` by their
 * computes, worst first, then `n_transfer` more by their transfers. `nobody` is false for
 * each worker; `ret` has room for all; returns how many.
 */
size_t subjects_worst(struct subjects *subjects, const struct pace *pace, const bool *nobody,
		      size_t n_compute, size_t n_transfer, const struct subject **ret);
