/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pairing/parts.h"

#include <math.h>

#include "lib/base/xalloc.h"
#include "lib/pairing/level.h"
#include "lib/pairing/view.h"

/* The rate of a group that broke off: zero, as far as a logarithm can express it. */
#define FAILED_PART 1e-3

/* In sigmas: larger residuals are disturbances, and count as this much. */
#define RESIDUAL_CUT 4.0

/* Answers tried, each without a switch of the previous one. */
enum { FITS_MAX = 4 };

/* Distance of a part from the middle of the path between two nodes. */
enum { DEPTH_NODE, DEPTH_NIC, DEPTH_LEAF };

static size_t add_part(struct pairing_view *v, struct pairing_part part)
{
	v->parts[v->n_parts] = part;
	return v->n_parts++;
}

/*
 * Nodes first, so that the part of a node has its number. Then switches with at least two nodes,
 * but not with all of them: what all share cannot be told from what is good.
 */
static void add_nodes_and_leaves(struct pairing_view *v)
{
	const struct pairing_problem *p = v->p;
	CLEANUP(freep) size_t *below = xcalloc(v->n_leaves + 1, sizeof(*below));
	size_t i, r;

	for (i = 0; i < p->n_nodes; i++) {
		add_part(v, (struct pairing_part){ PART_NODE, i, 0, PAIRING_NOBODY });
		for (r = 0; r < p->n_rails; r++) {
			if (pairing_leaf(v, i, r) != PAIRING_NOBODY)
				below[pairing_leaf(v, i, r)]++;
		}
	}
	for (i = 0; i < v->n_leaves; i++)
		v->leaf_part[i] = below[i] < 2 || below[i] == p->n_nodes
					  ? PAIRING_NOBODY
					  : add_part(v, (struct pairing_part){ PART_LEAF, 0, 0, i });
}

/* True if at least two rails of this result are known, so that a rail can be told from the node. */
static bool tells_rails(const struct pairing_view *v, const struct pairing_result *r)
{
	size_t rail, n = 0;

	for (rail = 0; r->rail < 0 && r->outcome == PAIRING_MEASURED && rail < v->p->n_rails; rail++)
		n += r->rails[rail] > 0 && isfinite(r->rails[rail]);
	return n >= 2 || (r->rail >= 0 && v->p->n_rails >= 2);
}

/* Adds the rails of slow nodes; the other rails are exonerated by their groups. */
static void add_nics(struct pairing_view *v)
{
	size_t i, m, r;

	for (i = 0; i < v->n_results; i++) {
		const struct pairing_result *result = &v->p->results[i];

		if (!pairing_is_low(v, i) || !tells_rails(v, result))
			continue;
		for (m = 0; m < result->n; m++) {
			size_t *nics = &v->nic_part[result->members[m] * PAIRING_RAILS_MAX];

			if (nics[0] != PAIRING_NOBODY || v->n_parts + v->p->n_rails > TOMO_LINKS_MAX)
				continue;
			for (r = 0; r < v->p->n_rails; r++)
				nics[r] = add_part(v, (struct pairing_part){ PART_NIC,
									     result->members[m], r,
									     PAIRING_NOBODY });
		}
	}
}

static void use(struct pairing_view *v, size_t part, unsigned depth)
{
	struct tomo_cell *cell = &v->cells[v->n_cells];
	size_t i;

	if (part == PAIRING_NOBODY)
		return;
	for (i = 0; i < cell->n_uses; i++) {
		if (cell->uses[i].link == part)
			return;
	}
	v->uses[v->n_uses++] = (struct tomo_use){ (unsigned)part, depth, 1 };
	cell->n_uses++;
}

/* The path of a member, through all rails or one. */
static void use_rails(struct pairing_view *v, size_t node, int only)
{
	size_t first = only < 0 ? 0 : (size_t)only;
	size_t end = only < 0 ? v->p->n_rails : first + 1, r, leaf;

	for (r = first; r < end; r++) {
		use(v, v->nic_part[node * PAIRING_RAILS_MAX + r], DEPTH_NIC);
		leaf = pairing_leaf(v, node, r);
		if (leaf != PAIRING_NOBODY && !v->cleared[leaf])
			use(v, v->leaf_part[leaf], DEPTH_LEAF);
	}
}

/* A rate, and what good groups reach, both relative to good groups below one switch. */
struct parts {
	double value, expected;
};

/* One scale for both kinds of path, so that a slow part is equally slow on each. */
static struct parts parts_of(const struct pairing_view *v, size_t result, bool one_rail, double rate)
{
	const struct pairing_level *level = &v->level[pairing_class_of(v, result, one_rail)];
	const struct pairing_level *local = &v->level[one_rail ? CLASS_RAIL : CLASS_ALL];
	double scale = local->known ? local->at : level->at;

	return (struct parts){ rate / scale, level->at / scale };
}

/* Adds a cell for the result, through the rails given by `only`. */
static void add_cell(struct pairing_view *v, size_t result, int only, struct parts parts)
{
	const struct pairing_result *r = &v->p->results[result];
	bool absent = r->outcome == PAIRING_FAILED && r->n_missing > 0;
	size_t m;

	if (v->n_cells == TOMO_CELLS_MAX)
		return;
	v->cells[v->n_cells] = (struct tomo_cell){ .value = parts.value,
						   .expected = parts.expected,
						   .uses = &v->uses[v->n_uses] };
	for (m = 0; m < r->n; m++) {
		if (!absent) {
			use(v, r->members[m], DEPTH_NODE);
			use_rails(v, r->members[m], only);
		} else if (pairing_is_missing(r, r->members[m])) {
			use(v, r->members[m], DEPTH_NODE);
		}
	}
	v->cell_result[v->n_cells++] = result;
}

/* Adds a cell for the whole and, if it was slow, one for each rail. */
static void add_cells(struct pairing_view *v, size_t i)
{
	const struct pairing_result *r = &v->p->results[i];
	const struct pairing_level *whole = &v->level[pairing_class_of(v, i, r->rail >= 0)];
	const struct pairing_level *rail = &v->level[pairing_class_of(v, i, true)];
	int only;

	if (r->outcome == PAIRING_FAILED) {
		add_cell(v, i, r->rail, (struct parts){ FAILED_PART, 1 });
		return;
	}
	if (!whole->known)
		return;
	add_cell(v, i, r->rail, parts_of(v, i, r->rail >= 0, r->value));
	if (!pairing_is_low(v, i) || r->rail >= 0 || !tells_rails(v, r) || !rail->known)
		return;
	for (only = 0; only < (int)v->p->n_rails; only++) {
		if (r->rails[only] > 0 && isfinite(r->rails[only]))
			add_cell(v, i, only, parts_of(v, i, true, r->rails[only]));
	}
}

static void make_room(struct pairing_view *v)
{
	const size_t n = v->p->n_nodes, rails = n * PAIRING_RAILS_MAX;
	size_t seats = 0, cells = 0, i;

	for (i = 0; i < v->n_results; i++) {
		if (v->counts[i]) {
			seats += v->p->results[i].n;
			cells += 1 + v->p->n_rails;
		}
	}
	v->parts = xcalloc(n + v->n_leaves + rails + 1, sizeof(*v->parts));
	v->leaf_part = xcalloc(v->n_leaves + 1, sizeof(*v->leaf_part));
	v->cleared = xcalloc(v->n_leaves + 1, sizeof(*v->cleared));
	v->nic_part = xcalloc(rails + 1, sizeof(*v->nic_part));
	for (i = 0; i < rails; i++)
		v->nic_part[i] = PAIRING_NOBODY;
	v->cells = xcalloc(cells + 1, sizeof(*v->cells));
	v->cell_result = xcalloc(cells + 1, sizeof(*v->cell_result));
	/* Per member: itself, NIC and switch of all rails, and the same for each single rail. */
	v->uses = xcalloc(seats * (1 + 5 * v->p->n_rails) + 1, sizeof(*v->uses));
}

/* The value that the answer predicts for a cell, as a logarithm. */
static double predict(const struct pairing_view *v, const struct tomo_cell *cell)
{
	double least = cell->expected;
	size_t u, j;

	for (u = 0; u < cell->n_uses; u++) {
		for (j = 0; j < v->answer.n; j++) {
			if (cell->uses[u].link == v->answer.links[j].link)
				least = MIN(least, v->answer.links[j].capacity);
		}
	}
	return log(least);
}

/*
 * Standard deviation of the residuals, each capped: with few values, a mean square is more precise
 * than the fit's own median, which determines the cap.
 */
static double deviation(const struct pairing_view *v)
{
	const double cut = RESIDUAL_CUT * fmax(v->answer.noise, pairing_sigma(0, v->n_cells));
	double sum = 0;
	size_t i;

	for (i = 0; i < v->n_cells; i++) {
		double left = log(v->cells[i].value) - predict(v, &v->cells[i]);

		sum += pow(fmin(fabs(left), cut), 2);
	}
	return sqrt(sum / (double)MAX(v->n_cells - MIN(v->n_cells, v->answer.n), (size_t)1));
}

static void solve(struct pairing_view *v)
{
	struct tomo_problem problem;
	size_t i;

	v->n_cells = v->n_uses = 0;
	for (i = 0; i < v->n_results; i++) {
		if (v->counts[i])
			add_cells(v, i);
	}
	problem = (struct tomo_problem){ .cells = v->cells,
					 .n_cells = v->n_cells,
					 .n_links = v->n_parts,
					 .noise_least = pairing_sigma(0, v->n_cells) };
	tomo_solve(&problem, &v->answer);
}

bool pairing_contradicts(const struct pairing_view *v, size_t cell, size_t nth)
{
	return tomo_hear(&v->cells[cell], &v->answer, nth) == TOMO_AGAINST &&
	       pairing_is_high(v, v->cell_result[cell]);
}

/* A switch in the answer that some group came through too fast for, or PAIRING_NOBODY. */
static size_t contradicted_leaf(const struct pairing_view *v)
{
	size_t i, j;

	for (j = 0; j < v->answer.n; j++) {
		const struct pairing_part *part = &v->parts[v->answer.links[j].link];

		for (i = 0; part->kind == PART_LEAF && i < v->n_cells; i++) {
			if (pairing_contradicts(v, i, j))
				return part->leaf;
		}
	}
	return PAIRING_NOBODY;
}

/*
 * One switch is a simpler answer than three nodes below it, even if a fourth came through unharmed.
 * So a contradicted switch is removed, and the rest is fitted again.
 */
void pairing_fit(struct pairing_view *v)
{
	size_t leaf;
	int pass;

	make_room(v);
	add_nodes_and_leaves(v);
	add_nics(v);
	for (pass = 0; pass < FITS_MAX; pass++) {
		solve(v);
		leaf = contradicted_leaf(v);
		if (leaf == PAIRING_NOBODY)
			break;
		v->cleared[leaf] = true;
	}
	v->sigma = pairing_sigma(deviation(v), v->n_cells);
}
