/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_ops.placement: the pods of a job, asked for by the labels that may have its name, one
 * after the other as kube_jobs.h has them; the first that finds some counts.
 */
#pragma once

#include "controller/cluster/cluster.h"
#include "controller/cluster/kube/kube_jobs.h"

struct kube;

enum { KUBE_PLACEMENTS_MAX = 16 }; /* under way; who gets no place is told CLUSTER_AGAIN */

/* Those that are under way. Both of it are borrowed; `first` is NULL at first. */
struct kube_placements {
	struct kube *kube;
	const struct kube_job_table *jobs;
	struct kube_placement *first;
	size_t n;
};

/* What is no "namespace/name" of Kubernetes is answered at once, without places. */
void kube_placement(struct kube_placements *placements, const char *job,
		    const struct cluster_call *call);

/* The text up to `end`: as a label of DNS may be. */
bool kube_is_namespace(const char *text, const char *end);

/* Who still waits is answered with CLUSTER_AGAIN. */
void kube_placements_close(struct kube_placements *placements);
