/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds slow links from measurements of paths alone. A path carries what its narrowest link lets
 * through,
 *
 *	value = min(expected, min over its links of capacity / flows) * noise
 *
 * where `expected` is what the path reaches on a good host, and `flows` is how many of the flows
 * measured together cross that link. The answer is the smallest set of links, each with one
 * capacity, that explains the values: least squares of the logarithms, with each cell's
 * contribution capped so that a disturbed cell blames no link, and with a price per link. A link
 * that a fast path crosses is exonerated by the cost of that path.
 *
 * Min-bottleneck tomography as posed by Hostping (NSDI'23); the fitting method is ours. Pure; the
 * same cells in the same order give the same answer.
 */
#pragma once

#include <stddef.h>

enum {
	TOMO_CELLS_MAX = 65536, /* a fabric of 256 ports, all pairs */
	TOMO_LINKS_MAX = 4096,
	TOMO_FOUND_MAX = 6,	/* slow links in one answer; more have no single cause */
	TOMO_AMBIGUOUS_MAX = 8, /* alternatives named for each of them */
};

/* One crossing of a link by a path; `depth` is its distance from the nearer end of the path. */
struct tomo_use {
	unsigned link;
	unsigned depth;
	double flows; /* at least 1 */
};

struct tomo_cell {
	double value, expected; /* above 0, in the same unit */
	const struct tomo_use *uses;
	size_t n_uses;
};

struct tomo_problem {
	const struct tomo_cell *cells;
	size_t n_cells;
	size_t n_links;
	size_t n_learned;   /* distinct expectations that come from the cells themselves */
	double noise_least; /* relative lower bound of the noise; 0: estimate it from the cells */
};

struct tomo_link {
	size_t link;
	double capacity;   /* of the link, all flows together */
	double ratio;	   /* what its slow paths reach, relative to what they should; below 1 */
	double confidence; /* 0 to 1: against the alternatives, and against no slow link at all */
	size_t ambiguous[TOMO_AMBIGUOUS_MAX]; /* links that explain nearly as much in its place */
	size_t n_ambiguous;
};

struct tomo_answer {
	struct tomo_link links[TOMO_FOUND_MAX]; /* lowest ratio first */
	size_t n;
	double noise; /* relative standard deviation of the residuals */
};

/* What a cell says about one link of an answer. */
enum tomo_voice { TOMO_SILENT, TOMO_FOR, TOMO_AGAINST };

/* Fills `ret`; a problem beyond the limits above has no links in its answer. */
void tomo_solve(const struct tomo_problem *problem, struct tomo_answer *ret);

/* Whether this cell is slow because of that link, or too fast for it. */
enum tomo_voice tomo_hear(const struct tomo_cell *cell, const struct tomo_answer *answer,
			  size_t nth);
