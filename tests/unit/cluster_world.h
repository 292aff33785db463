/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster interface on an in-memory Kubernetes (kube_memory.h), with a watcher and a simulated
 * clock. */
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
	enum cluster_result result; /* of the latest answer */
	char *words;
	unsigned answers;
};

extern uint64_t now_us; /* wall clock and monotonic clock */

void world_open(struct world *w);

/* Checks that no request is pending. */
void world_close(struct world *w);

/* Advances the time and answers all requests. */
void settle(struct world *w, uint64_t us);

/* Returns the version the watcher has seen; NULL if it knows no such node. Borrowed. */
const char *version_of(const struct world *w, const char *node);

/* Requests it; the result is stored in `w->result`. */
void cordon(struct world *w, const char *node, const char *version, const char *action);
void uncordon(struct world *w, const char *node, const char *version);
struct cluster_call call_of(struct world *w);

/* The state on the server. */
bool is_cordoned(const struct world *w, const char *node);
const char *annotation(const struct world *w, const char *node);

/* A merge patch by a person with kubectl. */
void by_hand(struct world *w, const char *node, const char *patch);
#define CORDON "{\"spec\":{\"unschedulable\":true}}"
#define UNCORDON "{\"spec\":{\"unschedulable\":null}}"
