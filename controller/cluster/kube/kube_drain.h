/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drains, and the jobs on a node: cluster_ops.evict and .jobs for Kubernetes.
 *
 * One evict() is one round: the pods on the node are listed, each one that has to go (kube_pods.h)
 * is asked to by the eviction API, and the answer says what is still there. Waits requested by the
 * server are remembered between rounds. Nothing is ever deleted, so disruption budgets always hold
 * and no rank runs twice.
 *
 *   one pod may not go              nothing is evicted, as in kubectl
 *   201                             it is leaving; the next rounds wait for it
 *   404 that names what is missing, 409 of our precondition
 *                                   it is gone; its name belongs to another pod now
 *   429                             its budget: retry after 5 s, then later, up to 60 s
 *   500, two budgets                never resolves itself: logged as an error, retried every
 *                                   minute
 *   403 of a namespace that ends, any other 409
 *                                   as 429
 *   400, no such kind of Eviction; 404 of the path
 *                                   the server was replaced: its version is looked up again
 *
 * Every eviction names the UID of the pod that was listed.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

struct kube;
struct kube_drains;
struct kube_job_table;

enum {
	KUBE_EVICTIONS_AT_ONCE = 16, /* per round */
	KUBE_ROUNDS_MAX = 128,	     /* over all nodes; beyond that callers have to retry */
};

/* All borrowed while it is open. */
struct kube_drains_options {
	struct kube *kube;
	const struct kube_job_table *jobs;     /* of the site; NULL: built-in ones */
	uint64_t (*mono_us)(void);	       /* lib/base/clock.h */
	const char *(*stopped)(void *context); /* why nothing may be written now; NULL: it may */
	void *context;
};

struct kube_drains *kube_drains_new(const struct kube_drains_options *options);

/* Answers pending calls with CLUSTER_AGAIN. NULL is allowed. */
void kube_drains_free(struct kube_drains *drains);

/* cluster_ops.evict. If it cannot start the call is answered at once. */
void kube_drain(struct kube_drains *drains, const struct cluster_change *change,
		const struct cluster_call *call);

/* cluster_ops.jobs. If it cannot start the call is answered at once. */
void kube_drain_jobs(struct kube_drains *drains, const char *node, const struct cluster_call *call);
