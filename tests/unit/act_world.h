/* SPDX-License-Identifier: Apache-2.0 */
/* A controller's acting half on a real store and a clock of its own, that can be killed at any
 * commit. */
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

/* A cluster that is not the embedded one: made anew after each kill. */
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
	bool waits;		  /* an agent for orders: what it is told is `order` */
	json_t *order;		  /* NULL: nothing yet */
	const char *wrong_file;	  /* the SKU whose file its hosts contradict */
	uint64_t seq;		  /* of the next report */
	unsigned looks, replaced; /* machines so far, of all names */
	unsigned repaired;	  /* so often was it told */
	/* Of world_look(): as the cluster has them. */
	struct cluster_node nodes[WORLD_NODES];
	size_t n_nodes;
	struct world_outside outside; /* without `make`: the embedded one */
};

/* Hosts "n0" ... report once; the policy cordons for what is fatal, at most 20 % of them. */
void world_open(struct world *w, const char *name);
void world_open_in(struct world *w, const char *name, const struct world_outside *outside);
void world_close(struct world *w);

/* Commit and go on until nothing is left to do; at most `commits` commits (0: as many as it takes). */
bool world_run(struct world *w, unsigned commits);

/* The process is gone: what was not committed is lost, and another one starts. */
void world_kill(struct world *w);
void world_wait(struct world *w, uint64_t us);

/* A report of the host comes in; with `bad` it is bad by itself, else what was bad is over. */
void world_report(struct world *w, const char *node, bool bad);

/* Another machine reports under its name: what was found is forgotten. */
void world_replace(struct world *w, const char *node);

/* The report of the full profile that answers the test under way; false: there is none. */
bool world_answer(struct world *w, const char *node, bool good);

/* Likewise; one reference finds it bad, but not so that it counts in its windows. */
bool world_answer_weakly(struct world *w, const char *node);

/* Ask, and run until it is answered: the status. */
unsigned world_ask(struct world *w, enum action_kind kind, const struct actor_request *ask);

/* Read the nodes of the cluster. */
void world_look(struct world *w);
const struct cluster_node *world_node(struct world *w, const char *node);

/* The one number that a query on the store gives; it is committed before. */
long long world_count(struct world *w, const char *sql);
