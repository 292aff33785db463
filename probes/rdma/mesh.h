/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of a host (port x memory), the links that each crosses, and in which order and
 * combination they are measured. Pure: no device, no clock.
 *
 * A cell should reach the minimum of its port's rate and the capacities of its links. A link that
 * has lost part of its capacity *limits* the cells that should reach clearly more than what is left
 * of it. This gives
 *
 *	quick	a few cells such that, whichever single link loses a fifth or more of
 *		its capacity, some of them are limited, and which ones identifies the link
 *	rounds	all cells in as few rounds as possible; no two cells of a round share a link
 *	groups	cells measured at once that together fill a link which none fills alone
 *
 * Capacities are needed because a set chosen from paths alone would miss a link that lost a fifth
 * behind a slower one. A cell whose path is hidden (a VM without bridges) gets two links of its
 * own, its port and its memory, and is measured alone.
 *
 * If no cell of the whole mesh can tell two faults apart (links in series), neither can the quick
 * set.
 *
 * This is min-bottleneck tomography, as in Hostping (NSDI'23).
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

enum {
	MESH_CELLS_MAX = 1024, /* a full report has four samples of each */
	MESH_LINKS_MAX = 2048,
	MESH_PATH_MAX = 64,
	MESH_GROUP_MAX = 64, /* cells measured at once */
};

/* A link with at most this part of its capacity left must be detected. */
#define MESH_RESIDUAL 0.80

/* A link limits a cell if it has less than this part of what the cell should reach. */
#define MESH_CLEARLY 0.95

/* A value below this part of what is expected is low. */
#define MESH_LOW 0.93

struct mesh_link {
	double capacity; /* bytes per second, one way; 0: unknown */
	bool is_memory;	 /* too wide for one port: tested by groups only */
};

struct mesh_cell {
	unsigned port, end; /* the caller's numbers */
	unsigned kind;	    /* cells of one kind should be alike: class, type of memory */
	double ceiling;	    /* rate of the port; 0: unknown */
	double expected;    /* set by mesh_finish() */
	bool hidden;	    /* path unknown: treated as sharing links with every cell */
	unsigned *links;
	size_t n_links;
};

struct mesh {
	struct mesh_link *links;
	size_t n_links;
	struct mesh_cell *cells;
	size_t n_cells;
};

/* Cell numbers. */
struct mesh_set {
	unsigned *cells;
	size_t n;
};

struct mesh_sets {
	struct mesh_set *v;
	size_t n;
};

/* Returns the number of the new link, or -1 if there are too many. */
int mesh_add_link(struct mesh *m, struct mesh_link link);

/* Copies the cell and its links. Returns -1 if there are too many of either. */
int mesh_add_cell(struct mesh *m, const struct mesh_cell *cell);

/*
 * To be called after all cells are added: computes what each should reach. A link of unknown
 * capacity is taken to be as wide as the widest known link, except memory, on a path with it, or
 * else as the fastest cell through it. If nothing is known, all are 1.
 */
void mesh_finish(struct mesh *m);
void mesh_release(struct mesh *m);

bool mesh_crosses(const struct mesh_cell *cell, unsigned link);

/* Returns true if two cells affect each other when measured at the same time. */
bool mesh_share(const struct mesh *m, unsigned a, unsigned b);

/* Returns true if the link limits the cell when it has `left` bytes per second. */
bool mesh_limits(const struct mesh *m, unsigned link, double left, unsigned cell);

/*
 * Pack the `n` cells `cells` into rounds. Rounds with more cells of high `weight` (indexed by cell;
 * NULL: all equal) come first.
 */
void mesh_rounds(const struct mesh *m, const unsigned *cells, size_t n, const double *weight,
		 struct mesh_sets *ret);

void mesh_set_release(struct mesh_set *set);
void mesh_sets_release(struct mesh_sets *sets);
