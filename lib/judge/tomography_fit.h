/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fit behind tomography.h: a set of slow links, each with a capacity, and
 * how badly it explains the cells. All in natural logarithms.
 */
#pragma once

#include <stdbool.h>

#include "lib/judge/tomography.h"

/* So many sigmas apart are two values clearly not the same. */
#define TOMO_CLEAR 4.0

struct tomo_set {
	size_t n;
	size_t link[TOMO_FOUND_MAX];
	double capacity[TOMO_FOUND_MAX]; /* log */
	double cost;			 /* sum of capped squared residuals, in sigmas */
};

/* Where a link is used. */
struct tomo_column {
	unsigned *cells;
	double *log_flows;
	size_t n;
	unsigned depth; /* the least of its uses */
};

struct tomo_fit {
	const struct tomo_problem *problem;
	double *value, *expected;    /* log, by cell */
	struct tomo_column *columns; /* by link */
	size_t *order;		     /* links worth trying: nearer to an end first */
	size_t n_order;
	double noise;
};

void tomo_fit_init(struct tomo_fit *fit, const struct tomo_problem *problem);
void tomo_fit_release(struct tomo_fit *fit);

/* What the set says of a cell. */
double tomo_predict(const struct tomo_fit *fit, const struct tomo_set *set, size_t cell);
double tomo_cost(const struct tomo_fit *fit, const struct tomo_set *set);

bool tomo_has(const struct tomo_set *set, size_t link);

/* What adding the link could take off the cost at most. */
double tomo_could_gain(const struct tomo_fit *fit, const struct tomo_set *set, size_t link);

/* Add the link with its best capacity; false when the set is full, has it, or it explains nothing. */
bool tomo_add(const struct tomo_fit *fit, struct tomo_set *set, size_t link);
void tomo_drop(struct tomo_set *set, size_t nth);

/* Fit all capacities together. */
void tomo_refine(const struct tomo_fit *fit, struct tomo_set *set);

/*
 * How far below their expectation the cells are that this link limits: a ratio; 1 for none. The
 * mean of what each loses, and where that differs by more than noise, weighed by itself: the many
 * to which it is no limit to speak of say nothing of how much it takes from those that it limits.
 */
double tomo_effect(const struct tomo_fit *fit, const struct tomo_set *set, size_t nth);
