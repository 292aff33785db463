/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's actor on a real store and a simulated clock. It can be killed at any commit. */
#pragma once

#include <stdint.h>

#include "controller/actions/actor.h"
#include "controller/actions/actor_requests.h"
#include "controller/actions/actor_views.h"
#include "controller/cluster/cluster.h"
#include "lib/base/macro.h"
#include "lib/policy/policy.h"

struct store;

enum { WORLD_NODES = 20 };

/* A cluster other than the embedded one; created again after each kill. */
struct world_outside {
	struct cluster *(*make)(void *context);
	void *context;
	uint64_t keep_us; /* of actor_options */
};

struct world {
	char *path;
	struct store *store;
	struct cluster *cluster;
	struct actor *act;
	struct policy policy;
	uint64_t now_us;
	bool touched;
	bool waits;		  /* an agent waits for orders, stored in `order` */
	json_t *order;		  /* NULL: none yet */
	const char *wrong_file;	  /* the SKU file that its hosts contradict */
	uint64_t seq;		  /* of the next report */
	unsigned looks, replaced; /* replaced: machines, over all names */
	unsigned repaired;	  /* calls of repaired() */
	/* The cluster's nodes, read by world_look(). */
	struct cluster_node nodes[WORLD_NODES];
	size_t n_nodes;
	struct world_outside outside; /* `make` NULL: the embedded cluster */
};

/* Hosts "n0" ... report once; the policy cordons for fatal findings, at most 20 % of the hosts. */
void world_open(struct world *w, const char *name);
void world_open_in(struct world *w, const char *name, const struct world_outside *outside);
void world_close(struct world *w);

/* Runs and commits until nothing is left to do, at most `commits` times (0: no limit). */
bool world_run(struct world *w, unsigned commits);

/* Kills the process, which loses uncommitted work, and starts another. */
void world_kill(struct world *w);
void world_wait(struct world *w, uint64_t us);

/* Ingests a report of the host: bad by its own judgement, or good, which clears earlier faults. */
void world_report(struct world *w, const char *node, bool bad);

/* Another machine reports under this name: earlier findings are dropped. */
void world_replace(struct world *w, const char *node);

/* Ingests the full profile's report for the pending test. Returns false if none is pending. */
bool world_answer(struct world *w, const char *node, bool good);

/* The same, with a report that one reference finds bad, too weakly to count in its windows. */
bool world_answer_weakly(struct world *w, const char *node);

/* Sends a request and runs until it is answered. Returns the status. */
unsigned world_ask(struct world *w, enum action_kind kind, const struct actor_request *ask);

/* Reads the nodes of the cluster into w->nodes. */
void world_look(struct world *w);
const struct cluster_node *world_node(struct world *w, const char *node);

/* Commits, then returns the single number that a query on the store yields. */
long long world_count(struct world *w, const char *sql);
