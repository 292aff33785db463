/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pod as returned by the API server, and whether it is evicted when its node is drained. Pure:
 * JSON in, struct out.
 *
 * The rules are those of `kubectl drain --ignore-daemonsets`: pods of a DaemonSet or of the kubelet
 * itself stay, and a single pod that nothing would recreate keeps all of them, unless the policy
 * says otherwise. In addition to kubectl:
 *
 * - finished pods are left: they use nothing, and their logs are still there;
 * - the cluster's own namespaces stay;
 * - a pod marked as not to be disturbed (for cluster-autoscaler, Karpenter) keeps the node as a
 *   bare pod does: half a drain helps nobody.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum { KUBE_PODS_MAX = 4096 }; /* per node; the kubelet's own limit is far below */

/* One pod. Texts are owned, NULL if missing. */
struct kube_pod {
	char *namespace, *name, *uid, *node;
	char *phase;				     /* "Running", ... or "" */
	char *owner_kind, *owner_name, *owner_uid;   /* of its controller */
	char *pod_group, *workload, *workload_group; /* spec.schedulingGroup, spec.workloadRef */
	char *rank_env;				     /* RANK or NODE_RANK if it is a literal */
	json_t *labels, *annotations;		     /* objects, never NULL */
	int64_t gpus;				     /* sum of its containers' limits */
	uint64_t started_us;			     /* real time; 0: not started */
	bool leaving;				     /* it has a deletionTimestamp */
	bool scratch;				     /* it has an emptyDir */
};

/* Returns -EINVAL without name, namespace or uid. The caller releases `ret` in any case. */
int kube_pod_decode(const json_t *value, struct kube_pod *ret, struct err *err);
void kube_pod_release(struct kube_pod *pod);

/* A list of pods, owned. */
struct kube_pods {
	struct kube_pod *items;
	size_t n;
};

/*
 * Add the items of a PodList. Returns -EINVAL if it is invalid, -E2BIG beyond KUBE_PODS_MAX; pods
 * added until then stay.
 */
int kube_pods_add(struct kube_pods *pods, const json_t *list, struct err *err);
void kube_pods_release(struct kube_pods *pods);

/* Writes "default/trainer-0" to a buffer of KUBE_POD_NAME_SIZE, and returns it. */
enum { KUBE_POD_NAME_SIZE = 64 + 254 };
const char *kube_pod_name(const struct kube_pod *pod, char ret[static KUBE_POD_NAME_SIZE]);

/* The label or annotation, or NULL. Borrowed. */
const char *kube_pod_label(const struct kube_pod *pod, const char *key);
const char *kube_pod_annotation(const struct kube_pod *pod, const char *key);

/* Succeeded or failed: it no longer runs. */
bool kube_pod_finished(const struct kube_pod *pod);

/* Part of the node rather than a workload: of a DaemonSet, or the kubelet's own. */
bool kube_pod_of_node(const struct kube_pod *pod);

/* What happens to a pod in a drain. */
enum kube_fate {
	KUBE_GOES,
	KUBE_LEAVING, /* evicted already: wait */
	KUBE_STAYS,   /* and is no loss */
	KUBE_KEEPS,   /* may not go, and blocks the drain */
};

/* What may be evicted. All borrowed. */
struct kube_leave {
	bool bare;		       /* also pods that nothing recreates */
	bool scratch;		       /* data in an emptyDir may be lost */
	const char *const *namespaces; /* NULL-terminated: these stay; NULL: kube_system_namespaces */
	const char *own;	       /* our own namespace, which stays; or NULL */
};
extern const char *const kube_system_namespaces[];

/* Is it in one of the cluster's own namespaces, or in ours? */
bool kube_pod_system(const struct kube_pod *pod, const struct kube_leave *leave);

/* Returns the fate, and in `ret_why` (may be NULL) a few static words. */
int kube_pod_fate(const struct kube_pod *pod, const struct kube_leave *leave, const char **ret_why);
