/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/tomography.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "lib/judge/tomography_fit.h"

/* Sets kept at each size of the search. */
enum { BEAM = 12, ROUNDS = 4 };

/* The noise is estimated from the residuals of the fit, within these bounds. */
#define NOISE_FIRST_MAX 0.03
#define NOISE_MIN 0.005
#define NOISE_MAX 0.08

/*
 * The price of one more link, in squared sigmas. The best of a few dozen innocent links gains about
 * 2 ln(links), 6 to 8, from noise, and more because its capacity is fitted too: 20 in one of fifty
 * matrices of 180 cells, 26 in one of 150.
 */
#define PRICE 26.0

/* A link that slows its paths by less is not named: half of the 10 % by which probes judge. */
#define EFFECT_MIN 0.93

/*
 * The noise is only estimated from the same cells, and poorly if they are few. So a link must also
 * explain enough with unknown noise: n ln(residual without it / residual with it), which is twice
 * the log-likelihood ratio for Gaussian noise; n is the number of cells less the expectations
 * learned from them. By chance the best of a few dozen reaches 16 in one matrix of a thousand: F(1,
 * n - 1) at the ratio exp(16 / n), whether n is 8 or 80. Each further link reduces n by one, since
 * its capacity is fitted too.
 */
#define SIGNIFICANT 16.0

/*
 * The most that one cell can contribute to the residual; with n cells LEFT_OF_ALL / sqrt(n). One
 * disturbed cell must not hide a link among 80 (exp(-0.35) = 0.7), while among few a dead one must
 * count for more than noise. A cell that is faster than expected shows a wrong expectation rather
 * than noise.
 */
#define LEFT_BELOW_MAX 0.35
#define LEFT_OF_ALL 3.0
#define LEFT_ABOVE_MAX 0.10

/* Links that could not even explain this much are not tried. */
#define GAIN_MIN 8.0

/* Alternatives that are not clearly worse than the best cannot be told from it. */
#define AMBIGUOUS_COST (TOMO_CLEAR * TOMO_CLEAR)

static double median_noise(const struct tomo_fit *fit, const struct tomo_set *set)
{
	size_t n = fit->problem->n_cells, i;
	CLEANUP(freep) double *left = xcalloc(n, sizeof(double));

	for (i = 0; i < n; i++)
		left[i] = fit->value[i] - tomo_predict(fit, set, i);
	stats_sort(left, n);
	return stats_sigma_of_mad(stats_mad(left, n, stats_median(left, n)));
}

static double clamp(double x, double low, double high)
{
	return x < low ? low : x > high ? high : x;
}

static bool same_links(const struct tomo_set *a, const struct tomo_set *b)
{
	size_t i, j;

	if (a->n != b->n)
		return false;
	for (i = 0; i < a->n; i++) {
		for (j = 0; j < b->n && b->link[j] != a->link[i]; j++)
			;
		if (j == b->n)
			return false;
	}
	return true;
}

/* The best sets so far, by cost; ties keep their order. */
struct beam {
	struct tomo_set sets[BEAM];
	size_t n;
};

static void beam_offer(struct beam *beam, const struct tomo_set *set)
{
	size_t at, i;

	for (i = 0; i < beam->n; i++) {
		if (same_links(&beam->sets[i], set))
			return;
	}
	for (at = beam->n; at > 0 && beam->sets[at - 1].cost > set->cost + 1e-9; at--)
		;
	if (at == BEAM)
		return;
	beam->n = MIN(beam->n + 1, (size_t)BEAM);
	for (i = beam->n - 1; i > at; i--)
		beam->sets[i] = beam->sets[i - 1];
	beam->sets[at] = *set;
}

/* Extends each set by one link. */
static void extend(const struct tomo_fit *fit, const struct beam *from, struct beam *ret)
{
	size_t i, k;

	ret->n = 0;
	for (i = 0; i < from->n; i++) {
		for (k = 0; k < fit->n_order; k++) {
			struct tomo_set set = from->sets[i];

			if (tomo_could_gain(fit, &set, fit->order[k]) >= GAIN_MIN &&
			    tomo_add(fit, &set, fit->order[k]))
				beam_offer(ret, &set);
		}
	}
	for (i = 0; i < ret->n; i++)
		tomo_refine(fit, &ret->sets[i]);
}

/* True if every link of the set slows its paths enough to be named. */
static bool is_worth_naming(const struct tomo_fit *fit, const struct tomo_set *set)
{
	size_t j;

	for (j = 0; j < set->n; j++) {
		if (!(tomo_effect(fit, set, j) <= EFFECT_MIN))
			return false;
	}
	return true;
}

/* The unexplained rest: a sum of squares of logarithms. */
static double left_by(const struct tomo_fit *fit, const struct tomo_set *set)
{
	double sum = 0, most;
	size_t n = fit->problem->n_cells, i;

	most = MAX(LEFT_BELOW_MAX, LEFT_OF_ALL / sqrt((double)n));
	for (i = 0; i < n; i++) {
		double left = fit->value[i] - tomo_predict(fit, set, i);

		left = clamp(left, -most, LEFT_ABOVE_MAX);
		sum += left * left;
	}
	return MAX(sum, (double)n * NOISE_MIN * NOISE_MIN);
}

static bool is_significant(const struct tomo_fit *fit, const struct tomo_set *set)
{
	const struct tomo_problem *p = fit->problem;
	const size_t spent = p->n_learned + (set->n > 0 ? set->n - 1 : 0);
	double free_cells = (double)(p->n_cells - MIN(spent, p->n_cells));
	double with = left_by(fit, set);
	size_t j;

	if (p->noise_least > 0) /* known from elsewhere, and already part of the cost */
		return true;
	for (j = 0; j < set->n; j++) {
		struct tomo_set without = *set;

		tomo_drop(&without, j);
		if (free_cells * log(left_by(fit, &without) / with) < SIGNIFICANT)
			return false;
	}
	return true;
}

static double priced(const struct tomo_set *set)
{
	return set->cost + PRICE * (double)set->n;
}

static struct tomo_set search(const struct tomo_fit *fit)
{
	struct tomo_set best = { .n = 0 };
	struct beam beam, next;
	size_t size, i;

	best.cost = tomo_cost(fit, &best);
	beam.sets[0] = best;
	beam.n = 1;
	for (size = 1; size <= TOMO_FOUND_MAX && beam.n > 0; size++) {
		bool better = false;

		extend(fit, &beam, &next);
		for (i = 0; i < next.n; i++) {
			if (priced(&next.sets[i]) < priced(&best) &&
			    is_worth_naming(fit, &next.sets[i]) &&
			    is_significant(fit, &next.sets[i])) {
				best = next.sets[i];
				better = true;
			}
		}
		/* Two links together may explain what neither explains alone. */
		if (!better && size >= 2)
			break;
		beam = next;
	}
	return best;
}

/* Looks for the best fit with link number `j` of the set replaced by another. */
static void look_around(const struct tomo_fit *fit, const struct tomo_set *set, size_t j,
			struct tomo_link *ret)
{
	struct tomo_set without = *set;
	double odds = 0;
	size_t k;

	tomo_drop(&without, j);
	without.cost = tomo_cost(fit, &without);
	odds += exp(-(without.cost - set->cost - PRICE) / 2);
	for (k = 0; k < fit->n_order; k++) {
		struct tomo_set other = without;
		double more;

		if (tomo_has(set, fit->order[k]) ||
		    tomo_could_gain(fit, &other, fit->order[k]) < GAIN_MIN ||
		    !tomo_add(fit, &other, fit->order[k]))
			continue;
		tomo_refine(fit, &other);
		more = other.cost - set->cost;
		odds += exp(-MAX(more, 0.0) / 2);
		if (more < AMBIGUOUS_COST && ret->n_ambiguous < TOMO_AMBIGUOUS_MAX)
			ret->ambiguous[ret->n_ambiguous++] = fit->order[k];
	}
	ret->confidence = 1 / (1 + odds);
}

static int compare_ratios(const void *a, const void *b)
{
	double x = ((const struct tomo_link *)a)->ratio, y = ((const struct tomo_link *)b)->ratio;

	return (x > y) - (x < y);
}

static void describe(const struct tomo_fit *fit, const struct tomo_set *set, struct tomo_answer *ret)
{
	size_t j;

	ret->n = set->n;
	ret->noise = fit->noise;
	for (j = 0; j < set->n; j++) {
		ret->links[j] = (struct tomo_link){
			.link = set->link[j],
			.capacity = exp(set->capacity[j]),
			.ratio = tomo_effect(fit, set, j),
		};
		look_around(fit, set, j, &ret->links[j]);
	}
	qsort(ret->links, ret->n, sizeof(ret->links[0]), compare_ratios);
}

void tomo_solve(const struct tomo_problem *problem, struct tomo_answer *ret)
{
	CLEANUP(tomo_fit_release) struct tomo_fit fit = { .problem = NULL };
	struct tomo_set set = { .n = 0 }, before;
	double least;
	int round;

	*ret = (struct tomo_answer){ .n = 0 };
	if (problem->n_cells == 0 || problem->n_cells > TOMO_CELLS_MAX ||
	    problem->n_links > TOMO_LINKS_MAX)
		return;
	tomo_fit_init(&fit, problem);
	least = clamp(problem->noise_least, NOISE_MIN, NOISE_MAX);
	fit.noise = clamp(median_noise(&fit, &set), least, MAX(least, NOISE_FIRST_MAX));
	for (round = 0; round < ROUNDS; round++) {
		before = set;
		set = search(&fit);
		if (round > 0 && same_links(&before, &set))
			break;
		fit.noise = clamp(median_noise(&fit, &set), least, NOISE_MAX);
	}
	describe(&fit, &set, ret);
}

enum tomo_voice tomo_hear(const struct tomo_cell *cell, const struct tomo_answer *answer, size_t nth)
{
	const struct tomo_link *link = &answer->links[nth];
	double margin = exp(TOMO_CLEAR * MAX(answer->noise, NOISE_MIN));
	double least = cell->expected, own = NAN;
	size_t i, j;

	for (i = 0; i < cell->n_uses; i++) {
		for (j = 0; j < answer->n; j++) {
			double limit = answer->links[j].capacity / cell->uses[i].flows;

			if (cell->uses[i].link != answer->links[j].link)
				continue;
			least = MIN(least, limit);
			own = j == nth ? limit : own;
		}
	}
	if (isnan(own) || own >= cell->expected)
		return TOMO_SILENT;
	if (cell->value > own * margin)
		return cell->value * margin > cell->expected ||
				       cell->value > link->capacity * margin
			       ? TOMO_AGAINST
			       : TOMO_SILENT;
	return own <= least && cell->value * margin < cell->expected ? TOMO_FOR : TOMO_SILENT;
}
