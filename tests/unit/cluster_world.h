/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster on a Kubernetes in memory (kube_memory.h), somebody who watches it, and a clock of
 * its own. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/kube/cluster_kube.h"
#include "lib/base/macro.h"
#include "tests/unit/kube_memory.h"

enum { CLUSTER_NODES = 4 }; /* "n0" ... */

struct world {
	struct kube kube;
	struct cluster *cluster;
	struct cluster_watcher watcher;
	json_t *told; /* by name: {uid, version, mark, unschedulable} */
	unsigned synced, gone;
	const char *stopped;
	bool leads;
	enum cluster_result result; /* of the last answer */
	char *words;
	unsigned answers;
};

extern uint64_t now_us; /* both clocks */

void world_open(struct world *w);

/* Checks that nothing is left under way. */
void world_close(struct world *w);

/* So much time, and everything that is asked for is answered. */
void settle(struct world *w, uint64_t us);

/* The version that whoever watches knows; NULL: it knows no such node. Borrowed. */
const char *version_of(const struct world *w, const char *node);

/* Ask for it; the answer goes to `w->result`. */
void cordon(struct world *w, const char *node, const char *version, const char *action);
void uncordon(struct world *w, const char *node, const char *version);
struct cluster_call call_of(struct world *w);

/* As the server has it. */
bool is_cordoned(const struct world *w, const char *node);
const char *annotation(const struct world *w, const char *node);

/* A merge patch by a person with kubectl. */
void by_hand(struct world *w, const char *node, const char *patch);
#define CORDON "{\"spec\":{\"unschedulable\":true}}"
#define UNCORDON "{\"spec\":{\"unschedulable\":null}}"
