/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/mesh_quick.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/xalloc.h"
#include "probes/rdma/mesh.h"

enum { LEVELS_MAX = 16, NO_LINK = -1 };

/* "Just below" means by this part. */
#define NOTHING 1e-9

struct fault {
	int link; /* or NO_LINK: no fault */
	double left;
	unsigned class;
};

struct choice {
	const struct mesh *mesh;
	struct fault *faults; /* in the order of their links */
	size_t n, n_classes;
	unsigned *limited, *others; /* by class: faults that limit one cell, and the others */
};

static int compare_down(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x < y) - (x > y);
}

/* The distinct rates that cells through a link should reach, highest first. */
static size_t rates_through(const struct mesh *m, unsigned link, double *ret)
{
	size_t n = 0, kept = 0, i;

	for (i = 0; i < m->n_cells; i++) {
		if (mesh_crosses(&m->cells[i], link))
			ret[n++] = m->cells[i].expected;
	}
	if (n > 0)
		qsort(ret, n, sizeof(*ret), compare_down);
	for (i = 0; i < n; i++) {
		if (kept == 0 || ret[i] < ret[kept - 1])
			ret[kept++] = ret[i];
	}
	return kept;
}

static void add_fault(struct choice *c, int link, double left)
{
	c->faults = xrealloc(c->faults, c->n + 1, sizeof(*c->faults));
	c->faults[c->n++] = (struct fault){ .link = link, .left = left };
}

/* Add the mildest fault that must be detected, and each one that also limits slower cells. */
static void add_faults(struct choice *c, unsigned link, double *rates)
{
	double left = c->mesh->links[link].capacity * MESH_RESIDUAL;
	size_t n = rates_through(c->mesh, link, rates), i, levels = 0;

	for (i = 0; i < n && levels < LEVELS_MAX; i++) {
		double below = rates[i] * MESH_CLEARLY * (1 - NOTHING);

		if (i > 0 && left <= below)
			continue;
		left = MIN(left, below);
		add_fault(c, (int)link, left);
		levels++;
	}
}

static void choice_init(struct choice *c, const struct mesh *m)
{
	CLEANUP(freep) double *rates = xcalloc(m->n_cells + 1, sizeof(double));
	size_t i;

	*c = (struct choice){ .mesh = m, .n_classes = 1 };
	add_fault(c, NO_LINK, INFINITY);
	for (i = 0; i < m->n_links; i++) {
		if (!m->links[i].is_memory)
			add_faults(c, (unsigned)i, rates);
	}
	c->limited = xcalloc(c->n + 1, sizeof(unsigned));
	c->others = xcalloc(c->n + 1, sizeof(unsigned));
}

static void choice_release(struct choice *c)
{
	free(c->faults);
	free(c->limited);
	free(c->others);
}

static bool is_limited(const struct choice *c, const struct fault *f, unsigned cell)
{
	return f->link != NO_LINK && mesh_limits(c->mesh, (unsigned)f->link, f->left, cell);
}

/* Count, by class, the faults that limit the cell and those that do not. */
static void count(struct choice *c, unsigned cell)
{
	size_t i;

	memset(c->limited, 0, c->n_classes * sizeof(unsigned));
	memset(c->others, 0, c->n_classes * sizeof(unsigned));
	for (i = 0; i < c->n; i++) {
		if (is_limited(c, &c->faults[i], cell))
			c->limited[c->faults[i].class]++;
		else
			c->others[c->faults[i].class]++;
	}
}

/* Of these pairs, those of one link: they need not be told apart. */
static double pairs_of_link(struct choice *c, size_t first, size_t end, unsigned cell)
{
	double pairs = 0;
	size_t i, j;

	for (i = first; i < end; i++) {
		for (j = first; j < i; j++)
			pairs += c->faults[i].class == c->faults[j].class &&
				 is_limited(c, &c->faults[i], cell) !=
					 is_limited(c, &c->faults[j], cell);
	}
	return pairs;
}

/* Pairs of faults of different links that the cell would tell apart. */
static double gain(struct choice *c, unsigned cell)
{
	double pairs = 0;
	size_t i, end;

	count(c, cell);
	for (i = 0; i < c->n_classes; i++)
		pairs += (double)c->limited[i] * c->others[i];
	for (i = 0; pairs > 0 && i < c->n; i = end) {
		for (end = i + 1; end < c->n && c->faults[end].link == c->faults[i].link; end++)
			;
		pairs -= pairs_of_link(c, i, end, cell);
	}
	return pairs;
}

/* Split each class: faults that limit the cell get a new class, if others remain. */
static void part(struct choice *c, unsigned cell)
{
	CLEANUP(freep) unsigned *fresh = xcalloc(c->n_classes, sizeof(unsigned));
	size_t n = c->n_classes, i;

	count(c, cell);
	for (i = 0; i < c->n_classes; i++) {
		if (c->limited[i] > 0 && c->others[i] > 0)
			fresh[i] = (unsigned)n++;
	}
	for (i = 0; i < c->n; i++) {
		struct fault *f = &c->faults[i];

		if (fresh[f->class] > 0 && is_limited(c, f, cell))
			f->class = fresh[f->class];
	}
	c->n_classes = n;
}

/* Pairs of faults of different links that `set` tells apart without its member `left_out`. */
static double told_apart(struct choice *c, const struct mesh_set *set, size_t left_out)
{
	double pairs = 0;
	size_t i;

	c->n_classes = 1;
	for (i = 0; i < c->n; i++)
		c->faults[i].class = 0;
	for (i = 0; i < set->n; i++) {
		if (i == left_out)
			continue;
		pairs += gain(c, set->cells[i]);
		part(c, set->cells[i]);
	}
	return pairs;
}

static void drop_needless(struct choice *c, struct mesh_set *set)
{
	double all = told_apart(c, set, set->n);
	size_t i = 0;

	while (i < set->n) {
		if (told_apart(c, set, i) < all) {
			i++;
			continue;
		}
		set->n--;
		memmove(&set->cells[i], &set->cells[i + 1], (set->n - i) * sizeof(set->cells[0]));
	}
}

static bool has_like(const struct mesh *m, const struct mesh_set *set, unsigned cell, bool port)
{
	const struct mesh_cell *c = &m->cells[cell], *other;
	size_t i;

	for (i = 0; i < set->n; i++) {
		other = &m->cells[set->cells[i]];
		if (port ? other->port == c->port : other->end == c->end)
			return true;
	}
	return false;
}

/*
 * Cover each port and each memory, a memory by its fastest path: one with no cell at all is gone.
 */
static void add_absent(const struct mesh *m, struct mesh_set *set)
{
	unsigned i, j;

	for (i = 0; i < m->n_cells; i++) {
		unsigned best = i;

		if (has_like(m, set, i, true) && has_like(m, set, i, false))
			continue;
		for (j = i; !has_like(m, set, i, false) && j < m->n_cells; j++) {
			if (m->cells[j].end == m->cells[i].end &&
			    m->cells[j].expected > m->cells[best].expected)
				best = j;
		}
		set->cells[set->n++] = best;
	}
}

void mesh_quick(const struct mesh *m, struct mesh_set *ret)
{
	CLEANUP(choice_release) struct choice c;
	unsigned best = 0, i;
	double most;

	*ret = (struct mesh_set){ .cells = xcalloc(m->n_cells + 1, sizeof(unsigned)) };
	choice_init(&c, m);
	do {
		most = 0;
		for (i = 0; i < m->n_cells; i++) {
			double pairs = gain(&c, i);

			if (pairs > most) {
				most = pairs;
				best = i;
			}
		}
		if (most > 0) {
			part(&c, best);
			ret->cells[ret->n++] = best;
		}
	} while (most > 0 && ret->n < m->n_cells);
	drop_needless(&c, ret);
	add_absent(m, ret);
}
