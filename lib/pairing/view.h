/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the results say: which of them count and are low, and what is known of each node, switch and
 * part. view.c reads the results, parts.h adds possible causes; blame.h accuses, and rounds.h plans
 * the next round.
 */
#pragma once

#include "lib/judge/tomography.h"
#include "lib/pairing/level.h"
#include "lib/pairing/pairing.h"

/* Only rates of the same class are compared. */
enum pairing_class {
	CLASS_ALL,	  /* all rails, each under one switch */
	CLASS_RAIL,	  /* one rail */
	CLASS_ALL_CROSS,  /* across switches */
	CLASS_RAIL_CROSS, /* the same */
	CLASSES,
};

/* No such node, switch or part. */
#define PAIRING_NOBODY SIZE_MAX

enum pairing_part_kind { PART_NODE, PART_NIC, PART_LEAF };

/* A possible cause: a link of the tomography. */
struct pairing_part {
	enum pairing_part_kind kind;
	size_t node; /* of node or NIC */
	size_t rail; /* of a NIC */
	size_t leaf; /* of a leaf */
};

struct pairing_seen {
	size_t runs; /* groups that ran with it */
	bool high;   /* one of them was good, over a path that shows it */
	bool cross;  /* one went through another switch */
};

struct pairing_view {
	const struct pairing_problem *p;
	size_t *leaf;		/* by node * PAIRING_RAILS_MAX + rail: its switch */
	const char **leaf_name; /* by number; borrowed */
	size_t n_leaves;
	bool *counts, *cross; /* by result */
	size_t n_results;
	struct pairing_level level[CLASSES];
	struct pairing_seen *seen; /* by node */
	unsigned char *met;	   /* by node * n_nodes + node: how often, up to 255 */

	struct pairing_part *parts;
	size_t n_parts;
	bool *cleared;		      /* by switch: a group came through it too fast to blame it */
	size_t *leaf_part, *nic_part; /* by switch, and by node * PAIRING_RAILS_MAX + rail */

	struct tomo_cell *cells;
	struct tomo_use *uses;
	size_t *cell_result; /* by cell */
	size_t n_cells, n_uses;
	double noise_prior;
	struct tomo_answer answer;
	double sigma; /* relative, of one value */
};

/* Reads the results, without parts and cells (pairing_fit()); always release it. */
void pairing_view_init(struct pairing_view *v, const struct pairing_problem *p);
void pairing_view_release(struct pairing_view *v);

/* The class of a rail of a result. */
enum pairing_class pairing_class_of(const struct pairing_view *v, size_t result, bool one_rail);

/* True if it was slow or broke off; false if its class has no level. */
bool pairing_is_low(const struct pairing_view *v, size_t result);
/* True if it was as good as the good ones. */
bool pairing_is_high(const struct pairing_view *v, size_t result);

/* The switch of a node's rail, or PAIRING_NOBODY. */
static inline size_t pairing_leaf(const struct pairing_view *v, size_t node, size_t rail)
{
	return v->leaf[node * PAIRING_RAILS_MAX + rail];
}

/* True if the node is below this switch. */
bool pairing_is_below(const struct pairing_view *v, size_t leaf, size_t node);

/* True if this member did not arrive at that group. */
bool pairing_is_missing(const struct pairing_result *r, size_t node);
