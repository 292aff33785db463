/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_node.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

enum {
	NAME_MAX_LEN = 253,   /* RFC 1123 subdomain */
	OPAQUE_MAX_LEN = 256, /* of a uid and a version, which are opaque */
};

static const char *text_at(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static const json_t *taints_of(const json_t *object)
{
	return json_object_get(json_object_get(object, "spec"), "taints");
}

/* ---- whose node is it ---------------------------------------------------------- */

enum place { LABEL, ANNOTATION, TAINT };

/*
 * Marks of other systems; the first found decides. A key that ends in '/' or '.' is a prefix.
 * Sources: well-known labels and taints of Kubernetes, cluster-autoscaler utils/taints, Karpenter
 * pkg/apis, NVSentinel commons, medik8s operators.
 */
static const struct others {
	enum place place;
	const char *key, *words;
	bool outside; /* else it is being taken out */
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

/* Our hold, 0 and NULL without one; false: not in the form we write. */
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

/* Content under our names that is not in the form we write. */
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

/* ---- other members -------------------------------------------------------------- */

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

/* From the kubelet; NULL if missing. New memory. */
static char *boot_of(const json_t *object)
{
	const json_t *info = json_object_get(json_object_get(object, "status"), "nodeInfo");
	const char *boot = text_at(info, "bootID");

	return is_short(boot, OPAQUE_MAX_LEN) ? xstrdup(boot) : NULL;
}

/*
 * The first InternalIP in status.addresses, where the kubelet puts the cluster's preferred family
 * first; in brackets for IPv6. NULL without one. New memory.
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

/* Strings only; the server's maps hold nothing else. New reference. */
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

/* --- what we write on nodes, and parsing it --- */

static const char no_schedule[] = "NoSchedule";

enum { HOLD_DIGITS_MAX = 13 }; /* of seconds; more would overflow as microseconds */

/* --- the mark --- */

char *kube_mark_text(const struct cluster_mark *mark)
{
	CLEANUP(json_freep) json_t *value = cluster_mark_encode(mark);
	CLEANUP(freep) char *text = json_line(value);

	if (strlen(text) <= KUBE_MARK_MAX)
		return TAKE(text);
	(void)json_object_del(value, "evidence");
	return json_line(value);
}

struct cluster_mark *kube_mark_read(const char *text)
{
	size_t len = text ? strnlen(text, KUBE_MARK_MAX + 1) : 0;
	CLEANUP(json_freep) json_t *value = NULL;

	if (len == 0 || len > KUBE_MARK_MAX || json_parse(text, len, "cordon", &value, NULL) < 0)
		return NULL;
	return cluster_mark_decode(value);
}

/* --- override-until --- */

char *kube_override_text(uint64_t until_us)
{
	char stamp[CLOCK_STAMP_SIZE];

	clock_stamp(until_us, stamp);
	return xstrdup(stamp);
}

uint64_t kube_override_read(const char *text)
{
	uint64_t until_us = 0;

	return text && clock_parse_stamp(text, &until_us) == 0 ? until_us : 0;
}

/* --- the hold --- */

/* Characters allowed within a value; its ends must be alphanumeric. */
static char mended(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.' ? c : '-';
}

json_t *kube_hold_taint(const struct cluster_names *names, uint64_t until_us, const char *by)
{
	uint64_t seconds = until_us / USEC_PER_SEC + (until_us % USEC_PER_SEC != 0);
	CLEANUP(freep)
	char *value =
		xasprintf("%" PRIu64 ".%.*s", seconds, KUBE_TAINT_VALUE_MAX - 21, by ? by : "");
	size_t len = strlen(value), i;

	for (i = 0; i < len; i++)
		value[i] = mended(value[i]);
	while (len > 0 && !isalnum((unsigned char)value[len - 1]))
		value[--len] = '\0';
	return json_pack("{s:s, s:s, s:s}", "key", names->testing, "value", value, "effect",
			 no_schedule);
}

bool kube_hold_read(const json_t *taint, uint64_t *ret_until_us, char **ret_by)
{
	const char *value = json_string_value(json_object_get(taint, "value"));
	size_t digits = value ? strspn(value, "0123456789") : 0;
	uint64_t seconds;

	if (digits == 0 || digits > HOLD_DIGITS_MAX ||
	    (value[digits] != '.' && value[digits] != '\0') ||
	    !streq(json_string_value(json_object_get(taint, "effect")), no_schedule))
		return false;
	seconds = strtoull(value, NULL, 10);
	if (seconds == 0)
		return false;
	*ret_until_us = seconds * USEC_PER_SEC;
	*ret_by = xstrdup(value[digits] == '.' ? value + digits + 1 : "");
	return true;
}

json_t *kube_node_taints(const json_t *object, const struct cluster_names *names, uint64_t until_us,
			 const char *by)
{
	const json_t *taints = json_object_get(json_object_get(object, "spec"), "taints");
	json_t *all = json_array();
	size_t i;

	for (i = 0; i < json_array_size(taints); i++) {
		json_t *one = json_array_get(taints, i);

		if (!streq(json_string_value(json_object_get(one, "key")), names->testing))
			(void)json_array_append(all, one);
	}
	if (until_us)
		(void)json_array_append_new(all, kube_hold_taint(names, until_us, by));
	return all;
}
