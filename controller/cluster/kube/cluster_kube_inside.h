/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the cluster on Kubernetes share. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "controller/cluster/kube/cluster_kube.h"
#include "controller/cluster/kube/kube_list.h"
#include "lib/base/macro.h"

struct kube_drains;
struct kube_events;
struct kube_hearts;
struct kube_op;
struct kube_watch;

struct cluster_kube {
	struct cluster cluster; /* first */
	struct cluster_kube_options options;
	const struct cluster_watcher *watcher; /* whoever watches, or NULL */
	struct cluster_watcher own;	       /* we, before them */
	struct kube_watch *watch;
	struct kube_lists lists;
	bool whole; /* the list was, and nobody has been told yet */
	void *seen; /* tree of the nodes as they were told, by name */
	struct kube_drains *drains;
	struct kube_events *events;
	struct kube_hearts *hearts;
	struct kube_op *first, **last; /* changes, those under way first */
	size_t n_ops, running;
	bool closing;
};

static inline struct cluster_kube *kube_of(struct cluster *c)
{
	return (struct cluster_kube *)c;
}

/* Why nothing may be changed now, or NULL. */
static inline const char *kube_stopped(const struct cluster_kube *k)
{
	return k->options.stopped(k->options.context);
}

/* --- nodes as they were told (cluster_kube_seen.c) --- */

extern const struct cluster_watcher kube_own_watcher; /* without a context */
const struct cluster_node *kube_seen(const struct cluster_kube *k, const char *name);
void kube_seen_release(struct cluster_kube *k);

/* As a request of ours has found or left it; what the watch knows better stays. */
void kube_seen_fresh(struct cluster_kube *k, const json_t *raw);

/* One that was told, as it is now: newer than that. */
void kube_seen_newer(struct cluster_kube *k, const struct cluster_node *node);

/* The list is whole, and we lead: say so. */
void kube_seen_whole(struct cluster_kube *k);

/* Nothing that a decision goes by is different `now`. */
bool kube_seen_same(const struct cluster_node *told, const struct cluster_node *now);

/* Was `a` before `b`? False when that cannot be told. */
bool kube_version_before(const char *a, const char *b);

/* --- what is out of service now (cluster_kube_confirm.c) --- */

void kube_confirm(struct cluster *c, const struct cluster_call *call);

/* --- changes (cluster_kube_change.c) --- */

void kube_cordon(struct cluster *c, const struct cluster_change *change,
		 const struct cluster_mark *mark, const struct cluster_call *call);
void kube_uncordon(struct cluster *c, const struct cluster_change *change, uint64_t override_us,
		   const struct cluster_call *call);
void kube_annotate(struct cluster *c, const struct cluster_change *change, uint64_t override_us,
		   const struct cluster_call *call);
void kube_hold(struct cluster *c, const struct cluster_change *change, uint64_t until_us,
	       const char *by, const struct cluster_call *call);
void kube_verified(struct cluster *c, const struct cluster_change *change,
		   const struct cluster_call *call);

/* Who waits is answered CLUSTER_AGAIN. */
void kube_ops_end(struct cluster_kube *k);
