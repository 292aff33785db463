/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/localise_cells.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/localise_rates.h"
#include "lib/judge/stats.h"
#include "lib/report/report.h"

/* The values of rates with the same key, which are adjacent; sorted. New memory. */
static double *values_of(const struct rate *rates, size_t n)
{
	double *values = xcalloc(n, sizeof(double));
	size_t i;

	for (i = 0; i < n; i++)
		values[i] = rates[i].value;
	stats_sort(values, n);
	return values;
}

/* What a good host reached; median of repeated measurements. */
static double median_of(const struct rate *rates, size_t n)
{
	CLEANUP(freep) double *values = values_of(rates, n);

	return stats_median(values, n);
}

/*
 * The expected value of similar cells: their median, with the higher one of two in the middle. If
 * half of them are slow, the mean of the two would be a value that none of them reaches.
 */
static double usual_of(const struct rate *rates, size_t n)
{
	CLEANUP(freep) double *values = values_of(rates, n);

	return values[n / 2];
}

static int compare_cell(const void *a, const void *b)
{
	return strcmp(((const struct rate *)a)->cell, ((const struct rate *)b)->cell);
}

static int compare_kind(const void *a, const void *b)
{
	const struct rate *x = a, *y = b;
	int by_kind = strcmp(x->kind, y->kind);

	return by_kind ? by_kind : (x->nth[0] > y->nth[0]) - (x->nth[0] < y->nth[0]);
}

/* Matrices in the order of their keys, cells in their original order. */
static int compare_matrix(const void *a, const void *b)
{
	const struct rate *x = a, *y = b;
	int by_matrix = strcmp(x->matrix, y->matrix);

	return by_matrix ? by_matrix : (x->nth[0] > y->nth[0]) - (x->nth[0] < y->nth[0]);
}

/* Sets the expected value of each cell to that of the good host; NAN if it has no such cell. */
static void expect_from_reference(struct rates *rates, struct rates *reference)
{
	size_t i;

	qsort(reference->v, reference->n, sizeof(*reference->v), compare_cell);
	for (i = 0; i < rates->n; i++) {
		struct rate *first = bsearch(&rates->v[i], reference->v, reference->n,
					     sizeof(*reference->v), compare_cell);
		size_t n = 1;

		rates->v[i].expected = NAN;
		if (!first)
			continue;
		while (first > reference->v && compare_cell(first - 1, first) == 0)
			first--;
		while (first + n < reference->v + reference->n &&
		       compare_cell(first, first + n) == 0)
			n++;
		rates->v[i].expected = median_of(first, n);
	}
}

static void expect_from_kind(struct rates *rates)
{
	size_t first, end, i;

	qsort(rates->v, rates->n, sizeof(*rates->v), compare_kind);
	for (first = 0; first < rates->n; first = end) {
		double expected;

		for (end = first + 1;
		     end < rates->n && streq(rates->v[end].kind, rates->v[first].kind); end++)
			;
		expected = usual_of(&rates->v[first], end - first);
		for (i = first; i < end; i++)
			rates->v[i].expected = expected;
		rates->v[first].learned = true;
	}
}

/* The number of a link in the matrix; ids not seen before get a new one. */
static size_t link_number(struct matrix *m, const char *id)
{
	size_t i;

	for (i = 0; i < m->n_links; i++) {
		if (streq(m->links[i], id))
			return i;
	}
	m->links = xrealloc(m->links, m->n_links + 1, sizeof(char *));
	m->links[m->n_links] = xstrdup(id);
	return m->n_links++;
}

/*
 * Distance from the nearer end, to break ties. A root port and its socket are one piece of silicon,
 * so if they cannot be told from the slot or cable below, the latter is named.
 */
static unsigned depth_of(char *const *path, size_t n, size_t i)
{
	return 2 * (unsigned)MIN(i, n - 1 - i) +
	       (starts_with(path[i], "root:") && strstr(path[i], "^numa:"));
}

/* True if the link occurs earlier on the path. It then carries the bytes once in each direction. */
static bool is_again(char *const *path, size_t i)
{
	size_t k = 0;

	while (k < i && !streq(path[k], path[i]))
		k++;
	return k < i;
}

static void add_cell(struct matrix *m, struct rate *rate)
{
	char **path = rate->sample->path;
	size_t n = strv_len(path), used = 0, i;
	struct tomo_use *uses = xcalloc(n, sizeof(*uses));

	for (i = 0; i < n; i++) {
		if (is_again(path, i))
			continue;
		uses[used++] = (struct tomo_use){ .link = (unsigned)link_number(m, path[i]),
						  .depth = depth_of(path, n, i),
						  .flows = rate->flows[i] };
	}
	m->samples[m->n] = rate->sample;
	m->nth[m->n] = (struct numbers){ TAKE(rate->nth), rate->n };
	m->cells[m->n++] = (struct tomo_cell){
		.value = MAX(rate->value, rate->expected * 1e-6),
		.expected = rate->expected,
		.uses = uses,
		.n_uses = used,
	};
}

static void add_matrix(struct matrices *all, struct rate *rates, size_t n)
{
	struct matrix *m;
	size_t i;

	all->v = xrealloc(all->v, all->n + 1, sizeof(*all->v));
	m = &all->v[all->n++];
	*m = (struct matrix){ .n = 0 };
	m->samples = xcalloc(n, sizeof(*m->samples));
	m->nth = xcalloc(n, sizeof(*m->nth));
	m->cells = xcalloc(n, sizeof(*m->cells));
	for (i = 0; i < n; i++) {
		if (rates[i].expected > 0)
			add_cell(m, &rates[i]);
		else
			all->without++;
		m->n_learned += rates[i].learned;
	}
}

/* Sets what each rate should reach: from the caller, a good host, or similar cells. */
static void expect(struct rates *rates, const struct localise_input *input, bool times)
{
	CLEANUP(rates_release) struct rates good = { .n = 0 };
	size_t i;

	if (input->reference.n > 0) {
		rates_gather(&input->reference, &input->samples, times, &good);
		expect_from_reference(rates, &good);
	} else {
		expect_from_kind(rates);
	}
	for (i = 0; input->expected && i < rates->n; i++) {
		double known = input->expected[rates->v[i].nth[0]];

		if (known > 0) {
			rates->v[i].expected = known;
			rates->v[i].learned = false;
		}
	}
}

void localise_expected(const struct localise_input *input, double *ret_expected)
{
	CLEANUP(rates_release) struct rates rates = { .n = 0 };
	size_t i, j;

	rates_gather(&input->samples, &input->reference, true, &rates);
	expect(&rates, input, true);
	for (i = 0; i < input->samples.n; i++)
		ret_expected[i] = NAN;
	for (i = 0; i < rates.n; i++) {
		for (j = 0; rates.v[i].expected > 0 && j < rates.v[i].n; j++)
			ret_expected[rates.v[i].nth[j]] = rates.v[i].expected;
	}
}

void matrices_build(const struct localise_input *input, struct matrices *ret)
{
	CLEANUP(rates_release) struct rates rates = { .n = 0 };
	size_t first, end;

	*ret = (struct matrices){ .n = 0 };
	rates_gather(&input->samples, &input->reference, false, &rates);
	if (rates.n == 0)
		return;
	expect(&rates, input, false);
	qsort(rates.v, rates.n, sizeof(*rates.v), compare_matrix);
	for (first = 0; first < rates.n; first = end) {
		for (end = first + 1;
		     end < rates.n && streq(rates.v[end].matrix, rates.v[first].matrix); end++)
			;
		add_matrix(ret, &rates.v[first], end - first);
	}
}

void matrices_release(struct matrices *all)
{
	size_t i, j;

	for (i = 0; i < all->n; i++) {
		struct matrix *m = &all->v[i];

		for (j = 0; j < m->n; j++) {
			struct tomo_use *uses;

			memcpy(&uses, &m->cells[j].uses, sizeof(uses));
			free(uses);
			free(m->nth[j].v);
		}
		for (j = 0; j < m->n_links; j++)
			free(m->links[j]);
		free(m->samples);
		free(m->nth);
		free(m->cells);
		free(m->links);
	}
	free(all->v);
	*all = (struct matrices){ .n = 0 };
}
