/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "probes/gemm/gemm_device.h"
#include "probes/gemm/gemm_place.h"

/*
 * The windows of a go are launched without a pause, as in a job: a core that waits in between
 * lowers its clock. A go fits into a stream (CUDA_QUEUE_MAX) even if the GPU makes no progress
 * meanwhile, so it has fewer windows if a product takes several kernels.
 */
enum {
	EDGE = 16,     /* of the product: the smallest that every type supports */
	LAUNCHES = 64, /* per window */
	GO = 8,	       /* maximum number of windows; as many warm-up windows */
	LAUNCH_ALGORITHM_SIZE = 96,
};

struct launch {
	struct gemm_device *device;
	struct gemm_job job;
	char algorithm[LAUNCH_ALGORITHM_SIZE];
	double median[GEMM_WINDOWS], longest[GEMM_WINDOWS]; /* by window, in seconds */
	size_t n;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Launch one window; it is recorded if `counts`. */
static int put_window(struct launch *l, bool counts, struct err *err)
{
	const struct gemm_plan *plan = l->device->plan;
	uint64_t before_ns = plan->ops->now_ns(plan->accel), after_ns;
	double seconds[LAUNCHES];
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < LAUNCHES; i++) {
		r = plan->ops->gemm_run(l->job.gemm, l->device->stream, &l->job.x, &l->job.y,
					&l->job.out, err);
		after_ns = plan->ops->now_ns(plan->accel);
		seconds[i] = (double)(after_ns - before_ns) * 1e-9;
		before_ns = after_ns;
	}
	if (r < 0 || !counts)
		return r;
	qsort(seconds, LAUNCHES, sizeof(*seconds), compare);
	l->median[l->n] = (seconds[LAUNCHES / 2 - 1] + seconds[LAUNCHES / 2]) / 2;
	l->longest[l->n++] = seconds[LAUNCHES - 1];
	return 0;
}

/* Number of windows in a go. */
static unsigned go_of(const struct launch *l)
{
	const struct accel_ops *ops = l->device->plan->ops;
	const unsigned most = ops->queue_max / (LAUNCHES * ops->gemm_pieces(l->job.gemm));

	return !ops->queue_max || most > GO ? GO : MAX(most, 1U);
}

/* Launch `n` windows; they are recorded if `counts`. */
static int put_goes(struct launch *l, unsigned n, bool counts, struct err *err)
{
	const struct gemm_plan *plan = l->device->plan;
	const unsigned go = go_of(l);
	unsigned i;
	int r = 0;

	for (i = 1; r == 0 && i <= n; i++) {
		r = put_window(l, counts, err);
		if (r == 0 && (i % go == 0 || i == n))
			r = plan->ops->stream_wait(l->device->stream, plan->deadline_us, err);
	}
	return r;
}

static int measure(struct launch *l, struct err *err)
{
	int r = put_goes(l, GO, false, err); /* the first loads the kernel */

	return r < 0 ? r : put_goes(l, GEMM_WINDOWS, true, err);
}

/* The product is not that of gemm.rate, so set its own shape and algorithm. */
static struct sample make_sample(const struct launch *l, const char *check, enum gemm_side side)
{
	struct sample s = gemm_sample(l->device, check);

	s.unit = xstrdup("s");
	s.better = gemm_place_is_sure(l->device) ? BETTER_LOWER : BETTER_NONE;
	(void)json_object_set_new(s.params, "shape", json_sprintf("%ux%ux%u", EDGE, EDGE, EDGE));
	(void)json_object_set_new(s.params, "algorithm", json_string(l->algorithm));
	gemm_place_params(l->device, side, s.params);
	return s;
}

static double middle(const double *values, size_t n)
{
	double sorted[GEMM_WINDOWS];

	memcpy(sorted, values, n * sizeof(*values));
	qsort(sorted, n, sizeof(*sorted), compare);
	return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

static char *words(const struct launch *l)
{
	return xasprintf("a launch takes the host %.2f us, 99th percentile %.2f us%s",
			 1e6 * middle(l->median, l->n), 1e6 * middle(l->longest, l->n),
			 gemm_place_is_sure(l->device)
				 ? ""
				 : "; from any core, as its NUMA node is unknown: not compared");
}

static int tell(struct gemm_run *run, const struct launch *l, enum gemm_side side, uint64_t start_us)
{
	static const char *const checks[][2] = { { "gemm.launch", "gemm.launch_p99" },
						 { "gemm.launch_far", NULL } };
	const double *const windows[] = { l->median, l->longest };
	const struct gemm_plan *plan = run->plan;
	const uint64_t end_us = plan->ops->now_us(plan->accel);
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < 2 && checks[side][i]; i++) {
		struct sample s = make_sample(l, checks[side][i], side);

		if (i > 0) /* it varies too much between good hosts */
			s.better = BETTER_NONE;
		gemm_sample_time(&s, plan, start_us, end_us);
		if (s.state == SAMPLE_MEASURED && l->n) {
			sample_set_windows(&s, windows[i], l->n);
			s.note = words(l);
		}
		r = gemm_emit(run, &s);
	}
	return r;
}

static int launch_of(struct gemm_run *run, struct gemm_device *d, enum gemm_side side)
{
	const struct gemm_plan *plan = run->plan;
	const struct accel_gemm_shape shape = {
		.m = EDGE, .n = EDGE, .k = EDGE, .dtype = plan->shape.dtype, .out = plan->shape.out
	};
	uint64_t start_us = plan->ops->now_us(plan->accel);
	struct launch l = { .device = d };
	struct gemm_place place = { .moved = false };
	struct err err = ERR_INIT;
	int r = 0;

	if (gemm_live(d)) {
		gemm_place_enter(d, side, &place);
		r = gemm_job_init(d, &shape, &l.job, &err);
		if (r == 0) {
			(void)snprintf(l.algorithm, sizeof(l.algorithm), "%s",
				       plan->ops->gemm_algorithm(l.job.gemm));
			r = measure(&l, &err);
		}
		gemm_place_leave(&place);
	}
	if (r == -ETIMEDOUT)
		d->hung = l.job;
	else
		gemm_job_release(d, &l.job);
	if (r == -ENOTSUP) {
		log_info("gemm.launch is not measured: %s", err.msg);
		return 0;
	}
	if (r < 0)
		gemm_fail(d, r, &err);
	return tell(run, &l, side, start_us);
}

int gemm_launch(struct gemm_run *run)
{
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && run->plan->launch && i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];

		r = launch_of(run, d, GEMM_NEAR);
		if (r == 0 && gemm_live(d) && gemm_place_has(d, GEMM_FAR))
			r = launch_of(run, d, GEMM_FAR);
	}
	return r;
}
