/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts about a job for lib/remedy/remedies.h, from the analysis of one of its windows
 * (summary.h). Hosts are those in `detail`, as settled by placements; a worker without a known host
 * is named by its place, "dp 3 stage 1".
 *
 * If a job slows itself no host is to be replaced, as it is not at fault. With an analysis from an
 * earlier version only the suspects can be replaced. Pure.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"
#include "lib/remedy/remedies.h"
#include "lib/remedy/replicas.h"

struct plan_facts {
	struct remedies_facts facts; /* without spares, steps and costs, which the caller sets */
	struct replicas replicas;
	double ideal_s;
	double *forward_s, *backward_s, *slowdown; /* owned */
	struct remedies_set sets[REMEDIES_SETS_MAX];
	json_t *hosts;	   /* owned: names, in the order of replacement */
	json_t *of_worker; /* owned: host name of each worker, or null */
};

/* The struct points into itself and must not be moved. Returns false if the analysis has no step
 * times. */
bool plan_facts_read(const json_t *analysis, struct plan_facts *ret);
void plan_facts_release(struct plan_facts *facts);

/* The hosts to replace in a set, a prefix of `hosts`. New reference. */
json_t *plan_facts_set(const struct plan_facts *facts, size_t set);

/*
 * The job without these hosts. `ret_found`: those of them that it runs on, new reference. For a job
 * without a shape only these are known, and `left` is 0.
 */
struct remedies_loss plan_facts_without(const struct plan_facts *facts, const json_t *names,
					json_t **ret_found);

/*
 * Step time with good hosts in place of these: as simulated from the trace if they form a set, else
 * by the model; NAN for a job without a shape.
 */
double plan_facts_replaced(const struct plan_facts *facts, const json_t *names);

/*
 * The share of a step, 0 to 1, that a good host in place of this one saves; NAN: it is not a host
 * of the job, or the job has no shape.
 */
double plan_facts_gain(const struct plan_facts *facts, const char *host);
