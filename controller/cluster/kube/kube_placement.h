/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_ops.placement: the pods of a job, looked up by each label that may have its name, in the
 * order of kube_jobs.h; the first with any pods counts.
 */
#pragma once

#include "controller/cluster/cluster.h"
#include "controller/cluster/kube/kube_jobs.h"

struct kube;

enum { KUBE_PLACEMENTS_MAX = 16 }; /* in progress; beyond that callers get CLUSTER_AGAIN */

/* Lookups in progress. `kube` and `jobs` are borrowed; `first` is initially NULL. */
struct kube_placements {
	struct kube *kube;
	const struct kube_job_table *jobs;
	struct kube_placement *first;
	size_t n;
};

/* If `job` is not a valid "namespace/name" it is answered at once, without places. */
void kube_placement(struct kube_placements *placements, const char *job,
		    const struct cluster_call *call);

/* Is the text up to `end` a valid namespace (DNS label)? */
bool kube_is_namespace(const char *text, const char *end);

/* Answers pending calls with CLUSTER_AGAIN. */
void kube_placements_close(struct kube_placements *placements);
