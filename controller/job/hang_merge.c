/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/hang_merge.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/hang/hang_part.h"

enum { WORLDS_MAX = 16 }; /* different world sizes that are counted */

struct merging {
	const struct hang_said **said; /* [n]: newest first */
	size_t n;
	const struct hang_places *places;
	struct hang_case *c;
	int64_t world;
	struct err *err;
};

/* --- ranks --- */

static void collect(void *context, void *item)
{
	struct merging *m = context;

	m->said[m->n++] = item;
}

static int compare_said(const void *a, const void *b)
{
	const struct hang_said *x = *(const struct hang_said *const *)a,
			       *y = *(const struct hang_said *const *)b;

	if (x->seen_us != y->seen_us)
		return x->seen_us < y->seen_us ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* The size most hosts report; on a tie the smaller, as nonexistent ranks would become suspects. */
static int64_t world_of(const struct merging *m)
{
	struct {
		int64_t world;
		size_t n;
	} worlds[WORLDS_MAX] = { { 0, 0 } }, best = { 0, 0 };
	size_t i, k;

	for (i = 0; i < m->n; i++) {
		const int64_t world = m->said[i]->facts.world;

		for (k = 0; k < WORLDS_MAX && worlds[k].n > 0 && worlds[k].world != world; k++)
			;
		if (k == WORLDS_MAX || world <= 0)
			continue;
		worlds[k].world = world;
		worlds[k].n++;
	}
	for (k = 0; k < WORLDS_MAX; k++) {
		if (worlds[k].n > best.n ||
		    (worlds[k].n == best.n && worlds[k].world < best.world && worlds[k].n > 0)) {
			best.world = worlds[k].world;
			best.n = worlds[k].n;
		}
	}
	return MIN(MAX(best.world, (int64_t)m->places->n_ranks), (int64_t)HANG_RANKS_MAX);
}

/* --- documents --- */

/* Invalid members are ignored: no host can make the job larger than most hosts say. */
static int add(struct merging *m, const struct hang_part *part, bool strangers_only)
{
	const struct hang_part_options options = { m->world, strangers_only };
	int r = hang_part_join(part, &options, m->c, m->err);

	/* Contradictory or excessive documents must not hide the others. */
	return r == -EINVAL || r == -E2BIG ? 0 : r;
}

/* The host that reports a rank need not be where it runs. */
static int place(struct merging *m)
{
	struct hang_rank *rank;
	size_t i;
	int r;

	for (i = 0; i < m->places->n_ranks; i++) {
		const char *node = hang_places_node(m->places, (int64_t)i);

		if (!node)
			continue;
		r = hang_case_rank(m->c, (int64_t)i, &rank, m->err);
		if (r < 0)
			return r;
		memset(rank->node, 0, sizeof(rank->node));
		memcpy(rank->node, node, MIN(strlen(node), sizeof(rank->node) - 1));
	}
	return 0;
}

int hang_merge(const struct hang_docs *docs, const struct hang_places *places,
	       struct hang_case *ret, struct err *err)
{
	CLEANUP(freep)
	const struct hang_said **said = xcalloc(docs->hosts.n + 1, sizeof(struct hang_said *));
	struct merging m = { .said = said, .places = places, .c = ret, .err = err };
	size_t i;
	int r = 0;

	map_each(&docs->hosts, collect, &m);
	qsort(said, m.n, sizeof(*said), compare_said);
	m.world = world_of(&m);
	for (i = 0; r == 0 && i < m.n; i++)
		r = add(&m, &said[i]->words.own, false);
	for (i = 0; r == 0 && i < m.n; i++)
		r = add(&m, &said[i]->words.told, true);
	return r < 0 ? r : place(&m);
}
