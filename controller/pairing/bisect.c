/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of many in one collective: a slow one is halved, a good one clears all its
 * members at once. At first so many groups that fewer bad nodes than that leave one good.
 */
#include "controller/pairing/inside.h"

enum { GROUPS_FIRST = PAIRING_BAD_MAX + 1, GROUP_MIN = 3 };

/* The number of the smallest slow group that the node was in; n_results for none. */
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

/* Nodes of the order that are alike: of one slow group, or of one set of switches. */
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
			pairing_seat(v, nodes + at, end - at, ret);
		at = end;
	}
}

bool pairing_next_halves(const struct pairing_view *v, const struct pairing_case *c,
			 struct pairing_round *ret)
{
	size_t order[PAIRING_NODES_MAX], alike[PAIRING_NODES_MAX], n, i, kept = 0, size;
	const bool begins = v->p->rounds_made == 0;
	bool halved = false;

	n = pairing_order(v, c, order);
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
