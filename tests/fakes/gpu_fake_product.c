/* SPDX-License-Identifier: Apache-2.0 */
/* Products of the fake GPUs, element by element. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fakes/gpu_fake.h"

/* OCP 8-bit floating point, E4M3: sign, four bits of exponent (bias 7), three of mantissa. */
static double e4m3(uint8_t bits)
{
	static double values[256]; /* cache; 0: not computed yet */
	int exponent = bits >> 3 & 15, mantissa = bits & 7;

	if (values[bits] == 0)
		values[bits] = (bits & 0x80 ? -1 : 1) *
			       (exponent ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9));
	return values[bits];
}

static double bf16(uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	float value;

	memcpy(&value, &wide, sizeof(value));
	return value;
}

static double get(const struct fake_matrix *m, const void *at, uint64_t row, uint64_t column)
{
	size_t i = row + column * (size_t)m->leading;

	switch (m->type) {
	case LT_R_16BF:
		return bf16(((const uint16_t *)at)[i]);
	case LT_R_8F_E4M3:
		return e4m3(((const uint8_t *)at)[i]);
	case LT_R_64F:
		return ((const double *)at)[i];
	default:
		return ((const float *)at)[i];
	}
}

static void put(const struct fake_matrix *m, void *at, uint64_t row, uint64_t column, double value)
{
	size_t i = row + column * (size_t)m->leading;
	float narrow = (float)value;
	uint32_t bits;

	switch (m->type) {
	case LT_R_16BF:
		memcpy(&bits, &narrow, sizeof(bits));
		((uint16_t *)at)[i] = (uint16_t)(bits >> 16);
		return;
	case LT_R_64F:
		((double *)at)[i] = value;
		return;
	default:
		((float *)at)[i] = narrow;
	}
}

/* Returns the elements as doubles, rows or columns contiguous; NULL without memory. */
static double *load(const struct fake_matrix *m, const void *at, bool by_rows)
{
	uint64_t outer = by_rows ? m->rows : m->columns, inner = by_rows ? m->columns : m->rows;
	double *values = calloc(outer * inner, sizeof(*values));
	uint64_t i, l;

	for (i = 0; values && i < outer; i++) {
		for (l = 0; l < inner; l++)
			values[i * inner + l] = by_rows ? get(m, at, i, l) : get(m, at, l, i);
	}
	return values;
}

void fake_multiply(const struct fake_product *p)
{
	uint64_t i, j, l, inner = p->b.rows;
	double *a, *b;

	if (p->d.rows * p->d.columns * inner > FAKE_EXACT_MAX)
		return;
	a = load(&p->a, p->a_at, !p->a_transposed);
	b = load(&p->b, p->b_at, false);
	for (j = 0; a && b && j < p->d.columns; j++) {
		for (i = 0; i < p->d.rows; i++) {
			double sum = 0;

			for (l = 0; l < inner; l++)
				sum += a[i * inner + l] * b[j * inner + l];
			put(&p->d, p->d_at, i, j, sum);
		}
	}
	free(a);
	free(b);
}
