/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/mesh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/xalloc.h"

int mesh_add_link(struct mesh *m, struct mesh_link link)
{
	if (m->n_links == MESH_LINKS_MAX)
		return -1;
	m->links = xrealloc(m->links, m->n_links + 1, sizeof(*m->links));
	m->links[m->n_links] = link;
	return (int)m->n_links++;
}

int mesh_add_cell(struct mesh *m, const struct mesh_cell *cell)
{
	struct mesh_cell *to;

	if (m->n_cells == MESH_CELLS_MAX || cell->n_links > MESH_PATH_MAX)
		return -1;
	m->cells = xrealloc(m->cells, m->n_cells + 1, sizeof(*m->cells));
	to = &m->cells[m->n_cells];
	*to = *cell;
	to->links = xcalloc(cell->n_links + 1, sizeof(*to->links));
	if (cell->n_links > 0)
		memcpy(to->links, cell->links, cell->n_links * sizeof(*to->links));
	return (int)m->n_cells++;
}

void mesh_release(struct mesh *m)
{
	size_t i;

	for (i = 0; i < m->n_cells; i++)
		free(m->cells[i].links);
	free(m->cells);
	free(m->links);
	*m = (struct mesh){ .n_cells = 0 };
}

void mesh_set_release(struct mesh_set *set)
{
	free(set->cells);
	*set = (struct mesh_set){ .n = 0 };
}

void mesh_sets_release(struct mesh_sets *sets)
{
	size_t i;

	for (i = 0; i < sets->n; i++)
		mesh_set_release(&sets->v[i]);
	free(sets->v);
	*sets = (struct mesh_sets){ .n = 0 };
}

bool mesh_crosses(const struct mesh_cell *cell, unsigned link)
{
	size_t i;

	for (i = 0; i < cell->n_links; i++) {
		if (cell->links[i] == link)
			return true;
	}
	return false;
}

/* The least of what is known on the way of the cell; INFINITY when nothing is. */
static double least_known(const struct mesh *m, const struct mesh_cell *cell)
{
	double least = cell->ceiling > 0 ? cell->ceiling : INFINITY;
	size_t i;

	for (i = 0; i < cell->n_links; i++) {
		double capacity = m->links[cell->links[i]].capacity;

		if (capacity > 0)
			least = MIN(least, capacity);
	}
	return least;
}

/* The widest link of the cell that is known, memories aside, else what the cell should reach. */
static double widest_known(const struct mesh *m, const struct mesh_cell *cell)
{
	double widest = cell->expected;
	size_t i;

	for (i = 0; i < cell->n_links; i++) {
		if (!m->links[cell->links[i]].is_memory)
			widest = MAX(widest, m->links[cell->links[i]].capacity);
	}
	return widest;
}

void mesh_finish(struct mesh *m)
{
	CLEANUP(freep) double *widest = xcalloc(m->n_links + 1, sizeof(double));
	size_t i, j;

	for (i = 0; i < m->n_cells; i++) {
		struct mesh_cell *c = &m->cells[i];

		c->expected = least_known(m, c);
		if (isinf(c->expected))
			c->expected = 1;
		for (j = 0; j < c->n_links; j++)
			widest[c->links[j]] = MAX(widest[c->links[j]], widest_known(m, c));
	}
	for (i = 0; i < m->n_links; i++) {
		if (!(m->links[i].capacity > 0))
			m->links[i].capacity = widest[i];
	}
}

bool mesh_share(const struct mesh *m, unsigned a, unsigned b)
{
	const struct mesh_cell *x = &m->cells[a], *y = &m->cells[b];
	size_t i;

	if (x->hidden || y->hidden || x->port == y->port)
		return true;
	for (i = 0; i < x->n_links; i++) {
		if (mesh_crosses(y, x->links[i]))
			return true;
	}
	return false;
}

bool mesh_limits(const struct mesh *m, unsigned link, double left, unsigned cell)
{
	const struct mesh_cell *c = &m->cells[cell];

	return left < MESH_CLEARLY * c->expected && mesh_crosses(c, link);
}
