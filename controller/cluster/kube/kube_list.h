/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All nodes there are, page by page: one snapshot, without a cache. When the server has
 * forgotten the snapshot between two pages (410) it begins again; nobody is told of a part.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"

struct err;
struct kube;
struct kube_list;

enum {
	KUBE_PAGE = 100, /* nodes of one answer: 6 MB where each has 60 KB, read in one go */
	KUBE_NODES_MAX = 100000, /* FLEET_NODES_MAX of lib/policy/fleet.h */
	KUBE_LIST_RESTARTS = 3,	 /* then it has failed */
};

/* What came of it. All borrowed until `done` returns; nodes that are moved out are left zeroed. */
struct kube_listed {
	enum cluster_result result; /* CLUSTER_DONE, CLUSTER_AGAIN or CLUSTER_REFUSED */
	const char *words;	    /* one line when it is not CLUSTER_DONE, else "" */
	uint64_t retry_us;	    /* not before so long; 0: as you like */
	struct cluster_node *nodes;
	size_t n;
	const char *version; /* of the snapshot: where a watch goes on */
};
typedef void kube_list_done(void *context, struct kube_listed *listed);

/* Which nodes: by a label and a field selector, each NULL for all. Copied. */
struct kube_chosen {
	const char *labels, *fields;
};

/* Begin. `done` comes later, once; the list is gone then. Negative when it cannot even start. */
int kube_list_begin(struct kube *kube, const struct kube_chosen *chosen, kube_list_done *done,
		    void *context, struct kube_list **ret, struct err *err);

/* `done` is not called any more. NULL is fine. */
void kube_list_cancel(struct kube_list *list);

/* "limit=100&labelSelector=..." and the like: `first` and the selectors behind it. New memory. */
char *kube_nodes_query(const char *first, const struct kube_chosen *chosen);

/* --- cluster_ops.list ----------------------------------------------------- */

/* Those that are under way; a zeroed one is empty. */
struct kube_lists {
	struct kube_lists_item *first;
};

/*
 * Tell `each` of every node, then `call`. A list that cannot start is answered at once. The
 * node of `each` is borrowed until it returns.
 */
void kube_list(struct kube_lists *lists, struct kube *kube, const struct kube_chosen *chosen,
	       void (*each)(void *context, const struct cluster_node *node),
	       const struct cluster_call *call);

/* Who still waits is answered with CLUSTER_AGAIN. */
void kube_lists_close(struct kube_lists *lists);
