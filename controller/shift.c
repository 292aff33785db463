/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/shift.h"

#include <search.h>
#include <stdlib.h>

#include "lib/judge/reference.h"
#include "lib/xalloc.h"

struct shift {
	char *key;
	int set;
	char *sku, *check;
	char **nodes; /* by name */
	size_t n, room;
	bool told; /* of SHIFT_LOW */
};

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct shift *)a)->key, ((const struct shift *)b)->key);
}

/* By SKU first, so that those of one SKU are neighbours. */
static char *key_of(int set, const char *sku, const char *check)
{
	return xasprintf("%s\n%d\n%s", sku, set, check);
}

static struct shift *find(const struct shifts *s, int set, const char *sku, const char *check)
{
	CLEANUP(freep) char *key = key_of(set, sku, check);
	struct shift wanted = { .key = key };
	struct shift **found = tfind(&wanted, &s->tree, compare);

	return found ? *found : NULL;
}

static struct shift *need(struct shifts *s, int set, const char *sku, const char *check)
{
	struct shift *shift = find(s, set, sku, check);

	if (shift || s->n == SHIFTS_MAX)
		return shift;
	shift = xcalloc(1, sizeof(*shift));
	*shift = (struct shift){ .key = key_of(set, sku, check),
				 .set = set,
				 .sku = xstrdup(sku),
				 .check = xstrdup(check) };
	if (!tsearch(shift, &s->tree, compare))
		abort(); /* out of memory */
	s->n++;
	return shift;
}

/* Where the host is, or belongs. */
static size_t place_of(const struct shift *shift, const char *node, bool *ret_there)
{
	size_t low = 0, high = shift->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(shift->nodes[mid], node) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*ret_there = low < shift->n && streq(shift->nodes[low], node);
	return low;
}

static void put(struct shift *shift, size_t at, const char *node)
{
	if (shift->n == shift->room) {
		shift->room = MAX(shift->room * 2, (size_t)8);
		shift->nodes = xrealloc(shift->nodes, shift->room, sizeof(*shift->nodes));
	}
	memmove(&shift->nodes[at + 1], &shift->nodes[at], (shift->n - at) * sizeof(*shift->nodes));
	shift->nodes[at] = xstrdup(node);
	shift->n++;
}

static void take(struct shift *shift, size_t at)
{
	free(shift->nodes[at]);
	shift->n--;
	memmove(&shift->nodes[at], &shift->nodes[at + 1], (shift->n - at) * sizeof(*shift->nodes));
}

void shifts_set(struct shifts *s, int set, const char *sku, const char *check, const char *node,
		bool in)
{
	struct shift *shift = in ? need(s, set, sku, check) : find(s, set, sku, check);
	bool there = false;
	size_t at;

	if (!shift)
		return;
	at = place_of(shift, node, &there);
	if (in && !there)
		put(shift, at, node);
	else if (!in && there)
		take(shift, at);
}

bool shifts_has(const struct shifts *s, int set, const char *sku, const char *check,
		const char *node)
{
	const struct shift *shift = find(s, set, sku, check);
	bool there = false;

	if (shift)
		(void)place_of(shift, node, &there);
	return there;
}

size_t shifts_count(const struct shifts *s, int set, const char *sku, const char *check)
{
	const struct shift *shift = find(s, set, sku, check);

	return shift ? shift->n : 0;
}

bool shifts_wide(const struct shifts *s, int set, const char *sku, const char *check)
{
	size_t hosts = shifts_count(s, SHIFT_HOSTS, sku, "");

	return hosts >= REFERENCE_N_MIN && 2 * shifts_count(s, set, sku, check) >= hosts;
}

bool shifts_over(const struct shifts *s, int set, const char *sku, const char *check)
{
	return 4 * shifts_count(s, set, sku, check) < shifts_count(s, SHIFT_HOSTS, sku, "");
}

struct search {
	const struct shifts *shifts;
	const char *sku;
};

static void find_file(const void *at, VISIT visit, void *closure)
{
	const struct shift *shift = *(const struct shift *const *)at;
	struct search *search = closure;

	if ((visit == postorder || visit == leaf) && !search->sku && shift->set == SHIFT_FILE &&
	    shifts_wide(search->shifts, SHIFT_FILE, shift->sku, shift->check))
		search->sku = shift->sku;
}

const char *shifts_file(const struct shifts *s)
{
	struct search search = { s, NULL };

	twalk_r(s->tree, find_file, &search);
	return search.sku;
}

static void empty(const void *at, VISIT visit, void *set)
{
	struct shift *shift = *(struct shift *const *)at;

	if ((visit != postorder && visit != leaf) || shift->set != *(const int *)set)
		return;
	while (shift->n > 0)
		free(shift->nodes[--shift->n]);
}

void shifts_clear(struct shifts *s, int set)
{
	twalk_r(s->tree, empty, &set);
}

void shifts_forgive_file(struct shifts *s)
{
	shifts_clear(s, SHIFT_FILE);
}

void shifts_tell(struct shifts *s, const char *sku, const char *check, bool told)
{
	struct shift *shift = told ? need(s, SHIFT_LOW, sku, check)
				   : find(s, SHIFT_LOW, sku, check);

	if (shift)
		shift->told = told;
}

bool shifts_told(const struct shifts *s, const char *sku, const char *check)
{
	const struct shift *shift = find(s, SHIFT_LOW, sku, check);

	return shift && shift->told;
}

struct walk {
	const char *sku, *node;
	char **checks; /* owned */
	size_t n, room;
};

static void collect(const void *at, VISIT visit, void *closure)
{
	const struct shift *shift = *(const struct shift *const *)at;
	struct walk *walk = closure;
	bool there = false;

	if ((visit != postorder && visit != leaf) || shift->set != SHIFT_LOW ||
	    !streq(shift->sku, walk->sku))
		return;
	(void)place_of(shift, walk->node, &there);
	if (!there && !shift->told)
		return;
	if (walk->n == walk->room) {
		walk->room = MAX(walk->room * 2, (size_t)8);
		walk->checks = xrealloc(walk->checks, walk->room, sizeof(*walk->checks));
	}
	walk->checks[walk->n++] = xstrdup(shift->check);
}

void shifts_each(struct shifts *s, const char *sku, const char *node,
		 void (*visit)(void *context, const char *check), void *context)
{
	struct walk walk = { .sku = sku, .node = node };
	size_t i;

	twalk_r(s->tree, collect, &walk);
	for (i = 0; i < walk.n; i++) {
		visit(context, walk.checks[i]);
		free(walk.checks[i]);
	}
	free(walk.checks);
}

static void forget_in(const void *at, VISIT visit, void *node)
{
	struct shift *shift = *(struct shift *const *)at;
	bool there = false;
	size_t place;

	if (visit != postorder && visit != leaf)
		return;
	place = place_of(shift, node, &there);
	if (there)
		take(shift, place);
}

void shifts_forget(struct shifts *s, const char *node)
{
	CLEANUP(freep) char *name = xstrdup(node);

	twalk_r(s->tree, forget_in, name);
}

static void shift_free(void *p)
{
	struct shift *shift = p;

	while (shift->n > 0)
		free(shift->nodes[--shift->n]);
	free(shift->nodes);
	free(shift->key);
	free(shift->sku);
	free(shift->check);
	free(shift);
}

void shifts_release(struct shifts *s)
{
	tdestroy(s->tree, shift_free);
	*s = (struct shifts){ 0 };
}
