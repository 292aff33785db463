/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the pods of a job to the hosts of its processes. Pure.
 *
 * A trace counts processes: one per GPU, those of a pod consecutively, the pods by rank
 * (kube_jobs.h). So either all pods are placed or none: a pod that is missing, pending, or without
 * rank or GPU would put all that follow on the wrong hosts.
 */
#pragma once

#include "controller/cluster/cluster.h"
#include "controller/cluster/kube/kube_jobs.h"
#include "controller/cluster/kube/kube_pods.h"

struct kube_places {
	struct cluster_place *items; /* owned; node names are borrowed from the pods */
	size_t n;
};

/*
 * For pods that share a name. Returns NULL, or a few static words why nothing is known. Ignores
 * finished pods, and those with neither rank nor GPU (a launcher). If none is left there are no
 * places.
 */
const char *kube_places_of(const struct kube_job_table *table, const struct kube_pods *pods,
			   struct kube_places *ret);
void kube_places_release(struct kube_places *places);
