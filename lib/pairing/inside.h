/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Behind pairing.h: what the results say (view.c, level.c, parts.c), whom that accuses
 * (blame.c, cover.c, words.c), and who runs next (rounds.c).
 */
#pragma once

#include "lib/judge/tomography.h"
#include "lib/pairing/pairing.h"

/* Rates of one class only are compared with each other. */
enum pairing_class {
	CLASS_ALL,	  /* all rails, under one switch each */
	CLASS_RAIL,	  /* one rail */
	CLASS_ALL_CROSS,  /* from switch to switch */
	CLASS_RAIL_CROSS, /* likewise */
	CLASSES,
};

/* The variance of a median of normal values to that of their mean: half of pi. */
#define PAIRING_MEDIAN_VARIANCE 1.571

/* What good groups of a class reach. */
struct pairing_level {
	bool known;
	double at, floor;
	size_t n; /* values near it */
};

/* Nobody: no such node, switch or part. */
#define PAIRING_NOBODY SIZE_MAX

enum pairing_part_kind { PART_NODE, PART_NIC, PART_LEAF };

/* Something that may be slow: a link of the tomography. */
struct pairing_part {
	enum pairing_part_kind kind;
	size_t node; /* of a node or NIC */
	size_t rail; /* of a NIC */
	size_t leaf; /* of a leaf */
};

struct pairing_seen {
	size_t runs; /* groups that ran with it */
	bool high;   /* one of them was good, by a way that shows it */
	bool cross;  /* one went through another switch */
};

struct pairing_view {
	const struct pairing_problem *p;
	size_t *leaf;		/* by node * PAIRING_RAILS_MAX + rail: number of its switch */
	const char **leaf_name; /* by number; borrowed */
	size_t n_leaves;
	bool *counts, *cross; /* by result */
	size_t n_results;
	struct pairing_level level[CLASSES];
	struct pairing_seen *seen; /* by node */
	unsigned char *met;	   /* by node * n_nodes + node: how often, at most 255 */

	struct pairing_part *parts;
	size_t n_parts;
	bool *cleared;		      /* by switch: a group came through it too fast */
	size_t *leaf_part, *nic_part; /* by switch, and by node * PAIRING_RAILS_MAX + rail */

	struct tomo_cell *cells;
	struct tomo_use *uses;
	size_t *cell_result; /* by cell */
	size_t n_cells, n_uses;
	double noise_prior;
	struct tomo_answer answer;
	double sigma; /* relative, of one value */
};

/* Read the results, without parts and cells (pairing_fit()); release it in any case. */
void pairing_view_init(struct pairing_view *v, const struct pairing_problem *p);
void pairing_view_release(struct pairing_view *v);

/* What good groups reach, from the values of a class in any order (sorted here). */
void pairing_level_of(double *values, size_t n, struct pairing_level *ret);

/* How rates are held against each other. */
struct measure pairing_measure(double value);

/*
 * The relative standard deviation of one value when `n` of them show `shown`: few
 * values are believed less than what pairs are known to vary by.
 */
double pairing_sigma(double shown, size_t n);

/* The class of a rail of a result. */
enum pairing_class pairing_class_of(const struct pairing_view *v, size_t result, bool one_rail);

/* Was it slow or broken off? False also when its class has no level. */
bool pairing_is_low(const struct pairing_view *v, size_t result);
/* Was it as good as the good ones? */
bool pairing_is_high(const struct pairing_view *v, size_t result);

/* The number of the switch of a node's rail, or PAIRING_NOBODY. */
static inline size_t pairing_leaf(const struct pairing_view *v, size_t node, size_t rail)
{
	return v->leaf[node * PAIRING_RAILS_MAX + rail];
}

/* Is the node below this switch? */
bool pairing_is_below(const struct pairing_view *v, size_t leaf, size_t node);

/* Did this member not arrive at that group? */
bool pairing_is_missing(const struct pairing_result *r, size_t node);

/* Is this cell too fast for that part of the answer, and good for its class? */
bool pairing_contradicts(const struct pairing_view *v, size_t cell, size_t nth);

/* Make parts and cells from the results, and fit them. */
void pairing_fit(struct pairing_view *v);

/* Whom the view accuses, and what is not settled. */
struct pairing_case {
	bool suspect[PAIRING_NODES_MAX]; /* to be tried with somebody good */
	bool guilty[PAIRING_NODES_MAX];	 /* explained: not paired any more */
	bool open;			 /* somebody is still to be tried */
	bool excused;			 /* too few good groups to know what good is */
	bool all_slow;			 /* against the fleet */
	bool stay_home; /* groups below each switch tell more now than those between them */
};

/* Fill `ret_case` and the blames of the step, worst first, the certain ones before the others. */
void pairing_judge(const struct pairing_view *v, struct pairing_case *ret_case,
		   struct pairing_step *ret);

/* The sentence of a blame; `other` is a part that explains it as well, or PAIRING_NOBODY. */
void pairing_word(const struct pairing_view *v, size_t other, struct pairing_blame *b);

/*
 * Could so few as `k` nodes be in each of the good groups? Then all may be as bad as
 * these, and nobody knows what good is. `guilty` nodes do not count.
 */
bool pairing_could_spoil(const struct pairing_view *v, const bool *guilty, size_t k);

/* Do groups below this switch tell more of it than its nodes with others do? */
bool pairing_leaf_at_home(const struct pairing_view *v, size_t leaf);

/*
 * May the switch be blamed that lets through `part` of what is good? When it stands for four
 * bad nodes, or for all but one below it and each of them reached that much, no more
 * and no less, through other switches too.
 */
bool pairing_leaf_stands(const struct pairing_view *v, size_t leaf, double part);

/* How many nodes below switch `leaf`, at least, must be bad instead of it; at most `most`. */
size_t pairing_nodes_instead(const struct pairing_view *v, size_t leaf, size_t most);

/* Can the node be paired: there and not known to be bad. */
bool pairing_plays(const struct pairing_view *v, const struct pairing_case *c, size_t node);

/* Who runs next. An empty round when nobody can. */
void pairing_next(const struct pairing_view *v, const struct pairing_case *c,
		  struct pairing_round *ret);
