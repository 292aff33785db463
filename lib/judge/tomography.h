/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which links are slow, from measurements of paths alone. A path carries what
 * its narrowest link lets through,
 *
 *	value = min(expected, min over its links of capacity / flows) * noise
 *
 * where `expected` is what the path reaches on a good host and `flows` how many
 * of the flows measured together cross that link. The answer is the smallest
 * set of links, each with one capacity, that explains the values by this
 * model: least squares of the logarithms, each cell's share capped so that a
 * disturbed one accuses nobody, and a price for each link. A link that a fast
 * path crosses is exonerated by the price of that path.
 *
 * Min-bottleneck tomography as Hostping (NSDI'23) poses it; the fit is ours.
 * Pure; the same cells in the same order give the same answer.
 */
#pragma once

#include <stddef.h>

enum {
	TOMO_CELLS_MAX = 65536, /* a fabric of 256 ports, each with each */
	TOMO_LINKS_MAX = 4096,
	TOMO_FOUND_MAX = 6,	/* slow links of one answer: more is no single cause any more */
	TOMO_AMBIGUOUS_MAX = 8, /* alternatives named for one of them */
};

/* A path crosses a link; `depth` is its distance from the nearer end of the path. */
struct tomo_use {
	unsigned link;
	unsigned depth;
	double flows; /* at least 1 */
};

struct tomo_cell {
	double value, expected; /* above 0, in one unit */
	const struct tomo_use *uses;
	size_t n_uses;
};

struct tomo_problem {
	const struct tomo_cell *cells;
	size_t n_cells;
	size_t n_links;
	size_t n_learned; /* different expectations that are from the cells themselves */
	double noise_least; /* relative: what is taken for the noise at least; 0: what the cells show */
};

struct tomo_link {
	size_t link;
	double capacity;   /* of the link, all flows together */
	double ratio;	   /* of what its slow paths reach to what they should; below 1 */
	double confidence; /* 0 to 1: against the alternatives and against nothing at all */
	size_t ambiguous[TOMO_AMBIGUOUS_MAX]; /* links that explain nearly as much in its place */
	size_t n_ambiguous;
};

struct tomo_answer {
	struct tomo_link links[TOMO_FOUND_MAX]; /* the lowest ratio first */
	size_t n;
	double noise; /* relative standard deviation of what is left */
};

/* What a cell says about one link of an answer. */
enum tomo_voice { TOMO_SILENT, TOMO_FOR, TOMO_AGAINST };

/* Fill `ret`; nothing is found in a problem beyond the limits above. */
void tomo_solve(const struct tomo_problem *problem, struct tomo_answer *ret);

/* Is this cell slow because of that link, or too fast for it? */
enum tomo_voice tomo_hear(const struct tomo_cell *cell, const struct tomo_answer *answer,
			  size_t nth);
