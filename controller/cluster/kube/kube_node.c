/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_node.h"

#include <arpa/inet.h>
#include <errno.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum {
	NAME_MAX_LEN = 253,   /* RFC 1123 subdomain */
	OPAQUE_MAX_LEN = 256, /* of a uid and a version, which are the server's */
};

static const char *text_at(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static const json_t *taints_of(const json_t *object)
{
	return json_object_get(json_object_get(object, "spec"), "taints");
}

/* ---- whose hands are on it ----------------------------------------------------- */

enum place { LABEL, ANNOTATION, TAINT };

/*
 * Marks of others; the first that is there tells. A key that ends in '/' or '.' is the
 * beginning of one. Names: well-known labels and taints of Kubernetes, cluster-autoscaler
 * utils/taints, Karpenter pkg/apis, NVSentinel commons, medik8s operators.
 */
static const struct others {
	enum place place;
	const char *key, *words;
	bool outside; /* else it is on its way out */
} others[] = {
	{ LABEL, "node-role.kubernetes.io/control-plane", "it is a control-plane node", true },
	{ LABEL, "node-role.kubernetes.io/master", "it is a control-plane node", true },
	{ TAINT, "node-role.kubernetes.io/control-plane", "it is a control-plane node", true },
	{ TAINT, "node-role.kubernetes.io/master", "it is a control-plane node", true },
	{ TAINT, "ToBeDeletedByClusterAutoscaler", "the cluster autoscaler is removing it", false },
	{ TAINT, "karpenter.sh/disrupted", "Karpenter is removing it", false },
	{ TAINT, "karpenter.sh/disruption", "Karpenter is removing it", false },
	{ TAINT, "node.cloudprovider.kubernetes.io/shutdown", "its provider has shut it down",
	  false },
	{ TAINT, "node.kubernetes.io/out-of-service", "it was declared out of service", false },
	{ TAINT, "remediator.aks.microsoft.com/unschedulable", "AKS is repairing it", false },
	{ TAINT, "medik8s.io/", "medik8s is repairing it", false },
	{ TAINT, "remediation.medik8s.io/", "medik8s is repairing it", false },
	{ LABEL, "dgxc.nvidia.com/nvsentinel-state", "NVSentinel is working on it", false },
	{ ANNOTATION, "quarantineHealthEvent", "NVSentinel is working on it", false },
	{ ANNOTATION, "quarantineHealthEventIsCordoned", "NVSentinel is working on it", false },
};

static const char *taint_key(const json_t *taints, size_t i)
{
	return text_at(json_array_get(taints, i), "key");
}

static bool has_taint(const json_t *taints, const char *key)
{
	const bool all = key[strlen(key) - 1] != '/';
	size_t i;

	for (i = 0; i < json_array_size(taints); i++) {
		const char *one = taint_key(taints, i);

		if (one && (all ? streq(one, key) : starts_with(one, key)))
			return true;
	}
	return false;
}

static bool has(const json_t *object, const struct others *row)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const json_t *texts =
		json_object_get(metadata, row->place == LABEL ? "labels" : "annotations");

	if (row->place == TAINT)
		return has_taint(taints_of(object), row->key);
	return json_object_get(texts, row->key) != NULL;
}

/* Our hold, 0 and NULL without one; false: what is under its name is not as we set it. */
static bool find_hold(const json_t *object, const struct cluster_names *names,
		      uint64_t *ret_until_us, char **ret_by)
{
	const json_t *taints = taints_of(object);
	CLEANUP(freep) char *by = NULL;
	uint64_t until_us = 0;
	size_t i;

	for (i = 0; i < json_array_size(taints); i++) {
		if (!streq(taint_key(taints, i), names->testing))
			continue;
		if (by || !kube_hold_read(json_array_get(taints, i), &until_us, &by))
			return false;
	}
	*ret_until_us = until_us;
	*ret_by = TAKE(by);
	return true;
}

/* What stands under our names and is not as we write it. */
static const char *not_as_ours(const json_t *object, const struct cluster_names *names)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const json_t *text =
		json_object_get(json_object_get(metadata, "annotations"), names->cordon);
	CLEANUP(cluster_mark_freep)
	struct cluster_mark *mark = kube_mark_read(json_string_value(text));
	CLEANUP(freep) char *by = NULL;
	uint64_t until_us;

	if (text && !mark)
		return names->not_our_mark;
	if (!find_hold(object, names, &until_us, &by))
		return names->not_our_hold;
	return NULL;
}

struct kube_hands_off kube_node_hands_off(const json_t *object, const struct cluster_names *names)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *words;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		if (has(object, &others[i]))
			return (struct kube_hands_off){ others[i].words, !others[i].outside,
							others[i].outside };
	}
	if (text_at(metadata, "deletionTimestamp"))
		return (struct kube_hands_off){ "it is being deleted", true, false };
	words = not_as_ours(object, names);
	return (struct kube_hands_off){ words, words != NULL, false };
}

bool kube_node_lifts(const struct cluster_node *node)
{
	return node->mark && !node->mark->pre && !node->leaving;
}

/* ---- the rest of it ------------------------------------------------------------ */

static bool is_ready(const json_t *object)
{
	const json_t *conditions = json_object_get(json_object_get(object, "status"), "conditions");
	size_t i;

	for (i = 0; i < json_array_size(conditions); i++) {
		const json_t *one = json_array_get(conditions, i);

		if (streq(text_at(one, "type"), "Ready"))
			return streq(text_at(one, "status"), "True");
	}
	return true;
}

static bool is_short(const char *text, size_t most)
{
	return text && text[0] && strnlen(text, most + 1) <= most;
}

/* As the kubelet has it; NULL without one. New memory. */
static char *boot_of(const json_t *object)
{
	const json_t *info = json_object_get(json_object_get(object, "status"), "nodeInfo");
	const char *boot = text_at(info, "bootID");

	return is_short(boot, OPAQUE_MAX_LEN) ? xstrdup(boot) : NULL;
}

/*
 * The first of status.addresses of type InternalIP, of which the kubelet says the family that the
 * cluster prefers first; in brackets when it is of IPv6. NULL without one. New memory.
 */
static char *address_of(const json_t *object)
{
	const json_t *list = json_object_get(json_object_get(object, "status"), "addresses");
	unsigned char parsed[sizeof(struct in6_addr)];
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const char *address = text_at(one, "address");

		if (!address || !streq(text_at(one, "type"), "InternalIP"))
			continue;
		if (inet_pton(AF_INET, address, parsed) == 1)
			return xstrdup(address);
		if (inet_pton(AF_INET6, address, parsed) == 1)
			return xasprintf("[%s]", address);
	}
	return NULL;
}

static uint64_t since_of(const json_t *metadata)
{
	const char *text = text_at(metadata, "creationTimestamp");
	uint64_t since_us = 0;

	return text && clock_parse_stamp(text, &since_us) == 0 ? since_us : 0;
}

/* Texts only; the server's maps hold nothing else. New reference. */
static json_t *labels_of(const json_t *metadata)
{
	json_t *labels = json_object(), *value;
	const char *key;

	json_object_foreach(json_object_get(metadata, "labels"), key, value)
	{
		if (json_is_string(value))
			(void)json_object_set(labels, key, value);
	}
	return labels;
}

int kube_node_read(const json_t *object, const struct cluster_names *names,
		   struct cluster_node *ret, struct err *err)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const json_t *annotations = json_object_get(metadata, "annotations");
	const json_t *spec = json_object_get(object, "spec");
	const char *name = text_at(metadata, "name");
	struct kube_hands_off hands;
	struct cluster_node node;

	if (!is_short(name, NAME_MAX_LEN))
		return err_set(err, EINVAL, "a node without a name");
	if (!is_short(text_at(metadata, "uid"), OPAQUE_MAX_LEN) ||
	    !is_short(text_at(metadata, "resourceVersion"), OPAQUE_MAX_LEN))
		return err_set(err, EINVAL, "node %s: no uid or no resourceVersion", name);
	hands = kube_node_hands_off(object, names);
	node = (struct cluster_node){
		.name = xstrdup(name),
		.uid = xstrdup(text_at(metadata, "uid")),
		.version = xstrdup(text_at(metadata, "resourceVersion")),
		.labels = labels_of(metadata),
		.unschedulable = json_is_true(json_object_get(spec, "unschedulable")),
		.ready = is_ready(object),
		.hands_off = xstrdup(hands.words),
		.leaving = hands.leaving,
		.outside = hands.outside,
		.since_us = since_of(metadata),
		.mark = kube_mark_read(text_at(annotations, names->cordon)),
		.override_us = kube_override_read(text_at(annotations, names->override)),
		.unverified = has_taint(taints_of(object), names->unverified),
		.boot = boot_of(object),
		.address = address_of(object),
	};
	node.managed = !streq(cluster_node_label(&node, names->managed), "false");
	(void)find_hold(object, names, &node.hold_us, &node.hold_by);
	*ret = node;
	return 0;
}
