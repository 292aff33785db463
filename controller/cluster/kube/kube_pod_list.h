/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods of one node that have not finished, page by page. Nobody watches pods: this is asked
 * when something is wrong with the node, and the server keeps an index for it.
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

/* `done` is not called any more. NULL is fine. */
void kube_pod_list_cancel(struct kube_pod_list *list);
