/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fit used by tomography.h: a set of slow links, each with a capacity, and the cost of
 * explaining the cells by it. All in natural logarithms.
 */
#pragma once

#include <stdbool.h>

#include "lib/judge/tomography.h"

/* Two values this many sigmas apart are clearly different. */
#define TOMO_CLEAR 4.0

struct tomo_set {
	size_t n;
	size_t link[TOMO_FOUND_MAX];
	double capacity[TOMO_FOUND_MAX]; /* log */
	double cost;			 /* sum of capped squared residuals, in sigmas */
};

/* The cells that cross a link. */
struct tomo_column {
	unsigned *cells;
	double *log_flows;
	size_t n;
	unsigned depth; /* smallest depth of its uses */
};

struct tomo_fit {
	const struct tomo_problem *problem;
	double *value, *expected;    /* log, by cell */
	struct tomo_column *columns; /* by link */
	size_t *order;		     /* links worth trying, those nearer to an end first */
	size_t n_order;
	double noise;
};

void tomo_fit_init(struct tomo_fit *fit, const struct tomo_problem *problem);
void tomo_fit_release(struct tomo_fit *fit);

/* The value of a cell that the set predicts. */
double tomo_predict(const struct tomo_fit *fit, const struct tomo_set *set, size_t cell);
double tomo_cost(const struct tomo_fit *fit, const struct tomo_set *set);

bool tomo_has(const struct tomo_set *set, size_t link);

/* The most that adding the link could reduce the cost by. */
double tomo_could_gain(const struct tomo_fit *fit, const struct tomo_set *set, size_t link);

/*
 * Adds the link with its best capacity. False if the set is full or has it, or it explains nothing.
 */
bool tomo_add(const struct tomo_fit *fit, struct tomo_set *set, size_t link);
void tomo_drop(struct tomo_set *set, size_t nth);

/* Fits all capacities together. */
void tomo_refine(const struct tomo_fit *fit, struct tomo_set *set);

/*
 * The ratio of value to expectation for the cells that this link limits; 1 if there are none. From
 * the mean of their losses; if these differ by more than noise, each is weighted by itself, so that
 * many cells that the link hardly limits do not hide how much it takes from the others.
 */
double tomo_effect(const struct tomo_fit *fit, const struct tomo_set *set, size_t nth);
