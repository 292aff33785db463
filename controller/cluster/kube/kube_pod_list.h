/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods that have not finished, of one node or of one name in a namespace, page by page. Nobody
 * watches pods: this is asked when something is wrong with the node, and the server keeps an index
 * for it, or when a trace of a job has come.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "controller/cluster/kube/kube_pods.h"
#include "lib/base/macro.h"

struct err;
struct kube;
struct kube_pod_list;

/* What came of it. Borrowed until `done` returns; pods that are moved out are left zeroed. */
struct kube_pods_listed {
	enum cluster_result result; /* CLUSTER_DONE, CLUSTER_AGAIN or CLUSTER_REFUSED */
	const char *words;	    /* one line when it is not CLUSTER_DONE, else "" */
	uint64_t retry_us;
	struct kube_pods *pods;
};
typedef void kube_pods_done(void *context, struct kube_pods_listed *listed);

/* Begin; `done` comes later, once, and the list is gone then. Negative when it cannot start. */
int kube_pod_list_begin(struct kube *kube, const char *node, kube_pods_done *done, void *context,
			struct kube_pod_list **ret, struct err *err);

/* Those of a label. All copied. */
struct kube_pods_chosen {
	const char *namespace, *labels; /* a label selector */
	uint64_t deadline_us;		/* monotonic: then it has failed */
};

/* Likewise. -EINVAL: no namespace is called so. */
int kube_pod_list_begin_chosen(struct kube *kube, const struct kube_pods_chosen *chosen,
			       kube_pods_done *done, void *context, struct kube_pod_list **ret,
			       struct err *err);

/* `done` is not called any more. NULL is fine. */
void kube_pod_list_cancel(struct kube_pod_list *list);
