/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pairing/leaf.h"

/* When a slow switch is more likely than bad nodes below it. */
#include <math.h>

#include "lib/pairing/cover.h"
#include "lib/pairing/level.h"
#include "lib/pairing/view.h"

/* If it stands for this many nodes, a switch is blamed whatever else is known. */
enum { LEAF_INSTEAD_OF = PAIRING_BAD_MAX + 1, LEAF_NODES_MIN = 3 };

/* Nodes below a switch that ran, and how many of them never through another one. */
struct below {
	size_t nodes, uncrossed;
};

static struct below count_below(const struct pairing_view *v, size_t leaf)
{
	struct below below = { 0, 0 };
	size_t i;

	for (i = 0; i < v->p->n_nodes; i++) {
		if (pairing_is_below(v, leaf, i) && v->seen[i].runs > 0) {
			below.nodes++;
			below.uncrossed += !v->seen[i].cross;
		}
	}
	return below;
}

/* True if the node reached, through other switches, just what this one is said to carry. */
static bool crosses_alike(const struct pairing_view *v, size_t node, double part)
{
	const struct pairing_level *level = &v->level[CLASS_ALL];
	double sum = 0, mean;
	size_t n = 0, i, m;

	for (i = 0; i < v->n_results; i++) {
		const struct pairing_result *r = &v->p->results[i];

		if (!v->counts[i] || !v->cross[i] || r->outcome != PAIRING_MEASURED || r->rail >= 0)
			continue;
		for (m = 0; m < r->n && r->members[m] != node; m++)
			;
		sum += m < r->n ? r->value : 0;
		n += m < r->n;
	}
	if (n == 0 || !level->known)
		return false;
	mean = sum / (double)n / level->at;
	return fabs(log(mean / part)) <=
	       REFERENCE_K * v->sigma *
		       sqrt(1 / (double)n + PAIRING_MEDIAN_VARIANCE / (double)level->n);
}

static bool all_cross_alike(const struct pairing_view *v, size_t leaf, double part)
{
	size_t i;

	for (i = 0; i < v->p->n_nodes; i++) {
		if (pairing_is_below(v, leaf, i) && v->seen[i].runs > 0 &&
		    !crosses_alike(v, i, part))
			return false;
	}
	return true;
}

bool pairing_leaf_stands(const struct pairing_view *v, size_t leaf, double part)
{
	const size_t nodes = count_below(v, leaf).nodes;
	size_t instead;

	if (nodes < LEAF_NODES_MIN)
		return false;
	instead = pairing_nodes_instead(v, leaf, LEAF_INSTEAD_OF);
	return instead >= LEAF_INSTEAD_OF ||
	       (instead + 1 >= nodes && all_cross_alike(v, leaf, part));
}

/* Four bad nodes of more than four are found without leaving the switch; fewer must leave it. */
bool pairing_leaf_at_home(const struct pairing_view *v, size_t leaf)
{
	struct below below = count_below(v, leaf);

	return below.nodes > LEAF_INSTEAD_OF || below.uncrossed == 0;
}
