/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated fabric for lib/pairing: nodes below leaf switches, with a rate for each
 * node, NIC and switch. A group runs at the rate of its slowest element.
 */
#pragma once

#include "lib/pairing/pairing.h"
#include "tests/unit/random.h"

enum {
	WORLD_LEAVES_MAX = PAIRING_NODES_MAX,
	WORLD_RESULTS_MAX = PAIRING_RESULTS_MAX,
	WORLD_NAME_SIZE = 48, /* "leaf-", two 64-bit numbers and a separator */
	WORLD_NEVER = 1000,   /* a round that is never reached */
};

struct world {
	size_t n, n_rails, n_leaves;
	size_t leaf_of[PAIRING_NODES_MAX]; /* the node's scalable unit: one switch per rail */
	/* Fractions of the line rate; 1: good. */
	double node[PAIRING_NODES_MAX], nic[PAIRING_NODES_MAX][PAIRING_RAILS_MAX];
	double leaf[WORLD_LEAVES_MAX][PAIRING_RAILS_MAX];
	double cross; /* between switches */
	double line;  /* B/s of a rail */
	double noise;
	bool dead[PAIRING_NODES_MAX];	   /* accepts orders, never joins */
	size_t dies_at[PAIRING_NODES_MAX]; /* it disappears before this round */
	struct random chance;
	char name[PAIRING_NODES_MAX][WORLD_NAME_SIZE];
	char leaf_name[WORLD_LEAVES_MAX][PAIRING_RAILS_MAX][WORLD_NAME_SIZE];
	/* Input of the pairing; `problem.results` grows. */
	struct pairing_node nodes[PAIRING_NODES_MAX];
	struct pairing_problem problem;
	struct pairing_result results[WORLD_RESULTS_MAX];
	size_t members[WORLD_RESULTS_MAX][2]; /* of pairs; groups of more are allocated */
	size_t *more[WORLD_RESULTS_MAX];
	size_t n_groups; /* run so far */
};

/* Returns `n` good nodes on `n_rails` rails, `per_leaf` per switch. Free with world_free(). */
struct world *world_new(size_t n, size_t n_rails, size_t per_leaf, uint64_t seed);
void world_free(struct world *w);
DEFINE_CLEANUP(struct world *, world_free, world_freep);

/* Moves a node to another switch. */
void world_place(struct world *w, size_t node, size_t leaf);

/* One step of the pairing on the results so far. */
void world_step(struct world *w, struct pairing_step *ret);

/* Runs the groups of a round. */
void world_round(struct world *w, const struct pairing_round *round);

/* Runs steps and rounds until it is done. Returns the rounds; CHECKs each by world_round_ok(). */
size_t world_play(struct world *w, struct pairing_step *ret);

/* Is each node in at most one group, not paired with itself, still there, on a shared rail? */
bool world_round_ok(const struct world *w, const struct pairing_round *round);

/* Returns the number of certain blames of this kind that name `node` (SIZE_MAX: any node). */
size_t world_count(const struct pairing_step *step, enum pairing_kind kind, size_t node);
size_t world_certain(const struct pairing_step *step);
/* Is the result undecided for this reason? */
bool world_has_why(const struct pairing_step *step, enum pairing_why why);
