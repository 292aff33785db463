/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks the nodes: a list, then a watch from there, and a new list whenever the watch breaks, and
 * every ten minutes.
 *
 *   list --> watch --(its time is over)--> watch, from what was seen last
 *     ^        |-----(410)---------------> list
 *     |        '-----(cut, not understood, 429, 5xx)--> wait 0.8 s, 1.6 s ... 30 s, with jitter
 *     |                                                 '--> list
 *     '--(failed)--> wait likewise; 5 s if not permitted, and after three times a minute
 *
 * An idle watch is silent for minutes, so while it runs a list of one node is requested every 15 s
 * to see whether the server answers at all. If there is no answer the watch counts as broken. The
 * view is valid as of the last list, line of the watch or such answer. The watcher is told that it
 * is stale, and that nothing may be decided on it, from a break until the next list, when it was
 * last valid a minute ago, or when it cannot be right (kube_view.h).
 *
 * A watch that lags or hangs cannot be detected: before taking a place in the budget the cluster is
 * asked directly (cluster_ops.confirm).
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
	KUBE_WATCH_LEAST_S = 300, /* requested duration of a watch, spread over controllers */
	KUBE_WATCH_MOST_S = 600,
	KUBE_REFUSED_SOON = 3, /* refusals that may be due to a server that has just started */
};

#define KUBE_RELIST_EVERY_US (10 * USEC_PER_MIN)
#define KUBE_BEAT_EVERY_US (15 * USEC_PER_SEC)
#define KUBE_BEAT_TIMEOUT_US (20 * USEC_PER_SEC)
#define KUBE_STALE_AFTER_US (60 * USEC_PER_SEC)

struct kube_watch_options {
	struct sd_event *loop; /* NULL: the owner calls kube_watch_tick() */
	struct kube *kube;     /* borrowed while it exists */
	const char *selector;  /* label selector of our nodes; NULL: all */
	uint64_t young_us;     /* new nodes are left alone for this long; 0: not */
	uint64_t (*mono_us)(void), (*real_us)(void); /* NULL: lib/base/clock.h */
};

/*
 * Start. `watcher` is borrowed while it exists, and never called before this returns. To report
 * everything again, free it and make a new one.
 */
int kube_watch_new(const struct kube_watch_options *options, const struct cluster_watcher *watcher,
		   struct kube_watch **ret, struct err *err);
void kube_watch_free(struct kube_watch *watch);
DEFINE_CLEANUP(struct kube_watch *, kube_watch_free, kube_watch_freep);

/* Is the view current as far as is known? */
bool kube_watch_fresh(const struct kube_watch *watch);

/* Do what is due. Call it once a second. */
void kube_watch_tick(struct kube_watch *watch);
