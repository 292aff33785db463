/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes as reported by lists and the watch, and what is passed on about them. Pure: the time is
 * a parameter.
 *
 * - after kube_view_list() the view is the list, and the watcher was told every difference: nodes
 *   that are gone, every node, synced;
 * - a node that returns with another UID is a different one: gone, then new;
 * - a young node is hands-off for a while: drivers and daemons are still starting on it;
 * - an empty fleet, or one that lost more than a fifth within ten minutes, is doubted: more likely
 *   the view is wrong, or something larger is going on.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

enum {
	KUBE_VIEW_LEAST_PERCENT = 80, /* of the most nodes within KUBE_VIEW_SHRUNK_US */
	KUBE_VIEW_GONE_LEAST = 2,     /* the loss of a single node is normal */
};

#define KUBE_VIEW_SHRUNK_US (10 * 60 * UINT64_C(1000000))

struct kube_now {
	uint64_t mono_us, real_us;
};

/* Zeroed except for the first two. */
struct kube_view {
	const struct cluster_watcher *watcher; /* borrowed */
	uint64_t young_us;		       /* a node is young for this long; 0: never */
	void *tree;			       /* by name */
	size_t n, n_young;
	unsigned listing;  /* number of the current list */
	size_t most;	   /* largest number of nodes */
	uint64_t most_us;  /* monotonic: when it was last reached */
	char *young_words; /* `hands_off` of a young node */
};

void kube_view_release(struct kube_view *view);

/* A list of all nodes, which are moved out of `nodes`. */
void kube_view_list(struct kube_view *view, struct cluster_node *nodes, size_t n,
		    struct kube_now now);

/* A node is new or has changed; it is moved out. */
void kube_view_take(struct kube_view *view, struct cluster_node *node, struct kube_now now);

/* It is gone; ignored if `uid` is not that of the current node. */
void kube_view_drop(struct kube_view *view, const char *name, const char *uid, struct kube_now now);

/* Time has passed: report the nodes that are no longer young. */
void kube_view_grow(struct kube_view *view, struct kube_now now);

/* A sentence why the view cannot be right, new memory; or NULL. */
char *kube_view_doubt(struct kube_view *view, struct kube_now now);
