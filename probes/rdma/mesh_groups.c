/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/mesh_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/xalloc.h"
#include "probes/rdma/mesh.h"

/* A link is full if its cells together would get this factor more without it. */
#define FULL 1.05

/* A cell that is in no group yet is preferred even if it brings less by this part. */
#define LESS 1e-6

/* Below this part of a rate or a link, what is left counts as nothing. */
#define NOTHING 1e-9

/* Max-min fair shares, by raising all cells equally until each meets its limit. */
struct water {
	const struct mesh *mesh;
	const struct mesh_set *group;
	double *room;	   /* by link: capacity not handed out yet */
	unsigned *thirsty; /* by link: cells that may still get more */
	bool *full;	   /* by cell of the group */
	double *rates;	   /* by cell of the group */
};

static const struct mesh_cell *member(const struct water *w, size_t i)
{
	return &w->mesh->cells[w->group->cells[i]];
}

static void count_thirsty(struct water *w)
{
	size_t i, j;

	memset(w->thirsty, 0, w->mesh->n_links * sizeof(unsigned));
	for (i = 0; i < w->group->n; i++) {
		for (j = 0; !w->full[i] && j < member(w, i)->n_links; j++)
			w->thirsty[member(w, i)->links[j]]++;
	}
}

/* How much more the cell could get if every cell that is not full got the same. */
static double more(const struct water *w, size_t i)
{
	const struct mesh_cell *c = member(w, i);
	double least = c->expected - w->rates[i];
	size_t j;

	for (j = 0; j < c->n_links; j++)
		least = MIN(least, w->room[c->links[j]] / w->thirsty[c->links[j]]);
	return MAX(least, 0.0);
}

static bool is_at_limit(const struct water *w, size_t i)
{
	const struct mesh_cell *c = member(w, i);
	size_t j;

	if (w->rates[i] >= c->expected * (1 - NOTHING))
		return true;
	for (j = 0; j < c->n_links; j++) {
		if (w->room[c->links[j]] <= c->expected * NOTHING)
			return true;
	}
	return false;
}

/* Raise all cells that are not full by the smallest increase left to any; false if all are full. */
static bool rise(struct water *w)
{
	double step = INFINITY;
	size_t i, j;

	count_thirsty(w);
	for (i = 0; i < w->group->n; i++) {
		if (!w->full[i])
			step = MIN(step, more(w, i));
	}
	for (i = 0; !isinf(step) && i < w->group->n; i++) {
		if (w->full[i])
			continue;
		w->rates[i] += step;
		for (j = 0; j < member(w, i)->n_links; j++)
			w->room[member(w, i)->links[j]] -= step;
	}
	for (i = 0; !isinf(step) && i < w->group->n; i++)
		w->full[i] = w->full[i] || is_at_limit(w, i);
	return !isinf(step);
}

/* As if `free_link` had unlimited capacity; -1: none. Returns the sum of the rates. */
static double shares_without(const struct mesh *m, const struct mesh_set *group, int free_link,
			     double *ret_rates)
{
	CLEANUP(freep) double *room = xcalloc(m->n_links + 1, sizeof(double));
	CLEANUP(freep) unsigned *thirsty = xcalloc(m->n_links + 1, sizeof(unsigned));
	CLEANUP(freep) bool *full = xcalloc(group->n + 1, sizeof(bool));
	struct water w = { m, group, room, thirsty, full, ret_rates };
	double sum = 0;
	size_t i;

	for (i = 0; i < m->n_links; i++)
		room[i] = (int)i == free_link ? INFINITY : m->links[i].capacity;
	for (i = 0; i < group->n; i++)
		ret_rates[i] = 0;
	/* Each step fills at least one cell. */
	for (i = 0; i < group->n && rise(&w); i++)
		;
	for (i = 0; i < group->n; i++)
		sum += ret_rates[i];
	return sum;
}

void mesh_shares(const struct mesh *m, const struct mesh_set *group, double *ret_rates)
{
	(void)shares_without(m, group, -1, ret_rates);
}

/* The cells that cross a link. */
struct crossing {
	size_t ports, ends; /* distinct ones */
	double fastest;
	bool hidden;
};

static bool seen_before(const struct mesh *m, unsigned link, size_t cell, bool port)
{
	const struct mesh_cell *c = &m->cells[cell], *other;
	size_t i;

	for (i = 0; i < cell; i++) {
		other = &m->cells[i];
		if ((port ? other->port == c->port : other->end == c->end) &&
		    mesh_crosses(other, link))
			return true;
	}
	return false;
}

static struct crossing crossing_of(const struct mesh *m, unsigned link)
{
	struct crossing x = { .ports = 0 };
	size_t i;

	for (i = 0; i < m->n_cells; i++) {
		if (!mesh_crosses(&m->cells[i], link))
			continue;
		x.ports += !seen_before(m, link, i, true);
		x.ends += !seen_before(m, link, i, false);
		x.fastest = MAX(x.fastest, m->cells[i].expected);
		x.hidden = x.hidden || m->cells[i].hidden;
	}
	return x;
}

/*
 * No single cell fills the link, and it is a memory, or connects several ports to several memories,
 * or is so wide that a loss would not limit any single cell.
 */
static bool needs_group(const struct mesh *m, unsigned link)
{
	const struct mesh_link *l = &m->links[link];
	struct crossing x = crossing_of(m, link);

	if (x.hidden || x.ports < 2 || x.fastest >= l->capacity * (1 - NOTHING))
		return false;
	return l->is_memory || x.ends > 1 || l->capacity * MESH_RESIDUAL >= x.fastest;
}

static bool has_port(const struct mesh *m, const struct mesh_set *group, unsigned port)
{
	size_t i;

	for (i = 0; i < group->n; i++) {
		if (m->cells[group->cells[i]].port == port)
			return true;
	}
	return false;
}

static bool is_in(const struct mesh_set *group, unsigned cell)
{
	size_t i;

	for (i = 0; i < group->n && group->cells[i] != cell; i++)
		;
	return i < group->n;
}

/* Is the cell in a group of `size`? 0: of any size. */
static bool is_taken(const struct mesh_sets *groups, unsigned cell, size_t size)
{
	size_t i;

	for (i = 0; i < groups->n; i++) {
		if ((size == 0 || groups->v[i].n == size) && is_in(&groups->v[i], cell))
			return true;
	}
	return false;
}

/*
 * Add the cell of a new port that adds most to the flow through the link if that were wide enough,
 * preferring cells in no group yet; `sum` is the flow so far. Returns false if none adds anything.
 */
static bool grow(const struct mesh *m, unsigned link, const struct mesh_sets *others,
		 struct mesh_set *group, double *sum)
{
	double rates[MESH_GROUP_MAX], most = *sum * (1 + NOTHING);
	bool found = false, fresh = false;
	unsigned best = 0, i;

	if (group->n == MESH_GROUP_MAX)
		return false;
	for (i = 0; i < m->n_cells; i++) {
		bool is_fresh = !is_taken(others, i, 0);
		double total;

		if (!mesh_crosses(&m->cells[i], link) || has_port(m, group, m->cells[i].port))
			continue;
		group->cells[group->n++] = i;
		total = shares_without(m, group, (int)link, rates);
		group->n--;
		if (total > most || (is_fresh && !fresh && found && total > most * (1 - LESS))) {
			most = total * (1 + NOTHING);
			*sum = total;
			best = i;
			found = true;
			fresh = is_fresh;
		}
	}
	if (found)
		group->cells[group->n++] = best;
	return found;
}

/* Crossed by the same cells as an earlier link: a measurement cannot tell the two apart. */
static bool is_in_series(const struct mesh *m, unsigned link)
{
	unsigned other;
	size_t i;

	for (other = 0; other < link; other++) {
		for (i = 0; i < m->n_cells; i++) {
			if (mesh_crosses(&m->cells[i], link) != mesh_crosses(&m->cells[i], other))
				break;
		}
		if (i == m->n_cells)
			return true;
	}
	return false;
}

static void add_group(const struct mesh *m, unsigned link, struct mesh_sets *ret)
{
	struct mesh_set group = { .cells = xcalloc(MESH_GROUP_MAX, sizeof(unsigned)) };
	double capacity = m->links[link].capacity, sum = 0;

	bool twice = false;
	size_t i;

	while (sum < capacity * FULL && grow(m, link, ret, &group, &sum))
		;
	for (i = 0; i < group.n; i++)
		twice = twice || is_taken(ret, group.cells[i], group.n);
	/* A group that could not show the loss is not worth measuring. */
	if (group.n < 2 || twice || sum * MESH_LOW < capacity * MESH_RESIDUAL) {
		mesh_set_release(&group);
		return;
	}
	ret->v = xrealloc(ret->v, ret->n + 1, sizeof(*ret->v));
	ret->v[ret->n++] = group;
}

void mesh_groups(const struct mesh *m, struct mesh_sets *ret)
{
	unsigned i;
	int memory;

	*ret = (struct mesh_sets){ .n = 0 };
	for (memory = 1; memory >= 0; memory--) {
		for (i = 0; i < m->n_links; i++) {
			if (m->links[i].is_memory == (memory == 1) && needs_group(m, i) &&
			    !is_in_series(m, i))
				add_group(m, i, ret);
		}
	}
}
