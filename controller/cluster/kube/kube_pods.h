/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pod as the API server has it, and whether it goes when its node is drained.
 * Pure: JSON in, struct out.
 *
 * The rules are those of `kubectl drain --ignore-daemonsets`: what a DaemonSet or
 * the kubelet itself runs stays, and one pod that nothing would make anew keeps
 * all of them, unless the policy says otherwise. Beyond kubectl:
 *
 *  - what has finished is left where it is: it holds nothing, and its log is still there;
 *  - the cluster's own namespaces stay;
 *  - a pod that says that it must not be disturbed (of cluster-autoscaler's, Karpenter's)
 *    keeps the node as a bare pod does: half a drain is of no use to anybody.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum { KUBE_PODS_MAX = 4096 }; /* of one node; the kubelet's own limit is far below */

/* One pod. Texts are owned; what is not there is NULL. */
struct kube_pod {
	char *namespace, *name, *uid, *node;
	char *phase;				     /* "Running", ... or "" */
	char *owner_kind, *owner_name, *owner_uid;   /* its controller's */
	char *pod_group, *workload, *workload_group; /* spec.schedulingGroup, spec.workloadRef */
	char *rank_env;				     /* RANK or NODE_RANK as a literal */
	json_t *labels, *annotations;		     /* objects, never NULL */
	int64_t gpus;				     /* of its containers' limits, together */
	uint64_t started_us;			     /* real time; 0: it has not */
	bool leaving;				     /* it has a deletionTimestamp */
	bool scratch;				     /* it has an emptyDir */
};

/* -EINVAL when it has no name, namespace or uid. Release it in any case. */
int kube_pod_decode(const json_t *value, struct kube_pod *ret, struct err *err);
void kube_pod_release(struct kube_pod *pod);

/* Many, owned. */
struct kube_pods {
	struct kube_pod *items;
	size_t n;
};

/*
 * Add the items of a PodList. -EINVAL when it is none, -E2BIG beyond KUBE_PODS_MAX: what was
 * added until then stays.
 */
int kube_pods_add(struct kube_pods *pods, const json_t *list, struct err *err);
void kube_pods_release(struct kube_pods *pods);

/* "default/trainer-0", into a buffer of KUBE_POD_NAME_SIZE; returns it. */
enum { KUBE_POD_NAME_SIZE = 64 + 254 };
const char *kube_pod_name(const struct kube_pod *pod, char ret[static KUBE_POD_NAME_SIZE]);

/* The label or annotation, or NULL. Borrowed. */
const char *kube_pod_label(const struct kube_pod *pod, const char *key);
const char *kube_pod_annotation(const struct kube_pod *pod, const char *key);

/* Succeeded or failed: nothing of it runs any more. */
bool kube_pod_finished(const struct kube_pod *pod);

/* Belongs to the node, not to work: of a DaemonSet, or the kubelet's own. */
bool kube_pod_of_node(const struct kube_pod *pod);

/* What becomes of a pod in a drain. */
enum kube_fate {
	KUBE_GOES,
	KUBE_LEAVING, /* it was asked already: wait */
	KUBE_STAYS,   /* and is nobody's loss */
	KUBE_KEEPS,   /* it may not go, and nothing goes as long as it is there */
};

/* How much may go. All borrowed. */
struct kube_leave {
	bool bare;		       /* what nothing makes anew too */
	bool scratch;		       /* what is in an emptyDir may be lost */
	const char *const *namespaces; /* NULL-terminated: these stay; NULL: kube_system_namespaces */
	const char *own;	       /* the namespace that we run in: it stays; or NULL */
};
extern const char *const kube_system_namespaces[];

/* Of the cluster's own namespaces, or of ours? */
bool kube_pod_system(const struct kube_pod *pod, const struct kube_leave *leave);

/* The fate, and in `ret_why` (may be NULL) a few words; static. */
int kube_pod_fate(const struct kube_pod *pod, const struct kube_leave *leave, const char **ret_why);
