/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated fabric for lib/pairing: nodes below leaf switches, one rate for each
 * node, NIC and switch, and a group that carries what the slowest of them lets through.
 */
#pragma once

#include "lib/pairing/pairing.h"
#include "tests/unit/random.h"

enum {
	WORLD_LEAVES_MAX = PAIRING_NODES_MAX,
	WORLD_RESULTS_MAX = PAIRING_RESULTS_MAX,
	WORLD_NAME_SIZE = 48, /* "leaf-", two numbers of 64 bits and what is between */
	WORLD_NEVER = 1000,   /* a round that does not come */
};

struct world {
	size_t n, n_rails, n_leaves;
	size_t leaf_of[PAIRING_NODES_MAX]; /* its scalable unit: a switch for each rail */
	/* Parts of the line rate: 1 is good. */
	double node[PAIRING_NODES_MAX], nic[PAIRING_NODES_MAX][PAIRING_RAILS_MAX];
	double leaf[WORLD_LEAVES_MAX][PAIRING_RAILS_MAX];
	double cross; /* of the way between switches */
	double line;  /* B/s of a rail */
	double noise;
	bool dead[PAIRING_NODES_MAX];	   /* takes orders, never arrives */
	size_t dies_at[PAIRING_NODES_MAX]; /* the round before which it is gone */
	struct random chance;
	char name[PAIRING_NODES_MAX][WORLD_NAME_SIZE];
	char leaf_name[WORLD_LEAVES_MAX][PAIRING_RAILS_MAX][WORLD_NAME_SIZE];
	/* What the pairing is told; `problem.results` grow. */
	struct pairing_node nodes[PAIRING_NODES_MAX];
	struct pairing_problem problem;
	struct pairing_result results[WORLD_RESULTS_MAX];
	size_t members[WORLD_RESULTS_MAX][2]; /* of pairs; groups of more are allocated */
	size_t *more[WORLD_RESULTS_MAX];
	size_t n_groups; /* run in all */
};

/* `n` good nodes on `n_rails` rails, `per_leaf` below each switch. New memory. */
struct world *world_new(size_t n, size_t n_rails, size_t per_leaf, uint64_t seed);
void world_free(struct world *w);
DEFINE_CLEANUP(struct world *, world_free, world_freep);

/* Move a node below another switch. */
void world_place(struct world *w, size_t node, size_t leaf);

/* One step: what the pairing says of the results so far. */
void world_step(struct world *w, struct pairing_step *ret);

/* Run the groups of a round. */
void world_round(struct world *w, const struct pairing_round *round);

/* Steps and rounds until it is done; returns the rounds. Checks each round (world_check_round()). */
size_t world_play(struct world *w, struct pairing_step *ret);

/* Is each node in one group at most, none with itself, none that is gone; a rail that they share? */
bool world_round_ok(const struct world *w, const struct pairing_round *round);

/* The number of certain blames of this kind and node (SIZE_MAX: any), by which anybody is named. */
size_t world_count(const struct pairing_step *step, enum pairing_kind kind, size_t node);
size_t world_certain(const struct pairing_step *step);
/* Undecided for this reason? */
bool world_has_why(const struct pairing_step *step, enum pairing_why why);
