/* SPDX-License-Identifier: Apache-2.0 */
/* How few nodes could be in each of some groups: small hitting sets, by trial. */
#include "lib/pairing/cover.h"
#include "lib/pairing/view.h"

/* Trials before the answer is "perhaps": pairs of four bad nodes take 2^4. */
enum { TRIES_MAX = 100000 };

struct search {
	const struct pairing_view *v;
	bool wanted[PAIRING_RESULTS_MAX]; /* groups that must contain one of the set */
	bool barred[PAIRING_NODES_MAX];	  /* nodes that cannot be in the set */
	bool in[PAIRING_NODES_MAX];
	size_t tries;
};

/* The first wanted group without a node of the set; n_results if there is none. */
static size_t first_missed(const struct search *s)
{
	size_t i, m;

	for (i = 0; i < s->v->n_results; i++) {
		const struct pairing_result *r = &s->v->p->results[i];

		for (m = 0; s->wanted[i] && m < r->n && !s->in[r->members[m]]; m++)
			;
		if (s->wanted[i] && m == r->n)
			break;
	}
	return i;
}

/* True if `k` more nodes can cover all of them. Depth at most PAIRING_BAD_MAX + 1. */
static bool can_hit(struct search *s, size_t k)
{
	size_t i = first_missed(s), m;
	const struct pairing_result *r;

	if (i == s->v->n_results)
		return true;
	if (k == 0)
		return false;
	r = &s->v->p->results[i];
	for (m = 0; m < r->n; m++) {
		bool hit;

		if (s->barred[r->members[m]])
			continue;
		if (++s->tries > TRIES_MAX)
			return true;
		s->in[r->members[m]] = true;
		hit = can_hit(s, k - 1);
		s->in[r->members[m]] = false;
		if (hit)
			return true;
	}
	return false;
}

bool pairing_could_spoil(const struct pairing_view *v, const bool *guilty, size_t k)
{
	struct search s = { .v = v };
	size_t i, m;

	for (i = 0; i < v->n_results; i++) {
		const struct pairing_result *r = &v->p->results[i];

		s.wanted[i] = pairing_is_high(v, i);
		for (m = 0; m < r->n && s.wanted[i]; m++)
			s.wanted[i] = !guilty[r->members[m]];
	}
	return can_hit(&s, k);
}

/* True if a member of the group is below this switch. */
static bool touches(const struct pairing_view *v, const struct pairing_result *r, size_t leaf)
{
	size_t m;

	for (m = 0; m < r->n && !pairing_is_below(v, leaf, r->members[m]); m++)
		;
	return m < r->n;
}

size_t pairing_nodes_instead(const struct pairing_view *v, size_t leaf, size_t most)
{
	struct search s = { .v = v };
	size_t i, k;

	for (i = 0; i < v->p->n_nodes; i++)
		s.barred[i] = v->seen[i].high;
	for (i = 0; i < v->n_results; i++)
		s.wanted[i] = pairing_is_low(v, i) && touches(v, &v->p->results[i], leaf) &&
			      !(v->p->results[i].outcome == PAIRING_FAILED &&
				v->p->results[i].n_missing > 0);
	for (k = 0; k < most; k++) {
		s.tries = 0;
		if (can_hit(&s, k))
			return k;
	}
	return most;
}
