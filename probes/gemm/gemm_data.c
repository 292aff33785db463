/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "probes/gemm/gemm.h"

uint64_t gemm_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Small integers as E4M3 (OCP 8-bit floating point, revision 1.0): bias 7, three mantissa bits. */
static uint8_t fp8_of(int value)
{
	static const uint8_t magnitudes[] = { 0x00, 0x38, 0x40 };

	return (uint8_t)(magnitudes[value < 0 ? -value : value] | (value < 0 ? 0x80 : 0));
}

/* bf16 is the upper half of f32; cutting is exact for small integers. */
static uint16_t bf16_of(double value)
{
	float f = (float)value;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	return (uint16_t)(bits >> 16);
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
		((uint8_t *)out)[i] = fp8_of((int)value);
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
	/* f8 has few values: the integers -2 to 2 do. */
	double scale = dtype == ACCEL_FP8 ? 2.999 : 1.0;
	size_t i;

	for (i = 0; i < n; i++)
		put(dtype, out, i, scale * ((double)(gemm_random(&seed) >> 11) * 0x1p-52 - 1.0));
}

void gemm_fill_ints(enum accel_dtype dtype, size_t n, const int8_t *ints, void *out)
{
	size_t i;

	for (i = 0; i < n; i++)
		put(dtype, out, i, ints[i]);
}
