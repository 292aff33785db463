/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the pods of a node, or of a name in a namespace, that have not finished, page by page. Pods
 * are not watched: this is used if something is wrong with a node, for which the server has an
 * index, or when a trace of a job has arrived.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "controller/cluster/kube/kube_pods.h"
#include "lib/base/macro.h"

struct err;
struct kube;
struct kube_pod_list;

/* Result. Borrowed until `done` returns; pods that are moved out are left zeroed. */
struct kube_pods_listed {
	enum cluster_result result; /* CLUSTER_DONE, CLUSTER_AGAIN or CLUSTER_REFUSED */
	const char *words;	    /* one line unless CLUSTER_DONE, else "" */
	uint64_t retry_us;
	struct kube_pods *pods;
};
typedef void kube_pods_done(void *context, struct kube_pods_listed *listed);

/* Start; `done` is called later, once, and the list is freed then. Returns negative if it cannot
 * start. */
int kube_pod_list_begin(struct kube *kube, const char *node, kube_pods_done *done, void *context,
			struct kube_pod_list **ret, struct err *err);

/* Selection by label. All copied. */
struct kube_pods_chosen {
	const char *namespace, *labels; /* a label selector */
	uint64_t deadline_us;		/* monotonic: fails after that */
};

/* As kube_pod_list_begin(). -EINVAL: invalid name of a namespace. */
int kube_pod_list_begin_chosen(struct kube *kube, const struct kube_pods_chosen *chosen,
			       kube_pods_done *done, void *context, struct kube_pod_list **ret,
			       struct err *err);

/* `done` will not be called any more. NULL is allowed. */
void kube_pod_list_cancel(struct kube_pod_list *list);
