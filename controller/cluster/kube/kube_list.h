/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists all nodes page by page, as one snapshot without a cache. If the server drops the snapshot
 * between two pages (410) it starts over; partial results are never reported.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

struct err;
struct kube;
struct kube_list;

enum {
	KUBE_PAGE = 100,	 /* nodes per answer: 6 MB at 60 KB each, parsed in one go */
	KUBE_NODES_MAX = 100000, /* FLEET_NODES_MAX of lib/policy/fleet.h */
	KUBE_LIST_RESTARTS = 3,	 /* then it fails */
};

/* Result. All borrowed until `done` returns; nodes that are moved out are left zeroed. */
struct kube_listed {
	enum cluster_result result; /* CLUSTER_DONE, CLUSTER_AGAIN or CLUSTER_REFUSED */
	const char *words;	    /* one line unless CLUSTER_DONE, else "" */
	uint64_t retry_us;	    /* wait at least this long; 0: any time */
	struct cluster_node *nodes;
	size_t n;
	const char *version; /* of the snapshot: where a watch continues */
};
typedef void kube_list_done(void *context, struct kube_listed *listed);

/* Label and field selector; NULL for all. Copied. */
struct kube_chosen {
	const char *labels, *fields;
};

/* Start. `done` is called later, once; the list is freed then. Negative if it cannot start. */
int kube_list_begin(struct kube *kube, const struct kube_chosen *chosen, kube_list_done *done,
		    void *context, struct kube_list **ret, struct err *err);

/* `done` will not be called any more. NULL is allowed. */
void kube_list_cancel(struct kube_list *list);

/* "limit=100&labelSelector=..." and the like: `first` followed by the selectors. New memory. */
char *kube_nodes_query(const char *first, const struct kube_chosen *chosen);

/* --- cluster_ops.list ----------------------------------------------------- */

/* Lists in progress; initially zero. */
struct kube_lists {
	struct kube_lists_item *first;
};

/*
 * Call `each` for every node, then `call`. If it cannot start the call is answered at once. The
 * node passed to `each` is borrowed until it returns.
 */
void kube_list(struct kube_lists *lists, struct kube *kube, const struct kube_chosen *chosen,
	       void (*each)(void *context, const struct cluster_node *node),
	       const struct cluster_call *call);

/* Answers pending calls with CLUSTER_AGAIN. */
void kube_lists_close(struct kube_lists *lists);
