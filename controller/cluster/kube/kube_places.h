/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the pods of a job to the hosts of its processes. Pure.
 *
 * A trace counts processes: one a GPU, those of a pod in a row, the pods in the order of their
 * ranks (kube_jobs.h). So the places are those of all pods or none: one that is missing,
 * waits, has no rank or no GPU would put all behind it on a wrong host.
 */
#pragma once

#include "controller/cluster/cluster.h"
#include "controller/cluster/kube/kube_jobs.h"
#include "controller/cluster/kube/kube_pods.h"

struct kube_places {
	struct cluster_place *items; /* owned; their nodes are borrowed from the pods */
	size_t n;
};

/*
 * Of pods that share a name, NULL; else why nothing is known, a few words; static. Pods that have
 * finished count for nothing; nor does one without rank and GPU (a launcher). None left: no places.
 */
const char *kube_places_of(const struct kube_job_table *table, const struct kube_pods *pods,
			   struct kube_places *ret);
void kube_places_release(struct kube_places *places);
