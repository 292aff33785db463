/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_data.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "lib/base/splitmix.h"
#include "probes/gemm/gemm.h"

uint64_t gemm_random(uint64_t *state)
{
	return splitmix_next(state);
}

enum { FP8_MANTISSA = 3, FP8_BIAS = 7 };

/* Small integers as E4M3 (OCP 8-bit floating point, revision 1.0): bias 7, three mantissa bits. */
static uint8_t fp8_of(int value)
{
	static const uint8_t magnitudes[] = { 0x00, 0x38, 0x40 };

	return (uint8_t)(magnitudes[value < 0 ? -value : value] | (value < 0 ? 0x80 : 0));
}

/* bf16 is the upper half of f32; truncation is exact for small integers. */
static uint16_t bf16_of(double value)
{
	float f = (float)value;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return (uint16_t)(bits >> 16);
}

/* The E4M3 value nearest to a value of at most 448; ties are rounded up. */
static uint8_t fp8_nearest(double value)
{
	const uint8_t sign = value < 0 ? 0x80 : 0;
	const double magnitude = fabs(value);
	int exponent = 0, steps;

	/*
	 * In steps of an eighth of the power of two below; below 2^-6 (subnormal) they stay the
	 * same.
	 */
	(void)frexp(magnitude, &exponent);
	exponent = magnitude > 0 ? MAX(exponent - 1, 1 - FP8_BIAS) : 1 - FP8_BIAS;
	steps = (int)floor(ldexp(magnitude, FP8_MANTISSA - exponent) + 0.5);
	/* Rounding up into the next power of two carries into the exponent bits. */
	return (uint8_t)(sign | (((exponent + FP8_BIAS - 1) * (1 << FP8_MANTISSA)) + steps));
}

static void put(enum accel_dtype dtype, void *out, size_t i, double value)
{
	switch (dtype) {
	case ACCEL_F32:
	case ACCEL_TF32:
		((float *)out)[i] = (float)value;
		return;
	case ACCEL_F64:
		((double *)out)[i] = value;
		return;
	case ACCEL_BF16:
		((uint16_t *)out)[i] = bf16_of(value);
		return;
	case ACCEL_FP8:
		((uint8_t *)out)[i] = fp8_nearest(value);
		return;
	}
}

double gemm_value(enum accel_dtype dtype, const void *elements, size_t i)
{
	uint32_t bits;
	float f;

	switch (dtype) {
	case ACCEL_F64:
		return ((const double *)elements)[i];
	case ACCEL_BF16:
		bits = (uint32_t)((const uint16_t *)elements)[i] << 16;
		memcpy(&f, &bits, sizeof(f));
		return (double)f;
	case ACCEL_F32:
	case ACCEL_TF32:
	case ACCEL_FP8:
		break;
	}
	return (double)((const float *)elements)[i];
}

void gemm_fill_random(enum accel_dtype dtype, size_t n, uint64_t seed, void *out)
{
	size_t i;

	for (i = 0; i < n; i++)
		put(dtype, out, i, (double)(gemm_random(&seed) >> 11) * 0x1p-52 - 1.0);
}

int gemm_power(enum accel_dtype dtype, uint64_t seed)
{
	/*
	 * FP8 has normal numbers from 2^-6 to 2^8; other types need room for the sum of products.
	 */
	static const int most[] = {
		[ACCEL_F32] = 40,  [ACCEL_F64] = 300, [ACCEL_BF16] = 40,
		[ACCEL_TF32] = 40, [ACCEL_FP8] = 6,
	};

	return ((int)(seed % 3) - 1) * most[dtype];
}

void gemm_fill_ints(enum accel_dtype dtype, size_t n, const int8_t *ints, int power, void *out)
{
	double factor = ldexp(1, power);
	size_t i;

	for (i = 0; dtype != ACCEL_FP8 && i < n; i++)
		put(dtype, out, i, factor * ints[i]);
	for (i = 0; dtype == ACCEL_FP8 && i < n; i++)
		((uint8_t *)out)[i] =
			(uint8_t)(fp8_of(ints[i]) + (ints[i] ? power * (1 << FP8_MANTISSA) : 0));
}

void gemm_unscale(enum accel_dtype out, size_t n, int power, void *elements)
{
	double factor = ldexp(1, -2 * power);
	double *wide = elements;
	float *narrow = elements;
	size_t i;

	for (i = 0; out == ACCEL_F64 && i < n; i++) {
		double value = wide[i] * factor;

		wide[i] = value == 0 && wide[i] != 0 ? DBL_MIN : value;
	}
	for (i = 0; out != ACCEL_F64 && i < n; i++) {
		float value = (float)((double)narrow[i] * factor);

		narrow[i] = value == 0 && narrow[i] != 0 ? FLT_MIN : value;
	}
}
