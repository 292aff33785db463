/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/mesh_low.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "probes/rdma/mesh.h"

/* A median of fewer peers means little. */
enum { PEERS_MIN = 3 };

/* Median of value / expected over the measured cells of a kind; 1 if there are too few. */
static double usual_part(const struct mesh *m, const double *values, unsigned kind)
{
	CLEANUP(freep) double *parts = xcalloc(m->n_cells + 1, sizeof(double));
	size_t n = 0, i;

	for (i = 0; i < m->n_cells; i++) {
		if (m->cells[i].kind == kind && !isnan(values[i]))
			parts[n++] = values[i] / m->cells[i].expected;
	}
	if (n < PEERS_MIN)
		return 1;
	stats_sort(parts, n);
	return stats_median(parts, n);
}

size_t mesh_low(const struct mesh *m, const double *values, bool *ret_low)
{
	size_t n = 0, i;

	for (i = 0; i < m->n_cells; i++) {
		const struct mesh_cell *c = &m->cells[i];
		double should;

		ret_low[i] = false;
		if (isnan(values[i]))
			continue;
		should = c->expected * MAX(1.0, usual_part(m, values, c->kind));
		ret_low[i] = values[i] < MESH_LOW * should;
		n += ret_low[i];
	}
	return n;
}

/* The highest rate measured through each link. */
static void prove(const struct mesh *m, const double *values, double *ret_carried)
{
	size_t i, j;

	for (i = 0; i < m->n_cells; i++) {
		for (j = 0; !isnan(values[i]) && j < m->cells[i].n_links; j++) {
			unsigned link = m->cells[i].links[j];

			ret_carried[link] = MAX(ret_carried[link], values[i]);
		}
	}
}

/* Suspect the links of a low cell that never carried what it should reach, or all if all did. */
static void suspect(const struct mesh_cell *c, const double *carried, double *suspicion)
{
	size_t n = 0, i;

	for (i = 0; i < c->n_links; i++)
		n += carried[c->links[i]] < MESH_LOW * c->expected;
	for (i = 0; i < c->n_links; i++) {
		if (n == 0 || carried[c->links[i]] < MESH_LOW * c->expected)
			suspicion[c->links[i]] += 1;
	}
}

void mesh_weigh(const struct mesh *m, const double *values, const bool *low, double *ret_weight)
{
	CLEANUP(freep) double *carried = xcalloc(m->n_links + 1, sizeof(double));
	CLEANUP(freep) double *suspicion = xcalloc(m->n_links + 1, sizeof(double));
	size_t i, j;

	prove(m, values, carried);
	for (i = 0; i < m->n_cells; i++) {
		if (low[i])
			suspect(&m->cells[i], carried, suspicion);
	}
	for (i = 0; i < m->n_cells; i++) {
		ret_weight[i] = 0;
		for (j = 0; j < m->cells[i].n_links; j++)
			ret_weight[i] += suspicion[m->cells[i].links[j]];
	}
}
