/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes as lists and watch have told them, and what is told on about them. Pure: what
 * time it is comes in.
 *
 *  - after kube_view_list() the picture is the list, and whoever watches was told every
 *    difference: gone, every node, synced;
 *  - a node that comes back with another uid is another one: gone, then new;
 *  - a young node is hands-off until it has grown up: drivers and daemons still come up on it;
 *  - a fleet that is empty, or lost more than a fifth within ten minutes, is doubted: more
 *    likely the view is wrong, or something larger goes on.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

enum {
	KUBE_VIEW_LEAST_PERCENT = 80, /* of the most nodes there were within KUBE_VIEW_SHRUNK_US */
	KUBE_VIEW_GONE_LEAST = 2,     /* one node that goes is one node */
};

#define KUBE_VIEW_SHRUNK_US (10 * 60 * UINT64_C(1000000))

struct kube_now {
	uint64_t mono_us, real_us;
};

/* Zeroed but for the first two. */
struct kube_view {
	const struct cluster_watcher *watcher; /* borrowed */
	uint64_t young_us;		       /* so long a node is young; 0: never */
	void *tree;			       /* by name */
	size_t n, n_young;
	unsigned listing;  /* counts the lists */
	size_t most;	   /* nodes there were */
	uint64_t most_us;  /* monotonic: then, the last time */
	char *young_words; /* what is told of a young one */
};

void kube_view_release(struct kube_view *view);

/* A list of all nodes: they are moved out of `nodes`. */
void kube_view_list(struct kube_view *view, struct cluster_node *nodes, size_t n,
		    struct kube_now now);

/* One node is new or was changed; it is moved out. */
void kube_view_take(struct kube_view *view, struct cluster_node *node, struct kube_now now);

/* It is gone; of another uid it is not about the one that is there. */
void kube_view_drop(struct kube_view *view, const char *name, const char *uid, struct kube_now now);

/* Time has passed: tell again of those that have grown up. */
void kube_view_grow(struct kube_view *view, struct kube_now now);

/* One sentence why the picture cannot be right, new memory; or NULL. */
char *kube_view_doubt(struct kube_view *view, struct kube_now now);
