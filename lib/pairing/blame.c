/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pairing/blame.h"

#include <math.h>
#include <stdlib.h>

#include "lib/pairing/cover.h"
#include "lib/pairing/leaf.h"
#include "lib/pairing/level.h"
#include "lib/pairing/parts.h"
#include "lib/pairing/rounds.h"
#include "lib/pairing/view.h"
#include "lib/pairing/words.h"

/* The largest chance that noise makes any of the nodes look so low. */
#define NOISE_CHANCE 1e-4
/* In sigmas: clear even if no two of its runs were low by themselves, but many slightly. */
#define VERY_CLEAR_SIGMAS 6.0
/* A mean this low asks for one more test: happens in one of ten healthy tests of 64 nodes. */
#define GREY_SIGMAS 3.0

/* The evidence against one part of the answer. */
struct charge {
	const struct tomo_link *link;
	const struct pairing_part *part;
	size_t nth;
	size_t n_runs;	   /* slow groups that it explains */
	size_t n_partners; /* other nodes in them */
	size_t n_good;	   /* of these: good elsewhere */
	size_t n_low;	   /* partners in groups that were low by themselves */
	bool against;	   /* a group came through it too fast */
	bool absent;	   /* only groups to which it did not come */
};

static bool is_good(const struct pairing_view *v, size_t node)
{
	return v->seen[node].high || v->p->nodes[node].state == PAIRING_KNOWN_GOOD;
}

static bool belongs(const struct pairing_view *v, const struct pairing_part *part, size_t node)
{
	return part->kind == PART_LEAF ? pairing_is_below(v, part->leaf, node) : part->node == node;
}

struct partners {
	bool met[PAIRING_NODES_MAX], low[PAIRING_NODES_MAX];
};

static void count_partners(const struct pairing_view *v, size_t result, struct partners *p,
			   struct charge *c)
{
	const struct pairing_result *r = &v->p->results[result];
	const bool low = pairing_is_low(v, result);
	size_t m;

	for (m = 0; m < r->n; m++) {
		size_t node = r->members[m];

		if (c->part->kind != PART_LEAF && node == c->part->node)
			continue;
		c->n_low += low && !p->low[node];
		p->low[node] |= low;
		if (p->met[node])
			continue;
		p->met[node] = true;
		c->n_partners++;
		c->n_good += is_good(v, node);
	}
}

/* True if this part limits the cell, which is closer to its limit than to good. */
static bool explains(const struct pairing_view *v, const struct tomo_cell *cell, size_t nth)
{
	double own = INFINITY, least = INFINITY;
	size_t u, j;

	for (u = 0; u < cell->n_uses; u++) {
		for (j = 0; j < v->answer.n; j++) {
			double limit = v->answer.links[j].capacity;

			if (cell->uses[u].link != v->answer.links[j].link)
				continue;
			least = MIN(least, limit);
			own = j == nth ? limit : own;
		}
	}
	return own <= least && own < cell->expected && cell->value < sqrt(own * cell->expected);
}

static void collect(const struct pairing_view *v, size_t nth, struct charge *ret)
{
	struct partners partners = { .met = { false } };
	bool heard[PAIRING_RESULTS_MAX] = { false };
	size_t i;

	*ret = (struct charge){ .link = &v->answer.links[nth],
				.part = &v->parts[v->answer.links[nth].link],
				.nth = nth,
				.absent = true };
	for (i = 0; i < v->n_cells; i++) {
		const struct pairing_result *r = &v->p->results[v->cell_result[i]];

		ret->against |= pairing_contradicts(v, i, nth);
		if (!explains(v, &v->cells[i], nth) || heard[v->cell_result[i]])
			continue;
		heard[v->cell_result[i]] = true;
		ret->n_runs++;
		ret->absent &= r->outcome == PAIRING_FAILED && r->n_missing > 0;
		count_partners(v, v->cell_result[i], &partners, ret);
	}
}

/* True if anybody else came through the switches of the node, of one rail or of all. */
static bool is_leaf_cleared(const struct pairing_view *v, const struct pairing_part *part)
{
	size_t first = part->kind == PART_NIC ? part->rail : 0;
	size_t end = part->kind == PART_NIC ? first + 1 : v->p->n_rails, r, i;

	for (r = first; r < end; r++) {
		size_t leaf = pairing_leaf(v, part->node, r);

		if (leaf == PAIRING_NOBODY || v->leaf_part[leaf] == PAIRING_NOBODY)
			continue;
		for (i = 0; i < v->p->n_nodes; i++) {
			if (i != part->node && v->seen[i].high && pairing_leaf(v, i, r) == leaf)
				break;
		}
		if (i == v->p->n_nodes)
			return false;
	}
	return true;
}

/* The tail of the normal distribution beyond z is below exp(-z^2 / 2). */
static double clear_sigmas(const struct pairing_view *v)
{
	return sqrt(2 * log((double)v->p->n_nodes / NOISE_CHANCE));
}

/*
 * How far below the good ones, in sigmas of a normal distribution: the mean of some runs against a
 * level that is itself a median of some, with a deviation estimated from few values, which has
 * Student's tails (first term of the Cornish-Fisher expansion).
 */
static double sigmas_of(const struct pairing_view *v, double below, size_t n_runs)
{
	double level = PAIRING_MEDIAN_VARIANCE / (double)MAX(v->level[CLASS_ALL].n, (size_t)1);
	double freedom = REFERENCE_N_MIN + (double)v->n_cells;
	double t = below / v->sigma / sqrt(1 / (double)MAX(n_runs, (size_t)1) + level);

	return t / (1 + (clear_sigmas(v) * clear_sigmas(v) + 1) / 4 / freedom);
}

static enum pairing_why weigh(const struct pairing_view *v, const struct charge *c)
{
	double sigmas = sigmas_of(v, -log(c->link->ratio), c->n_runs);

	if (c->part->kind != PART_LEAF && v->p->nodes[c->part->node].state == PAIRING_GONE &&
	    (c->n_partners < PAIRING_PARTNERS_MIN || c->n_good == 0))
		return PAIRING_WHY_GONE;
	if (c->link->n_ambiguous > 0)
		return PAIRING_WHY_TWINS;
	if (c->n_low < PAIRING_PARTNERS_MIN
		    ? sigmas < VERY_CLEAR_SIGMAS && c->n_partners >= PAIRING_PARTNERS_MIN
		    : sigmas < clear_sigmas(v))
		return PAIRING_WHY_WEAK;
	if (c->link->ratio > 1 - PAIRING_SLACK)
		return PAIRING_WHY_WEAK;
	if (c->part->kind == PART_LEAF)
		return !c->against && pairing_leaf_stands(v, c->part->leaf, c->link->capacity)
			       ? PAIRING_WHY_NONE
			       : PAIRING_WHY_LEAF;
	if (c->n_partners < PAIRING_PARTNERS_MIN || c->n_good == 0)
		return PAIRING_WHY_FEW;
	return is_leaf_cleared(v, c->part) ? PAIRING_WHY_NONE : PAIRING_WHY_LEAF;
}

static enum pairing_kind kind_of_part(const struct pairing_view *v, const struct pairing_part *part)
{
	switch (part->kind) {
	case PART_NODE:
		return PAIRING_BLAME_NODE;
	case PART_LEAF:
		return PAIRING_BLAME_LEAF;
	case PART_NIC:
		break;
	}
	return v->p->nodes[part->node].nic_passed[part->rail] ? PAIRING_BLAME_UPLINK
							      : PAIRING_BLAME_LINK;
}

static void add_blame(const struct pairing_view *v, const struct pairing_blame *b, size_t other,
		      struct pairing_step *ret)
{
	if (ret->n_blames == PAIRING_BLAMES_MAX)
		return;
	ret->blames[ret->n_blames] = *b;
	pairing_word(v, other, &ret->blames[ret->n_blames++]);
}

static struct pairing_blame blame_of(const struct pairing_view *v, const struct charge *c,
				     enum pairing_why why)
{
	const struct pairing_part *part = c->part;

	return (struct pairing_blame){
		.kind = why == PAIRING_WHY_NONE ? kind_of_part(v, part) : PAIRING_UNDECIDED,
		.why = why,
		.node = part->kind == PART_LEAF ? SIZE_MAX : part->node,
		.rail = part->kind == PART_NIC ? (int)part->rail : PAIRING_RAIL_ALL,
		.leaf = part->kind == PART_LEAF ? v->leaf_name[part->leaf] : NULL,
		.ratio = c->absent ? NAN : c->link->ratio,
		.n_partners = c->n_partners,
		.absent = c->absent,
	};
}

static void mark(const struct pairing_view *v, size_t part, bool marks[static PAIRING_NODES_MAX])
{
	size_t i;

	for (i = 0; i < v->p->n_nodes; i++)
		marks[i] |= belongs(v, &v->parts[part], i);
}

/* A rail of a node that is itself accused is not a separate case. */
static bool is_of_accused(const struct pairing_view *v, const struct pairing_part *part)
{
	size_t j;

	for (j = 0; part->kind == PART_NIC && j < v->answer.n; j++) {
		if (v->answer.links[j].link == part->node)
			return true;
	}
	return false;
}

static void charge_all(const struct pairing_view *v, struct pairing_case *k,
		       struct pairing_step *ret)
{
	size_t j, a;

	for (j = 0; j < v->answer.n; j++) {
		const struct tomo_link *link = &v->answer.links[j];
		struct charge c;
		enum pairing_why why;
		struct pairing_blame b;

		if (is_of_accused(v, &v->parts[link->link]))
			continue;
		collect(v, j, &c);
		why = weigh(v, &c);
		b = blame_of(v, &c, why);
		add_blame(v, &b, why == PAIRING_WHY_TWINS ? link->ambiguous[0] : PAIRING_NOBODY,
			  ret);
		k->stay_home |= c.part->kind == PART_LEAF &&
				(why == PAIRING_WHY_WEAK ||
				 (why == PAIRING_WHY_LEAF && pairing_leaf_at_home(v, c.part->leaf)));
		mark(v, link->link, why == PAIRING_WHY_NONE ? k->guilty : k->suspect);
		for (a = 0; a < link->n_ambiguous; a++)
			mark(v, link->ambiguous[a], k->suspect);
	}
}

/* More bad nodes than allowed, or more causes than one search can separate. */
static bool too_many(const struct pairing_view *v, const struct pairing_step *step)
{
	size_t nodes = 0, i;

	for (i = 0; i < step->n_blames; i++)
		nodes += step->blames[i].node != SIZE_MAX && step->blames[i].why != PAIRING_WHY_WEAK;
	return v->answer.n == TOMO_FOUND_MAX || (nodes > 0 && nodes * 2 >= v->p->n_nodes);
}

static void acquit_all(const struct pairing_view *v, struct pairing_case *k,
		       struct pairing_step *ret)
{
	size_t i;

	for (i = 0; i < v->p->n_nodes; i++) {
		k->suspect[i] |= k->guilty[i];
		k->guilty[i] = false;
	}
	for (i = 0; i < ret->n_blames; i++) {
		ret->blames[i].kind = PAIRING_UNDECIDED;
		ret->blames[i].why = PAIRING_WHY_MANY;
		pairing_word(v, PAIRING_NOBODY, &ret->blames[i]);
	}
}

/* Mean of a node's results in groups that no accused part explains, in sigmas. */
static double sigmas_below(const struct pairing_view *v, size_t node)
{
	double sum = 0;
	size_t n = 0, i, u, j;

	for (i = 0; i < v->n_cells; i++) {
		const struct tomo_cell *cell = &v->cells[i];
		bool own = false, explained = false;

		for (u = 0; u < cell->n_uses; u++)
			own |= cell->uses[u].link == node;
		for (j = 0; own && j < v->answer.n; j++)
			explained |= explains(v, cell, j);
		if (own && !explained) {
			sum += log(cell->value / cell->expected);
			n++;
		}
	}
	return n > 0 ? -sum / sqrt((double)n) / v->sigma : 0;
}

/* Nodes that are neither blamed nor cleared yet. */
static void look_at_the_rest(const struct pairing_view *v, struct pairing_case *k,
			     struct pairing_step *ret)
{
	struct pairing_blame b = { .kind = PAIRING_UNDECIDED,
				   .rail = PAIRING_RAIL_ALL,
				   .ratio = NAN };
	size_t i;

	for (i = 0; i < v->p->n_nodes; i++) {
		const struct pairing_seen *seen = &v->seen[i];

		b.node = i;
		if (k->guilty[i] || k->suspect[i])
			continue;
		if (seen->runs == 0) {
			b.why = v->p->nodes[i].state == PAIRING_GONE ? PAIRING_WHY_GONE
								     : PAIRING_WHY_UNMEASURED;
		} else if (sigmas_below(v, i) > GREY_SIGMAS) {
			b.why = PAIRING_WHY_WEAK;
		} else if (!seen->high) {
			b.why = PAIRING_WHY_CROSS;
		} else {
			continue;
		}
		k->suspect[i] = seen->runs > 0;
		k->open |= seen->runs == 0 && v->p->nodes[i].state != PAIRING_GONE;
		add_blame(v, &b, PAIRING_NOBODY, ret);
	}
}

static int compare_blames(const void *a, const void *b)
{
	const struct pairing_blame *x = a, *y = b;
	bool x_open = x->kind == PAIRING_UNDECIDED, y_open = y->kind == PAIRING_UNDECIDED;

	if (x_open != y_open)
		return x_open - y_open;
	/* One that did not arrive comes before all rates. */
	if (x->absent != y->absent)
		return y->absent - x->absent;
	return (x->ratio > y->ratio) - (x->ratio < y->ratio);
}

/* Are the good ones good at all? */
static void hold_against_fleet(const struct pairing_view *v, struct pairing_case *k)
{
	const struct pairing_level *level = &v->level[CLASS_ALL];
	struct measure m = pairing_measure(level->at);
	struct expectation e;

	if (!level->known || !expectation_from_fleet(&m, &v->p->fleet, &e))
		return;
	k->excused = false;
	k->all_slow = e.low;
}

static void judge_whole(const struct pairing_view *v, struct pairing_case *k,
			struct pairing_step *ret)
{
	struct pairing_blame b = {
		.kind = PAIRING_UNDECIDED, .node = SIZE_MAX, .rail = PAIRING_RAIL_ALL, .ratio = NAN
	};
	size_t there = 0, guilty = 0, most, i;

	for (i = 0; i < v->p->n_nodes; i++) {
		there += v->p->nodes[i].state != PAIRING_GONE;
		guilty += k->guilty[i];
	}
	most = there > 0 ? MIN((size_t)PAIRING_BAD_MAX, (there - 1) / 2) : 0;
	/* Of two, one may be bad, and it is impossible to say which. */
	most = there == 2 ? 1 : most;
	k->excused = pairing_could_spoil(v, k->guilty, most > guilty ? most - guilty : 0);
	hold_against_fleet(v, k);
	if (k->excused || k->all_slow) {
		b.why = k->all_slow ? PAIRING_WHY_ALL_SLOW : PAIRING_WHY_ALIKE;
		b.ratio = k->all_slow ? v->level[CLASS_ALL].at / v->p->fleet.median : NAN;
		add_blame(v, &b, PAIRING_NOBODY, ret);
	}
}

/* True if another node below its switch can run with it. */
static bool has_neighbour(const struct pairing_view *v, const struct pairing_case *k, size_t node)
{
	size_t i;

	for (i = 0; i < v->p->n_nodes; i++) {
		if (i != node && pairing_plays(v, k, i) &&
		    pairing_leaf(v, i, 0) == pairing_leaf(v, node, 0))
			return true;
	}
	return false;
}

/* True if all suspects have crossed to other switches, but the expected rate there is unknown. */
static bool crossed_in_vain(const struct pairing_view *v, const struct pairing_case *k)
{
	bool any = false;
	size_t i;

	for (i = 0; i < v->p->n_nodes; i++) {
		if (!k->suspect[i] || !pairing_plays(v, k, i))
			continue;
		if (!v->seen[i].cross || !has_neighbour(v, k, i))
			return false;
		any = true;
	}
	return any && !v->level[CLASS_ALL_CROSS].known;
}

void pairing_judge(const struct pairing_view *v, struct pairing_case *ret_case,
		   struct pairing_step *ret)
{
	size_t i;

	*ret_case = (struct pairing_case){ .open = false };
	charge_all(v, ret_case, ret);
	if (too_many(v, ret))
		acquit_all(v, ret_case, ret);
	judge_whole(v, ret_case, ret);
	look_at_the_rest(v, ret_case, ret);
	for (i = 0; i < v->p->n_nodes; i++)
		ret_case->open |= ret_case->suspect[i] && pairing_plays(v, ret_case, i);
	ret_case->stay_home |= crossed_in_vain(v, ret_case);
	qsort(ret->blames, ret->n_blames, sizeof(ret->blames[0]), compare_blames);
}
