/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_pods.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

enum { GPU_DIGITS_MAX = 4 }; /* per container */

/* NVSentinel's list of the cluster's own namespaces. */
const char *const kube_system_namespaces[] = {
	"kube-system",	    "kube-node-lease", "gpu-operator", "gmp-system",
	"network-operator", "nvsentinel",      "skyhook",      NULL,
};

/* --- decode --- */

static const json_t *get(const json_t *object, const char *key)
{
	return json_object_get(object, key);
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(get(object, key));
}

static char *copy_of(const json_t *object, const char *key)
{
	return xstrdup(text_of(object, key));
}

static json_t *map_of(const json_t *metadata, const char *key)
{
	json_t *map = json_object_get(metadata, key);

	return json_is_object(map) ? json_incref(map) : json_object();
}

static void decode_owner(const json_t *metadata, struct kube_pod *ret)
{
	const json_t *owners = get(metadata, "ownerReferences");
	size_t i;

	for (i = 0; i < json_array_size(owners); i++) {
		const json_t *owner = json_array_get(owners, i);

		if (!json_is_true(get(owner, "controller")))
			continue;
		ret->owner_kind = copy_of(owner, "kind");
		ret->owner_name = copy_of(owner, "name");
		ret->owner_uid = copy_of(owner, "uid");
		return;
	}
}

static bool has_scratch(const json_t *spec)
{
	const json_t *volumes = get(spec, "volumes");
	size_t i;

	for (i = 0; i < json_array_size(volumes); i++) {
		if (get(json_array_get(volumes, i), "emptyDir"))
			return true;
	}
	return false;
}

/* For torchrun and the like: a literal in a container. References cannot be resolved here. */
static char *find_rank(const json_t *spec)
{
	const json_t *containers = get(spec, "containers");
	size_t i, j;

	for (i = 0; i < json_array_size(containers); i++) {
		const json_t *env = get(json_array_get(containers, i), "env");

		for (j = 0; j < json_array_size(env); j++) {
			const json_t *one = json_array_get(env, j);
			const char *name = text_of(one, "name");

			if ((streq(name, "NODE_RANK") || streq(name, "RANK")) &&
			    text_of(one, "value"))
				return copy_of(one, "value");
		}
	}
	return NULL;
}

/* "nvidia.com/gpu", "amd.com/gpu": whole GPUs. */
static bool is_gpu(const char *resource)
{
	const char *slash = strchr(resource, '/');

	return slash && streq(slash, "/gpu");
}

/* An integer, as for all devices; anything else counts as 0. */
static int64_t count_of(const json_t *quantity)
{
	const char *text = json_string_value(quantity);
	const size_t length = text ? strlen(text) : 0;

	return length > 0 && length <= GPU_DIGITS_MAX && strspn(text, "0123456789") == length
		       ? strtol(text, NULL, 10)
		       : 0;
}

static int64_t count_gpus(const json_t *spec)
{
	json_t *containers = json_object_get(spec, "containers");
	const char *resource;
	json_t *container, *quantity;
	int64_t n = 0;
	size_t i;

	json_array_foreach(containers, i, container)
	{
		json_t *limits = json_object_get(get(container, "resources"), "limits");

		json_object_foreach(limits, resource, quantity)
		{
			n += is_gpu(resource) ? count_of(quantity) : 0;
		}
	}
	return n;
}

static uint64_t start_of(const json_t *status)
{
	const char *text = text_of(status, "startTime");
	uint64_t at_us = 0;

	return text && clock_parse_stamp(text, &at_us) == 0 ? at_us : 0;
}

int kube_pod_decode(const json_t *value, struct kube_pod *ret, struct err *err)
{
	const json_t *metadata = get(value, "metadata"), *spec = get(value, "spec");
	const json_t *workload = get(spec, "workloadRef");

	*ret = (struct kube_pod){
		.namespace = copy_of(metadata, "namespace"),
		.name = copy_of(metadata, "name"),
		.uid = copy_of(metadata, "uid"),
		.node = copy_of(spec, "nodeName"),
		.phase = copy_of(get(value, "status"), "phase"),
		.pod_group = copy_of(get(spec, "schedulingGroup"), "podGroupName"),
		.workload = copy_of(workload, "name"),
		.workload_group = copy_of(workload, "podGroup"),
		.rank_env = find_rank(spec),
		.labels = map_of(metadata, "labels"),
		.annotations = map_of(metadata, "annotations"),
		.gpus = count_gpus(spec),
		.started_us = start_of(get(value, "status")),
		.leaving = json_is_string(get(metadata, "deletionTimestamp")),
		.scratch = has_scratch(spec),
	};
	decode_owner(metadata, ret);
	if (!ret->namespace || !ret->name || !ret->uid)
		return err_set(err, EINVAL, "a pod without name, namespace or uid");
	return 0;
}

void kube_pod_release(struct kube_pod *pod)
{
	char *owned[] = { pod->namespace,  pod->name,		pod->uid,
			  pod->node,	   pod->phase,		pod->owner_kind,
			  pod->owner_name, pod->owner_uid,	pod->pod_group,
			  pod->workload,   pod->workload_group, pod->rank_env };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(owned); i++)
		free(owned[i]);
	json_decref(pod->labels);
	json_decref(pod->annotations);
	*pod = (struct kube_pod){ 0 };
}

int kube_pods_add(struct kube_pods *pods, const json_t *list, struct err *err)
{
	const json_t *items = get(list, "items");
	size_t n = json_array_size(items), i;
	int r = 0;

	/* Go encodes an empty list as null. */
	if (!json_is_array(items) && !json_is_null(items))
		return err_set(err, EINVAL, "expected a list of pods");
	if (n > 0 && pods->n + n <= KUBE_PODS_MAX)
		pods->items = xrealloc(pods->items, pods->n + n, sizeof(*pods->items));
	else if (n > 0)
		return err_set(err, E2BIG, "more than %d pods", KUBE_PODS_MAX);
	for (i = 0; r == 0 && i < n; i++) {
		struct kube_pod pod;

		r = kube_pod_decode(json_array_get(items, i), &pod, err);
		if (r == 0)
			pods->items[pods->n++] = pod;
		else
			kube_pod_release(&pod);
	}
	return r;
}

void kube_pods_release(struct kube_pods *pods)
{
	while (pods->n > 0)
		kube_pod_release(&pods->items[--pods->n]);
	free(TAKE(pods->items));
}

/* --- queries --- */

const char *kube_pod_name(const struct kube_pod *pod, char ret[static KUBE_POD_NAME_SIZE])
{
	(void)snprintf(ret, KUBE_POD_NAME_SIZE, "%.63s/%.253s", pod->namespace, pod->name);
	return ret;
}

const char *kube_pod_label(const struct kube_pod *pod, const char *key)
{
	return text_of(pod->labels, key);
}

const char *kube_pod_annotation(const struct kube_pod *pod, const char *key)
{
	return text_of(pod->annotations, key);
}

bool kube_pod_finished(const struct kube_pod *pod)
{
	return streq(pod->phase, "Succeeded") || streq(pod->phase, "Failed");
}

static bool is_mirror(const struct kube_pod *pod, const struct kube_leave *leave UNUSED)
{
	return get(pod->annotations, "kubernetes.io/config.mirror") != NULL;
}

static bool is_daemon(const struct kube_pod *pod, const struct kube_leave *leave UNUSED)
{
	return streq(pod->owner_kind, "DaemonSet");
}

bool kube_pod_of_node(const struct kube_pod *pod)
{
	return is_mirror(pod, NULL) || is_daemon(pod, NULL);
}

static bool has_finished(const struct kube_pod *pod, const struct kube_leave *leave UNUSED)
{
	return kube_pod_finished(pod);
}

static bool is_leaving(const struct kube_pod *pod, const struct kube_leave *leave UNUSED)
{
	return pod->leaving;
}

bool kube_pod_system(const struct kube_pod *pod, const struct kube_leave *leave)
{
	const char *const *name = leave->namespaces ? leave->namespaces : kube_system_namespaces;

	while (*name && !streq(*name, pod->namespace))
		name++;
	return *name != NULL || streq(pod->namespace, leave->own);
}

static bool is_not_to_evict(const struct kube_pod *pod, const struct kube_leave *leave UNUSED)
{
	return streq(kube_pod_annotation(pod, "cluster-autoscaler.kubernetes.io/safe-to-evict"),
		     "false");
}

static bool is_not_to_disrupt(const struct kube_pod *pod, const struct kube_leave *leave UNUSED)
{
	return streq(kube_pod_annotation(pod, "karpenter.sh/do-not-disrupt"), "true");
}

static bool is_bare(const struct kube_pod *pod, const struct kube_leave *leave)
{
	return !leave->bare && !pod->owner_kind;
}

static bool loses_scratch(const struct kube_pod *pod, const struct kube_leave *leave)
{
	return !leave->scratch && pod->scratch;
}

/* The first match decides. */
static const struct {
	bool (*is)(const struct kube_pod *pod, const struct kube_leave *leave);
	int fate;
	const char *why;
} fates[] = {
	{ is_mirror, KUBE_STAYS, "a static pod" },
	{ is_daemon, KUBE_STAYS, "of a DaemonSet" },
	{ has_finished, KUBE_STAYS, "it has finished" },
	{ kube_pod_system, KUBE_STAYS, "in a system namespace" },
	{ is_leaving, KUBE_LEAVING, "it is terminating" },
	{ is_not_to_evict, KUBE_KEEPS, "its annotation safe-to-evict is \"false\"" },
	{ is_not_to_disrupt, KUBE_KEEPS, "its annotation do-not-disrupt is \"true\"" },
	{ is_bare, KUBE_KEEPS, "no controller would recreate it (drain.bare_pods)" },
	{ loses_scratch, KUBE_KEEPS, "it has an emptyDir (drain.empty_dir)" },
};

int kube_pod_fate(const struct kube_pod *pod, const struct kube_leave *leave, const char **ret_why)
{
	const char *why = "";
	int fate = KUBE_GOES;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(fates); i++) {
		if (!fates[i].is(pod, leave))
			continue;
		fate = fates[i].fate;
		why = fates[i].why;
		break;
	}
	if (ret_why)
		*ret_why = why;
	return fate;
}
