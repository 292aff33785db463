/* SPDX-License-Identifier: Apache-2.0 */
/* Who runs with whom: all pairs, or suspects with somebody good. */
#include "lib/pairing/rounds.h"
#include "lib/base/circle.h"
#include "lib/pairing/blame.h"
#include "lib/pairing/view.h"

/* What speaks against a pair, worst first; ties are decided by order. */
enum { COST_SUSPECTS = 1 << 20, COST_MET = 1 << 10, COST_NOT_GOOD = 1 << 8, COST_CROSS = 1 << 4 };

/* Pairs of good nodes that measure the path between switches. */
enum { CONTROLS = 2 };

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

bool pairing_plays(const struct pairing_view *v, const struct pairing_case *c, size_t node)
{
	return v->p->nodes[node].state != PAIRING_GONE && !c->guilty[node];
}

static void shuffle(uint64_t seed, size_t *nodes, size_t n)
{
	size_t i;

	for (i = n; i > 1; i--) {
		size_t at = mix(seed + i) % i, other = nodes[i - 1];

		nodes[i - 1] = nodes[at];
		nodes[at] = other;
	}
}

/* All playing nodes in an order given by the seed and the round; returns how many. */
static size_t order_of(const struct pairing_view *v, const struct pairing_case *c, size_t *ret)
{
	size_t n = 0, i;

	for (i = 0; i < v->p->n_nodes; i++) {
		if (pairing_plays(v, c, i))
			ret[n++] = i;
	}
	shuffle(mix(v->p->seed) + v->p->rounds_made, ret, n);
	return n;
}

/* The rails on which two nodes share a switch: all, one (the first), or none. */
struct shared {
	int rail;
	bool cross;
};

static struct shared share(const struct pairing_view *v, size_t a, size_t b)
{
	size_t same = 0, first = 0, r;

	for (r = v->p->n_rails; r-- > 0;) {
		if (pairing_leaf(v, a, r) == pairing_leaf(v, b, r)) {
			same++;
			first = r;
		}
	}
	if (same == v->p->n_rails)
		return (struct shared){ PAIRING_RAIL_ALL, false };
	if (same > 0 && pairing_leaf(v, a, first) != PAIRING_NOBODY)
		return (struct shared){ (int)first, false };
	return (struct shared){ PAIRING_RAIL_ALL, true };
}

/* Appends a group to the round. */
static void seat(const struct pairing_view *v, const size_t *members, size_t n,
		 struct pairing_round *ret)
{
	struct pairing_group *g = &ret->groups[ret->n_groups++];
	struct shared all = { PAIRING_RAIL_ALL, false };
	size_t i;

	*g = (struct pairing_group){ .first = ret->n_seats, .n = n };
	for (i = 0; i < n; i++) {
		struct shared s = share(v, members[0], members[i]);

		ret->seats[ret->n_seats++] = members[i];
		all.cross |= s.cross || (s.rail >= 0 && all.rail >= 0 && s.rail != all.rail);
		all.rail = s.rail >= 0 ? s.rail : all.rail;
	}
	g->cross = all.cross;
	g->rail = all.cross ? PAIRING_RAIL_ALL : all.rail;
}

/* A round being planned. */
struct draft {
	const struct pairing_view *v;
	const struct pairing_case *c;
	size_t order[PAIRING_NODES_MAX], n;
	bool taken[PAIRING_NODES_MAX];
	bool any_good;
	struct pairing_round *ret;
};

static bool is_good(const struct draft *d, size_t node)
{
	if (d->c->suspect[node] || d->v->p->nodes[node].state == PAIRING_SUSPECT)
		return false;
	return d->v->seen[node].high || d->v->p->nodes[node].state == PAIRING_KNOWN_GOOD;
}

static bool is_suspect(const struct draft *d, size_t node)
{
	return d->c->suspect[node] ||
	       (d->v->p->nodes[node].state == PAIRING_SUSPECT && !d->v->seen[node].high);
}

static size_t met(const struct draft *d, size_t a, size_t b)
{
	return d->v->met[a * d->v->p->n_nodes + b];
}

static size_t cost(const struct draft *d, size_t a, size_t b)
{
	size_t cost = met(d, a, b) * COST_MET;

	if (is_suspect(d, a) && is_suspect(d, b) && !d->c->stay_home)
		cost += COST_SUSPECTS;
	if (!is_good(d, b) && !d->c->stay_home)
		cost += COST_NOT_GOOD;
	if (share(d->v, a, b).cross)
		cost += d->c->stay_home ? COST_SUSPECTS : COST_CROSS;
	return cost;
}

/* The best free partner; nobody if only two suspects are left and a good node is known. */
static size_t find_partner(const struct draft *d, size_t a)
{
	size_t best = PAIRING_NOBODY, least = d->any_good ? COST_SUSPECTS : SIZE_MAX, i;

	for (i = 0; i < d->n; i++) {
		size_t b = d->order[i], price;

		if (b == a || d->taken[b])
			continue;
		price = cost(d, a, b);
		if (price < least) {
			least = price;
			best = b;
		}
	}
	return best;
}

static void pair_up(struct draft *d, size_t a, size_t b)
{
	const size_t members[2] = { a, b };

	d->taken[a] = d->taken[b] = true;
	seat(d->v, members, 2, d->ret);
}

/* Gives every node for which `wanted` holds a partner; those that ran least come first. */
static void pair_those(struct draft *d, bool (*wanted)(const struct draft *d, size_t node))
{
	for (;;) {
		size_t first = PAIRING_NOBODY, partner, i;

		for (i = 0; i < d->n; i++) {
			size_t a = d->order[i];

			if (!d->taken[a] && wanted(d, a) &&
			    (first == PAIRING_NOBODY || d->v->seen[a].runs < d->v->seen[first].runs))
				first = a;
		}
		if (first == PAIRING_NOBODY)
			return;
		partner = find_partner(d, first);
		d->taken[first] = true;
		if (partner != PAIRING_NOBODY)
			pair_up(d, first, partner);
	}
}

static bool is_new(const struct draft *d, size_t node)
{
	return d->v->seen[node].runs == 0;
}

static bool is_any(const struct draft *d, size_t node)
{
	return d->v->p->n_nodes > node;
}

/* If somebody crosses switches, some good nodes do too. */
static void add_controls(struct draft *d)
{
	size_t made = 0, i, j;
	bool cross = false;

	for (i = 0; i < d->ret->n_groups; i++)
		cross |= d->ret->groups[i].cross;
	for (i = 0; i < d->n && cross && made < CONTROLS; i++) {
		size_t a = d->order[i];

		for (j = i + 1; j < d->n && !d->taken[a] && is_good(d, a); j++) {
			size_t b = d->order[j];

			if (d->taken[b] || !is_good(d, b) || !share(d->v, a, b).cross)
				continue;
			pair_up(d, a, b);
			made++;
			break;
		}
	}
}

static void next_pairs(const struct pairing_view *v, const struct pairing_case *c,
		       struct pairing_round *ret)
{
	struct draft d = { .v = v, .c = c, .ret = ret };
	size_t i;

	d.n = order_of(v, c, d.order);
	for (i = 0; i < d.n; i++)
		d.any_good |= is_good(&d, d.order[i]);
	pair_those(&d, is_suspect);
	pair_those(&d, is_new);
	add_controls(&d);
	if (v->p->rounds_made < PAIRING_ROUNDS_LEAST || c->excused || c->stay_home)
		pair_those(&d, is_any);
}

/* True if they should meet. In a tournament only neighbours do. */
static bool are_to_meet(const struct pairing_view *v, size_t a, size_t b)
{
	const struct shared s = share(v, a, b);

	return v->p->plan == PAIRING_EVERY_TWO || (!s.cross && s.rail < 0);
}

/* A circle for each set of nodes that meet. */
static void next_of_tournament(const struct pairing_view *v, const struct pairing_case *c,
			       struct pairing_round *ret)
{
	size_t order[PAIRING_NODES_MAX], table[PAIRING_NODES_MAX], i, j, m, n = 0, sat;
	struct match matches[PAIRING_NODES_MAX / 2];
	bool placed[PAIRING_NODES_MAX] = { false };

	/* The order must depend neither on the round nor on blames so far. */
	for (i = 0; i < v->p->n_nodes; i++)
		order[n++] = i;
	shuffle(mix(v->p->seed), order, n);
	for (i = 0; i < n; i++) {
		for (sat = 0, j = i; j < n; j++) {
			if (placed[order[j]] || !are_to_meet(v, order[i], order[j]))
				continue;
			placed[order[j]] = true;
			table[sat++] = order[j];
		}
		if (sat < 2)
			continue;
		m = circle_round(sat, v->p->rounds_made % circle_rounds(sat), matches);
		for (j = 0; j < m; j++) {
			const size_t two[2] = { table[matches[j].a], table[matches[j].b] };

			if (pairing_plays(v, c, two[0]) && pairing_plays(v, c, two[1]))
				seat(v, two, 2, ret);
		}
	}
}

/* --- bisection --- */

/*
 * Large groups in one collective: a slow one is halved, a good one clears all its members at once.
 * At first there are enough groups that, with fewer bad nodes than groups, one is good.
 */
enum { GROUPS_FIRST = PAIRING_BAD_MAX + 1, GROUP_MIN = 3 };

/* The smallest slow group that the node was in; n_results if none. */
static size_t slow_group_of(const struct pairing_view *v, size_t node)
{
	size_t best = v->n_results, i, m;

	for (i = 0; i < v->n_results; i++) {
		const struct pairing_result *r = &v->p->results[i];

		if (!pairing_is_low(v, i) || (best < v->n_results && r->n >= v->p->results[best].n))
			continue;
		for (m = 0; m < r->n && r->members[m] != node; m++)
			;
		if (m < r->n)
			best = i;
	}
	return best;
}

/* Takes similar nodes from the order: of one slow group, or with the same switches. */
static size_t take_alike(const struct pairing_view *v, size_t *order, size_t n, size_t *ret)
{
	size_t first = slow_group_of(v, order[0]), taken = 0, left = 0, i, r;

	for (i = 0; i < n; i++) {
		bool same = slow_group_of(v, order[i]) == first;

		for (r = 0; r < v->p->n_rails && same && first == v->n_results; r++)
			same = pairing_leaf(v, order[i], r) == pairing_leaf(v, order[0], r);
		if (same)
			ret[taken++] = order[i];
		else
			order[left++] = order[i];
	}
	return taken;
}

static void seat_in(const struct pairing_view *v, const size_t *nodes, size_t n, size_t pieces,
		    struct pairing_round *ret)
{
	size_t i, at = 0, end;

	for (i = 0; i < pieces; i++) {
		end = n * (i + 1) / pieces;
		if (end - at >= 2)
			seat(v, nodes + at, end - at, ret);
		at = end;
	}
}

static bool next_halves(const struct pairing_view *v, const struct pairing_case *c,
			struct pairing_round *ret)
{
	size_t order[PAIRING_NODES_MAX], alike[PAIRING_NODES_MAX], n, i, kept = 0, size;
	const bool begins = v->p->rounds_made == 0;
	bool halved = false;

	n = order_of(v, c, order);
	for (i = 0; i < n; i++) {
		if (begins || !v->seen[order[i]].high)
			order[kept++] = order[i];
	}
	for (n = kept; n > 0; n -= size) {
		size = take_alike(v, order, n, alike);
		if (size < (begins ? GROUPS_FIRST * 2 : GROUP_MIN)) {
			seat_in(v, alike, size, 1, ret);
			continue;
		}
		seat_in(v, alike, size, begins ? GROUPS_FIRST : 2, ret);
		halved = true;
	}
	if (!halved)
		*ret = (struct pairing_round){ .n_groups = 0 };
	return halved;
}

void pairing_next(const struct pairing_view *v, const struct pairing_case *c,
		  struct pairing_round *ret)
{
	switch (v->p->plan) {
	case PAIRING_TOURNAMENT:
	case PAIRING_EVERY_TWO:
		next_of_tournament(v, c, ret);
		return;
	case PAIRING_BISECT:
		if (next_halves(v, c, ret))
			return;
		break;
	case PAIRING_TWO_PASS:
		break;
	}
	next_pairs(v, c, ret);
}
