/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes step times if some operations had their ideal cost: one pass over the units in order,
 * each a loop over lanes.
 *
 * Steps are independent, so a simulation is divided into blocks of steps whose rows fit the
 * cache, and all simulations process a block before the next one. Launch delays are ignored: an
 * operation starts when its dependencies have ended.
 *
 * "Alone" simulates each DP rank alone, all of them in one pass: with only rank d as recorded,
 * the others are all alike, so a step needs two lanes, d and any other, which meet where DP ranks
 * do.
 *
 * Pure: no clock, no I/O.
 */
#pragma once

#include <stdint.h>

#include "attribution/graph.h"
#include "attribution/trace.h"

enum whatif_choice {
	WHATIF_IDEAL,	 /* `ideal` everywhere */
	WHATIF_ORIGINAL, /* recorded cost */
	WHATIF_MENDED,	 /* recorded, but `ideal` on the workers of the set */
	WHATIF_KEPT,	 /* `ideal`, but recorded on the workers of the set */
	WHATIF_CELLS,	 /* recorded where `cells` says so, else `ideal` */
	WHATIF_PACED,	 /* recorded, but at the given pace on the workers of the set */
};

/* Another pace for a worker: its recorded cost times `scale`, plus `base` seconds. */
struct whatif_pace {
	double scale, base;
};

/* A set of workers: on stage s the DP ranks[first[s]] to ranks[first[s + 1] - 1]. */
struct whatif_set {
	const uint32_t *first, *ranks;
};

struct whatif {
	const uint8_t *choices; /* [key]: enum whatif_choice; NULL: all WHATIF_ORIGINAL */
	struct whatif_set set;	/* for WHATIF_MENDED, WHATIF_KEPT and WHATIF_PACED */
	const bool *cells;	/* [key * n_lanes + lane]: recorded cost */
	const double *ideal;	/* [key] */
	bool alone;    /* each DP rank in turn is the only one as recorded; not with sets */
	double *times; /* [step]; if `alone`, [step * dp + d] */
	const struct whatif_pace *pace; /* WHATIF_PACED: [i * OPTYPE_N + type] of set.ranks[i] */
};

/*
 * Sets of workers to fix, for simulate_mended(): the DP ranks on which each set has workers. Set
 * i has the pairs first[i] to first[i + 1] - 1.
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
	size_t block;	    /* steps per block */
};

/* Chooses a block size that suits the cache, the steps and the threads. */
struct simulation simulation_of(const struct trace *trace, const struct graph *graph,
				const double *cost, size_t n_threads);

/* Number of blocks. */
size_t simulation_blocks(const struct simulation *simulation);

/* Size of the working memory for a block, in doubles. */
size_t simulation_room(const struct simulation *simulation);

/*
 * Load the costs of a block into `room`, in the order of use, so that every simulation of the
 * block reads them sequentially.
 */
void simulate_load(const struct simulation *simulation, size_t block, double *room);

/* Compute the step times of the block loaded last. */
void simulate(const struct simulation *simulation, const struct whatif *whatif, size_t block,
	      double *room);

/* Size of the working memory of simulate_mended(), in doubles. */
size_t simulation_mended_room(const struct simulation *simulation, size_t n_pairs);

/*
 * The same result as simulate() for each of `whatifs`, one per set of the pairs, whose choices
 * are WHATIF_ORIGINAL and WHATIF_MENDED. Until DP ranks meet, only those of a set differ from the
 * original, so all sets together need about one pass over as many ranks; after that little work
 * is left. Requires simulate_load() of the block.
 */
void simulate_mended(const struct simulation *simulation, const struct whatif *whatifs,
		     const struct whatif_pairs *pairs, size_t block, double *room);
