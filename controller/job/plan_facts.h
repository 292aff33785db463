/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lib/remedy/remedies.h wants to know of a job, of the analysis of one of its windows
 * (summary.h). A host is known by the hosts of `detail`, which placements have settled; a worker
 * whose host nobody knows is called by its place, "dp 3 stage 1".
 *
 * Of a job that slows itself no host is to be replaced: it is not the host's fault. Of an analysis
 * of an earlier version only the hosts that it suspects are there to replace. Pure.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"
#include "lib/remedy/remedies.h"
#include "lib/remedy/replicas.h"

struct plan_facts {
	struct remedies_facts facts; /* without spares, steps and costs: those are the caller's */
	struct replicas replicas;
	double ideal_s;
	double *forward_s, *backward_s, *slowdown; /* owned */
	struct remedies_set sets[REMEDIES_SETS_MAX];
	json_t *hosts;	   /* owned: names, in the order in which they are to be replaced */
	json_t *of_worker; /* owned: the name of the host of each worker, or null */
};

/* It points into itself: it stays where it is. False: the analysis has no times of steps. */
bool plan_facts_read(const json_t *analysis, struct plan_facts *ret);
void plan_facts_release(struct plan_facts *facts);

/* Hosts that are to be replaced in a set, the first so many of `hosts`: new reference. */
json_t *plan_facts_set(const struct plan_facts *facts, size_t set);

/*
 * What becomes of the job without these hosts. `ret_found`: those of them that it runs on, new
 * reference; where it has no shape nothing but that is known, and `left` is 0.
 */
struct remedies_loss plan_facts_without(const struct plan_facts *facts, const json_t *names,
					json_t **ret_found);

/*
 * A step with good hosts in place of these: as the trace was simulated where they are a set of it,
 * else by the model; NAN where it has no shape.
 */
double plan_facts_replaced(const struct plan_facts *facts, const json_t *names);

/*
 * The part of a step that a good host in place of this one saves, 0 to 1; NAN: it is none of the
 * job's, or the job has no shape.
 */
double plan_facts_gain(const struct plan_facts *facts, const char *host);
