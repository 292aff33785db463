/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watcher of the nodes on the server of kube_fake.h, on a simulated clock. It checks each event:
 * a node's uid changes only after it was gone, no version goes back, and a list contains every node
 * that stays.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/kube/kube_watch.h"
#include "lib/base/macro.h"
#include "tests/unit/kube_fake.h"

/* `nodes` is the watcher's view, built from the events. */
struct world {
	struct kube kube;
	struct kube_watch *watch;
	struct cluster_watcher watcher;
	struct cluster_node nodes[FAKE_NODES]; /* name NULL: no such node */
	unsigned told, gone, synced, stales;   /* calls */
	char *stale;			       /* the reason it is stale, or NULL */
	unsigned since_sync;		       /* bitmask of nodes reported since the last sync */
	uint64_t young_us;
};

/* Opens a server with `nodes` nodes, before the first request. */
void world_open(struct world *w, unsigned nodes);
void world_close(struct world *w);

/* Starts another watch, as after a restart; the view is kept until world_forget(). */
void world_begin(struct world *w);
void world_forget(struct world *w);

/* Opens the world, serves the list, and gets to a running watch. */
void world_settle(struct world *w, unsigned nodes);

/* Advances the time in one step. */
void world_later(struct world *w, uint64_t us);

/* Serves all requests until only an idle watch is left. */
void world_serve(struct world *w);

/* Serves all requests for this long. */
void world_quiet(struct world *w, unsigned seconds);

/* CHECKs that the watcher's view matches the server. */
void world_check(const struct world *w);
