/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/shift.h"

#include <search.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"

struct shift {
	int set;
	char *sku, *check;
	char **nodes; /* by name */
	size_t n, room;
	bool told;  /* of SHIFT_LOW */
	char **ran; /* of SHIFT_FILE: who was measured since it has any, the newest run last */
	size_t n_ran, room_ran;
	struct share_entry share;
	uint64_t used; /* shifts.uses when it was last put into */
};

/* Dropped at once when the table is full: to find them costs a walk over all. */
enum { ROOM = SHIFTS_MAX / 64 };

/* By SKU first, so that those of one SKU are neighbours. */
static int compare(const void *a, const void *b)
{
	const struct shift *x = a, *y = b;
	int r = strcmp(x->sku, y->sku);

	if (r == 0)
		r = x->set - y->set;
	return r ? r : strcmp(x->check, y->check);
}

/* What is only looked for: the texts are borrowed. */
static struct shift like(int set, const char *sku, const char *check)
{
	return (struct shift){ .set = set,
			       .sku = (char *)(uintptr_t)sku,
			       .check = (char *)(uintptr_t)check };
}

static struct shift *find(const struct shifts *s, int set, const char *sku, const char *check)
{
	const struct shift wanted = like(set, sku, check);
	struct shift **found = tfind(&wanted, &s->tree, compare);

	return found ? *found : NULL;
}

static void shift_free(void *p)
{
	struct shift *shift = p;

	while (shift->n > 0)
		free(shift->nodes[--shift->n]);
	free(shift->nodes);
	while (shift->n_ran > 0)
		free(shift->ran[--shift->n_ran]);
	free(shift->ran);
	free(shift->sku);
	free(shift->check);
	free(shift);
}

static void drop(struct shifts *s, struct shift *shift)
{
	(void)tdelete(shift, &s->tree, compare);
	share_leave(&s->shares, &shift->share);
	shift_free(shift);
	s->n--;
}

/* Sets gathered in a walk, in which none may be dropped. */
struct listing {
	struct shift **list;
	size_t n;
	bool empty; /* only those */
};

static void list(const void *at, VISIT visit, void *closure)
{
	struct shift *shift = *(struct shift *const *)at;
	struct listing *all = closure;

	if ((visit == postorder || visit == leaf) && !shift->told && (!all->empty || shift->n == 0))
		all->list[all->n++] = shift;
}

static void drop_empty(struct shifts *s)
{
	CLEANUP(freep) struct shift **sets = xcalloc(s->n + 1, sizeof(struct shift *));
	struct listing all = { sets, 0, true };
	size_t i;

	twalk_r(s->tree, list, &all);
	for (i = 0; i < all.n; i++)
		drop(s, sets[i]);
}

static void make_room(struct shifts *s)
{
	CLEANUP(freep) struct shift **sets = xcalloc(s->n + 1, sizeof(struct shift *));
	CLEANUP(freep) struct share_rank *ranks = xcalloc(s->n + 1, sizeof(*ranks));
	struct listing all = { sets, 0, false };
	size_t i;

	twalk_r(s->tree, list, &all);
	for (i = 0; i < all.n; i++)
		ranks[i] = (struct share_rank){ sets[i]->n, share_count(&sets[i]->share),
						sets[i]->used, sets[i] };
	share_rank(ranks, all.n);
	for (i = 0; i < MIN(all.n, (size_t)ROOM); i++)
		drop(s, ranks[i].entry);
	s->shares.dropped += i;
	s->shares.filled++;
}

/* Who is in it has changed. */
static void settle(struct shifts *s, struct shift *shift)
{
	struct shift *excess;

	if (shift->n == 0 && !shift->told) {
		drop(s, shift);
		return;
	}
	if (shift->n != 1 || shift->told) {
		share_leave(&s->shares, &shift->share);
		return;
	}
	share_enter(&s->shares, &shift->share, shift, shift->nodes[0]);
	excess = share_excess(&s->shares, &shift->share, SHIFTS_OWN_MAX);
	if (!excess)
		return;
	s->shares.dropped++;
	drop(s, excess);
}

static struct shift *need(struct shifts *s, int set, const char *sku, const char *check)
{
	struct shift *shift = find(s, set, sku, check);

	if (shift)
		return shift;
	if (s->n >= SHIFTS_MAX)
		make_room(s);
	shift = xcalloc(1, sizeof(*shift));
	*shift = (struct shift){ .set = set, .sku = xstrdup(sku), .check = xstrdup(check) };
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
	if (in)
		shift->used = ++s->uses;
	if (in && !there)
		put(shift, at, node);
	else if (!in && there)
		take(shift, at);
	if (in || there)
		settle(s, shift);
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

/* So many of the newest runs of its hosts speak for the file. */
static size_t runs_that_tell(const struct shifts *s, const char *sku)
{
	return MAX(shifts_count(s, SHIFT_HOSTS, sku, "") / 4, (size_t)SHIFT_FILE_MIN);
}

static void drop_ran(struct shift *shift, size_t at)
{
	free(shift->ran[at]);
	shift->n_ran--;
	memmove(&shift->ran[at], &shift->ran[at + 1], (shift->n_ran - at) * sizeof(*shift->ran));
}

static void forget_ran(struct shift *shift, const char *node)
{
	size_t i = 0;

	while (i < shift->n_ran && !streq(shift->ran[i], node))
		i++;
	if (i < shift->n_ran)
		drop_ran(shift, i);
}

void shifts_measured(struct shifts *s, const char *sku, const char *check, const char *node,
		     bool far_below_file)
{
	struct shift *shift;

	shifts_set(s, SHIFT_FILE, sku, check, node, far_below_file);
	shift = find(s, SHIFT_FILE, sku, check);
	if (!shift)
		return;
	forget_ran(shift, node);
	while (shift->n_ran >= runs_that_tell(s, sku))
		drop_ran(shift, 0);
	if (shift->n_ran == shift->room_ran) {
		shift->room_ran = MAX(shift->room_ran * 2, (size_t)8);
		shift->ran = xrealloc(shift->ran, shift->room_ran, sizeof(*shift->ran));
	}
	shift->ran[shift->n_ran++] = xstrdup(node);
}

/* Half of those that were measured last? */
static bool is_wide_of_late(const struct shifts *s, const struct shift *shift)
{
	size_t far = 0, i;
	bool there;

	if (shift->n_ran < runs_that_tell(s, shift->sku))
		return false;
	for (i = 0; i < shift->n_ran; i++) {
		(void)place_of(shift, shift->ran[i], &there);
		far += there;
	}
	return far * 2 >= shift->n_ran;
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
	    (shifts_wide(search->shifts, SHIFT_FILE, shift->sku, shift->check) ||
	     is_wide_of_late(search->shifts, shift)))
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
	while (shift->n_ran > 0)
		free(shift->ran[--shift->n_ran]);
}

void shifts_clear(struct shifts *s, int set)
{
	twalk_r(s->tree, empty, &set);
	drop_empty(s);
}

void shifts_forgive_file(struct shifts *s)
{
	shifts_clear(s, SHIFT_FILE);
}

void shifts_tell(struct shifts *s, const char *sku, const char *check, bool told)
{
	struct shift *shift = told ? need(s, SHIFT_LOW, sku, check)
				   : find(s, SHIFT_LOW, sku, check);

	if (!shift)
		return;
	shift->told = told;
	settle(s, shift);
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
	size_t i;

	if ((visit != postorder && visit != leaf) || !streq(shift->sku, walk->sku) ||
	    (shift->set != SHIFT_LOW && shift->set != SHIFT_FILE))
		return;
	(void)place_of(shift, walk->node, &there);
	if (shift->set == SHIFT_LOW && !there && !shift->told)
		return;
	for (i = 0; i < walk->n; i++) {
		if (streq(walk->checks[i], shift->check))
			return;
	}
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
	forget_ran(shift, node);
}

void shifts_forget(struct shifts *s, const char *node)
{
	CLEANUP(freep) char *name = xstrdup(node);

	twalk_r(s->tree, forget_in, name);
	drop_empty(s);
}

void shifts_release(struct shifts *s)
{
	tdestroy(s->tree, shift_free);
	shares_release(&s->shares);
	*s = (struct shifts){ 0 };
}
