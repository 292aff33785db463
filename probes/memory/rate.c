/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/rate.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/memory/buffer.h"
#include "probes/memory/team.h"

#define NS_PER_US UINT64_C(1000)
#define NS_PER_S 1e9

/* Delay until all threads of a job are awake and start together. */
#define START_NS UINT64_C(100000)
#define START_NS_PER_THREAD UINT64_C(2000)

#define TOUCH_BLOCK_BYTES (UINT64_C(1) << 20)

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t start_ns(const struct arena *arena)
{
	return now_ns() + START_NS + START_NS_PER_THREAD * team_size(arena->team);
}

void arena_init(struct arena *arena, struct team *team, const struct buffer *buffer)
{
	*arena = (struct arena){
		.team = team,
		.buffer = buffer,
		.at = xcalloc(team_size(team), sizeof(*arena->at)),
	};
}

void arena_release(struct arena *arena)
{
	free(arena->at);
	*arena = (struct arena){ 0 };
}

void arena_part(uint64_t array_bytes, size_t i, size_t n, size_t *ret_first, size_t *ret_end)
{
	const uint64_t grains = array_bytes / sizeof(double) / KERNEL_GRAIN;

	*ret_first = grains * i / n * KERNEL_GRAIN;
	*ret_end = grains * (i + 1) / n * KERNEL_GRAIN;
}

/* --- touching --- */

struct touch {
	const struct arena *arena;
	uint64_t from, to; /* bytes of each array */
	uint64_t deadline_us;
	atomic_bool late;
};

/*
 * Write ones: processors are not slow with them, and sums and products of ones do not change
 * however often a kernel goes round.
 */
static void touch_range(double *array, size_t first, size_t end)
{
	size_t i;

	for (i = first; i < end; i++)
		array[i] = 1;
}

static void touch_part(void *context, size_t i, size_t n)
{
	struct touch *t = context;
	const size_t step = TOUCH_BLOCK_BYTES / sizeof(double);
	const size_t base = t->from / sizeof(double);
	size_t first, end, at, k;

	arena_part(t->to - t->from, i, n, &first, &end);
	for (at = first; at < end; at += step) {
		if (clock_mono_us() >= t->deadline_us) {
			atomic_store(&t->late, true);
			return;
		}
		for (k = 0; k < BUFFER_ARRAYS; k++)
			touch_range(t->arena->buffer->arrays[k], base + at,
				    base + MIN(at + step, end));
	}
}

int arena_touch(struct arena *arena, uint64_t array_bytes, uint64_t deadline_us)
{
	struct touch t = {
		.arena = arena,
		.from = arena->touched,
		.to = array_bytes,
		.deadline_us = deadline_us,
	};

	if (array_bytes > arena->touched) {
		team_run(arena->team, touch_part, &t);
		if (atomic_load(&t.late))
			return -ETIME;
		arena->touched = array_bytes;
	}
	return 0;
}

/* --- moving --- */

/* One window of one thread. */
struct count {
	uint64_t bytes, ns;
};

struct job {
	struct arena *arena;
	kernel_loop *loop;
	unsigned element_bytes;
	uint64_t start_ns;
	uint64_t window_ns;    /* a window ends after this, */
	uint64_t window_bytes; /* or after a thread has moved this many bytes */
	size_t n_windows;
	struct count *counts; /* [thread][window] */
	atomic_uint_fast64_t sink;
};

/* The state of a thread, besides the job. */
struct walk {
	size_t first, length, block; /* elements */
	size_t *at;
	uint64_t sink;
};

static uint64_t one_block(const struct job *job, struct walk *walk)
{
	double *const *arrays = job->arena->buffer->arrays;
	size_t n = MIN(walk->block, walk->length - *walk->at);
	size_t place = walk->first + *walk->at;

	walk->sink += job->loop(arrays[0] + place, arrays[1] + place, arrays[2] + place, n);
	*walk->at = *walk->at + n < walk->length ? *walk->at + n : 0;
	return n * job->element_bytes;
}

static struct count one_window(const struct job *job, struct walk *walk, uint64_t end_ns)
{
	uint64_t began = now_ns(), now = began;
	struct count count = { 0 };

	while (now < end_ns && count.bytes < job->window_bytes) {
		count.bytes += one_block(job, walk);
		now = now_ns();
	}
	kernel_fence();
	count.ns = now_ns() - began;
	return count;
}

static void move_part(void *context, size_t i, size_t n)
{
	struct job *job = context;
	struct walk walk = { .at = &job->arena->at[i] };
	size_t end, w;

	arena_part(job->arena->array_bytes, i, n, &walk.first, &end);
	walk.length = end - walk.first;
	walk.block = RATE_BLOCK_BYTES / sizeof(double);
	if (walk.length == 0)
		return;
	if (*walk.at >= walk.length)
		*walk.at = 0;
	while (now_ns() < job->start_ns)
		;
	for (w = 0; w < job->n_windows; w++)
		job->counts[i * job->n_windows + w] =
			one_window(job, &walk, job->start_ns + (w + 1) * job->window_ns);
	atomic_fetch_add(&job->sink, walk.sink);
}

/* Sum of the threads' rates in window `w`. */
static double window_rate(const struct job *job, size_t w)
{
	double rate = 0;
	size_t i;

	for (i = 0; i < team_size(job->arena->team); i++) {
		const struct count *count = &job->counts[i * job->n_windows + w];

		if (count->ns)
			rate += (double)count->bytes * NS_PER_S / (double)count->ns;
	}
	return rate;
}

static struct job job_of(struct arena *arena, const struct kernel *kernel, enum kernel_check check,
			 size_t n_windows)
{
	return (struct job){
		.arena = arena,
		.loop = kernel->loop[check],
		.element_bytes = kernel_element_bytes[check],
		.window_bytes = UINT64_MAX,
		.n_windows = n_windows,
		.counts = xcalloc(team_size(arena->team) * n_windows, sizeof(struct count)),
	};
}

/* The number of windows that fit, besides a discarded one; 0 if too few. */
static size_t window_count(uint64_t ns)
{
	size_t n = RATE_WINDOWS;

	while (n >= RATE_WINDOWS_MIN && ns / (n + 1) < RATE_WINDOW_MIN_NS)
		n--;
	return n >= RATE_WINDOWS_MIN ? n : 0;
}

int rate_measure(struct arena *arena, const struct kernel *kernel, enum kernel_check check,
		 uint64_t us, struct rate *ret)
{
	const uint64_t lead_ns = START_NS + START_NS_PER_THREAD * team_size(arena->team);
	uint64_t ns = us * NS_PER_US > lead_ns ? us * NS_PER_US - lead_ns : 0;
	size_t n = window_count(ns), w;
	struct job job;

	if (n == 0)
		return -ETIME;
	job = job_of(arena, kernel, check, n + 1);
	job.window_ns = ns / (n + 1);
	job.start_ns = start_ns(arena);
	team_run(arena->team, move_part, &job);
	*ret = (struct rate){ .n = n, .seconds = (double)(n * job.window_ns) / NS_PER_S };
	for (w = 0; w < n; w++)
		ret->windows[w] = window_rate(&job, w + 1);
	arena->sink += job.sink;
	free(job.counts);
	return 0;
}

/* Has every thread gone round its part in each window? */
static bool all_round(const struct job *job)
{
	size_t n = team_size(job->arena->team), i;
	size_t first, end;

	for (i = 0; i < n; i++) {
		const struct count *last = &job->counts[(i + 1) * job->n_windows - 1];

		arena_part(job->arena->array_bytes, i, n, &first, &end);
		if (last->bytes < (end - first) * job->element_bytes)
			return false;
	}
	return true;
}

int rate_sweep(struct arena *arena, const struct kernel *kernel, enum kernel_check check,
	       uint64_t deadline_us, double *ret_rate)
{
	struct job job = job_of(arena, kernel, check, 2);
	uint64_t now_us = clock_mono_us();
	size_t first, end;
	int r = -ETIME;

	arena_part(arena->array_bytes, 0, team_size(arena->team), &first, &end);
	job.start_ns = start_ns(arena);
	job.window_bytes = (end - first) * job.element_bytes;
	job.window_ns = deadline_us > now_us ? (deadline_us - now_us) * NS_PER_US : 0;
	team_run(arena->team, move_part, &job);
	if (all_round(&job)) {
		*ret_rate = window_rate(&job, 1);
		r = 0;
	}
	arena->sink += job.sink;
	free(job.counts);
	return r;
}
