/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts Node objects of Kubernetes for the actor, and what we write on them. Pure: no requests,
 * no clock. Names with our prefix:
 *
 *   annotation  PREFIX/cordon           our mark, JSON (cluster_mark_encode())
 *   annotation  PREFIX/override-until   an RFC 3339 time
 *   label       PREFIX/managed          "false": opted out
 *   taint       PREFIX/testing          our hold, NoSchedule; its value is "UNIX_SECONDS.BY"
 *   taint       PREFIX/unverified       the kubelet's, on a new node; we only remove it
 *
 * Invariants:
 * - content under one of our names in a form we do not write belongs to somebody else: the node is
 *   hands-off, counts as out of service, and the content is never overwritten or removed;
 * - missing members are read as in service and ready, except that a condition Ready which is not
 *   "True" means not ready;
 * - what is kept is copied: the object, which has 20 to 60 KB of images, can be freed.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

struct err;

enum {
	KUBE_MARK_MAX = 32 * 1024, /* bytes of our mark; all annotations of a node have 256 KiB */
	KUBE_TAINT_VALUE_MAX = 63, /* limit of the API server, as for a label's value */
};

/*
 * Read a Node from a list, a watch or a GET. The caller releases `ret` with cluster_node_release().
 * `hands_off` NULL: nobody else is working on the node; its age is not considered (kube_view.h).
 * Returns -EINVAL if it has no name, uid or version.
 */
int kube_node_read(const json_t *object, const struct cluster_names *names,
		   struct cluster_node *ret, struct err *err);

/* Why the node is never touched, for kube_node_read(); borrowed from `names`, or NULL. */
struct kube_hands_off {
	const char *words;
	bool leaving, outside; /* as in struct cluster_node */
};
struct kube_hands_off kube_node_hands_off(const json_t *object, const struct cluster_names *names);

/*
 * May the cordon be lifted with our mark? Not if it was there before our mark, nor while somebody
 * else works on the node: then only the mark is removed.
 */
bool kube_node_lifts(const struct cluster_node *node);

/* --- what we write --- */

/* Our mark as annotation text, at most KUBE_MARK_MAX; new memory. Evidence that is too long is left
 * out. */
char *kube_mark_text(const struct cluster_mark *mark);

/* The inverse: NULL if it is not ours. */
struct cluster_mark *kube_mark_read(const char *text);

/* The text of override-until; new memory. */
char *kube_override_text(uint64_t until_us);

/* The inverse; 0: none, or not a time. */
uint64_t kube_override_read(const char *text);

/*
 * The taint of our hold until `until_us` (rounded up to seconds), new reference. `by` is shortened
 * and adapted to the syntax of a taint's value.
 */
json_t *kube_hold_taint(const struct cluster_names *names, uint64_t until_us, const char *by);

/* The inverse: false if the taint has our key but is not as we write it. `ret_by` is new memory. */
bool kube_hold_read(const json_t *taint, uint64_t *ret_until_us, char **ret_by);

/*
 * All taints of the Node `object` with the given hold (0: none), for a merge patch, which replaces
 * the list; new reference. Others keep their position. Only for a node whose hold is ours.
 */
json_t *kube_node_taints(const json_t *object, const struct cluster_names *names, uint64_t until_us,
			 const char *by);
