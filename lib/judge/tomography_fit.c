/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/tomography_fit.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"

/* One cell costs at most six sigmas: it may be disturbed. */
#define CELL_COST_MAX 36.0

/* If more cells than this cross a link, only some of their values are tried as its capacity. */
enum { CAPACITIES_MAX = 256 };

/* Passes over the links of a set until their capacities fit together. */
enum { REFINE_PASSES = 3 };

/* Losses that differ by this much more than noise are of different sizes. */
#define SPREAD_SIGMAS 4.0

/* Values below this part of the expected one are not distinguished. */
#define VALUE_LEAST 1e-3

static void count_uses(struct tomo_fit *fit)
{
	const struct tomo_problem *p = fit->problem;
	size_t i, j, l;

	for (i = 0; i < p->n_cells; i++) {
		for (j = 0; j < p->cells[i].n_uses; j++)
			fit->columns[p->cells[i].uses[j].link].n++;
	}
	for (l = 0; l < p->n_links; l++) {
		struct tomo_column *c = &fit->columns[l];

		c->cells = xcalloc(c->n + 1, sizeof(*c->cells));
		c->log_flows = xcalloc(c->n + 1, sizeof(*c->log_flows));
		c->n = 0;
		c->depth = TOMO_LINKS_MAX;
	}
}

static void fill_columns(struct tomo_fit *fit)
{
	const struct tomo_problem *p = fit->problem;
	size_t i, j;

	count_uses(fit);
	for (i = 0; i < p->n_cells; i++) {
		for (j = 0; j < p->cells[i].n_uses; j++) {
			const struct tomo_use *use = &p->cells[i].uses[j];
			struct tomo_column *c = &fit->columns[use->link];

			c->cells[c->n] = (unsigned)i;
			c->log_flows[c->n++] = log(use->flows);
			c->depth = MIN(c->depth, use->depth);
		}
	}
}

/* Links that some low cell crosses, those nearest an end of a path first. */
static void fill_order(struct tomo_fit *fit)
{
	size_t n = fit->problem->n_links, l;
	unsigned depth, deepest = 0;

	fit->order = xcalloc(n + 1, sizeof(*fit->order));
	for (l = 0; l < n; l++) {
		if (fit->columns[l].n > 0)
			deepest = MAX(deepest, fit->columns[l].depth);
	}
	for (depth = 0; depth <= deepest; depth++) {
		for (l = 0; l < n; l++) {
			if (fit->columns[l].n > 0 && fit->columns[l].depth == depth)
				fit->order[fit->n_order++] = l;
		}
	}
}

void tomo_fit_init(struct tomo_fit *fit, const struct tomo_problem *problem)
{
	size_t i;

	*fit = (struct tomo_fit){ .problem = problem };
	fit->value = xcalloc(problem->n_cells, sizeof(double));
	fit->expected = xcalloc(problem->n_cells, sizeof(double));
	fit->columns = xcalloc(problem->n_links + 1, sizeof(*fit->columns));
	for (i = 0; i < problem->n_cells; i++) {
		const struct tomo_cell *cell = &problem->cells[i];

		fit->expected[i] = log(cell->expected);
		fit->value[i] = log(MAX(cell->value, cell->expected * VALUE_LEAST));
	}
	fill_columns(fit);
	fill_order(fit);
}

void tomo_fit_release(struct tomo_fit *fit)
{
	size_t l;

	for (l = 0; fit->columns && l < fit->problem->n_links; l++) {
		free(fit->columns[l].cells);
		free(fit->columns[l].log_flows);
	}
	free(fit->columns);
	free(fit->value);
	free(fit->expected);
	free(fit->order);
	*fit = (struct tomo_fit){ .problem = NULL };
}

double tomo_predict(const struct tomo_fit *fit, const struct tomo_set *set, size_t cell)
{
	const struct tomo_cell *c = &fit->problem->cells[cell];
	double least = fit->expected[cell];
	size_t i, j;

	for (j = 0; j < set->n; j++) {
		for (i = 0; i < c->n_uses; i++) {
			if (c->uses[i].link == set->link[j])
				least = MIN(least, set->capacity[j] - log(c->uses[i].flows));
		}
	}
	return least;
}

static double cell_cost(const struct tomo_fit *fit, size_t cell, double predicted)
{
	double z = (fit->value[cell] - predicted) / fit->noise;

	return MIN(z * z, CELL_COST_MAX);
}

double tomo_cost(const struct tomo_fit *fit, const struct tomo_set *set)
{
	double cost = 0;
	size_t i;

	for (i = 0; i < fit->problem->n_cells; i++)
		cost += cell_cost(fit, i, tomo_predict(fit, set, i));
	return cost;
}

bool tomo_has(const struct tomo_set *set, size_t link)
{
	size_t j;

	for (j = 0; j < set->n; j++) {
		if (set->link[j] == link)
			return true;
	}
	return false;
}

void tomo_drop(struct tomo_set *set, size_t nth)
{
	size_t j;

	for (j = nth; j + 1 < set->n; j++) {
		set->link[j] = set->link[j + 1];
		set->capacity[j] = set->capacity[j + 1];
	}
	set->n--;
}

/* The cells of a link, and what the rest of the set predicts for them. */
struct view {
	const struct tomo_fit *fit;
	const struct tomo_column *column;
	double *others; /* by position in the column */
};

static double view_cost(const struct view *v, double capacity)
{
	double cost = 0;
	size_t i;

	for (i = 0; i < v->column->n; i++)
		cost += cell_cost(v->fit, v->column->cells[i],
				  MIN(v->others[i], capacity - v->column->log_flows[i]));
	return cost;
}

/* The mean of what the cells limited by this capacity say, without outliers. */
static double view_mean(const struct view *v, double capacity)
{
	double sum = 0;
	size_t i, n = 0;

	for (i = 0; i < v->column->n; i++) {
		double limit = capacity - v->column->log_flows[i];
		double value = v->fit->value[v->column->cells[i]];

		if (limit < v->others[i] &&
		    fabs(value - limit) < sqrt(CELL_COST_MAX) * v->fit->noise) {
			sum += value + v->column->log_flows[i];
			n++;
		}
	}
	return n > 0 ? sum / (double)n : capacity;
}

/* The capacity that each cell implies; sorted if there are many. New memory. */
static double *capacities_of(const struct view *v)
{
	const struct tomo_column *c = v->column;
	double *capacities = xcalloc(c->n + 1, sizeof(*capacities));
	size_t i;

	for (i = 0; i < c->n; i++)
		capacities[i] = v->fit->value[c->cells[i]] + c->log_flows[i];
	if (c->n > CAPACITIES_MAX)
		stats_sort(capacities, c->n);
	return capacities;
}

/* The capacity that explains the column best; INFINITY if a slow link does not improve it. */
static double best_capacity(const struct view *v)
{
	CLEANUP(freep) double *capacities = capacities_of(v);
	double best = INFINITY, least = view_cost(v, INFINITY), capacity, cost;
	size_t step = v->column->n / CAPACITIES_MAX + 1, i;

	for (i = 0; i < v->column->n; i += step) {
		cost = view_cost(v, capacities[i]);
		if (cost < least) {
			least = cost;
			best = capacities[i];
		}
	}
	if (isinf(best))
		return best;
	capacity = view_mean(v, best);
	return view_cost(v, capacity) < least ? capacity : best;
}

/* Fits link number `nth` with the others unchanged. Returns false if it explains nothing. */
static bool fit_one(const struct tomo_fit *fit, struct tomo_set *set, size_t nth)
{
	const struct tomo_column *column = &fit->columns[set->link[nth]];
	CLEANUP(freep) double *others = xcalloc(column->n + 1, sizeof(double));
	struct view view = { fit, column, others };
	size_t i;

	set->capacity[nth] = INFINITY;
	for (i = 0; i < column->n; i++)
		others[i] = tomo_predict(fit, set, column->cells[i]);
	set->capacity[nth] = best_capacity(&view);
	return !isinf(set->capacity[nth]);
}

double tomo_could_gain(const struct tomo_fit *fit, const struct tomo_set *set, size_t link)
{
	const struct tomo_column *column = &fit->columns[link];
	double gain = 0;
	size_t i;

	for (i = 0; i < column->n; i++) {
		size_t cell = column->cells[i];
		double predicted = tomo_predict(fit, set, cell);

		if (fit->value[cell] < predicted)
			gain += cell_cost(fit, cell, predicted);
	}
	return gain;
}

bool tomo_add(const struct tomo_fit *fit, struct tomo_set *set, size_t link)
{
	if (set->n == TOMO_FOUND_MAX || tomo_has(set, link))
		return false;
	set->link[set->n++] = link;
	if (!fit_one(fit, set, set->n - 1))
		return false;
	set->cost = tomo_cost(fit, set);
	return true;
}

void tomo_refine(const struct tomo_fit *fit, struct tomo_set *set)
{
	int pass;
	size_t j;

	for (pass = 0; pass < REFINE_PASSES; pass++) {
		for (j = 0; j < set->n; j++)
			(void)fit_one(fit, set, j);
	}
	set->cost = tomo_cost(fit, set);
}

/*
 * The sum of squared distances of `n` losses from their mean if they differ by noise alone:
 * chi-squared with mean n and variance 2n, plus SPREAD_SIGMAS standard deviations.
 */
static double alike(const struct tomo_fit *fit, double n)
{
	return fit->noise * fit->noise * (n + SPREAD_SIGMAS * sqrt(2 * n));
}

double tomo_effect(const struct tomo_fit *fit, const struct tomo_set *set, size_t nth)
{
	const struct tomo_column *column = &fit->columns[set->link[nth]];
	double sum = 0, squares = 0, n = 0, spread;
	size_t i;

	for (i = 0; i < column->n; i++) {
		size_t cell = column->cells[i];
		double limit = set->capacity[nth] - column->log_flows[i];
		double lost = fit->expected[cell] - limit;

		if (lost > 0 && limit <= tomo_predict(fit, set, cell)) {
			sum += lost;
			squares += lost * lost;
			n++;
		}
	}
	if (n == 0)
		return 1;
	spread = squares - sum * sum / n;
	return exp(-(spread > alike(fit, n) ? squares / sum : sum / n));
}
