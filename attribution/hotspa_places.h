/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the plans of HotSPa have their stages, and how slow they are there: a plan puts its GPUs
 * in the order of their ranks, tensor parallel inside replicas inside stages, and that of now has
 * them as the trace says.
 */
#pragma once

#include "attribution/attribution.h"
#include "attribution/description.h"
#include "attribution/trace_job.h"
#include "lib/remedy/hotspa_cost.h"
#include "lib/remedy/hotspa_plan.h"

struct hotspa_places {
	size_t *hosts; /* owned: of each GPU */
	size_t *first; /* owned: the first GPU of each tensor-parallel group of now */
	double *slow;  /* owned: of each GPU, times as long as it should take */
	size_t *splits[HOTSPA_PLAN_PLANS_MAX];			  /* owned: layers of each stage */
	struct hotspa_cost_layout layouts[HOTSPA_PLAN_PLANS_MAX]; /* borrow these */
};

/*
 * `slowdown` is of each worker of the trace: a GPU counts as slow as the group that it is in now,
 * of which the trace shows only the slowest.
 */
struct hotspa_places hotspa_places_of(const struct trace_job *job, const struct description *d,
				      const double *slowdown);
void hotspa_places_release(struct hotspa_places *places);

/*
 * Times as long on each stage of the i-th plan, as hotspa_plan_way has them, new memory: a stage is
 * as slow as its slowest GPU.
 */
double *hotspa_places_slow(const struct hotspa_places *places, const struct description_plan *plan,
			   size_t i);
