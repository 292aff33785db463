/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/hang_places.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/store/store_placements.h"
#include "lib/base/map.h"
#include "lib/base/xalloc.h"

enum {
	RANKS_MAX = 16384, /* per job, as accepted by the API */
	DOUBT = UINT16_MAX,
};

_Static_assert((int)STORE_PLACEMENT_NODES_MAX < (int)DOUBT, "the number of a host does not fit");

/* A host while reading. */
struct place {
	char *name;
	uint16_t number; /* starts at 1 */
};

/* Number of the host that has the rank now, and that had it last; 0 or DOUBT. */
struct claimed {
	uint16_t now, last;
	uint64_t until_us; /* of `last` */
};

struct reading {
	struct map known; /* struct place */
	char **nodes;
	size_t n_nodes;
	struct claimed *claimed; /* [RANKS_MAX] */
	int64_t run;
	uint64_t now_us;
};

/* The host's number; 0: there are too many. */
static uint16_t number_of(struct reading *r, const char *node)
{
	struct place *place = map_find(&r->known, node);

	if (place)
		return place->number;
	if (r->n_nodes == STORE_PLACEMENT_NODES_MAX)
		return 0;
	place = map_need(&r->known, node, sizeof(*place));
	r->nodes = xrealloc(r->nodes, r->n_nodes + 1, sizeof(*r->nodes));
	r->nodes[r->n_nodes++] = xstrdup(node);
	place->number = (uint16_t)r->n_nodes;
	return place->number;
}

static void claim(uint16_t *of, uint16_t number)
{
	*of = *of && *of != number ? (uint16_t)DOUBT : number;
}

static void take(void *context, const struct store_placement *p)
{
	struct reading *r = context;
	struct claimed *c;
	uint16_t number;

	if (p->rank < 0 || p->rank >= RANKS_MAX || p->from_us > r->now_us ||
	    p->until_us + HANG_PLACES_LATELY_US < r->now_us)
		return;
	number = number_of(r, p->node);
	c = &r->claimed[p->rank];
	if (number == 0)
		return;
	if (p->until_us > r->now_us) {
		claim(&c->now, number);
		r->run = MAX(r->run, p->run);
	} else if (p->until_us > c->until_us) {
		c->last = number;
		c->until_us = p->until_us;
	} else if (p->until_us == c->until_us) {
		claim(&c->last, number);
	}
}

static void settle(struct hang_places *p, struct reading *r)
{
	size_t i;

	*p = (struct hang_places){
		.nodes = TAKE(r->nodes),
		.n_nodes = r->n_nodes,
		.of = xcalloc(RANKS_MAX, sizeof(*p->of)),
		.run = r->run,
	};
	for (i = 0; i < RANKS_MAX; i++) {
		const struct claimed *c = &r->claimed[i];
		const uint16_t number = c->now ? c->now : c->last;

		if (number)
			p->n_ranks = i + 1;
		if (number != DOUBT)
			p->of[i] = number;
	}
}

int hang_places_read(struct hang_places *p, struct store *store, const char *job, uint64_t now_us,
		     struct err *err)
{
	static const int64_t all[] = { 0, RANKS_MAX - 1 };
	struct reading reading = {
		.claimed = xcalloc(RANKS_MAX, sizeof(struct claimed)),
		.now_us = now_us,
	};
	struct hang_places found = { .nodes = NULL };
	int r = store_placements(store, job, all, take, &reading, err);

	settle(&found, &reading);
	map_release(&reading.known, NULL);
	free(reading.claimed);
	if (r < 0 && r != -E2BIG) {
		hang_places_release(&found);
		return r;
	}
	hang_places_release(p);
	*p = found;
	return 0;
}

const char *hang_places_node(const struct hang_places *p, int64_t rank)
{
	if (rank < 0 || (size_t)rank >= p->n_ranks || p->of[rank] == 0)
		return NULL;
	return p->nodes[p->of[rank] - 1];
}

bool hang_places_has(const struct hang_places *p, const char *node)
{
	size_t i;

	for (i = 0; i < p->n_nodes; i++) {
		if (streq(p->nodes[i], node))
			return true;
	}
	return false;
}

void hang_places_release(struct hang_places *p)
{
	size_t i;

	for (i = 0; i < p->n_nodes; i++)
		free(p->nodes[i]);
	free(p->nodes);
	free(p->of);
	*p = (struct hang_places){ .nodes = NULL };
}
