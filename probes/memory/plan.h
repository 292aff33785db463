/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which nodes are measured, and how the budget is divided. Pure.
 *
 * A cell is a CPU node that measures a memory node; all combinations are measured. A memory node is
 * prepared once (mapped, touched, sized), then measured by its own cores and after that by those of
 * the other nodes. A cell has five parts of equal duration, one for each check. If parts would be
 * too short, only the local cells are measured.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct numa_host;

enum {
	PLAN_PARTS = 5,		     /* read, write, copy, triad, pattern */
	PLAN_PREPARE_PERMILLE = 350, /* of the budget: preparing memory */
	PLAN_CELLS_PERMILLE = 550,   /* measuring, at least */
	PLAN_RESERVE_PERMILLE = 50,  /* of what is left: everything else */
	PLAN_LOOK_PERMILLE = 50,     /* observing other users of the cores, at most PLAN_LOOK_US */
};

#define PLAN_PART_MIN_US UINT64_C(8000)	   /* eight windows of one millisecond */
#define PLAN_PART_MAX_US UINT64_C(2000000) /* more time gives no better result */
#define PLAN_LOOK_US UINT64_C(200000)	   /* twenty clock ticks of 10 ms */

enum plan_why {
	PLAN_MEASURE,
	PLAN_NO_CORES, /* the node has CPUs, but this process may use none of them */
	PLAN_NO_TIME,  /* the budget is too short for all cells */
};

struct plan_cell {
	size_t cpu, memory; /* indices into host->nodes */
	bool local;	    /* both are the same node */
	enum plan_why why;
	uint64_t part_us;    /* minimum for each part; 0 unless PLAN_MEASURE */
	uint64_t prepare_us; /* for preparing its memory node, in the node's first cell; else 0 */
};

struct plan {
	struct plan_cell *cells; /* by memory node, its own cores first; owned */
	size_t n;
	uint64_t look_us;
};

/* Plan `budget_us` for the nodes of `host`. Free it with plan_release(). */
struct plan plan_make(const struct numa_host *host, uint64_t budget_us);
void plan_release(struct plan *plan);

/* Number of parts of all cells that are measured. */
size_t plan_parts(const struct plan *plan);

/*
 * Time for the next part, with `left_us` of the budget left, `prepare_us` of which is for memory
 * nodes still to prepare, and `parts` (at least 1) left. Unused time of earlier parts goes to later
 * ones.
 */
uint64_t plan_next_us(uint64_t left_us, uint64_t prepare_us, size_t parts);
