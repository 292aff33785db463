/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/cluster_kube.h"

#include <stdlib.h>

#include "controller/cluster/kube/cluster_kube_inside.h"
#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_drain.h"
#include "controller/cluster/kube/kube_event.h"
#include "controller/cluster/kube/kube_heart.h"
#include "controller/cluster/kube/kube_ledger.h"
#include "controller/cluster/kube/kube_watch.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

static const char *stopped(void *context)
{
	return kube_stopped(context);
}

static void noted(void *context, const json_t *raw)
{
	kube_seen_fresh(context, raw);
}

/* --- the table --- */

static void list(struct cluster *c, void (*node)(void *context, const struct cluster_node *node),
		 const struct cluster_call *call)
{
	struct cluster_kube *k = kube_of(c);

	const struct kube_chosen chosen = { k->options.selector, NULL };

	kube_list(&k->lists, k->options.kube, &chosen, node, call);
}

static int watch(struct cluster *c, const struct cluster_watcher *watcher, struct err *err)
{
	struct cluster_kube *k = kube_of(c);
	const struct kube_watch_options options = { .loop = k->options.loop,
						    .kube = k->options.kube,
						    .selector = k->options.selector,
						    .young_us = k->options.young_us,
						    .mono_us = k->options.mono_us,
						    .real_us = k->options.real_us };

	kube_watch_free(TAKE(k->watch));
	kube_seen_release(k);
	k->whole = false;
	k->watcher = watcher;
	return kube_watch_new(&options, &k->own, &k->watch, err);
}

static void condition(struct cluster *c, const struct cluster_condition *condition,
		      const struct cluster_call *call)
{
	kube_hearts_tell(kube_of(c)->hearts, condition, call);
}

static void event(struct cluster *c, const struct cluster_event *event)
{
	struct cluster_kube *k = kube_of(c);
	const struct cluster_node *node = kube_seen(k, event->node);

	kube_events_tell(k->events, event, node ? node->uid : NULL);
}

static void evict(struct cluster *c, const struct cluster_change *change,
		  const struct cluster_call *call)
{
	kube_drain(kube_of(c)->drains, change, call);
}

static void jobs(struct cluster *c, const char *node, const struct cluster_call *call)
{
	kube_drain_jobs(kube_of(c)->drains, node, call);
}

static void ledger_read(struct cluster *c, const struct cluster_call *call)
{
	kube_ledger_read(kube_of(c)->options.ledger, call);
}

static void ledger_write(struct cluster *c, const char *version, const char *text,
			 const struct cluster_call *call)
{
	kube_ledger_write(kube_of(c)->options.ledger, version, text, call);
}

static const char *why_stopped(struct cluster *c)
{
	return kube_stopped(kube_of(c));
}

static void end(struct cluster *c)
{
	struct cluster_kube *k = kube_of(c);

	k->closing = true;
	k->watcher = NULL;
	kube_watch_free(k->watch);
	kube_ops_end(k);
	kube_lists_close(&k->lists);
	kube_drains_free(k->drains);
	kube_hearts_free(k->hearts);
	kube_events_free(k->events);
	kube_seen_release(k);
	free(k);
}

static const struct cluster_ops kube_ops = {
	.name = "kubernetes",
	.conditions = true,
	.close = end,
	.list = list,
	.watch = watch,
	.confirm = kube_confirm,
	.cordon = kube_cordon,
	.uncordon = kube_uncordon,
	.annotate = kube_annotate,
	.condition = condition,
	.event = event,
	.hold = kube_hold,
	.verified = kube_verified,
	.evict = evict,
	.jobs = jobs,
	.ledger_read = ledger_read,
	.ledger_write = ledger_write,
	.stopped = why_stopped,
};

void cluster_kube_tick(struct cluster *c)
{
	struct cluster_kube *k = kube_of(c);

	if (!k->options.loop && k->watch)
		kube_watch_tick(k->watch);
	kube_seen_whole(k);
	kube_hearts_tick(k->hearts);
	kube_events_tick(k->events);
}

struct cluster *cluster_kube_new(const struct cluster_kube_options *options)
{
	struct cluster_kube *k = xcalloc(1, sizeof(*k));
	const struct kube_drains_options drains = {
		.kube = options->kube,
		.jobs = options->jobs,
		.mono_us = options->mono_us,
		.stopped = stopped,
		.context = k,
	};
	const struct kube_events_options events = { options->kube, options->mono_us,
						    options->real_us, stopped, k };
	const struct kube_hearts_options hearts = {
		options->kube, options->mono_us, options->real_us, stopped, noted, k
	};

	k->cluster.ops = &kube_ops;
	k->cluster.names = kube_names(options->kube);
	k->options = *options;
	k->last = &k->first;
	k->own = kube_own_watcher;
	k->own.context = k;
	k->drains = kube_drains_new(&drains);
	k->events = kube_events_new(&events);
	k->hearts = kube_hearts_new(&hearts);
	return &k->cluster;
}
