/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is out of service now? A watch tells what happened, but a little later, and one that lags
 * or hangs tells nothing and does not show. Before the budget is spent the server itself is
 * asked, without a cache, for those that are cordoned: few, however large the fleet.
 */
#include <stdlib.h>

#include "controller/cluster/kube/cluster_kube_inside.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"

#define CORDONED "spec.unschedulable=true"
#define RETRY_US USEC_PER_SEC

struct confirm {
	struct cluster_kube *k;
	struct cluster_call call;
	bool behind; /* what was told cannot be brought in line by this */
};

static void on_cordoned(void *context, const struct cluster_node *node)
{
	struct confirm *confirm = context;
	struct cluster_kube *k = confirm->k;
	const struct cluster_node *told = kube_seen(k, node->name);

	if (!node->unschedulable)
		return;
	if (!told || !streq(told->uid, node->uid))
		confirm->behind = true; /* the watch is about to tell, or a list */
	else if (kube_version_before(told->version, node->version))
		kube_seen_newer(k, node);
	else if (!told->unschedulable && !kube_version_before(node->version, told->version))
		confirm->behind = true;
}

static void on_done(void *context, const struct cluster_answer *answer)
{
	CLEANUP(freep) struct confirm *confirm = context;
	static const struct cluster_answer behind = {
		.result = CLUSTER_AGAIN,
		.words = "nodes are out of service that the watch has not told of yet",
		.retry_us = RETRY_US,
	};
	const bool done = answer->result == CLUSTER_DONE;

	cluster_answer(&confirm->call, done && confirm->behind ? &behind : answer);
}

void kube_confirm(struct cluster *c, const struct cluster_call *call)
{
	struct cluster_kube *k = kube_of(c);
	struct confirm *confirm = xcalloc(1, sizeof(*confirm));
	const struct kube_chosen chosen = { k->options.selector, CORDONED };

	*confirm = (struct confirm){ k, *call, false };
	kube_list(&k->lists, k->options.kube, &chosen, on_cordoned,
		  &(struct cluster_call){ on_done, confirm });
}
