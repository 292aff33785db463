/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels, threads and buffers, on this machine. */
#include "probes/memory/rate.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "probes/memory/buffer.h"
#include "probes/memory/numa.h"
#include "probes/memory/team.h"
#include "tests/unit/test.h"

enum { ARRAY_BYTES = 4 << 20, ELEMENTS = 4 * KERNEL_GRAIN };

static struct cpu_list allowed(void)
{
	struct cpu_list cpus = { 0 };

	CHECK_EQ(cpu_list_allowed(&cpus, NULL), 0);
	return cpus;
}

/* --- kernels --- */

static double *new_array(double value, size_t n)
{
	double *array = aligned_alloc(64, n * sizeof(double));
	size_t i;

	if (!array)
		abort();
	for (i = 0; i < n; i++)
		array[i] = value + (double)i;
	return array;
}

/* What element `i` of the first array is after the check, from a = i, b = 1000 + i, c = 2000 + i. */
static double expected(enum kernel_check check, size_t i)
{
	const double x = (double)i;

	switch (check) {
	case KERNEL_WRITE:
		return 1;
	case KERNEL_COPY:
		return 1000 + x;
	case KERNEL_TRIAD:
		return 1000 + x + 3 * (2000 + x);
	case KERNEL_READ:
	case KERNEL_CHECKS:
		break;
	}
	return x;
}

static void check_kernel(const struct kernel *kernel, enum kernel_check check)
{
	/* One grain more than is worked on: it must stay as it is. */
	const size_t all = ELEMENTS + KERNEL_GRAIN;
	CLEANUP(freep) double *a = new_array(0, all);
	CLEANUP(freep) double *b = new_array(1000, all);
	CLEANUP(freep) double *c = new_array(2000, all);
	unsigned wrong = 0;
	size_t i;

	(void)kernel->loop[check](a, b, c, ELEMENTS);
	kernel_fence();
	for (i = 0; i < all; i++)
		wrong += a[i] != (i < ELEMENTS ? expected(check, i) : (double)i);
	for (i = 0; check != KERNEL_WRITE && i < all; i++)
		wrong += b[i] != 1000 + (double)i || c[i] != 2000 + (double)i;
	CHECK_EQ(wrong, 0);
}

static void every_kernel_computes_what_it_says(void)
{
	unsigned supported = 0;
	size_t k;

	for (k = 0; k < n_kernels; k++) {
		unsigned check;

		if (!kernels[k].supported())
			continue;
		supported++;
		for (check = 0; check < KERNEL_CHECKS; check++)
			check_kernel(&kernels[k], (enum kernel_check)check);
	}
	CHECK(supported >= 1);
	CHECK(kernels[n_kernels - 1].supported());
	CHECK(kernel_best()->supported());
}

static void every_kernel_reads_every_word(void)
{
	size_t k, i;

	for (k = 0; k < n_kernels; k++) {
		CLEANUP(freep) double *a = new_array(0, ELEMENTS);
		CLEANUP(freep) double *b = new_array(0, ELEMENTS);
		CLEANUP(freep) double *c = new_array(0, ELEMENTS);
		uint64_t before;
		unsigned same = 0;

		if (!kernels[k].supported())
			continue;
		before = kernels[k].loop[KERNEL_READ](a, b, c, ELEMENTS);
		for (i = 0; i < ELEMENTS; i++) {
			const double was = c[i];

			c[i] = -1;
			same += kernels[k].loop[KERNEL_READ](a, b, c, ELEMENTS) == before;
			c[i] = was;
		}
		CHECK_EQ(same, 0);
	}
}

/* --- threads --- */

struct seen {
	atomic_uint runs[4];
	atomic_uint wrong_cpu;
	unsigned cpus[4];
};

static void note_cpu(void *context, size_t i, size_t n)
{
	struct seen *seen = context;

	if (n != 4 || (unsigned)sched_getcpu() != seen->cpus[i])
		atomic_fetch_add(&seen->wrong_cpu, 1);
	atomic_fetch_add(&seen->runs[i], 1);
}

static void a_team_runs_each_job_once_on_each_of_its_cores(void)
{
	CLEANUP(cpu_list_release) struct cpu_list cpus = allowed();
	struct seen seen = { 0 };
	struct team *team = NULL;
	unsigned i, round;

	for (i = 0; i < 4; i++)
		seen.cpus[i] = cpus.v[i % cpus.n];
	CHECK_EQ(team_new(seen.cpus, 4, &team, NULL), 0);
	CHECK_EQ(team_size(team), 4);
	for (round = 1; round <= 100; round++)
		team_run(team, note_cpu, &seen);
	for (i = 0; i < 4; i++) {
		CHECK_EQ(seen.runs[i], 100);
		CHECK(team_tid(team, i) > 0);
	}
	CHECK_EQ(seen.wrong_cpu, 0);
	team_free(team);
}

static void a_team_that_cannot_be_is_refused(void)
{
	static const unsigned absent[] = { 0, 8191 };
	struct team *team = NULL;
	struct err err = ERR_INIT;

	CHECK_EQ(team_new(absent, 0, &team, &err), -E2BIG);
	CHECK_EQ(team_new(absent, TEAM_THREADS_MAX + 1, &team, &err), -E2BIG);
	CHECK_EQ(team_new(absent, 2, &team, &err), -EINVAL);
	CHECK_HAS(err.msg, "CPU 8191");
	CHECK(team == NULL);
}

/* --- buffers --- */

static struct numa_node node_zero(void)
{
	return (struct numa_node){ .id = 0 };
}

static void memory_lies_where_it_was_bound(void)
{
	const struct numa_node node = node_zero();
	struct buffer b;
	struct err err = ERR_INIT;
	size_t i;

	CHECK_EQ(buffer_open(&node, false, ARRAY_BYTES, &b, &err), 0);
	CHECK_STR(err.msg, "");
	for (i = 0; i < BUFFER_ARRAYS; i++) {
		CHECK_EQ((uintptr_t)b.arrays[i] % 64, 0);
		memset(b.arrays[i], 1, ARRAY_BYTES);
	}
	CHECK((char *)b.arrays[2] + ARRAY_BYTES <= b.mapped + b.mapped_bytes);
	CHECK_EQ(buffer_verify(&b, ARRAY_BYTES, false, &err), 0);
	CHECK(strlen(buffer_pages(&b, ARRAY_BYTES)) == 2);
	/* Had it landed on another node, that is a matter of set-up. */
	b.node = 1;
	CHECK_EQ(buffer_verify(&b, ARRAY_BYTES, false, &err), -EXDEV);
	CHECK_STR(err.msg, "memory bound to numa:1 lies on numa:0");
	buffer_close(&b);
	CHECK(b.mapped == NULL);
}

static void memory_that_was_not_touched_is_not_there(void)
{
	const struct numa_node node = node_zero();
	struct buffer b;
	struct err err = ERR_INIT;

	CHECK_EQ(buffer_open(&node, false, ARRAY_BYTES, &b, NULL), 0);
	CHECK_EQ(buffer_verify(&b, ARRAY_BYTES, false, &err), -ENOENT);
	CHECK_HAS(err.msg, "is missing");
	buffer_close(&b);
}

static void a_node_that_is_not_there_is_refused(void)
{
	struct numa_node node = { .id = NUMA_NODE_ID_MAX };
	struct buffer b = { .node = 77 };
	struct err err = ERR_INIT;

	CHECK_EQ(buffer_open(&node, false, ARRAY_BYTES, &b, &err), -EINVAL);
	CHECK_HAS(err.msg, "memory of numa:1023 cannot be bound");
	CHECK_EQ(b.node, 77);
}

static void huge_pages_that_are_gone_are_done_without(void)
{
	/* The tree says that there are free ones; the kernel has none, or has them. */
	const struct numa_node node = { .id = 0,
					.free_huge_2m = UINT64_C(1) << 40,
					.free_huge_1g = UINT64_C(1) << 40 };
	struct buffer b;
	struct err err = ERR_INIT;

	CHECK_EQ(buffer_open(&node, false, ARRAY_BYTES, &b, &err), 0);
	memset(b.arrays[0], 1, ARRAY_BYTES);
	buffer_close(&b);
}

static void free_huge_pages_are_used(void)
{
	CLEANUP(closep) int fd = open("/sys/devices/system", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(cpu_list_release) struct cpu_list cpus = allowed();
	CLEANUP(numa_host_release) struct numa_host host = { 0 };
	const uint64_t need = BUFFER_ARRAYS * ARRAY_BYTES + (4 << 20);
	struct err err = ERR_INIT;
	struct buffer b;

	CHECK_EQ(numa_read(fd, &cpus, &host, &err), 0);
	if (host.n == 0 || host.nodes[0].free_huge_2m < need) {
		test_skip("node 0 has too few free huge pages of 2 MiB");
		return;
	}
	host.nodes[0].free_huge_1g = 0;
	CHECK_EQ(buffer_open(&host.nodes[0], host.n == 1, ARRAY_BYTES, &b, &err), 0);
	CHECK_EQ(b.huge_bytes, 2 << 20);
	CHECK_STR(buffer_pages(&b, ARRAY_BYTES), "2M");
	memset(b.arrays[2], 1, ARRAY_BYTES);
	CHECK_EQ(buffer_verify(&b, ARRAY_BYTES, false, &err), 0);
	buffer_close(&b);
}

static void too_much_memory_is_refused(void)
{
	const struct numa_node node = node_zero();
	struct buffer b;
	struct err err = ERR_INIT;

	CHECK_EQ(buffer_open(&node, true, UINT64_C(1) << 60, &b, &err), -ENOMEM);
	CHECK_HAS(err.msg, "cannot map");
}

/* --- rates --- */

static void parts_cover_the_array_without_overlap(void)
{
	static const size_t threads[] = { 1, 2, 3, 7, 64, 128, 2048 };
	size_t t, i;

	for (t = 0; t < ARRAY_SIZE(threads); t++) {
		size_t last = 0, first, end;

		for (i = 0; i < threads[t]; i++) {
			arena_part(ARRAY_BYTES, i, threads[t], &first, &end);
			CHECK(first == last && end >= first && end % KERNEL_GRAIN == 0);
			last = end;
		}
		CHECK_EQ(last, ARRAY_BYTES / 8);
	}
}

struct fixture {
	struct team *team;
	struct buffer buffer;
	struct arena arena;
};

static void set_up(struct fixture *f)
{
	CLEANUP(cpu_list_release) struct cpu_list cpus = allowed();
	const struct numa_node node = node_zero();

	CHECK_EQ(team_new(cpus.v, 1, &f->team, NULL), 0);
	CHECK_EQ(buffer_open(&node, true, ARRAY_BYTES, &f->buffer, NULL), 0);
	arena_init(&f->arena, f->team, &f->buffer);
}

static void tear_down(struct fixture *f)
{
	arena_release(&f->arena);
	buffer_close(&f->buffer);
	team_free(f->team);
}

static void touching_fills_with_ones_and_minds_the_clock(void)
{
	struct fixture f;
	unsigned wrong = 0;
	size_t k, i;

	set_up(&f);
	CHECK_EQ(arena_touch(&f.arena, ARRAY_BYTES, 1), -ETIME);
	CHECK_EQ(f.arena.touched, 0);
	CHECK_EQ(arena_touch(&f.arena, ARRAY_BYTES / 2, UINT64_MAX), 0);
	CHECK_EQ(arena_touch(&f.arena, ARRAY_BYTES, UINT64_MAX), 0);
	CHECK_EQ(arena_touch(&f.arena, ARRAY_BYTES / 4, 1), 0);
	CHECK_EQ(f.arena.touched, ARRAY_BYTES);
	for (k = 0; k < BUFFER_ARRAYS; k++)
		for (i = 0; i < ARRAY_BYTES / 8; i++)
			wrong += f.buffer.arrays[k][i] != 1;
	CHECK_EQ(wrong, 0);
	tear_down(&f);
}

/* How many of its windows moved anything. */
static size_t measure_a_while(struct fixture *f)
{
	const uint64_t began = clock_mono_us();
	struct rate rate;
	size_t moved = 0, i;

	CHECK_EQ(rate_measure(&f->arena, kernel_best(), KERNEL_TRIAD, 100000, &rate), 0);
	CHECK(clock_mono_us() - began >= 99000);
	CHECK_EQ(rate.n, RATE_WINDOWS);
	CHECK_NEAR(rate.seconds, 0.094, 0.006);
	for (i = 0; i < rate.n; i++) {
		CHECK(rate.windows[i] >= 0);
		moved += rate.windows[i] > 0;
	}
	return moved;
}

static void a_measurement_keeps_to_its_time_and_has_windows(void)
{
	enum { TRIES = 5 };
	struct fixture f;
	struct rate rate;
	size_t moved = 0, i;

	set_up(&f);
	CHECK_EQ(arena_touch(&f.arena, ARRAY_BYTES, UINT64_MAX), 0);
	f.arena.array_bytes = ARRAY_BYTES;
	/* On a busy host all of it may pass without us: not each time. */
	for (i = 0; i < TRIES && moved == 0; i++)
		moved = measure_a_while(&f);
	CHECK(moved > 0);
	/* Little time gives fewer windows, too little none. */
	CHECK_EQ(rate_measure(&f.arena, kernel_best(), KERNEL_READ, 10500, &rate), 0);
	CHECK_EQ(rate.n, 9);
	CHECK_EQ(rate_measure(&f.arena, kernel_best(), KERNEL_READ, 5000, &rate), -ETIME);
	CHECK_EQ(rate_measure(&f.arena, kernel_best(), KERNEL_READ, 0, &rate), -ETIME);
	tear_down(&f);
}

static void a_sweep_goes_round_or_says_that_it_did_not(void)
{
	struct fixture f;
	double rate = -1;

	set_up(&f);
	CHECK_EQ(arena_touch(&f.arena, ARRAY_BYTES, UINT64_MAX), 0);
	f.arena.array_bytes = ARRAY_BYTES;
	CHECK_EQ(rate_sweep(&f.arena, kernel_best(), KERNEL_COPY, clock_mono_us(), &rate), -ETIME);
	CHECK_NEAR(rate, -1, 0);
	CHECK_EQ(rate_sweep(&f.arena, kernel_best(), KERNEL_COPY,
			    clock_mono_us() + 60 * USEC_PER_SEC, &rate),
		 0);
	CHECK(rate > 0);
	tear_down(&f);
}

static const struct test tests[] = {
	TEST(every_kernel_computes_what_it_says),
	TEST(every_kernel_reads_every_word),
	TEST(a_team_runs_each_job_once_on_each_of_its_cores),
	TEST(a_team_that_cannot_be_is_refused),
	TEST(memory_lies_where_it_was_bound),
	TEST(memory_that_was_not_touched_is_not_there),
	TEST(a_node_that_is_not_there_is_refused),
	TEST(huge_pages_that_are_gone_are_done_without),
	TEST(free_huge_pages_are_used),
	TEST(too_much_memory_is_refused),
	TEST(parts_cover_the_array_without_overlap),
	TEST(touching_fills_with_ones_and_minds_the_clock),
	TEST(a_measurement_keeps_to_its_time_and_has_windows),
	TEST(a_sweep_goes_round_or_says_that_it_did_not),
};

TEST_SUITE(tests);
