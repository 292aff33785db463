/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/anomalies.h"

#include <search.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"

struct anomaly {
	int set;
	char *sku, *check;
	char **nodes; /* by name */
	size_t n, room;
	bool told;  /* ANOMALY_LOW: an incident is open */
	char **ran; /* ANOMALY_FILE: hosts measured since it has any, the newest run last */
	size_t n_ran, room_ran;
	struct share_entry share;
	uint64_t used; /* anomalies.uses when a host was last put into it */
};

/* Evicted together when the table is full, as finding them takes a walk over all. */
enum { ROOM = ANOMALIES_MAX / 64 };

/* SKU first, so that those of one SKU are adjacent. */
static int compare(const void *a, const void *b)
{
	const struct anomaly *x = a, *y = b;
	int r = strcmp(x->sku, y->sku);

	if (r == 0)
		r = x->set - y->set;
	return r ? r : strcmp(x->check, y->check);
}

/* Search key. Borrows the texts. */
static struct anomaly like(int set, const char *sku, const char *check)
{
	return (struct anomaly){ .set = set,
				 .sku = (char *)(uintptr_t)sku,
				 .check = (char *)(uintptr_t)check };
}

static struct anomaly *find(const struct anomalies *s, int set, const char *sku, const char *check)
{
	const struct anomaly wanted = like(set, sku, check);
	struct anomaly **found = tfind(&wanted, &s->tree, compare);

	return found ? *found : NULL;
}

static void anomaly_free(void *p)
{
	struct anomaly *anomaly = p;

	while (anomaly->n > 0)
		free(anomaly->nodes[--anomaly->n]);
	free(anomaly->nodes);
	while (anomaly->n_ran > 0)
		free(anomaly->ran[--anomaly->n_ran]);
	free(anomaly->ran);
	free(anomaly->sku);
	free(anomaly->check);
	free(anomaly);
}

static void drop(struct anomalies *s, struct anomaly *anomaly)
{
	(void)tdelete(anomaly, &s->tree, compare);
	share_leave(&s->shares, &anomaly->share);
	anomaly_free(anomaly);
	s->n--;
}

/* Sets collected in a walk, during which none may be dropped. */
struct listing {
	struct anomaly **list;
	size_t n;
	bool empty; /* only empty ones */
};

static void list(const void *at, VISIT visit, void *closure)
{
	struct anomaly *anomaly = *(struct anomaly *const *)at;
	struct listing *all = closure;

	if ((visit == postorder || visit == leaf) && !anomaly->told &&
	    (!all->empty || anomaly->n == 0))
		all->list[all->n++] = anomaly;
}

static void drop_empty(struct anomalies *s)
{
	CLEANUP(freep) struct anomaly **sets = xcalloc(s->n + 1, sizeof(struct anomaly *));
	struct listing all = { sets, 0, true };
	size_t i;

	twalk_r(s->tree, list, &all);
	for (i = 0; i < all.n; i++)
		drop(s, sets[i]);
}

static void make_room(struct anomalies *s)
{
	CLEANUP(freep) struct anomaly **sets = xcalloc(s->n + 1, sizeof(struct anomaly *));
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

/* The hosts in the set have changed. */
static void settle(struct anomalies *s, struct anomaly *anomaly)
{
	struct anomaly *excess;

	if (anomaly->n == 0 && !anomaly->told) {
		drop(s, anomaly);
		return;
	}
	if (anomaly->n != 1 || anomaly->told) {
		share_leave(&s->shares, &anomaly->share);
		return;
	}
	share_enter(&s->shares, &anomaly->share, anomaly, anomaly->nodes[0]);
	excess = share_excess(&s->shares, &anomaly->share, ANOMALIES_OWN_MAX);
	if (!excess)
		return;
	s->shares.dropped++;
	drop(s, excess);
}

static struct anomaly *need(struct anomalies *s, int set, const char *sku, const char *check)
{
	struct anomaly *anomaly = find(s, set, sku, check);

	if (anomaly)
		return anomaly;
	if (s->n >= ANOMALIES_MAX)
		make_room(s);
	anomaly = xcalloc(1, sizeof(*anomaly));
	*anomaly = (struct anomaly){ .set = set, .sku = xstrdup(sku), .check = xstrdup(check) };
	if (!tsearch(anomaly, &s->tree, compare))
		abort(); /* out of memory */
	s->n++;
	return anomaly;
}

/* Index of the host, or where to insert it. */
static size_t place_of(const struct anomaly *anomaly, const char *node, bool *ret_there)
{
	size_t low = 0, high = anomaly->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(anomaly->nodes[mid], node) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	*ret_there = low < anomaly->n && streq(anomaly->nodes[low], node);
	return low;
}

static void put(struct anomaly *anomaly, size_t at, const char *node)
{
	if (anomaly->n == anomaly->room) {
		anomaly->room = MAX(anomaly->room * 2, (size_t)8);
		anomaly->nodes = xrealloc(anomaly->nodes, anomaly->room, sizeof(*anomaly->nodes));
	}
	memmove(&anomaly->nodes[at + 1], &anomaly->nodes[at],
		(anomaly->n - at) * sizeof(*anomaly->nodes));
	anomaly->nodes[at] = xstrdup(node);
	anomaly->n++;
}

static void take(struct anomaly *anomaly, size_t at)
{
	free(anomaly->nodes[at]);
	anomaly->n--;
	memmove(&anomaly->nodes[at], &anomaly->nodes[at + 1],
		(anomaly->n - at) * sizeof(*anomaly->nodes));
}

void anomalies_set(struct anomalies *s, int set, const char *sku, const char *check,
		   const char *node, bool in)
{
	struct anomaly *anomaly = in ? need(s, set, sku, check) : find(s, set, sku, check);
	bool there = false;
	size_t at;

	if (!anomaly)
		return;
	at = place_of(anomaly, node, &there);
	if (in)
		anomaly->used = ++s->uses;
	if (in && !there)
		put(anomaly, at, node);
	else if (!in && there)
		take(anomaly, at);
	if (in || there)
		settle(s, anomaly);
}

bool anomalies_has(const struct anomalies *s, int set, const char *sku, const char *check,
		   const char *node)
{
	const struct anomaly *anomaly = find(s, set, sku, check);
	bool there = false;

	if (anomaly)
		(void)place_of(anomaly, node, &there);
	return there;
}

size_t anomalies_count(const struct anomalies *s, int set, const char *sku, const char *check)
{
	const struct anomaly *anomaly = find(s, set, sku, check);

	return anomaly ? anomaly->n : 0;
}

bool anomalies_wide(const struct anomalies *s, int set, const char *sku, const char *check)
{
	size_t hosts = anomalies_count(s, ANOMALY_HOSTS, sku, "");

	return hosts >= REFERENCE_N_MIN && 2 * anomalies_count(s, set, sku, check) >= hosts;
}

bool anomalies_over(const struct anomalies *s, int set, const char *sku, const char *check)
{
	return 4 * anomalies_count(s, set, sku, check) < anomalies_count(s, ANOMALY_HOSTS, sku, "");
}

/* Number of newest runs that are enough to judge the file. */
static size_t runs_that_tell(const struct anomalies *s, const char *sku)
{
	return MAX(anomalies_count(s, ANOMALY_HOSTS, sku, "") / 4, (size_t)ANOMALY_FILE_MIN);
}

static void drop_ran(struct anomaly *anomaly, size_t at)
{
	free(anomaly->ran[at]);
	anomaly->n_ran--;
	memmove(&anomaly->ran[at], &anomaly->ran[at + 1],
		(anomaly->n_ran - at) * sizeof(*anomaly->ran));
}

static void forget_ran(struct anomaly *anomaly, const char *node)
{
	size_t i = 0;

	while (i < anomaly->n_ran && !streq(anomaly->ran[i], node))
		i++;
	if (i < anomaly->n_ran)
		drop_ran(anomaly, i);
}

void anomalies_measured(struct anomalies *s, const char *sku, const char *check, const char *node,
			bool far_below_file)
{
	struct anomaly *anomaly;

	anomalies_set(s, ANOMALY_FILE, sku, check, node, far_below_file);
	anomaly = find(s, ANOMALY_FILE, sku, check);
	if (!anomaly)
		return;
	forget_ran(anomaly, node);
	while (anomaly->n_ran >= runs_that_tell(s, sku))
		drop_ran(anomaly, 0);
	if (anomaly->n_ran == anomaly->room_ran) {
		anomaly->room_ran = MAX(anomaly->room_ran * 2, (size_t)8);
		anomaly->ran = xrealloc(anomaly->ran, anomaly->room_ran, sizeof(*anomaly->ran));
	}
	anomaly->ran[anomaly->n_ran++] = xstrdup(node);
}

/* Half of the newest runs? */
static bool is_wide_of_late(const struct anomalies *s, const struct anomaly *anomaly)
{
	size_t far = 0, i;
	bool there;

	if (anomaly->n_ran < runs_that_tell(s, anomaly->sku))
		return false;
	for (i = 0; i < anomaly->n_ran; i++) {
		(void)place_of(anomaly, anomaly->ran[i], &there);
		far += there;
	}
	return far * 2 >= anomaly->n_ran;
}

struct search {
	const struct anomalies *anomalies;
	const char *sku;
};

static void find_file(const void *at, VISIT visit, void *closure)
{
	const struct anomaly *anomaly = *(const struct anomaly *const *)at;
	struct search *search = closure;

	if ((visit == postorder || visit == leaf) && !search->sku && anomaly->set == ANOMALY_FILE &&
	    (anomalies_wide(search->anomalies, ANOMALY_FILE, anomaly->sku, anomaly->check) ||
	     is_wide_of_late(search->anomalies, anomaly)))
		search->sku = anomaly->sku;
}

const char *anomalies_file(const struct anomalies *s)
{
	struct search search = { s, NULL };

	twalk_r(s->tree, find_file, &search);
	return search.sku;
}

static void empty(const void *at, VISIT visit, void *set)
{
	struct anomaly *anomaly = *(struct anomaly *const *)at;

	if ((visit != postorder && visit != leaf) || anomaly->set != *(const int *)set)
		return;
	while (anomaly->n > 0)
		free(anomaly->nodes[--anomaly->n]);
	while (anomaly->n_ran > 0)
		free(anomaly->ran[--anomaly->n_ran]);
}

void anomalies_clear(struct anomalies *s, int set)
{
	twalk_r(s->tree, empty, &set);
	drop_empty(s);
}

void anomalies_forgive_file(struct anomalies *s)
{
	anomalies_clear(s, ANOMALY_FILE);
}

void anomalies_tell(struct anomalies *s, const char *sku, const char *check, bool told)
{
	struct anomaly *anomaly = told ? need(s, ANOMALY_LOW, sku, check)
				       : find(s, ANOMALY_LOW, sku, check);

	if (!anomaly)
		return;
	anomaly->told = told;
	settle(s, anomaly);
}

bool anomalies_told(const struct anomalies *s, const char *sku, const char *check)
{
	const struct anomaly *anomaly = find(s, ANOMALY_LOW, sku, check);

	return anomaly && anomaly->told;
}

struct walk {
	const char *sku, *node;
	char **checks; /* owned */
	size_t n, room;
};

static void collect(const void *at, VISIT visit, void *closure)
{
	const struct anomaly *anomaly = *(const struct anomaly *const *)at;
	struct walk *walk = closure;
	bool there = false;
	size_t i;

	if ((visit != postorder && visit != leaf) || !streq(anomaly->sku, walk->sku) ||
	    (anomaly->set != ANOMALY_LOW && anomaly->set != ANOMALY_FILE))
		return;
	(void)place_of(anomaly, walk->node, &there);
	if (anomaly->set == ANOMALY_LOW && !there && !anomaly->told)
		return;
	for (i = 0; i < walk->n; i++) {
		if (streq(walk->checks[i], anomaly->check))
			return;
	}
	if (walk->n == walk->room) {
		walk->room = MAX(walk->room * 2, (size_t)8);
		walk->checks = xrealloc(walk->checks, walk->room, sizeof(*walk->checks));
	}
	walk->checks[walk->n++] = xstrdup(anomaly->check);
}

void anomalies_each(struct anomalies *s, const char *sku, const char *node,
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
	struct anomaly *anomaly = *(struct anomaly *const *)at;
	bool there = false;
	size_t place;

	if (visit != postorder && visit != leaf)
		return;
	place = place_of(anomaly, node, &there);
	if (there)
		take(anomaly, place);
	forget_ran(anomaly, node);
}

void anomalies_forget(struct anomalies *s, const char *node)
{
	CLEANUP(freep) char *name = xstrdup(node);

	twalk_r(s->tree, forget_in, name);
	drop_empty(s);
}

void anomalies_release(struct anomalies *s)
{
	tdestroy(s->tree, anomaly_free);
	shares_release(&s->shares);
	*s = (struct anomalies){ 0 };
}
