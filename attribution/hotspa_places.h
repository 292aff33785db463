/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the stages of HotSPa plans run, and how slow they are there: a plan assigns its GPUs in
 * rank order, tensor parallel inside replicas inside stages; the present plan as in the trace.
 */
#pragma once

#include "attribution/attribution.h"
#include "attribution/description.h"
#include "attribution/trace_job.h"
#include "lib/remedy/hotspa_cost.h"
#include "lib/remedy/hotspa_plan.h"

struct hotspa_places {
	size_t *hosts; /* owned: host of each GPU */
	size_t *first; /* owned: first GPU of each present tensor-parallel group */
	double *slow;  /* owned: slowdown of each GPU */
	size_t *splits[HOTSPA_PLAN_PLANS_MAX];			  /* owned: layers of each stage */
	struct hotspa_cost_layout layouts[HOTSPA_PLAN_PLANS_MAX]; /* borrows the above */
};

/*
 * `slowdown` is per worker of the trace. A GPU is taken to be as slow as its present group, of
 * which the trace only shows the slowest GPU.
 */
struct hotspa_places hotspa_places_of(const struct trace_job *job, const struct description *d,
				      const double *slowdown);
void hotspa_places_release(struct hotspa_places *places);

/*
 * Slowdown of each stage of the i-th plan, as in hotspa_plan_way: a stage is as slow as its
 * slowest GPU. The caller frees it.
 */
double *hotspa_places_slow(const struct hotspa_places *places, const struct description_plan *plan,
			   size_t i);
