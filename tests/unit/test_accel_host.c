/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/accel.h"
#include "probes/accel/host.h"
#include "probes/accel/host_stream.h"
#include "tests/unit/test.h"

static const struct accel_ops *const ops = &accel_host_ops;

/* An engine with one stream and a few regions of 64 KiB on core 0. */
struct bench {
	struct accel *a;
	struct accel_stream *s;
	struct accel_event *e[4];
	struct accel_region r[3];
};

enum { SIZE = 65536 };

static int region_new(struct accel *a, unsigned device, size_t size, struct accel_region *ret)
{
	const struct accel_memory memory = { ACCEL_DEVICE, -1, size };

	return ops->region_new(a, device, &memory, ret, NULL);
}

/* Copy between regions of the bench by their numbers. */
static int copy(struct bench *b, unsigned to, unsigned from)
{
	return ops->copy(b->s, (struct accel_at){ &b->r[to], 0 },
			 (struct accel_at){ &b->r[from], 0 }, SIZE, NULL);
}

static struct bench bench_make(void)
{
	struct bench b = { 0 };
	size_t i;

	CHECK_EQ(ops->open(&b.a, NULL), 0);
	CHECK_EQ(ops->stream_new(b.a, 0, &b.s, NULL), 0);
	for (i = 0; i < ARRAY_SIZE(b.e); i++)
		CHECK_EQ(ops->event_new(b.a, 0, &b.e[i], NULL), 0);
	for (i = 0; i < ARRAY_SIZE(b.r); i++)
		CHECK_EQ(region_new(b.a, 0, SIZE, &b.r[i]), 0);
	return b;
}

static void bench_release(struct bench *b)
{
	size_t i;

	ops->stream_free(b->s);
	for (i = 0; i < ARRAY_SIZE(b->e); i++)
		ops->event_free(b->e[i]);
	for (i = 0; i < ARRAY_SIZE(b->r); i++)
		ops->region_free(&b->r[i]);
	ops->close(b->a);
}

static uint64_t soon(void)
{
	return clock_mono_us() + 60 * USEC_PER_SEC; /* fails a hang, is never waited for */
}

static void the_engine_shows_each_core_once(void)
{
	CLEANUP(bench_release) struct bench b = bench_make();
	struct accel_device_info info = { .numa = 77 };
	struct err err = ERR_INIT;
	unsigned n = ops->n_devices(b.a), i;
	cpu_set_t mine;

	CHECK(n >= 1);
	CHECK_EQ(sched_getaffinity(0, sizeof(mine), &mine), 0);
	for (i = 0; i < n; i++) {
		CLEANUP(freep) char *subject = NULL;

		CHECK_EQ(ops->device_info(b.a, i, &info, &err), 0);
		subject = xasprintf("cpu:%u", info.cpu);
		CHECK_STR(info.subject, subject);
		CHECK(CPU_ISSET(info.cpu, &mine));
		CHECK(info.memory_bytes > 0 && info.units == 1);
	}
	CHECK_EQ(ops->device_info(b.a, n, &info, &err), -ENODEV);
	CHECK_HAS(err.msg, "no core");
	CHECK_EQ(ops->device_enter(b.a, n - 1, &err), 0);
	CHECK_EQ(ops->device_enter(b.a, n, &err), -ENODEV);
	CHECK(ops->stream_handle(b.s) == NULL);
	CHECK(starts_with(ops->version(b.a), "openblas "));
}

static void work_of_a_stream_runs_in_order(void)
{
	CLEANUP(bench_release) struct bench b = bench_make();
	unsigned char bytes[SIZE], back[SIZE];
	unsigned round;
	double first, second;

	for (round = 1; round <= 50; round++) {
		memset(bytes, (int)round, SIZE);
		CHECK_EQ(ops->upload(&b.r[0], 0, bytes, SIZE, NULL), 0);
		CHECK_EQ(ops->event_record(b.e[0], b.s, NULL), 0);
		CHECK_EQ(copy(&b, 1, 0), 0);
		CHECK_EQ(ops->event_record(b.e[1], b.s, NULL), 0);
		CHECK_EQ(copy(&b, 2, 1), 0);
		CHECK_EQ(ops->event_record(b.e[2], b.s, NULL), 0);
		CHECK_EQ(ops->event_wait(b.e[2], soon(), NULL), 0);
		CHECK_EQ(ops->download(back, &b.r[2], 0, SIZE, NULL), 0);
		CHECK(memcmp(bytes, back, SIZE) == 0);
		CHECK_EQ(ops->event_seconds(b.e[0], b.e[1], &first, NULL), 0);
		CHECK_EQ(ops->event_seconds(b.e[0], b.e[2], &second, NULL), 0);
		CHECK(first > 0 && second > first);
	}
}

static void a_range_outside_a_region_is_refused(void)
{
	static const struct {
		size_t to, from, size;
		int r;
	} cases[] = {
		{ 0, 0, SIZE, 0 },	     { SIZE, 0, 0, 0 },
		{ 0, 0, SIZE + 1, -ERANGE }, { 1, 0, SIZE, -ERANGE },
		{ 0, 1, SIZE, -ERANGE },     { SIZE + 1, 0, 0, -ERANGE },
		{ 1, 0, SIZE_MAX, -ERANGE }, { SIZE_MAX, 0, 2, -ERANGE },
		{ 0, SIZE_MAX, 2, -ERANGE },
	};
	CLEANUP(bench_release) struct bench b = bench_make();
	unsigned char byte = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;

		const struct accel_at to = { &b.r[0], cases[i].to };
		const struct accel_at from = { &b.r[1], cases[i].from };

		CHECK_EQ(ops->copy(b.s, to, from, cases[i].size, &err), cases[i].r);
		if (cases[i].r)
			CHECK_HAS(err.msg, "outside a region of 65536");
	}
	CHECK_EQ(ops->upload(&b.r[0], SIZE, &byte, 1, NULL), -ERANGE);
	CHECK_EQ(ops->download(&byte, &b.r[0], SIZE, 1, NULL), -ERANGE);
	CHECK_EQ(ops->upload(&b.r[0], SIZE - 1, &byte, 1, NULL), 0);
	CHECK_EQ(ops->stream_wait(b.s, soon(), NULL), 0);
}

/* A product that takes a while: 2 x 400^3 = 0.13 GFLOP, milliseconds on any core. */
struct product {
	struct accel_gemm *g;
	struct accel_region x, y, out;
};

static struct product product_make(struct accel *a, unsigned m, unsigned n, unsigned k,
				   enum accel_dtype dtype)
{
	const struct accel_gemm_shape shape = { m, n, k, dtype, dtype };
	size_t size = accel_dtype_size(dtype);
	struct product p = { 0 };

	CHECK_EQ(ops->gemm_new(a, 0, &shape, &p.g, NULL), 0);
	CHECK_EQ(region_new(a, 0, size * m * k, &p.x), 0);
	CHECK_EQ(region_new(a, 0, size * k * n, &p.y), 0);
	CHECK_EQ(region_new(a, 0, size * m * n, &p.out), 0);
	return p;
}

static void product_release(struct product *p)
{
	ops->gemm_free(p->g);
	ops->region_free(&p->x);
	ops->region_free(&p->y);
	ops->region_free(&p->out);
}

/* Work that ends once the test says so, or after a minute: nothing hangs for good. */
static void run_gate(const struct host_work *work)
{
	const struct timespec at = clock_timespec(soon());
	sem_t *opened = work->object;

	(void)sem_clockwait(opened, CLOCK_MONOTONIC, &at);
}

/* Hold up what follows on the stream until `opened` is posted. */
static void put_gate(struct accel_stream *s, sem_t *opened)
{
	const struct host_work gate = { .run = run_gate, .object = opened };

	CHECK_EQ(sem_init(opened, 0, 0), 0);
	CHECK_EQ(host_stream_put(s, &gate, NULL), 0);
}

static void a_wait_ends_at_its_deadline(void)
{
	CLEANUP(bench_release) struct bench b = bench_make();
	struct err err = ERR_INIT;
	double seconds;
	sem_t opened;

	CHECK_EQ(ops->event_record(b.e[0], b.s, NULL), 0);
	put_gate(b.s, &opened);
	CHECK_EQ(ops->event_record(b.e[1], b.s, NULL), 0);
	CHECK_EQ(ops->event_wait(b.e[1], clock_mono_us() + 1000, &err), -ETIMEDOUT);
	CHECK_HAS(err.msg, "in time");
	CHECK_EQ(ops->event_wait(b.e[1], 0, NULL), -ETIMEDOUT);
	CHECK_EQ(ops->stream_wait(b.s, clock_mono_us(), &err), -ETIMEDOUT);
	CHECK_HAS(err.msg, "did not finish in time");
	CHECK_EQ(ops->event_seconds(b.e[0], b.e[1], &seconds, NULL), -EAGAIN);
	/* and the work goes on all the same */
	CHECK_EQ(sem_post(&opened), 0);
	CHECK_EQ(ops->stream_wait(b.s, soon(), NULL), 0);
	CHECK_EQ(ops->event_wait(b.e[1], 0, NULL), 0);
	CHECK_EQ(ops->event_seconds(b.e[0], b.e[1], &seconds, NULL), 0);
	CHECK(seconds > 0);
}

static void an_event_must_be_recorded_before_it_is_waited_for(void)
{
	CLEANUP(bench_release) struct bench b = bench_make();
	struct err err = ERR_INIT;
	double seconds;

	CHECK_EQ(ops->event_wait(b.e[0], soon(), &err), -EINVAL);
	CHECK_HAS(err.msg, "never recorded");
	CHECK_EQ(ops->event_seconds(b.e[0], b.e[1], &seconds, &err), -EAGAIN);
}

static void a_stream_that_is_full_says_so(void)
{
	CLEANUP(bench_release) struct bench b = bench_make();
	struct err err = ERR_INIT;
	unsigned n = 0;
	sem_t opened;
	int r = 0;

	put_gate(b.s, &opened);
	for (n = 1; r == 0 && n <= HOST_STREAM_QUEUE_MAX; n++)
		r = copy(&b, 0, 1);
	CHECK_EQ(r, -EAGAIN);
	CHECK_EQ(n, HOST_STREAM_QUEUE_MAX + 1);
	CHECK_EQ(ops->event_record(b.e[0], b.s, &err), -EAGAIN);
	CHECK_HAS(err.msg, "full");
	CHECK_EQ(ops->event_wait(b.e[0], 0, NULL), -EINVAL); /* it was not recorded */
	CHECK_EQ(sem_post(&opened), 0);
	ops->stream_free(b.s); /* drops what waits */
	b.s = NULL;
}

static void products_are_right_and_row_major(void)
{
	static const enum accel_dtype dtypes[] = { ACCEL_F32, ACCEL_F64 };
	size_t t;

	for (t = 0; t < ARRAY_SIZE(dtypes); t++) {
		CLEANUP(bench_release) struct bench b = bench_make();
		struct product p = product_make(b.a, 2, 3, 4, dtypes[t]);
		double got[6], x[8], y[12];
		float f[12], got_f[6];
		size_t i, j, l;

		for (i = 0; i < 12; i++) {
			x[i % 8] = (double)(i % 8) + 1;
			y[i] = (double)(i * i);
		}
		for (i = 0; i < 8; i++)
			f[i] = (float)x[i];
		CHECK_EQ(ops->upload(&p.x, 0, t ? (void *)x : (void *)f, t ? 64 : 32, NULL), 0);
		for (i = 0; i < 12; i++)
			f[i] = (float)y[i];
		CHECK_EQ(ops->upload(&p.y, 0, t ? (void *)y : (void *)f, t ? 96 : 48, NULL), 0);
		CHECK_EQ(ops->gemm_run(p.g, b.s, &p.x, &p.y, &p.out, NULL), 0);
		CHECK_EQ(ops->stream_wait(b.s, soon(), NULL), 0);
		CHECK_EQ(ops->download(t ? (void *)got : (void *)got_f, &p.out, 0, t ? 48 : 24,
				       NULL),
			 0);
		for (i = 0; i < 2; i++) {
			for (j = 0; j < 3; j++) {
				double sum = 0;

				for (l = 0; l < 4; l++)
					sum += x[i * 4 + l] * y[l * 3 + j];
				CHECK_NEAR(t ? got[i * 3 + j] : (double)got_f[i * 3 + j], sum, 0);
			}
		}
		CHECK_HAS(ops->gemm_algorithm(p.g), t ? "dgemm" : "sgemm");
		product_release(&p);
	}
}

static void shapes_that_cannot_be_are_refused(void)
{
	static const struct {
		struct accel_gemm_shape shape;
		int r;
	} cases[] = {
		{ { 0, 1, 1, ACCEL_F64, ACCEL_F64 }, -EINVAL },
		{ { 1, 1, 1u << 31, ACCEL_F64, ACCEL_F64 }, -EINVAL },
		{ { 1, 1, 1, ACCEL_BF16, ACCEL_F32 }, -ENOTSUP },
		{ { 1, 1, 1, ACCEL_F32, ACCEL_F64 }, -ENOTSUP },
	};
	const struct accel_gemm_shape small = { 8, 8, 8, ACCEL_F64, ACCEL_F64 };
	CLEANUP(bench_release) struct bench b = bench_make();
	struct accel_gemm *g = NULL;
	struct accel_region tiny;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ(ops->gemm_new(b.a, 0, &cases[i].shape, &g, NULL), cases[i].r);
	CHECK(g == NULL);
	CHECK_EQ(ops->gemm_new(b.a, 9999, &small, &g, NULL), -ENODEV);
	CHECK_EQ(ops->gemm_new(b.a, 0, &small, &g, NULL), 0);
	CHECK_EQ(region_new(b.a, 0, 8 * 8 * 8 - 1, &tiny), 0);
	CHECK_EQ(ops->gemm_run(g, b.s, &tiny, &b.r[0], &b.r[1], NULL), -ERANGE);
	CHECK_EQ(ops->gemm_run(g, b.s, &b.r[0], &tiny, &b.r[1], NULL), -ERANGE);
	CHECK_EQ(ops->gemm_run(g, b.s, &b.r[0], &b.r[1], &tiny, NULL), -ERANGE);
	ops->region_free(&tiny);
	ops->gemm_free(g);
}

static void regions_are_zeroed_exportable_and_bounded(void)
{
	CLEANUP(bench_release) struct bench b = bench_make();
	struct accel_region big = { 0 };
	struct accel_export export;
	const unsigned char *bytes;
	size_t i, size = 5 * 1024 * 1024, set = 0; /* huge pages, and a part of one */

	CHECK_EQ(region_new(b.a, 0, size, &big), 0);
	bytes = big.ptr;
	for (i = 0; i < size; i++)
		set += bytes[i] != 0;
	CHECK_EQ(set, 0);
	CHECK(big.host_visible);
	CHECK_EQ(ops->region_export(&big, &export, NULL), 0);
	CHECK(export.dmabuf_fd == -1 && export.peer_direct);
	ops->region_free(&big);
	CHECK(big.ptr == NULL);
	CHECK_EQ(region_new(b.a, 0, 0, &big), -EINVAL);
	CHECK_EQ(region_new(b.a, 0, SIZE_MAX / 4, &big), -ENOMEM);
	CHECK_EQ(region_new(b.a, 9999, 1, &big), -ENODEV);
	CHECK(big.ptr == NULL);
}

static void streams_of_a_core_are_bounded_and_condition_counts(void)
{
	CLEANUP(bench_release) struct bench b = bench_make();
	struct accel_stream *more[8] = { NULL };
	struct accel_condition before, after;
	int r = 0;
	size_t i, n = 0;

	while (r == 0 && n < ARRAY_SIZE(more))
		r = ops->stream_new(b.a, 0, &more[n++], NULL);
	CHECK_EQ(r, -EAGAIN);
	CHECK_EQ(ops->condition(b.a, 0, &before, NULL), 0);
	for (i = 0; i + 1 < n; i++)
		ops->stream_free(more[i]);
	CHECK_EQ(ops->condition(b.a, 0, &after, NULL), 0);
	CHECK(after.run_delay_ns >= before.run_delay_ns); /* also of streams that are gone */
	CHECK(after.steal_ns >= before.steal_ns);
	CHECK(isnan(after.clock_hz) || after.clock_hz > 1e6);
	CHECK_EQ(ops->condition(b.a, 9999, &after, NULL), -ENODEV);
	CHECK_EQ(ops->stream_new(b.a, 9999, &more[0], NULL), -ENODEV);
}

static const struct test tests[] = {
	TEST(the_engine_shows_each_core_once),
	TEST(work_of_a_stream_runs_in_order),
	TEST(a_range_outside_a_region_is_refused),
	TEST(a_wait_ends_at_its_deadline),
	TEST(an_event_must_be_recorded_before_it_is_waited_for),
	TEST(a_stream_that_is_full_says_so),
	TEST(products_are_right_and_row_major),
	TEST(shapes_that_cannot_be_are_refused),
	TEST(regions_are_zeroed_exportable_and_bounded),
	TEST(streams_of_a_core_are_bounded_and_condition_counts),
};

TEST_SUITE(tests);
