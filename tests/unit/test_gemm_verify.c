/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "lib/base/xalloc.h"
#include "probes/gemm/gemm.h"
#include "probes/gemm/gemm_data.h"
#include "probes/gemm/gemm_verify.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

/* A product computed plainly, to be damaged by tests. */
struct product {
	struct gemm_ints ints;
	enum accel_dtype dtype;
	size_t n; /* elements */
	void *c;
};

static struct product product_make(unsigned m, unsigned n, unsigned k, enum accel_dtype dtype,
				   uint64_t seed)
{
	struct product p = { .dtype = dtype, .n = (size_t)m * n };
	size_t i, j, l;

	CHECK_EQ(gemm_ints_new(m, n, k, seed, &p.ints), 0);
	p.c = xcalloc(p.n, 8);
	for (i = 0; i < m; i++) {
		for (j = 0; j < n; j++) {
			int sum = 0;

			for (l = 0; l < k; l++)
				sum += p.ints.a[i * k + l] * p.ints.b[l * n + j];
			if (dtype == ACCEL_F64)
				((double *)p.c)[i * n + j] = sum;
			else
				((float *)p.c)[i * n + j] = (float)sum;
		}
	}
	return p;
}

static void product_release(struct product *p)
{
	gemm_ints_release(&p->ints);
	free(p->c);
}

static double get(const struct product *p, size_t i)
{
	return p->dtype == ACCEL_F64 ? ((double *)p->c)[i] : ((float *)p->c)[i];
}

static void set(struct product *p, size_t i, double value)
{
	if (p->dtype == ACCEL_F64)
		((double *)p->c)[i] = value;
	else
		((float *)p->c)[i] = (float)value;
}

static struct gemm_wrong verify(const struct product *p)
{
	struct gemm_wrong wrong = { .count = 999999 };

	CHECK_EQ(gemm_verify(&p->ints, p->dtype, p->c, &wrong), 0);
	return wrong;
}

static void right_products_of_all_shapes_are_right(void)
{
	static const unsigned shapes[][3] = {
		{ 1, 1, 1 },	{ 1, 7, 3 },	{ 7, 1, 3 },	  { 5, 6, 1 },
		{ 33, 65, 17 }, { 64, 64, 64 }, { 100, 30, 200 }, { 2, 300, 40 },
	};
	uint64_t seed;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		for (seed = 0; seed < 60; seed++) {
			CLEANUP(product_release)
			struct product p = product_make(shapes[i][0], shapes[i][1], shapes[i][2],
							seed % 2 ? ACCEL_F32 : ACCEL_F64, seed);

			CHECK_EQ(verify(&p).count, 0);
		}
	}
}

static void the_factors_are_small_integers_of_all_values(void)
{
	struct gemm_ints t;
	unsigned seen[5] = { 0 };
	size_t i;

	CHECK_EQ(gemm_ints_new(100, 100, 100, 3, &t), 0);
	for (i = 0; i < 10000; i++) {
		CHECK(t.a[i] >= -2 && t.a[i] <= 2);
		if (t.a[i] >= -2 && t.a[i] <= 2)
			seen[t.a[i] + 2]++;
	}
	for (i = 0; i < 5; i++)
		CHECK(seen[i] > 1500); /* 2,000 expected, sigma 40 */
	gemm_ints_release(&t);
}

/* Another value at element `i`: how = 0 a bit flipped, 1 sign, 2 NaN, 3 and 4 infinities, 5 off by
 * one... */
static double damaged(struct random *rng, double value, enum accel_dtype dtype, unsigned how)
{
	uint64_t bits = 0;
	uint32_t bits32 = 0;
	float f = (float)value;

	switch (how) {
	case 0:
		memcpy(&bits, &value, sizeof(bits));
		memcpy(&bits32, &f, sizeof(bits32));
		bits ^= UINT64_C(1) << random_below(rng, 63);
		bits32 ^= UINT32_C(1) << random_below(rng, 31);
		memcpy(&value, &bits, sizeof(value));
		memcpy(&f, &bits32, sizeof(f));
		return dtype == ACCEL_F64 ? value : (double)f;
	case 1:
		return value == 0 ? 1 : -value;
	case 2:
		return NAN;
	case 3:
		return INFINITY;
	case 4:
		return -INFINITY;
	case 5:
		return value + (random_below(rng, 2) ? 1 : -1);
	case 6: /* the lowest mantissa bit */
		return dtype == ACCEL_F64 ? nextafter(value, 1e300)
					  : (double)nextafterf((float)value, 1e30F);
	default:
		return value + 1e6;
	}
}

static void each_of_1000_wrong_elements_is_caught_and_located(void)
{
	static const enum accel_dtype dtypes[] = { ACCEL_F32, ACCEL_F64 };
	struct random rng = random_seeded(7);
	unsigned caught = 0, i;
	CLEANUP(product_release) struct product p32 = product_make(61, 47, 83, ACCEL_F32, 5);
	CLEANUP(product_release) struct product p64 = product_make(61, 47, 83, ACCEL_F64, 6);

	for (i = 0; i < 1000; i++) {
		struct product *p = dtypes[i % 2] == ACCEL_F32 ? &p32 : &p64;
		size_t at = random_below(&rng, p->n);
		double right = get(p, at), now = damaged(&rng, right, p->dtype, i / 2 % 8);
		struct gemm_wrong wrong;

		set(p, at, now);
		wrong = verify(p);
		caught += wrong.count == 1 && !wrong.at_least && wrong.row == at / 47 &&
			  wrong.col == at % 47 && wrong.expected == (int64_t)right &&
			  memcmp(&wrong.got, &(double){ get(p, at) }, sizeof(double)) == 0;
		set(p, at, right);
	}
	CHECK_EQ(caught, 1000);
	CHECK_EQ(verify(&p32).count, 0);
	CHECK_EQ(verify(&p64).count, 0);
}

static void minus_zero_is_zero(void)
{
	CLEANUP(product_release) struct product p = product_make(40, 40, 2, ACCEL_F64, 8);
	size_t i, zeros = 0;

	for (i = 0; i < p.n; i++) {
		if (get(&p, i) != 0)
			continue;
		set(&p, i, -0.0);
		zeros++;
	}
	CHECK(zeros > 100);
	CHECK_EQ(verify(&p).count, 0);
}

static void several_wrong_elements_are_counted(void)
{
	struct random rng = random_seeded(9);
	unsigned run;

	for (run = 0; run < 50; run++) {
		CLEANUP(product_release)
		struct product p = product_make(30, 50, 20, ACCEL_F64, 100 + run);
		size_t n = 1 + random_below(&rng, 40), i, wrong = 0;

		for (i = 0; i < n; i++) {
			size_t at = random_below(&rng, p.n);

			/* Hit twice it stays one wrong element: the step never leads back. */
			wrong += get(&p, at) == rint(get(&p, at)) && fabs(get(&p, at)) <= 80;
			set(&p, at, i % 3 ? get(&p, at) + 200.5 : NAN);
		}
		CHECK_EQ(verify(&p).count, wrong);
		CHECK(!verify(&p).at_least);
	}
}

static void errors_that_cancel_in_rows_and_columns_are_caught(void)
{
	static const size_t places[][4] = { { 1, 2, 20, 30 }, { 0, 0, 29, 49 }, { 5, 6, 6, 7 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		CLEANUP(product_release) struct product p = product_make(30, 50, 20, ACCEL_F32, i);
		const size_t *at = places[i];
		size_t a = at[0] * 50 + at[1], b = at[0] * 50 + at[3];
		size_t c = at[2] * 50 + at[1], d = at[2] * 50 + at[3];

		set(&p, a, get(&p, a) + 1);
		set(&p, b, get(&p, b) - 1);
		set(&p, c, get(&p, c) - 1);
		set(&p, d, get(&p, d) + 1);
		CHECK_EQ(verify(&p).count, 4);
		CHECK_EQ(verify(&p).row, at[0]);
		CHECK_EQ(verify(&p).col, at[1]);
	}
}

static void a_product_never_written_is_wrong_at_least_everywhere(void)
{
	CLEANUP(product_release) struct product p = product_make(64, 64, 8, ACCEL_F64, 1);
	struct gemm_wrong wrong;

	memset(p.c, 0xff, p.n * 8);
	wrong = verify(&p);
	CHECK_EQ(wrong.count, 64 * 64);
	CHECK(isnan(wrong.got));
	CHECK_EQ(wrong.row, 0);
	CHECK_EQ(wrong.col, 0);
	memset(p.c, 0, p.n * 8);
	wrong = verify(&p);
	CHECK(wrong.count > 64 * 32 && !wrong.at_least);
}

static void integers_are_exact_in_every_type(void)
{
	static const int8_t ints[] = { -2, -1, 0, 1, 2 };
	static const uint8_t fp8[] = { 0xc0, 0xb8, 0x00, 0x38, 0x40 };
	static const uint16_t bf16[] = { 0xc000, 0xbf80, 0, 0x3f80, 0x4000 };
	uint8_t as_fp8[5];
	uint16_t as_bf16[5];
	double as_f64[5];
	float as_f32[5];
	size_t i;

	gemm_fill_ints(ACCEL_FP8, 5, ints, 0, as_fp8);
	gemm_fill_ints(ACCEL_BF16, 5, ints, 0, as_bf16);
	gemm_fill_ints(ACCEL_F64, 5, ints, 0, as_f64);
	gemm_fill_ints(ACCEL_TF32, 5, ints, 0, as_f32);
	CHECK(memcmp(as_fp8, fp8, sizeof(fp8)) == 0);
	CHECK(memcmp(as_bf16, bf16, sizeof(bf16)) == 0);
	for (i = 0; i < 5; i++) {
		CHECK_NEAR(as_f64[i], ints[i], 0);
		CHECK_NEAR((double)as_f32[i], ints[i], 0);
	}
}

/* E4M3 by its definition: sign, four bits of exponent with bias 7, three of mantissa. */
static double e4m3(uint8_t bits)
{
	int exponent = bits >> 3 & 15, mantissa = bits & 7;

	return (bits & 0x80 ? -1 : 1) *
	       (exponent ? ldexp(8 + mantissa, exponent - 10) : ldexp(mantissa, -9));
}

static double element(enum accel_dtype dtype, const void *from, size_t i)
{
	return dtype == ACCEL_FP8 ? e4m3(((const uint8_t *)from)[i]) : gemm_value(dtype, from, i);
}

/* Few values, or integers, draw less power than those of a job: faults of power would not show. */
static void random_data_of_fp8_is_the_nearest_of_what_f64_has(void)
{
	enum { N = 20000 };
	CLEANUP(freep) double *wide = xcalloc(N, sizeof(*wide));
	CLEANUP(freep) uint8_t *narrow = xcalloc(N, sizeof(*narrow));
	bool seen[256] = { false };
	size_t i, kinds = 0;

	gemm_fill_random(ACCEL_F64, N, 5, wide);
	gemm_fill_random(ACCEL_FP8, N, 5, narrow);
	for (i = 0; i < N; i++) {
		const double half_step = fmax(fabs(wide[i]) / 16, ldexp(1, -10));

		CHECK(fabs(e4m3(narrow[i]) - wide[i]) <= half_step);
		kinds += !seen[narrow[i]];
		seen[narrow[i]] = true;
	}
	CHECK(kinds > 100);
}

static void powers_of_two_are_exact_in_every_type(void)
{
	static const enum accel_dtype dtypes[] = { ACCEL_F32, ACCEL_F64, ACCEL_BF16, ACCEL_TF32,
						   ACCEL_FP8 };
	const int8_t ints[] = { -2, -1, 0, 1, 2 };
	uint64_t seed;
	size_t t, i;

	for (t = 0; t < ARRAY_SIZE(dtypes); t++) {
		int seen = 0;

		for (seed = 0; seed < 3; seed++) {
			int power = gemm_power(dtypes[t], seed);
			double elements[5] = { 0 };

			seen |= 1 << (power < 0 ? 0 : power > 0 ? 2 : 1);
			gemm_fill_ints(dtypes[t], 5, ints, power, elements);
			for (i = 0; i < 5; i++)
				CHECK_NEAR(element(dtypes[t], elements, i), ldexp(ints[i], power),
					   0);
		}
		CHECK_EQ(seen, 7); /* small, as they are, and large */
	}
}

/* Taken out of a product the integers are there again, and no flipped bit is lost. */
static void a_power_that_is_taken_out_hides_no_wrong_bit(void)
{
	struct random rng = random_seeded(5);
	unsigned i, lost = 0;

	for (i = 0; i < 10000; i++) {
		enum accel_dtype out = i % 2 ? ACCEL_F64 : ACCEL_F32;
		int power = gemm_power(out, i / 2), value = (int)random_below(&rng, 4097) - 2048;
		unsigned bit = (unsigned)random_below(&rng, i % 2 ? 63 : 31);
		double wide = ldexp(value, 2 * power);
		float narrow = (float)wide;
		void *at = i % 2 ? (void *)&wide : (void *)&narrow;
		double before = ldexp(value, 0);

		gemm_unscale(out, 1, power, at);
		lost += (i % 2 ? wide : (double)narrow) != before;
		wide = ldexp(value, 2 * power);
		narrow = (float)wide;
		((unsigned char *)at)[bit / 8] ^= (unsigned char)(1U << bit % 8);
		gemm_unscale(out, 1, power, at);
		lost += (i % 2 ? wide : (double)narrow) == before;
	}
	CHECK_EQ(lost, 0);
}

static void random_data_is_seeded_spread_and_never_zeros(void)
{
	double x[1000], y[1000], sum = 0, least = 1, most = -1;
	size_t i;

	gemm_fill_random(ACCEL_F64, 1000, 5, x);
	gemm_fill_random(ACCEL_F64, 1000, 5, y);
	CHECK(memcmp(x, y, sizeof(x)) == 0);
	gemm_fill_random(ACCEL_F64, 1000, 6, y);
	CHECK(memcmp(x, y, sizeof(x)) != 0);
	for (i = 0; i < 1000; i++) {
		sum += x[i];
		least = fmin(least, x[i]);
		most = fmax(most, x[i]);
	}
	CHECK_NEAR(sum / 1000, 0, 0.1);
	CHECK(least >= -1 && least < -0.9 && most < 1 && most > 0.9);
}

static const struct test tests[] = {
	TEST(right_products_of_all_shapes_are_right),
	TEST(the_factors_are_small_integers_of_all_values),
	TEST(each_of_1000_wrong_elements_is_caught_and_located),
	TEST(minus_zero_is_zero),
	TEST(several_wrong_elements_are_counted),
	TEST(errors_that_cancel_in_rows_and_columns_are_caught),
	TEST(a_product_never_written_is_wrong_at_least_everywhere),
	TEST(integers_are_exact_in_every_type),
	TEST(random_data_of_fp8_is_the_nearest_of_what_f64_has),
	TEST(powers_of_two_are_exact_in_every_type),
	TEST(a_power_that_is_taken_out_hides_no_wrong_bit),
	TEST(random_data_is_seeded_spread_and_never_zeros),
};

TEST_SUITE(tests);
