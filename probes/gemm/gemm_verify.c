/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_verify.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/gemm/gemm.h"
#include "probes/gemm/gemm_data.h"

/* Limit of the work to locate wrong elements; beyond it the count is "at least". */
enum { LOCATE_WORK_MAX = 1 << 30, LOCATE_ODD_MAX = 1024 };

/* Numbers from -2 to 2, each drawn from eight bits of its own. */
static void fill(int8_t *v, size_t n, uint64_t *state)
{
	uint64_t bits = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (i % 8 == 0)
			bits = gemm_random(state);
		v[i] = (int8_t)((int)(((bits >> (i % 8 * 8)) & 0xff) * 5 / 256) - 2);
	}
}

static void fill_weights(struct gemm_ints *t, uint64_t *state)
{
	unsigned j;

	for (j = 0; j < t->n; j++)
		t->weights[j] = (int64_t)(gemm_random(state) & 0xffff) + 1;
}

/* row = A (B 1), weighted = A (B w). */
static int sum_rows(struct gemm_ints *t)
{
	CLEANUP(freep) int64_t *b1 = calloc(t->k, sizeof(*b1));
	CLEANUP(freep) int64_t *bw = calloc(t->k, sizeof(*bw));
	size_t i, j, l;

	if (!b1 || !bw)
		return -ENOMEM;
	for (l = 0; l < t->k; l++) {
		for (j = 0; j < t->n; j++) {
			b1[l] += t->b[l * t->n + j];
			bw[l] += t->weights[j] * t->b[l * t->n + j];
		}
	}
	for (i = 0; i < t->m; i++) {
		for (l = 0; l < t->k; l++) {
			t->row[i] += t->a[i * t->k + l] * b1[l];
			t->weighted[i] += t->a[i * t->k + l] * bw[l];
		}
	}
	return 0;
}

/* col = (1^T A) B. */
static int sum_columns(struct gemm_ints *t)
{
	CLEANUP(freep) int64_t *a1 = calloc(t->k, sizeof(*a1));
	size_t i, j, l;

	if (!a1)
		return -ENOMEM;
	for (i = 0; i < t->m; i++) {
		for (l = 0; l < t->k; l++)
			a1[l] += t->a[i * t->k + l];
	}
	for (l = 0; l < t->k; l++) {
		for (j = 0; j < t->n; j++)
			t->col[j] += a1[l] * t->b[l * t->n + j];
	}
	return 0;
}

int gemm_ints_new(unsigned m, unsigned n, unsigned k, uint64_t seed, struct gemm_ints *ret)
{
	struct gemm_ints t = { .m = m, .n = n, .k = k };
	int r = -ENOMEM;

	t.a = calloc(m, k);
	t.b = calloc(k, n);
	t.row = calloc(m, sizeof(*t.row));
	t.weighted = calloc(m, sizeof(*t.weighted));
	t.weights = calloc(n, sizeof(*t.weights));
	t.col = calloc(n, sizeof(*t.col));
	if (t.a && t.b && t.row && t.weights && t.weighted && t.col) {
		fill(t.a, (size_t)m * k, &seed);
		fill(t.b, (size_t)k * n, &seed);
		fill_weights(&t, &seed);
		r = sum_rows(&t);
	}
	if (r == 0)
		r = sum_columns(&t);
	if (r < 0)
		gemm_ints_release(&t);
	else
		*ret = t;
	return r;
}

void gemm_ints_release(struct gemm_ints *t)
{
	free(t->a);
	free(t->b);
	free(t->row);
	free(t->weights);
	free(t->weighted);
	free(t->col);
	*t = (struct gemm_ints){ 0 };
}

/* State of a pass over the whole product. */
struct look {
	const struct gemm_ints *ints;
	enum accel_dtype out;
	const void *c;
	int64_t *row, *weighted, *col; /* sums of the product */
	uint64_t n_odd;		       /* elements that are impossible in such a product */
	uint64_t work;
	struct gemm_wrong wrong;
};

static double element(const struct look *l, size_t i, size_t j)
{
	size_t at = i * l->ints->n + j;

	return l->out == ACCEL_F64 ? ((const double *)l->c)[at] : ((const float *)l->c)[at];
}

/* Is it impossible in a product of such factors: NaN, infinite, a fraction, too large? */
static bool is_odd(const struct look *l, double value)
{
	return !(fabs(value) <= 4.0 * l->ints->k) || value != rint(value);
}

static int64_t exact(const struct gemm_ints *t, size_t i, size_t j)
{
	int64_t sum = 0;
	size_t l;

	for (l = 0; l < t->k; l++)
		sum += t->a[i * t->k + l] * t->b[l * t->n + j];
	return sum;
}

static void note_wrong(struct look *l, size_t i, size_t j, int64_t expected)
{
	if (l->wrong.count++)
		return;
	l->wrong.row = (unsigned)i;
	l->wrong.col = (unsigned)j;
	l->wrong.got = element(l, i, j);
	l->wrong.expected = expected;
}

/* The integer at (i, j) for the sums; records impossible ones and uses the expected value. */
static int64_t summand(struct look *l, size_t i, size_t j)
{
	double value = element(l, i, j);
	int64_t expected = 0;

	if (!is_odd(l, value))
		return (int64_t)value;
	if (l->n_odd++ < LOCATE_ODD_MAX)
		expected = exact(l->ints, i, j);
	note_wrong(l, i, j, expected);
	return expected;
}

static void sum_product(struct look *l)
{
	size_t i, j;

	for (i = 0; i < l->ints->m; i++) {
		for (j = 0; j < l->ints->n; j++) {
			int64_t value = summand(l, i, j);

			l->row[i] += value;
			l->weighted[i] += value * l->ints->weights[j];
			l->col[j] += value;
		}
	}
}

static void recompute(struct look *l, size_t i, size_t j)
{
	double value = element(l, i, j);
	int64_t expected;

	if (is_odd(l, value))
		return; /* already counted */
	if (l->work >= LOCATE_WORK_MAX) {
		l->wrong.at_least = true;
		return;
	}
	l->work += l->ints->k;
	expected = exact(l->ints, i, j);
	if ((int64_t)value != expected)
		note_wrong(l, i, j, expected);
}

static bool row_is_bad(const struct look *l, size_t i)
{
	return l->row[i] != l->ints->row[i] || l->weighted[i] != l->ints->weighted[i];
}

static bool col_is_bad(const struct look *l, size_t j)
{
	return l->col[j] != l->ints->col[j];
}

/* Recompute each element of a bad row or column, once. */
static void locate(struct look *l)
{
	bool any = false;
	size_t i, j;

	for (i = 0; i < l->ints->m; i++) {
		bool bad_row = row_is_bad(l, i);

		for (j = 0; j < l->ints->n; j++) {
			if (!bad_row && !col_is_bad(l, j))
				continue;
			any = true;
			recompute(l, i, j);
		}
	}
	/* The sums are wrong, but the work limit was reached before a wrong element was found. */
	if (any && l->wrong.count == 0)
		l->wrong.count = 1;
}

int gemm_verify(const struct gemm_ints *ints, enum accel_dtype out, const void *c,
		struct gemm_wrong *ret)
{
	CLEANUP(freep) int64_t *row = calloc(ints->m, sizeof(*row));
	CLEANUP(freep) int64_t *weighted = calloc(ints->m, sizeof(*weighted));
	CLEANUP(freep) int64_t *col = calloc(ints->n, sizeof(*col));
	struct look l = {
		.ints = ints,
		.out = out,
		.c = c,
		.row = row,
		.weighted = weighted,
		.col = col,
	};

	if (!row || !weighted || !col)
		return -ENOMEM;
	sum_product(&l);
	if (l.n_odd > LOCATE_ODD_MAX)
		l.wrong.at_least = true;
	else
		locate(&l);
	*ret = l.wrong;
	return 0;
}
