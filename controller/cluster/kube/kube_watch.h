/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knows the nodes: a list, then a watch from where the list was, and a list again whenever the
 * watch was cut, and every ten minutes.
 *
 *	list --> watch --(its time is over)--> watch, from what was seen last
 *	  ^        |-----(410)---------------> list
 *	  |        '-----(cut, not understood, 429, 5xx)--> wait 0.8 s, 1.6 s ... 30 s, with jitter
 *--> list
 *	  '--(failed)--> wait likewise; 5 s when we may not, and after three times a minute
 *
 * An idle watch says nothing for minutes, so while it runs a list of one node is asked for
 * every 15 s: does the server answer at all? When nothing at all comes back the watch counts as cut.
 * What is known is good as of the last list, line of the watch or such an answer. From a cut
 * until the next list, when it was good a minute ago, or when the picture cannot be right
 * (kube_view.h), whoever watches is told that it is stale, and nothing may be decided on it.
 *
 * A watch that lags or hangs does not show: who takes a place of the budget asks the cluster
 * itself (cluster_ops.confirm).
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct kube;
struct kube_watch;
struct sd_event;

enum {
	KUBE_WATCH_LEAST_S = 300, /* a watch is asked for so long, spread over controllers */
	KUBE_WATCH_MOST_S = 600,
	KUBE_REFUSED_SOON = 3, /* times that a refusal may be that of a server that just started */
};

#define KUBE_RELIST_EVERY_US (10 * USEC_PER_MIN)
#define KUBE_BEAT_EVERY_US (15 * USEC_PER_SEC)
#define KUBE_BEAT_TIMEOUT_US (20 * USEC_PER_SEC)
#define KUBE_STALE_AFTER_US (60 * USEC_PER_SEC)

struct kube_watch_options {
	struct sd_event *loop; /* NULL: whoever made it calls kube_watch_tick() */
	struct kube *kube;     /* borrowed, until it is freed */
	const char *selector;  /* a label selector: which nodes are ours; NULL: all */
	uint64_t young_us;     /* a node is left alone for so long after it joined; 0: not */
	uint64_t (*mono_us)(void), (*real_us)(void); /* NULL: lib/base/clock.h */
};

/*
 * Begin. `watcher` is borrowed until it is freed, and never called before this returns. To tell all
 * anew, free it and make another one.
 */
int kube_watch_new(const struct kube_watch_options *options, const struct cluster_watcher *watcher,
		   struct kube_watch **ret, struct err *err);
void kube_watch_free(struct kube_watch *watch);
DEFINE_CLEANUP(struct kube_watch *, kube_watch_free, kube_watch_freep);

/* Is what was told so, as far as anybody knows? */
bool kube_watch_fresh(const struct kube_watch *watch);

/* Do what is due. Once a second is enough. */
void kube_watch_tick(struct kube_watch *watch);
