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

/* The smallest known rate on the path of the cell; INFINITY if none is known. */
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

/*
 * The widest known link of the cell, except memory, or what the cell should reach if that is more.
 */
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

/*
 * Packing cells that share nothing into rounds is graph colouring, which is hard. The load of the
 * busiest link is a lower bound on the number of rounds. Greedily taking a cell of the link that
 * most cells still wait for comes within a few rounds of it.
 */

struct packing {
	const struct mesh *mesh;
	unsigned *waiting; /* cells not in a round yet */
	size_t n;
	unsigned *load; /* by link: cells waiting for it */
};

static void count_load(struct packing *p, unsigned cell, int change)
{
	const struct mesh_cell *c = &p->mesh->cells[cell];
	size_t i;

	for (i = 0; i < c->n_links; i++)
		p->load[c->links[i]] += (unsigned)change;
}

static void packing_init(struct packing *p, const struct mesh *m, const unsigned *cells, size_t n)
{
	size_t i;

	*p = (struct packing){ .mesh = m, .n = n };
	p->waiting = xcalloc(n + 1, sizeof(unsigned));
	p->load = xcalloc(m->n_links + 1, sizeof(unsigned));
	for (i = 0; i < n; i++) {
		p->waiting[i] = cells[i];
		count_load(p, cells[i], 1);
	}
}

static void packing_release(struct packing *p)
{
	free(p->waiting);
	free(p->load);
}

/* The load of the busiest link of the cell, with the sum over all its links as tie-breaker. */
static double urgency(const struct packing *p, unsigned cell)
{
	const struct mesh_cell *c = &p->mesh->cells[cell];
	double worst = 0, sum = 0;
	size_t i;

	for (i = 0; i < c->n_links; i++) {
		worst = MAX(worst, (double)p->load[c->links[i]]);
		sum += p->load[c->links[i]];
	}
	return worst * MESH_CELLS_MAX * MESH_PATH_MAX + sum;
}

static bool fits(const struct packing *p, const struct mesh_set *round, unsigned cell)
{
	size_t i;

	for (i = 0; i < round->n; i++) {
		if (mesh_share(p->mesh, round->cells[i], cell))
			return false;
	}
	return round->n < MESH_GROUP_MAX;
}

/* The most urgent waiting cell that fits; `n` if none fits. */
static size_t next(const struct packing *p, const struct mesh_set *round)
{
	double most = -1;
	size_t best = p->n, i;

	for (i = 0; i < p->n; i++) {
		double u = urgency(p, p->waiting[i]);

		if (u > most && fits(p, round, p->waiting[i])) {
			most = u;
			best = i;
		}
	}
	return best;
}

static void fill_round(struct packing *p, struct mesh_set *ret)
{
	size_t at;

	*ret = (struct mesh_set){ .cells = xcalloc(MIN(p->n, (size_t)MESH_GROUP_MAX),
						   sizeof(unsigned)) };
	while ((at = next(p, ret)) < p->n) {
		ret->cells[ret->n++] = p->waiting[at];
		p->n--;
		memmove(&p->waiting[at], &p->waiting[at + 1], (p->n - at) * sizeof(unsigned));
	}
	for (at = 0; at < ret->n; at++)
		count_load(p, ret->cells[at], -1);
}

static double weight_of(const struct mesh_set *round, const double *weight)
{
	double sum = 0;
	size_t i;

	for (i = 0; weight && i < round->n; i++)
		sum += weight[round->cells[i]];
	return sum;
}

/* Insert before the first round of lower weight, so equal ones keep their order. */
static void insert(struct mesh_sets *sets, struct mesh_set round, const double *weight)
{
	double w = weight_of(&round, weight);
	size_t at = sets->n, i;

	while (at > 0 && weight_of(&sets->v[at - 1], weight) < w)
		at--;
	sets->v = xrealloc(sets->v, sets->n + 1, sizeof(*sets->v));
	for (i = sets->n; i > at; i--)
		sets->v[i] = sets->v[i - 1];
	sets->v[at] = round;
	sets->n++;
}

void mesh_rounds(const struct mesh *m, const unsigned *cells, size_t n, const double *weight,
		 struct mesh_sets *ret)
{
	CLEANUP(packing_release) struct packing p;

	*ret = (struct mesh_sets){ .n = 0 };
	packing_init(&p, m, cells, n);
	while (p.n > 0) {
		struct mesh_set round;

		fill_round(&p, &round);
		insert(ret, round, weight);
	}
}
