/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cells of a host (port x memory), the links that each one crosses, and
 * in which order and company they are measured. Pure: no device, no clock.
 *
 * A cell should reach the least of its port's rate and the capacities of its
 * links. A link that lost a part of its capacity *limits* the cells that
 * should reach clearly more than what is left of it. From this come
 *
 *	quick	few cells: whichever one link loses a fifth of its capacity or
 *		more, some of them are limited, and which they are tells the link
 *	rounds	all cells, as few rounds as can be, no two cells of a round
 *		crossing one link
 *	groups	cells at once that fill together a link which none fills alone
 *
 * A set chosen from paths alone would miss a link that lost a fifth behind a
 * slower one, therefore the capacities. A cell whose path is hidden (a VM
 * without bridges) has two links of its own kind, its port and its memory, and
 * is measured alone.
 *
 * Of faults that no cell of the whole mesh tells apart (links in series) the
 * quick set knows no more either.
 *
 * Min-bottleneck tomography as Hostping (NSDI'23) poses it.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

enum {
	MESH_CELLS_MAX = 1024, /* four samples of each make a full report */
	MESH_LINKS_MAX = 2048,
	MESH_PATH_MAX = 64,
	MESH_GROUP_MAX = 64, /* cells at once */
};

/* What is left of a link that has to be seen, at most. */
#define MESH_RESIDUAL 0.80

/* A link limits a cell when it has less than this part of what the cell should reach. */
#define MESH_CLEARLY 0.95

/* A value below this part of what it should be is low. */
#define MESH_LOW 0.93

struct mesh_link {
	double capacity; /* bytes per second, one way; 0 unknown */
	bool is_memory;	 /* too wide for one port: seen by groups only */
};

struct mesh_cell {
	unsigned port, end; /* numbers of the caller */
	unsigned kind;	    /* cells of one kind should be alike: class, sort of memory */
	double ceiling;	    /* rate of the port; 0 unknown */
	double expected;    /* set by mesh_finish() */
	bool hidden;	    /* its path is not known: shares with everything */
	unsigned *links;
	size_t n_links;
};

struct mesh {
	struct mesh_link *links;
	size_t n_links;
	struct mesh_cell *cells;
	size_t n_cells;
};

/* Numbers of cells. */
struct mesh_set {
	unsigned *cells;
	size_t n;
};

struct mesh_sets {
	struct mesh_set *v;
	size_t n;
};

/* Number of the new link; -1 when there are too many. */
int mesh_add_link(struct mesh *m, struct mesh_link link);

/* Copies the cell and its links. -1 when there are too many of either. */
int mesh_add_cell(struct mesh *m, const struct mesh_cell *cell);

/*
 * When all is added: what each cell should reach. A link of unknown capacity
 * is as wide as the widest known one that shares a path with it, memories
 * aside, else as the fastest cell through it; where nothing is known all are 1.
 */
void mesh_finish(struct mesh *m);
void mesh_release(struct mesh *m);

bool mesh_crosses(const struct mesh_cell *cell, unsigned link);

/* Two cells cannot be measured at the same time without one changing the other. */
bool mesh_share(const struct mesh *m, unsigned a, unsigned b);

/* True when the link with `left` bytes per second limits the cell. */
bool mesh_limits(const struct mesh *m, unsigned link, double left, unsigned cell);

/*
 * Pack the `n` cells `cells` into rounds. A round that holds more of those with
 * a high `weight` (by cell, or NULL: all equal) comes earlier.
 */
void mesh_rounds(const struct mesh *m, const unsigned *cells, size_t n, const double *weight,
		 struct mesh_sets *ret);

void mesh_set_release(struct mesh_set *set);
void mesh_sets_release(struct mesh_sets *sets);
