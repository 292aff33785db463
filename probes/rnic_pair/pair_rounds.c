/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_pair/pair_rounds.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/sys/pci_address.h"
#include "probes/loopback/loopback.h"
#include "probes/rdma/mesh_topology.h"

enum { LINKS_MAX = 16 }; /* between an RNIC and its memory */

/* The links that a side uses besides its port, and its load on them. */
struct way {
	size_t links[LINKS_MAX]; /* numbers in the topology, of links with a known capacity */
	size_t n;
	double bytes_per_s;
};

/* Data that is sent comes down to the RNIC; data that is received goes up to memory. */
enum direction { DOWN, UP, DIRECTIONS };

struct packing {
	const struct pair_plan *plan;
	struct way ways[PAIR_PORTS_MAX];
	double *capacity; /* by link; 0: unknown */
	double *load;	  /* by group, link and direction */
	bool *taken;	  /* by group and side */
	bool both;	  /* traffic goes both ways */
};

static size_t number_of(const struct pair_plan *p, const struct pair_side *side)
{
	return (size_t)(side - p->sides);
}

static double *load_of(struct packing *k, size_t group, size_t link, enum direction way)
{
	return &k->load[(group * k->plan->topology.n_links + link) * DIRECTIONS + way];
}

static void find_way(struct packing *k, size_t side)
{
	const struct topology *t = &k->plan->topology;
	const struct pair_side *s = &k->plan->sides[side];
	const struct rdma_port *port = s->port;
	CLEANUP(freep) char *from = xasprintf("rnic:%s", port->device);
	CLEANUP(freep) char *to = s->gpu ? xstrdup(s->gpu->id) : xasprintf("numa:%d", s->node);
	CLEANUP(strv_freep) char **path = NULL;
	struct way *way = &k->ways[side];
	size_t i;

	if (!k->plan->has_topology || t->is_virtual || topology_path(t, from, to, &path) < 0)
		return;
	/* A port of unknown rate may fill any link. */
	way->bytes_per_s = port->bytes_per_s > 0 ? port->bytes_per_s : INFINITY;
	for (i = 0; path[i] && way->n < LINKS_MAX; i++) {
		const size_t link = (size_t)(topology_find_link(t, path[i]) - t->links);

		/* Memory is wide, and all sides of a node share it. */
		if (k->capacity[link] > 0 && !streq(t->links[link].a, t->links[link].b))
			way->links[way->n++] = link;
	}
}

static void packing_init(struct packing *k, const struct pair_plan *p)
{
	const struct pair_options *o = p->probe->options;
	const size_t links = p->topology.n_links;
	size_t i;

	*k = (struct packing){ .plan = p, .both = o->bidirectional };
	k->capacity = xcalloc(links + 1, sizeof(*k->capacity));
	k->load = xcalloc(p->n_jobs * links * DIRECTIONS + 1, sizeof(*k->load));
	k->taken = xcalloc(p->n_jobs * p->n_sides + 1, sizeof(*k->taken));
	for (i = 0; i < links; i++)
		k->capacity[i] = mesh_capacity(&p->topology, &p->topology.links[i]);
	for (i = 0; i < p->n_sides; i++)
		find_way(k, i);
}

static void packing_release(struct packing *k)
{
	free(k->capacity);
	free(k->load);
	free(k->taken);
}

/* Would `side`, with one more job, have its links to itself or enough capacity left on them? */
static bool links_suffice(struct packing *k, size_t group, size_t side, enum direction direction)
{
	const struct way *way = &k->ways[side];
	size_t i;

	for (i = 0; i < way->n; i++) {
		const double load = *load_of(k, group, way->links[i], direction);

		if (load > 0 && load + way->bytes_per_s > k->capacity[way->links[i]])
			return false;
	}
	return true;
}

static bool is_free(const struct packing *k, size_t group, const struct pair_side *side)
{
	const struct pair_plan *p = k->plan;
	size_t i;

	for (i = 0; i < p->n_sides; i++) {
		if (k->taken[group * p->n_sides + i] &&
		    (side == &p->sides[i] || pci_same_card(side->port->pci, p->sides[i].port->pci)))
			return false;
	}
	return true;
}

static bool fits(struct packing *k, size_t group, const struct pair_job *job)
{
	const size_t from = number_of(k->plan, job->from), to = number_of(k->plan, job->to);

	return is_free(k, group, job->from) && is_free(k, group, job->to) &&
	       links_suffice(k, group, from, DOWN) && links_suffice(k, group, to, UP) &&
	       (!k->both ||
		(links_suffice(k, group, from, UP) && links_suffice(k, group, to, DOWN)));
}

static void load(struct packing *k, size_t group, size_t side, enum direction direction)
{
	const struct way *way = &k->ways[side];
	size_t i;

	for (i = 0; i < way->n; i++) {
		*load_of(k, group, way->links[i], direction) += way->bytes_per_s;
		if (k->both)
			*load_of(k, group, way->links[i], direction == UP ? DOWN : UP) +=
				way->bytes_per_s;
	}
	k->taken[group * k->plan->n_sides + side] = true;
}

static int compare_groups(const void *a, const void *b)
{
	const struct pair_job *x = a, *y = b;

	if (x->group != y->group)
		return x->group > y->group ? 1 : -1;
	return (x->place > y->place) - (x->place < y->place);
}

void pair_rounds(struct pair_plan *p)
{
	struct packing k;
	size_t i;

	packing_init(&k, p);
	for (i = 0; i < p->n_jobs; i++) {
		struct pair_job *job = &p->jobs[i];

		job->place = i;
		job->group = 0;
		while (!fits(&k, job->group, job))
			job->group++;
		load(&k, job->group, number_of(p, job->from), DOWN);
		load(&k, job->group, number_of(p, job->to), UP);
	}
	packing_release(&k);
	if (p->n_jobs > 0)
		qsort(p->jobs, p->n_jobs, sizeof(*p->jobs), compare_groups);
}
