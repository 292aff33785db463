/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/pairing/view.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/pairing/level.h"

static bool is_member(const struct pairing_result *r, size_t n, size_t node)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (r->members[i] == node)
			return true;
	}
	return false;
}

bool pairing_is_missing(const struct pairing_result *r, size_t node)
{
	size_t i;

	for (i = 0; r->outcome == PAIRING_FAILED && i < r->n_missing; i++) {
		if (r->missing[i] == node)
			return true;
	}
	return false;
}

/* True if it is plausible: existing members, each once, and a rate above zero. */
static bool makes_sense(const struct pairing_problem *p, const struct pairing_result *r)
{
	size_t i;

	if (r->n < 2 || r->n > p->n_nodes || !r->members)
		return false;
	if (r->rail < PAIRING_RAIL_ALL || r->rail >= (int)p->n_rails)
		return false;
	if (r->outcome != PAIRING_FAILED &&
	    !(r->outcome == PAIRING_MEASURED && isfinite(r->value) && r->value > 0))
		return false;
	for (i = 0; i < r->n; i++) {
		if (r->members[i] >= p->n_nodes || is_member(r, i, r->members[i]))
			return false;
	}
	if (r->outcome == PAIRING_FAILED && r->n_missing > 0 && !r->missing)
		return false;
	for (i = 0; r->outcome == PAIRING_FAILED && i < r->n_missing; i++) {
		if (!is_member(r, r->n, r->missing[i]))
			return false;
	}
	return true;
}

static size_t leaf_number(struct pairing_view *v, const char *name)
{
	size_t l;

	if (!name)
		return PAIRING_NOBODY;
	for (l = 0; l < v->n_leaves; l++) {
		if (streq(v->leaf_name[l], name))
			return l;
	}
	v->leaf_name[v->n_leaves] = name;
	return v->n_leaves++;
}

static void number_leaves(struct pairing_view *v)
{
	size_t i, r;

	for (i = 0; i < v->p->n_nodes; i++) {
		for (r = 0; r < PAIRING_RAILS_MAX; r++)
			v->leaf[i * PAIRING_RAILS_MAX + r] =
				r < v->p->n_rails ? leaf_number(v, v->p->nodes[i].leaf[r])
						  : PAIRING_NOBODY;
	}
}

bool pairing_is_below(const struct pairing_view *v, size_t leaf, size_t node)
{
	size_t r;

	for (r = 0; r < v->p->n_rails; r++) {
		if (pairing_leaf(v, node, r) == leaf)
			return true;
	}
	return false;
}

/* True if the group uses more than one switch of a rail. */
static bool is_cross(const struct pairing_view *v, const struct pairing_result *r)
{
	size_t first = r->rail < 0 ? 0 : (size_t)r->rail;
	size_t end = r->rail < 0 ? v->p->n_rails : first + 1, i, rail;

	for (rail = first; rail < end; rail++) {
		for (i = 1; i < r->n; i++) {
			if (pairing_leaf(v, r->members[i], rail) !=
			    pairing_leaf(v, r->members[0], rail))
				return true;
		}
	}
	return false;
}

enum pairing_class pairing_class_of(const struct pairing_view *v, size_t result, bool one_rail)
{
	if (v->cross[result])
		return one_rail ? CLASS_RAIL_CROSS : CLASS_ALL_CROSS;
	return one_rail ? CLASS_RAIL : CLASS_ALL;
}

static const struct pairing_level *level_of_result(const struct pairing_view *v, size_t i)
{
	return &v->level[pairing_class_of(v, i, v->p->results[i].rail >= 0)];
}

bool pairing_is_high(const struct pairing_view *v, size_t i)
{
	const struct pairing_level *level = level_of_result(v, i);

	return v->counts[i] && v->p->results[i].outcome == PAIRING_MEASURED && level->known &&
	       v->p->results[i].value >= level->floor;
}

bool pairing_is_low(const struct pairing_view *v, size_t i)
{
	if (!v->counts[i])
		return false;
	return v->p->results[i].outcome == PAIRING_FAILED ||
	       (level_of_result(v, i)->known && !pairing_is_high(v, i));
}

/* The level of a class, from all its values. */
static void find_level(struct pairing_view *v, enum pairing_class class)
{
	CLEANUP(freep)
	double *values = xcalloc(v->n_results * PAIRING_RAILS_MAX + 1, sizeof(double));
	size_t n = 0, i, r;

	for (i = 0; i < v->n_results; i++) {
		const struct pairing_result *result = &v->p->results[i];

		if (!v->counts[i] || result->outcome != PAIRING_MEASURED)
			continue;
		if (pairing_class_of(v, i, result->rail >= 0) == class)
			values[n++] = result->value;
		for (r = 0; result->rail < 0 && r < v->p->n_rails; r++) {
			if (pairing_class_of(v, i, true) == class && result->rails[r] > 0 &&
			    isfinite(result->rails[r]))
				values[n++] = result->rails[r];
		}
	}
	pairing_level_of(values, n, &v->level[class]);
}

static void note_seen(struct pairing_view *v, size_t i)
{
	const struct pairing_result *r = &v->p->results[i];
	bool high = pairing_is_high(v, i);
	const struct pairing_level *local = &v->level[r->rail >= 0 ? CLASS_RAIL : CLASS_ALL];
	/* Between switches, a slow node may be hidden by that path. */
	bool clears = high && (!local->known || level_of_result(v, i)->at >= local->floor);
	size_t a;

	for (a = 0; a < r->n; a++) {
		struct pairing_seen *seen = &v->seen[r->members[a]];

		seen->high |= clears;
		seen->cross |= v->cross[i];
	}
}

/* Who met whom; a group to which somebody did not come shows nothing about the others. */
static void note_met(struct pairing_view *v, const struct pairing_result *r)
{
	bool all_came = r->outcome != PAIRING_FAILED || r->n_missing == 0;
	size_t a, b;

	for (a = 0; a < r->n; a++) {
		size_t node = r->members[a];

		v->seen[node].runs += all_came || pairing_is_missing(r, node);
		for (b = 0; b < r->n; b++) {
			unsigned char *met = &v->met[node * v->p->n_nodes + r->members[b]];

			*met = (unsigned char)MIN(*met + (a != b), 255);
		}
	}
}

/* No path is better than the one below a switch: if one seems so, all that ran there were bad. */
static void raise_local(struct pairing_view *v, enum pairing_class local, enum pairing_class cross)
{
	if (v->level[local].known && v->level[cross].known &&
	    v->level[cross].floor > v->level[local].at)
		v->level[local] = v->level[cross];
}

/* True if a pair of good nodes crossed switches. */
static bool has_control(const struct pairing_view *v, enum pairing_class class)
{
	size_t i, m;

	for (i = 0; i < v->n_results; i++) {
		const struct pairing_result *r = &v->p->results[i];

		if (!v->counts[i] || r->outcome != PAIRING_MEASURED ||
		    pairing_class_of(v, i, r->rail >= 0) != class)
			continue;
		for (m = 0; m < r->n && (v->seen[r->members[m]].high ||
					 v->p->nodes[r->members[m]].state == PAIRING_KNOWN_GOOD);
		     m++)
			;
		if (m == r->n)
			return true;
	}
	return false;
}

/*
 * The path between switches may be narrower than that below one. Groups that crossed it are called
 * slow only if its part is known, if good nodes crossed it too, or if somebody came through at full
 * rate.
 */
static void trust_cross(struct pairing_view *v, enum pairing_class class, enum pairing_class local)
{
	struct pairing_level *cross = &v->level[class];

	if (!v->level[local].known || !cross->known)
		return;
	if (v->p->cross_part > 0) {
		*cross = v->level[local];
		cross->at *= v->p->cross_part;
		cross->floor *= v->p->cross_part;
	} else if (cross->at < v->level[local].floor && !has_control(v, class))
		cross->known = false;
}

static void read_results(struct pairing_view *v)
{
	size_t seats = 0, i;

	for (i = 0; i < v->n_results; i++) {
		const struct pairing_result *r = &v->p->results[i];

		v->counts[i] = makes_sense(v->p, r) && seats + r->n <= PAIRING_SEATS_MAX;
		if (!v->counts[i])
			continue;
		seats += r->n;
		v->cross[i] = is_cross(v, r);
		note_met(v, r);
	}
}

/* Who was good with all of these, across switches or not. */
static void note_all(struct pairing_view *v, bool cross)
{
	size_t i;

	for (i = 0; i < v->n_results; i++) {
		if (v->counts[i] && v->cross[i] == cross)
			note_seen(v, i);
	}
}

/* Below one switch first: that shows who is good, which the others need. */
static void read_levels(struct pairing_view *v)
{
	enum pairing_class class;

	for (class = 0; class < CLASSES; class ++)
		find_level(v, class);
	raise_local(v, CLASS_ALL, CLASS_ALL_CROSS);
	raise_local(v, CLASS_RAIL, CLASS_RAIL_CROSS);
	note_all(v, false);
	trust_cross(v, CLASS_ALL_CROSS, CLASS_ALL);
	trust_cross(v, CLASS_RAIL_CROSS, CLASS_RAIL);
	note_all(v, true);
}

void pairing_view_init(struct pairing_view *v, const struct pairing_problem *p)
{
	size_t rails = p->n_nodes * PAIRING_RAILS_MAX;

	*v = (struct pairing_view){ .p = p };
	v->n_results = MIN(p->n_results, (size_t)PAIRING_RESULTS_MAX);
	v->leaf = xcalloc(rails + 1, sizeof(*v->leaf));
	v->leaf_name = xcalloc(rails + 1, sizeof(*v->leaf_name));
	v->counts = xcalloc(v->n_results + 1, sizeof(bool));
	v->cross = xcalloc(v->n_results + 1, sizeof(bool));
	v->seen = xcalloc(p->n_nodes + 1, sizeof(*v->seen));
	v->met = xcalloc(p->n_nodes * p->n_nodes + 1, 1);
	number_leaves(v);
	read_results(v);
	read_levels(v);
}

void pairing_view_release(struct pairing_view *v)
{
	free(v->leaf);
	free(v->leaf_name);
	free(v->counts);
	free(v->cross);
	free(v->seen);
	free(v->met);
	free(v->parts);
	free(v->cleared);
	free(v->leaf_part);
	free(v->nic_part);
	free(v->cells);
	free(v->uses);
	free(v->cell_result);
}
