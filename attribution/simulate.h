/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a step would take if some operations cost what they should: one pass over
 * the units in their order, each a loop over lanes.
 *
 * Steps are independent, so a simulation is cut into blocks of steps whose rows
 * stay in the cache, and all simulations go over a block before the next one.
 * Launch delays are left out: an operation starts when what it waits for has ended.
 *
 * "Alone" answers what each DP rank does alone, for all of them in one pass: with
 * only rank d as it was, the others are all alike, so two lanes stand for a step:
 * d and any other. They meet where DP ranks do.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "attribution/graph.h"
#include "attribution/trace.h"

enum whatif_choice {
	WHATIF_IDEAL,	 /* the key costs `ideal` everywhere */
	WHATIF_ORIGINAL, /* what it did cost */
	WHATIF_MENDED,	 /* that, but `ideal` on the workers of the set */
	WHATIF_KEPT,	 /* `ideal`, but what it did cost on those */
	WHATIF_CELLS,	 /* what it did cost, where `cells` says so */
	WHATIF_PACED,	 /* what it did cost, on the workers of the set at the pace of others */
};

/* What a worker would take at another pace: what it took times `scale`, and `base` seconds. */
struct whatif_pace {
	double scale, base;
};

/* Some workers: of stage s the DP ranks[first[s]] to ranks[first[s + 1] - 1]. */
struct whatif_set {
	const uint32_t *first, *ranks;
};

struct whatif {
	const uint8_t *choices; /* [key]: enum whatif_choice; NULL: all original */
	struct whatif_set set;	/* for WHATIF_MENDED, WHATIF_KEPT and WHATIF_PACED */
	const bool *cells;	/* [key * n_lanes + lane]: original */
	const double *ideal;	/* [key] */
	bool alone;    /* originals are of one DP rank at a time, all of them in turn: no sets */
	double *times; /* [step]; when alone [step * dp + d] */
	const struct whatif_pace *pace; /* [i * OPTYPE_N + type] of set.ranks[i]: for WHATIF_PACED */
};

/*
 * Sets of workers to mend, for simulate_mended(): the DP ranks that each has workers
 * on. Set i has the pairs first[i] to first[i + 1] - 1.
 */
struct whatif_pairs {
	size_t n_sets, n;
	const uint32_t *first;
	const uint32_t *ranks; /* [pair] */
	const bool *mended;    /* [stage * n + pair] */
};

struct simulation {
	const struct graph *graph;
	const struct trace *trace;
	const double *cost; /* struct cost.value */
	size_t block;	    /* steps to a block */
};

/* Fits the block to the cache, the steps and the threads. */
struct simulation simulation_of(const struct trace *trace, const struct graph *graph,
				const double *cost, size_t n_threads);

/* Blocks in all. */
size_t simulation_blocks(const struct simulation *simulation);

/* Numbers of working memory for a block. */
size_t simulation_room(const struct simulation *simulation);

/*
 * Put the costs of a block into the room, in the order in which they are used: every
 * simulation of the block reads them in one go.
 */
void simulate_load(const struct simulation *simulation, size_t block, double *room);

/* Fill in the times of the steps of the block that was loaded last. */
void simulate(const struct simulation *simulation, const struct whatif *whatif, size_t block,
	      double *room);

/* Numbers of working memory that simulate_mended() needs. */
size_t simulation_mended_room(const struct simulation *simulation, size_t n_pairs);

/*
 * What simulate() says of each of `whatifs`, one for each set of the pairs, whose choices
 * are WHATIF_ORIGINAL and WHATIF_MENDED. Until DP ranks meet only those of a set differ
 * from the original, so all sets together need about one pass for as many ranks; after
 * that there is little left to do. Needs simulate_load() of the block.
 */
void simulate_mended(const struct simulation *simulation, const struct whatif *whatifs,
		     const struct whatif_pairs *pairs, size_t block, double *room);
