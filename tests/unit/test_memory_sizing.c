/* SPDX-License-Identifier: Apache-2.0 */
/* The array size for machines with caches of any size. */
#include "probes/memory/sizing.h"

#include <errno.h>
#include <math.h>

#include "tests/unit/test.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

enum replacement {
	KEEPS_NEWEST, /* least recently used goes: going round more than it holds never hits */
	KEEPS_ANY,    /* a random line goes: it always holds its part of the array */
};

/* A machine whose cache is five times as fast as its memory. */
struct machine {
	uint64_t cache_bytes;
	enum replacement replacement;
	uint64_t limit_bytes; /* arrays beyond cannot be had; 0: no limit */
	double noise;	      /* amplitude, relative */
	uint64_t state;	      /* of the noise */
	unsigned calls;
	int fails; /* errno of every call */
};

static const double memory_rate = 1e11, cache_rate = 5e11;

static double uniform(struct machine *m)
{
	m->state = m->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(m->state >> 11) / (double)(UINT64_C(1) << 53);
}

static double true_rate(const struct machine *m, uint64_t bytes)
{
	double hits = MIN(1.0, (double)m->cache_bytes / (double)bytes);

	if (m->replacement == KEEPS_NEWEST)
		hits = bytes <= m->cache_bytes ? 1 : 0;
	return 1 / (hits / cache_rate + (1 - hits) / memory_rate);
}

static int measure(void *context, uint64_t bytes, double *ret_rate)
{
	struct machine *m = context;

	m->calls++;
	if (m->fails)
		return -m->fails;
	if (m->limit_bytes && bytes > m->limit_bytes)
		return -ENOSPC;
	*ret_rate = true_rate(m, bytes) * (1 + m->noise * (2 * uniform(m) - 1));
	return 0;
}

static struct sizing_result find(struct machine *m, uint64_t free_bytes, uint64_t llc_bytes)
{
	struct sizing_result result = { 0 };
	struct sizing sizing;

	CHECK_EQ(sizing_plan(free_bytes, llc_bytes, 0, &sizing), 0);
	CHECK_EQ(sizing_find(&sizing, measure, m, &result), 0);
	return result;
}

/* What is measured at the size found is the memory, within 3 %. */
static void check_finds_memory(struct machine *m, uint64_t llc_bytes)
{
	struct sizing_result result = find(m, 512 * GIB, llc_bytes);

	CHECK_NEAR(true_rate(m, result.bytes) / memory_rate, 1, 0.03 + 2 * m->noise);
	CHECK(result.bytes >= SIZING_MIN && result.bytes <= SIZING_MAX);
	CHECK_EQ(result.bytes & (result.bytes - 1), 0);
}

static void caches_of_any_known_size_do_not_fool_it(void)
{
	uint64_t kib;

	for (kib = 1024; kib <= 512 * 1024; kib += kib / 16) {
		struct machine m = { .cache_bytes = kib * 1024, .replacement = KEEPS_NEWEST };

		check_finds_memory(&m, m.cache_bytes);
	}
}

static void caches_of_any_unknown_size_do_not_fool_it(void)
{
	uint64_t kib;

	for (kib = 1024; kib <= 512 * 1024; kib += kib / 16) {
		struct machine m = { .cache_bytes = kib * 1024, .replacement = KEEPS_NEWEST };

		check_finds_memory(&m, 0);
	}
}

static void caches_that_keep_a_part_of_everything_do_not_fool_it(void)
{
	uint64_t kib;

	/* Beyond 32 MiB no array of 1 GiB gets within 3 %: see the next test. */
	for (kib = 1024; kib <= 32 * 1024; kib += kib / 16) {
		struct machine m = { .cache_bytes = kib * 1024, .replacement = KEEPS_ANY };

		check_finds_memory(&m, m.cache_bytes);
		m.noise = 0.002;
		m.state = kib;
		check_finds_memory(&m, m.cache_bytes);
	}
}

static void sizes_that_never_agree_are_said(void)
{
	static const uint64_t caches[] = { 64 * MIB, 128 * MIB, 512 * MIB };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(caches); i++) {
		struct machine m = { .cache_bytes = caches[i], .replacement = KEEPS_ANY };
		struct sizing_result result = find(&m, 512 * GIB, m.cache_bytes);

		CHECK(!result.settled);
		CHECK_EQ(result.bytes, SIZING_MAX);
	}
}

static void a_small_known_cache_needs_no_large_arrays(void)
{
	struct machine m = { .cache_bytes = 32 * MIB, .replacement = KEEPS_NEWEST };
	struct sizing_result result = find(&m, 512 * GIB, 32 * MIB);

	CHECK_EQ(result.bytes, 128 * MIB);
	CHECK(result.settled);
	CHECK_EQ(result.tried, 2);
	CHECK_EQ(m.calls, 2);
	CHECK_NEAR(result.rate, memory_rate, 1);
}

static void the_plan_keeps_to_the_limits(void)
{
	static const struct {
		uint64_t free_bytes, llc_bytes, last_bytes;
		int r;
		uint64_t least, most;
	} cases[] = {
		{ 512 * GIB, 32 * MIB, 0, 0, 64 * MIB, GIB },
		{ 512 * GIB, 36608 * 1024, 0, 0, 128 * MIB, GIB },
		{ 512 * GIB, 1, 0, 0, 4 * MIB, GIB },
		{ 512 * GIB, 2 * GIB, 0, 0, 512 * MIB, GIB },
		{ 512 * GIB, UINT64_MAX, 0, 0, 512 * MIB, GIB },
		/* Not known: from the top. */
		{ 512 * GIB, 0, 0, 0, 512 * MIB, GIB },
		{ 8 * GIB, 0, 0, 0, 512 * MIB, GIB },
		/* An eighth of what is free, as a power of two. */
		{ 7 * GIB, 0, 0, 0, 256 * MIB, 512 * MIB },
		{ 7 * GIB, 512 * MIB, 0, 0, 256 * MIB, 512 * MIB },
		{ 64 * MIB, 0, 0, 0, 4 * MIB, 8 * MIB },
		{ 32 * MIB, 0, 0, 0, 4 * MIB, 4 * MIB },
		{ 32 * MIB - 1, 0, 0, -ENOMEM, 0, 0 },
		{ 0, 0, 0, -ENOMEM, 0, 0 },
		{ UINT64_MAX, 0, 0, 0, 512 * MIB, GIB },
		/* What the last run found is tried against its half. */
		{ 512 * GIB, 0, 128 * MIB, 0, 64 * MIB, GIB },
		{ 512 * GIB, 32 * MIB, 512 * MIB, 0, 256 * MIB, GIB },
		{ 512 * GIB, 0, 4 * GIB, 0, 512 * MIB, GIB },
		{ 512 * GIB, 0, 1, 0, 4 * MIB, GIB },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sizing s = { 0 };

		CHECK_EQ(sizing_plan(cases[i].free_bytes, cases[i].llc_bytes, cases[i].last_bytes,
				     &s),
			 cases[i].r);
		CHECK_EQ(s.least, cases[i].least);
		CHECK_EQ(s.most, cases[i].most);
	}
}

static void when_less_can_be_had_the_largest_is_taken(void)
{
	static const struct {
		uint64_t limit, bytes;
		bool settled;
	} cases[] = {
		{ 300 * MIB, 256 * MIB, true },
		{ 700 * MIB, 512 * MIB, true },
		{ 8 * MIB, 8 * MIB, false }, /* 4 MiB lie in the cache, 8 MiB do not */
		{ 5 * MIB, 4 * MIB, false }, /* nothing to compare with */
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine m = { .cache_bytes = 6 * MIB, .limit_bytes = cases[i].limit };
		struct sizing_result result = find(&m, 512 * GIB, 0);

		CHECK_EQ(result.bytes, cases[i].bytes);
		CHECK_EQ(result.settled, cases[i].settled);
	}
}

static void failures_end_the_search(void)
{
	static const struct {
		uint64_t limit;
		int fails, r;
	} cases[] = {
		{ 1, 0, -ENOSPC },
		{ 0, EIO, -EIO },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct machine m = { .limit_bytes = cases[i].limit, .fails = cases[i].fails };
		struct sizing_result result = { .bytes = 7 };
		const struct sizing sizing = { .least = 512 * MIB, .most = GIB };

		CHECK_EQ(sizing_find(&sizing, measure, &m, &result), cases[i].r);
		CHECK_EQ(result.bytes, 7);
	}
}

static const struct test tests[] = {
	TEST(caches_of_any_known_size_do_not_fool_it),
	TEST(caches_of_any_unknown_size_do_not_fool_it),
	TEST(caches_that_keep_a_part_of_everything_do_not_fool_it),
	TEST(sizes_that_never_agree_are_said),
	TEST(a_small_known_cache_needs_no_large_arrays),
	TEST(the_plan_keeps_to_the_limits),
	TEST(when_less_can_be_had_the_largest_is_taken),
	TEST(failures_end_the_search),
};

TEST_SUITE(tests);
