/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drains, and whose jobs run on a node: cluster_ops.evict and .jobs on Kubernetes.
 *
 * One evict() is one round: what is on the node is listed, each pod that goes (kube_pods.h) is
 *asked to by the eviction API, and the answer says what is still there. What the server said to
 *wait for is remembered from round to round. Nothing is ever deleted, so that a disruption budget
 *always holds and no rank runs twice.
 *
 *	one pod may not go		nothing is asked: as kubectl does
 *	201				it is leaving; the next rounds wait for it
 *	404 that names what is not there, 409 of our precondition
 *					it is gone; what has its name now is another one
 *	429				its budget: again in 5 s, then later each time, up to 60 s
 *	500, two budgets		no time heals it: it is logged as an error, and asked each
 *					minute
 *	403 of a namespace that ends, any other 409
 *					as 429
 *	400, no such kind of Eviction; 404 of the path
 *					the server is another one now: its version is looked up
 *					again
 *
 * Every eviction names the uid of the pod that was listed.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

struct kube;
struct kube_drains;
struct kube_job_table;

enum {
	KUBE_EVICTIONS_AT_ONCE = 16, /* of one round */
	KUBE_ROUNDS_MAX = 128,	     /* at once, of all nodes; who gets no place asks again */
};

/* All borrowed for as long as it is open. */
struct kube_drains_options {
	struct kube *kube;
	const struct kube_job_table *jobs;     /* of the site; NULL: what is built in */
	uint64_t (*mono_us)(void);	       /* lib/base/clock.h */
	const char *(*stopped)(void *context); /* why nothing may be written now; NULL: it may */
	void *context;
};

struct kube_drains *kube_drains_new(const struct kube_drains_options *options);

/* Who still waits is answered with CLUSTER_AGAIN. NULL is fine. */
void kube_drains_free(struct kube_drains *drains);

/* cluster_ops.evict. What cannot even start is answered at once. */
void kube_drain(struct kube_drains *drains, const struct cluster_change *change,
		const struct cluster_call *call);

/* cluster_ops.jobs, likewise. */
void kube_drain_jobs(struct kube_drains *drains, const char *node, const struct cluster_call *call);
