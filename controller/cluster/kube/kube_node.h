/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Node object of Kubernetes as the actor sees it, and what we write on one. Pure: no
 * requests, no clock. What stands behind the prefix:
 *
 *	annotation PREFIX/cordon	    our mark, a JSON text (cluster_mark_encode())
 *	annotation PREFIX/override-until an RFC 3339 stamp
 *	label	   PREFIX/managed	    "false": opted out
 *	taint	   PREFIX/testing	    our hold, NoSchedule; its value is "UNIX_SECONDS.BY"
 *	taint	   PREFIX/unverified	    the kubelet's, of a new node; we only take it off
 *
 * Invariants:
 *  - what stands under one of our names and is not as we write it is another's: the node is
 *    hands-off and counts as out of service, and is never overwritten or lifted;
 *  - what a node does not say is read as in service and ready, except that a condition Ready
 *    which is not "True" is not ready;
 *  - reading copies what it keeps: the object, 20 to 60 KB of it images, can be freed.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

struct err;

enum {
	KUBE_MARK_MAX = 32 * 1024, /* bytes of our mark; all annotations of a node have 256 KiB */
	KUBE_TAINT_VALUE_MAX = 63, /* of the API server, as of a label's value */
};

/*
 * Read a Node, of a list, a watch or a GET. Release `ret` with cluster_node_release(). A node
 * counts as touched by nobody else when `hands_off` is NULL; how young it is, is not looked
 * at (kube_view.h). -EINVAL when it has no name, uid or version.
 */
int kube_node_read(const json_t *object, const struct cluster_names *names,
		   struct cluster_node *ret, struct err *err);

/* The sentence of why it is never touched, as kube_node_read() has it; borrowed of `names`, or NULL. */
struct kube_hands_off {
	const char *words;
	bool leaving, outside; /* as in struct cluster_node */
};
struct kube_hands_off kube_node_hands_off(const json_t *object, const struct cluster_names *names);

/*
 * May the cordon go when our mark goes? Not when it was there before our mark, and not while
 * another works on the node: then only the mark goes.
 */
bool kube_node_lifts(const struct cluster_node *node);

/* --- what we write --- */

/* Our mark as the annotation's text, at most KUBE_MARK_MAX; new memory. Evidence too long is left out. */
char *kube_mark_text(const struct cluster_mark *mark);

/* And back: NULL for what is none of ours. */
struct cluster_mark *kube_mark_read(const char *text);

/* The text of override-until; new memory. */
char *kube_override_text(uint64_t until_us);

/* And back; 0: none, or a text that is no stamp. */
uint64_t kube_override_read(const char *text);

/*
 * The taint of our hold until `until_us` (rounded up to seconds), new reference. `by` is cut and
 * mended to what a taint's value may hold.
 */
json_t *kube_hold_taint(const struct cluster_names *names, uint64_t until_us, const char *by);

/* And back: false when the taint has our key and is not as we write it. `ret_by` is new memory. */
bool kube_hold_read(const json_t *taint, uint64_t *ret_until_us, char **ret_by);

/*
 * All taints of the Node `object` with our hold as told (0: with none), for a merge patch, which
 * replaces the list; new reference. Others keep their place. Call it only on a node whose hold is
 * ours.
 */
json_t *kube_node_taints(const json_t *object, const struct cluster_names *names, uint64_t until_us,
			 const char *by);
