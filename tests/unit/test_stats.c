/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "lib/judge/stats.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum { N_MAX = 64, TIMES = 2000 };

static void the_median_is_the_middle_or_the_mean_of_two(void)
{
	static const struct {
		double v[5];
		size_t n;
		double median;
	} cases[] = {
		{ { 7 }, 1, 7 },
		{ { 1, 3 }, 2, 2 },
		{ { 1, 2, 100 }, 3, 2 },
		{ { -4, -2, 0, 8 }, 4, -1 },
		{ { 1e308, 1.5e308 }, 2, 1.25e308 }, /* the sum would overflow */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_NEAR(stats_median(cases[i].v, cases[i].n), cases[i].median, 0);
}

static void quantiles_interpolate_between_ranks(void)
{
	static const double v[] = { 10, 20, 30, 40, 50 };

	CHECK_NEAR(stats_quantile(v, 5, 0), 10, 0);
	CHECK_NEAR(stats_quantile(v, 5, 1), 50, 0);
	CHECK_NEAR(stats_quantile(v, 5, 0.5), 30, 0);
	CHECK_NEAR(stats_quantile(v, 5, 0.75), 40, 1e-12);
	CHECK_NEAR(stats_quantile(v, 5, 0.99), 49.6, 1e-9);
	CHECK_NEAR(stats_quantile(v, 1, 0.3), 10, 0);
}

static void the_mad_of_known_samples_is_right(void)
{
	static const double one[] = { 5 }, same[] = { 3, 3, 3, 3 };
	static const double wiki[] = { 1, 1, 2, 2, 4, 6, 9 }; /* deviations 1 1 0 0 2 4 7 */

	CHECK_NEAR(stats_mad(one, 1, 5), 0, 0);
	CHECK_NEAR(stats_mad(same, 4, 3), 0, 0);
	CHECK_NEAR(stats_mad(wiki, 7, 2), 1, 0);
	CHECK_NEAR(stats_sigma_of_mad(1), 1.4826, 0);
}

static void the_mad_by_walking_equals_the_mad_by_sorting(void)
{
	struct random r = random_seeded(1);
	size_t times, i;

	for (times = 0; times < TIMES; times++) {
		double v[N_MAX], deviations[N_MAX], center;
		size_t n = 1 + random_below(&r, N_MAX);

		for (i = 0; i < n; i++)
			v[i] = (double)random_below(&r, 20); /* with many equal ones */
		stats_sort(v, n);
		center = times % 2 ? stats_median(v, n) : (double)random_below(&r, 24) - 2;
		for (i = 0; i < n; i++)
			deviations[i] = fabs(v[i] - center);
		stats_sort(deviations, n);
		CHECK_NEAR(stats_mad(v, n, center), stats_median(deviations, n), 0);
	}
}

static int compare_reals(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sorting_gives_what_qsort_gives_to_the_bit(void)
{
	enum { MANY = 1100 };
	struct random chance = random_seeded(5);
	double ours[MANY], theirs[MANY];
	size_t n, i;

	/* Few values differ, so that equal ones are many; of two zeroes one is negative. */
	for (n = 0; n < MANY; n += n < 140 ? 1 : 37) {
		for (i = 0; i < n; i++)
			ours[i] = theirs[i] = n % 3 ? random_normal(&chance, 0, 1)
						    : ((double)random_below(&chance, 9) - 4) * -0.0;
		stats_sort(ours, n);
		qsort(theirs, n, sizeof(*theirs), compare_reals);
		CHECK(memcmp(ours, theirs, n * sizeof(*ours)) == 0);
	}
}

/* Many, few and only equal ones, and in an order that is bad for pivots. */
static void fill(struct random *chance, size_t n, unsigned way, double *ret_values)
{
	size_t i;

	for (i = 0; i < n; i++) {
		switch (way % 4) {
		case 0:
			ret_values[i] = random_normal(chance, 0, 1);
			break;
		case 1:
			ret_values[i] = (double)random_below(chance, 5) - 2;
			break;
		case 2:
			ret_values[i] = i % 2 ? 3 : -7;
			break;
		default: /* ascending, then descending */
			ret_values[i] = (double)MIN(i, n - i);
		}
	}
}

static void selecting_gives_what_sorting_puts_there(void)
{
	enum { MANY = 1100 };
	struct random chance = random_seeded(6);
	double values[MANY], sorted[MANY];
	size_t n, at, i;

	for (n = 1; n < MANY; n += n < 140 ? 1 : 37) {
		fill(&chance, n, (unsigned)n, values);
		memcpy(sorted, values, n * sizeof(*sorted));
		stats_sort(sorted, n);
		at = random_below(&chance, n);
		stats_select(values, n, at);
		CHECK_NEAR(values[at], sorted[at], 0);
		for (i = 0; i < n; i++)
			CHECK(i < at ? values[i] <= values[at] : values[i] >= values[at]);
		stats_sort_lowest(values, n, at);
		CHECK(memcmp(values, sorted, at * sizeof(*sorted)) == 0);
		CHECK_NEAR(stats_median_of(values, n), stats_median(sorted, n), 0);
		stats_sort(values, n);
		CHECK(memcmp(values, sorted, n * sizeof(*sorted)) == 0);
	}
	stats_sort_lowest(values, 3, 3);
	stats_sort_lowest(values, 3, 0);
	CHECK(memcmp(values, sorted, 3 * sizeof(*sorted)) == 0);
}

/* What split() does to the `n` first where only number `less` comes before the pivot. */
static void move_first(size_t *who, size_t n, size_t less)
{
	size_t first = 0, i;

	for (i = 0; i < n; i++) {
		const size_t moved = who[i];

		who[i] = who[first];
		who[first] = moved;
		first += moved == less;
	}
}

/* Each pivot is the second least of what is left: of so many, rounds are not enough. */
static void the_worst_order_for_pivots_is_selected_from_too(void)
{
	enum { MANY = 600 };
	size_t who[MANY], left = MANY, i;
	double values[MANY], sorted[MANY], next = 0;

	for (i = 0; i < MANY; i++)
		who[i] = i;
	for (; left >= 3; left -= 2) {
		size_t *of = who + MANY - left;
		const size_t least = of[0], pivot = of[left / 2];

		values[least] = next++;
		values[pivot] = next++;
		move_first(of, left, least);
		move_first(of + 1, left - 1, pivot);
	}
	for (i = MANY - left; i < MANY; i++)
		values[who[i]] = next++;
	memcpy(sorted, values, sizeof(values));
	stats_sort(sorted, MANY);
	stats_select(values, MANY, MANY - 1);
	CHECK_NEAR(values[MANY - 1], sorted[MANY - 1], 0);
	stats_sort(values, MANY);
	CHECK(memcmp(values, sorted, sizeof(values)) == 0);
}

static void the_modified_z_counts_in_deviations(void)
{
	CHECK_NEAR(stats_modified_z(10, 10, 0), 0, 0);
	CHECK(isinf(stats_modified_z(9, 10, 0)));
	CHECK_NEAR(stats_modified_z(8, 10, 1), -1.349, 1e-12);
}

static void leaving_one_out_keeps_the_others_in_order(void)
{
	static const double v[] = { 1, 2, 3, 4 };
	double others[3];

	stats_leave_out(v, 4, 0, others);
	CHECK(others[0] == 2 && others[1] == 3 && others[2] == 4);
	stats_leave_out(v, 4, 3, others);
	CHECK(others[0] == 1 && others[1] == 2 && others[2] == 3);
	stats_leave_out(v, 4, 1, others);
	CHECK(others[0] == 1 && others[1] == 3 && others[2] == 4);
}

static void the_distance_of_samples_of_one_size_is_the_mean_gap(void)
{
	struct random r = random_seeded(2);
	size_t times, i;

	for (times = 0; times < TIMES; times++) {
		double x[N_MAX], y[N_MAX], mean = 0, below = 0;
		size_t n = 1 + random_below(&r, N_MAX);

		for (i = 0; i < n; i++) {
			x[i] = random_normal(&r, 10, 2);
			y[i] = random_normal(&r, 10, 2);
		}
		stats_sort(x, n);
		stats_sort(y, n);
		for (i = 0; i < n; i++) {
			mean += fabs(x[i] - y[i]) / (double)n;
			below += fmax(y[i] - x[i], 0) / (double)n;
		}
		CHECK_NEAR(stats_wasserstein(x, n, y, n), mean, 1e-9);
		CHECK_NEAR(stats_wasserstein_below(x, n, y, n), below, 1e-9);
	}
}

static void the_two_one_sided_distances_add_up(void)
{
	struct random r = random_seeded(3);
	size_t times, i;

	for (times = 0; times < TIMES; times++) {
		double x[N_MAX], y[N_MAX];
		size_t nx = 1 + random_below(&r, N_MAX), ny = 1 + random_below(&r, N_MAX);
		double both;

		for (i = 0; i < nx; i++)
			x[i] = (double)random_below(&r, 10);
		for (i = 0; i < ny; i++)
			y[i] = (double)random_below(&r, 10);
		stats_sort(x, nx);
		stats_sort(y, ny);
		both = stats_wasserstein_below(x, nx, y, ny) + stats_wasserstein_below(y, ny, x, nx);
		CHECK_NEAR(stats_wasserstein(x, nx, y, ny), both, 1e-9);
		CHECK_NEAR(stats_wasserstein(x, nx, x, nx), 0, 1e-12);
	}
}

static void a_sample_five_percent_lower_is_similar_by_095(void)
{
	double low[20], good[10];
	size_t i;

	for (i = 0; i < 20; i++)
		low[i] = 0.95 * 80;
	for (i = 0; i < 10; i++)
		good[i] = 80;
	CHECK_NEAR(stats_similarity(low, 20, good, 10), 0.95, 1e-12);
	/* Only the bad side counts. */
	CHECK_NEAR(stats_similarity(good, 10, low, 20), 1, 1e-12);
	good[4] = good[5] = 0;
	stats_sort(good, 10);
	CHECK_NEAR(stats_similarity(good, 10, low, 20), 1 - 0.2, 1e-12);
	CHECK(isnan(stats_similarity(low, 20, (const double[]){ 0 }, 1)));
}

static void a_median_is_that_of_the_sorted_values(void)
{
	double odd[] = { 5, 1, 3 }, even[] = { 4, 1, 3, 2 }, same[] = { 2, 2, 2, 2, 2, 2 };
	double one[] = { 7 }, two[] = { 9, 1 }, long_run[101];
	size_t i, k;

	CHECK_NEAR(stats_median_of(odd, 3), 3, 0);
	CHECK_NEAR(stats_median_of(even, 4), 2.5, 0);
	CHECK_NEAR(stats_median_of(same, 6), 2, 0);
	CHECK_NEAR(stats_median_of(one, 1), 7, 0);
	CHECK_NEAR(stats_median_of(two, 2), 5, 0);
	for (k = 1; k < 101; k++) {
		for (i = 0; i < 101; i++)
			long_run[i] = (double)(i * k % 101);
		CHECK_NEAR(stats_median_of(long_run, 101), 50, 0);
		for (i = 0; i < 100; i++)
			long_run[i] = (double)(i * k % 10);
		CHECK_NEAR(stats_median_of(long_run, 100),
			   k % 10 ? k % 5 ? k % 2 ? 4.5 : 4 : 2.5 : 0, 0);
	}
}

static const struct test tests[] = {
	TEST(the_median_is_the_middle_or_the_mean_of_two),
	TEST(quantiles_interpolate_between_ranks),
	TEST(the_mad_of_known_samples_is_right),
	TEST(the_mad_by_walking_equals_the_mad_by_sorting),
	TEST(sorting_gives_what_qsort_gives_to_the_bit),
	TEST(selecting_gives_what_sorting_puts_there),
	TEST(a_median_is_that_of_the_sorted_values),
	TEST(the_worst_order_for_pivots_is_selected_from_too),
	TEST(the_modified_z_counts_in_deviations),
	TEST(leaving_one_out_keeps_the_others_in_order),
	TEST(the_distance_of_samples_of_one_size_is_the_mean_gap),
	TEST(the_two_one_sided_distances_add_up),
	TEST(a_sample_five_percent_lower_is_similar_by_095),
};

TEST_SUITE(tests);
