/* SPDX-License-Identifier: Apache-2.0 */
/* A pass over units in the making. Included by simulate*.c only. */
#pragma once

#include "attribution/simulate.h"

/* A block of a simulation while it runs. */
struct pass {
	const struct simulation *simulation;
	const struct whatif *whatif;
	size_t first_lane, n_lanes; /* of the trace */
	size_t steps;
	size_t n;	     /* numbers in use of a row: the lanes, twice when alone */
	size_t stride;	     /* from row to row */
	const double *costs; /* of the block, by member: `n_lanes` numbers each */
	double *rows, *meeting, *weights, *latest;
	const struct whatif_pairs *pairs; /* lanes are [step][pair]; NULL: [step][dp] */
};

static inline double *pass_row(const struct pass *pass, uint32_t key)
{
	return pass->rows + pass->simulation->graph->slot[key] * pass->stride;
}

/* A pass over all lanes of a block, in the room of simulation_room(). */
struct pass pass_of(const struct simulation *simulation, const struct whatif *whatif, size_t block,
		    double *room);

/* The ends of some of the units, in their order. */
void pass_units(const struct pass *pass, size_t first, size_t end);

/* The times of the steps, once all units have ended. */
void pass_times(const struct pass *pass);
