/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is measured on which nodes, and how much of the budget each part gets.
 * Pure.
 *
 * Model: every CPU node measures every memory node: a cell. A memory node is
 * prepared once (mapped, touched, sized) and then measured by its own cores
 * first and by those of the other nodes after; a cell has five parts of equal
 * length, one a check. When a part would be too short to say anything, only
 * the cells of one node are measured.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct numa_host;

enum {
	PLAN_PARTS = 5,		     /* read, write, copy, triad, pattern */
	PLAN_PREPARE_PERMILLE = 350, /* of the budget: making memory ready */
	PLAN_CELLS_PERMILLE = 550,   /* measuring, at least */
	PLAN_RESERVE_PERMILLE = 50,  /* of what is left: for all else */
	PLAN_LOOK_PERMILLE = 50, /* looking whether others use the cores, at most PLAN_LOOK_US */
};

#define PLAN_PART_MIN_US UINT64_C(8000)	   /* eight windows of one millisecond */
#define PLAN_PART_MAX_US UINT64_C(2000000) /* longer says nothing more */
#define PLAN_LOOK_US UINT64_C(200000)	   /* twenty clock ticks of 10 ms */

enum plan_why {
	PLAN_MEASURE,
	PLAN_NO_CORES, /* the node has CPUs, but none that this process may use */
	PLAN_NO_TIME,  /* the budget is too short for all cells */
};

struct plan_cell {
	size_t cpu, memory; /* indices into host->nodes */
	bool local;	    /* both are one node */
	enum plan_why why;
	uint64_t part_us;    /* for each part, at least; 0 unless PLAN_MEASURE */
	uint64_t prepare_us; /* for making the memory node ready; 0 but in its first measured cell */
};

struct plan {
	struct plan_cell *cells; /* by memory node, its own cores first; owned */
	size_t n;
	uint64_t look_us;
};

/* Plan `budget_us` for the nodes of `host`. Release it with plan_release(). */
struct plan plan_make(const struct numa_host *host, uint64_t budget_us);
void plan_release(struct plan *plan);

/* Parts of all cells that are measured. */
size_t plan_parts(const struct plan *plan);

/*
 * Time for the next part when `left_us` of the budget are left, of which memory
 * nodes still to prepare need `prepare_us`, and `parts` (at least 1) are to do:
 * what one before did not need goes to those after it.
 */
uint64_t plan_next_us(uint64_t left_us, uint64_t prepare_us, size_t parts);
