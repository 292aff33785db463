/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/hang_merge.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_case.h"
#include "lib/hang/hang_json.h"
#include "lib/json/json.h"

enum { WORLDS_MAX = 16 }; /* different ones that are counted */

struct merging {
	const struct hang_said **said; /* [n]: told last comes first */
	size_t n;
	const struct hang_places *places;
	struct hang_case *c;
	int64_t world;
	struct err *err;
};

/* --- which are there --- */

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

/* What most say; of as many the smaller, as who names ranks that are not there makes suspects of
 * them. */
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

/* --- each --- */

/* Members that cannot be are nobody: no host makes the job larger than most say it is. */
static void cut_groups(const struct merging *m, const json_t *groups)
{
	size_t i, k;

	for (i = 0; i < json_array_size(groups); i++) {
		json_t *ranks = json_object_get(json_array_get(groups, i), "ranks");

		for (k = 0; k < json_array_size(ranks); k++) {
			if (json_integer_value(json_array_get(ranks, k)) >= m->world)
				(void)json_array_set_new(ranks, k, json_null());
		}
	}
}

static int add(struct merging *m, json_t *doc)
{
	const struct jval root = jval_root(doc, "hang");
	int r;

	cut_groups(m, json_object_get(doc, "groups"));
	(void)json_object_set_new(doc, "world", json_integer((json_int_t)m->world));
	r = hang_json_add(m->c, &root, NULL, m->err);
	/* What contradicts the others, or is too much beside them, must not hide them. */
	return r == -EINVAL || r == -E2BIG ? 0 : r;
}

static int add_own(struct merging *m, const struct hang_said *said)
{
	CLEANUP(json_freep) json_t *doc = NULL;
	int r = json_parse(said->text, said->length, "hang", &doc, m->err);

	if (r < 0)
		return r;
	(void)json_object_del(doc, "told");
	return add(m, doc);
}

static bool is_known(const struct merging *m, int64_t rank)
{
	return rank >= 0 && (size_t)rank < m->c->n_ranks && m->c->ranks[rank].sources != 0;
}

/* Those of which nobody has said anything yet. */
static int add_told(struct merging *m, const struct hang_said *said)
{
	CLEANUP(json_freep) json_t *doc = NULL;
	CLEANUP(json_freep) json_t *ranks = json_array();
	const json_t *told;
	size_t i;
	int r = json_parse(said->text, said->length, "hang", &doc, m->err);

	if (r < 0)
		return r;
	told = json_object_get(doc, "told");
	for (i = 0; i < json_array_size(told); i++) {
		json_t *one = json_array_get(told, i);

		if (!is_known(m, json_integer_value(json_object_get(one, "rank"))))
			(void)json_array_append(ranks, one);
	}
	if (json_array_size(ranks) == 0)
		return 0;
	(void)json_object_set(doc, "ranks", ranks);
	(void)json_object_del(doc, "told");
	(void)json_object_del(doc, "missing");
	return add(m, doc);
}

/* Who tells of a rank is not where it is. */
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
		r = add_own(&m, said[i]);
	for (i = 0; r == 0 && i < m.n; i++)
		r = said[i]->facts.told > 0 ? add_told(&m, said[i]) : 0;
	return r < 0 ? r : place(&m);
}
