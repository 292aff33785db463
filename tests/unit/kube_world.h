/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody who watches the nodes of the server of kube_fake.h, on a clock of its own. He checks
 * what he is told as it comes: nobody comes back as another one without having gone, no version
 * goes back, and a list names everybody who stays.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/kube/kube_watch.h"
#include "lib/base/macro.h"
#include "tests/unit/kube_fake.h"

/* With the picture that he has from what he was told. */
struct world {
	struct kube kube;
	struct kube_watch *watch;
	struct cluster_watcher watcher;
	struct cluster_node nodes[FAKE_NODES]; /* name NULL: there is none */
	unsigned told, gone, synced, stales;   /* calls */
	char *stale;			       /* why it is, or NULL */
	unsigned since_sync;		       /* bits of nodes told since the last synced */
	uint64_t young_us;
};

/* A server with so many nodes, and nobody has asked it anything yet. */
void world_open(struct world *w, unsigned nodes);
void world_close(struct world *w);

/* Another watch, as after a start; the picture is kept until world_forget(). */
void world_begin(struct world *w);
void world_forget(struct world *w);

/* Opened, listed, and watching. */
void world_settle(struct world *w, unsigned nodes);

/* Time passes in one step. */
void world_later(struct world *w, uint64_t us);

/* Answer all that is asked, until a watch with nothing to tell is all that is left. */
void world_serve(struct world *w);

/* All is answered for so long. */
void world_quiet(struct world *w, unsigned seconds);

/* His picture is the server's. */
void world_check(const struct world *w);
