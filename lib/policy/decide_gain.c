/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/decide_gain.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"

/* Smaller savings are not mentioned. */
#define LEAST_TOLD 0.005

/* Bits of a node's scratch. */
enum { WAS_SEEN = 1, DOES_MOVE = 2, HAS_OTHERS = 4 };

struct turn {
	struct candidate candidate;
	double worth;
	size_t place;
};

/* Ties keep their order. */
static int by_worth(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->worth != y->worth)
		return x->worth > y->worth ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

static bool may_move(const struct deciding *d, const struct candidate *c)
{
	return !c->fatal && blame_worth(&c->node->blame, d->now_us) >= 0;
}

/* jobs.born may refuse it when its turn comes; then something else of the node has one. */
static bool speaks_for_all(const struct candidate *c)
{
	return !c->born || !(c->node->scratch & HAS_OTHERS);
}

/* The first candidate of a node that takes part represents it; if it moves, the others wait. */
static size_t take_turns(struct deciding *d, decide_gain_part_fn *takes_part, struct turn *ret)
{
	size_t n = 0, i;

	for (i = 0; i < d->fleet->n; i++)
		d->fleet->nodes[i]->scratch = 0;
	for (i = 0; i < d->out->n_candidates; i++) {
		const struct candidate *c = &d->out->candidates[i];

		if (!c->born && takes_part(d, c))
			c->node->scratch |= HAS_OTHERS;
	}
	for (i = 0; i < d->out->n_candidates; i++) {
		struct candidate *c = &d->out->candidates[i];
		const bool first = !(c->node->scratch & WAS_SEEN) && takes_part(d, c);

		c->waits = c->node->scratch & DOES_MOVE;
		if (!first)
			continue;
		c->node->scratch |= WAS_SEEN;
		c->moves = may_move(d, c) && speaks_for_all(c);
		if (!c->moves)
			continue;
		c->node->scratch |= DOES_MOVE;
		ret[n++] = (struct turn){ *c, blame_worth(&c->node->blame, d->now_us), i };
	}
	return n;
}

void decide_gain_order(struct deciding *d, decide_gain_part_fn *takes_part)
{
	struct outcome *out = d->out;
	CLEANUP(freep) struct turn *turns = NULL;
	size_t n = 0, i;

	for (i = 0; i < out->n_candidates; i++) {
		out->candidates[i].moves = out->candidates[i].waits = false;
		n += may_move(d, &out->candidates[i]);
	}
	if (n < 2)
		return;
	turns = xcalloc(n, sizeof(*turns));
	n = take_turns(d, takes_part, turns);
	if (n > 1)
		qsort(turns, n, sizeof(*turns), by_worth);
	for (i = 0, n = 0; i < out->n_candidates; i++) {
		if (out->candidates[i].moves)
			out->candidates[i] = turns[n++].candidate;
	}
}

const char *decide_gain_text(struct deciding *d, const struct fleet_node *node)
{
	const struct blame *blame = &node->blame;

	if (!blame->job || blame_worth(blame, d->now_us) < 0 || blame->gain.part < LEAST_TOLD)
		return "";
	return deciding_text(d, "; a good host in its place saves %s %.0f %% of a step", blame->job,
			     100 * blame->gain.part);
}
