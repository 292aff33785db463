/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A triad like STREAM's, as the yardstick of assay-probe-memory, without any of
 * our code. A plain loop that the compiler vectorizes, one pinned thread per
 * core, in lockstep, each iteration over whole arrays.
 *
 *	stream_like BYTES SECONDS CPU...
 *
 * BYTES is the size of each of three arrays. Prints the median and the best
 * iteration in bytes per second, counting 24 per element.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { CPUS_MAX = 1024, ITERATIONS_MAX = 100000, WARM_UP = 2 };

struct shared {
	double *a, *b, *c;
	size_t n, threads;
	double seconds;
	pthread_barrier_t step;
	double times[ITERATIONS_MAX];
	size_t iterations;
	int stop;
};

struct worker {
	struct shared *shared;
	size_t index;
	unsigned cpu;
	pthread_t thread;
};

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define ANY_SET __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define ANY_SET __attribute__((noinline))
#endif

#ifndef __clang__
#pragma GCC push_options
#pragma GCC optimize("O3")
#endif
ANY_SET static void triad(double *restrict a, const double *restrict b, const double *restrict c,
			  double scale, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		a[i] = b[i] + scale * c[i];
}
#ifndef __clang__
#pragma GCC pop_options
#endif

static void fill(double *array, double value, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		array[i] = value;
}

/* One iteration; the first thread measures the time. */
static void iterate(struct shared *s, size_t first, size_t n, int timekeeper, double end)
{
	double began;

	(void)pthread_barrier_wait(&s->step);
	began = now();
	triad(s->a + first, s->b + first, s->c + first, 3, n);
	(void)pthread_barrier_wait(&s->step);
	if (timekeeper) {
		s->times[s->iterations++] = now() - began;
		s->stop = s->iterations == ITERATIONS_MAX ||
			  (now() >= end && s->iterations > WARM_UP);
	}
	(void)pthread_barrier_wait(&s->step);
}

static void *work(void *argument)
{
	struct worker *w = argument;
	struct shared *s = w->shared;
	const size_t first = s->n / s->threads * w->index, n = s->n / s->threads;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(w->cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
	fill(s->a + first, 0, n);
	fill(s->b + first, 1, n);
	fill(s->c + first, 2, n);
	(void)pthread_barrier_wait(&s->step);
	do
		iterate(s, first, n, w->index == 0, s->seconds);
	while (!s->stop);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double *array_new(size_t bytes, size_t pad)
{
	char *at =
		mmap(NULL, bytes + pad, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *array = at + pad;

	if (at == MAP_FAILED)
		return NULL;
	(void)madvise(at, bytes + pad, MADV_HUGEPAGE);
	return array;
}

static int run(struct shared *s, struct worker *workers)
{
	const double bytes = 3.0 * sizeof(double) * (double)(s->n / s->threads * s->threads);
	double *kept = s->times + WARM_UP;
	size_t i, n;

	(void)pthread_barrier_init(&s->step, NULL, (unsigned)s->threads);
	s->seconds += now();
	for (i = 0; i < s->threads; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			return 1;
	for (i = 0; i < s->threads; i++)
		(void)pthread_join(workers[i].thread, NULL);
	n = s->iterations - WARM_UP;
	qsort(kept, n, sizeof(*kept), compare);
	(void)printf("%.0f %.0f\n", bytes / kept[n / 2], bytes / kept[0]);
	return 0;
}

int main(int argc, char **argv)
{
	static struct shared s;
	static struct worker workers[CPUS_MAX];
	const size_t bytes = argc > 3 ? strtoull(argv[1], NULL, 10) : 0;
	int i;

	if (bytes < 4096 || argc - 3 > CPUS_MAX) {
		(void)fprintf(stderr, "usage: stream_like BYTES SECONDS CPU...\n");
		return 2;
	}
	s.n = bytes / sizeof(double);
	s.seconds = strtod(argv[2], NULL);
	s.threads = (size_t)argc - 3;
	s.a = array_new(bytes, 0);
	s.b = array_new(bytes, 4096);
	s.c = array_new(bytes, 8192);
	if (!s.a || !s.b || !s.c) {
		perror("stream_like");
		return 1;
	}
	for (i = 0; i < argc - 3; i++)
		workers[i] = (struct worker){ .shared = &s,
					      .index = (size_t)i,
					      .cpu = (unsigned)strtoul(argv[3 + i], NULL, 10) };
	return run(&s, workers);
}
