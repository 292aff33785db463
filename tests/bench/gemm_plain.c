/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The yardstick of assay-probe-gemm: a plain loop over cblas, one pinned thread
 * per CPU, without any of our code.
 *
 *	gemm_plain f32|f64 EDGE SECONDS CPU...
 *
 * After one second of warm-up prints "CPU FLOP/s" for each CPU: the median of
 * 16 equal windows, the same statistic as the probe's.
 */
#include <cblas.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WINDOWS = 16, CPUS_MAX = 1024 };

struct worker {
	pthread_t thread;
	int cpu, edge;
	bool is_f64;
	double seconds, rate;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Multiplies for `seconds`. Returns FLOP/s. */
static double window(const struct worker *w, double seconds, void *a, void *b, void *c)
{
	double start = now(), end = start;
	int n = w->edge, calls = 0;

	for (; end < start + seconds; calls++) {
		if (w->is_f64)
			cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b,
				    n, 0, c, n);
		else
			cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b,
				    n, 0, c, n);
		end = now();
	}
	return 2.0 * n * n * n * calls / (end - start);
}

static void *aligned(size_t size)
{
	void *p = NULL;

	if (posix_memalign(&p, 4096, size) != 0)
		abort();
	return p;
}

static int compare(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a > b) - (a < b);
}

static void *work(void *argument)
{
	struct worker *w = argument;
	size_t n = (size_t)w->edge * (size_t)w->edge, size = n * (w->is_f64 ? 8 : 4), i;
	void *a = aligned(size), *b = aligned(size), *c = aligned(size);
	double rates[WINDOWS];

	for (i = 0; i < n; i++) {
		double x = (double)(i * 7919 % 1013) / 506.0 - 1.0;

		if (w->is_f64)
			((double *)a)[i] = ((double *)b)[n - 1 - i] = x;
		else
			((float *)a)[i] = ((float *)b)[n - 1 - i] = (float)x;
	}
	(void)window(w, 1.0, a, b, c);
	for (i = 0; i < WINDOWS; i++)
		rates[i] = window(w, w->seconds / WINDOWS, a, b, c);
	qsort(rates, WINDOWS, sizeof(*rates), compare);
	w->rate = (rates[WINDOWS / 2 - 1] + rates[WINDOWS / 2]) / 2;
	free(a);
	free(b);
	free(c);
	return NULL;
}

static bool start(struct worker *w)
{
	pthread_attr_t attr;
	cpu_set_t set;
	bool ok;

	CPU_ZERO(&set);
	CPU_SET((size_t)w->cpu, &set);
	pthread_attr_init(&attr);
	ok = pthread_attr_setaffinity_np(&attr, sizeof(set), &set) == 0 &&
	     pthread_create(&w->thread, &attr, work, w) == 0;
	pthread_attr_destroy(&attr);
	return ok;
}

int main(int argc, char **argv)
{
	static struct worker workers[CPUS_MAX];
	int n = argc - 4, i;

	if (n < 1 || n > CPUS_MAX) {
		fprintf(stderr, "usage: gemm_plain f32|f64 EDGE SECONDS CPU...\n");
		return 2;
	}
	openblas_set_num_threads(1);
	for (i = 0; i < n; i++) {
		workers[i].is_f64 = strcmp(argv[1], "f64") == 0;
		workers[i].edge = (int)strtol(argv[2], NULL, 10);
		workers[i].seconds = strtod(argv[3], NULL);
		workers[i].cpu = (int)strtol(argv[4 + i], NULL, 10);
		if (!start(&workers[i])) {
			fprintf(stderr, "gemm_plain: cannot run on CPU %d\n", workers[i].cpu);
			return 1;
		}
	}
	for (i = 0; i < n; i++) {
		pthread_join(workers[i].thread, NULL);
		printf("%d %.6g\n", workers[i].cpu, workers[i].rate);
	}
	return 0;
}
