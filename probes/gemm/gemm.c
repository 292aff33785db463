/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/gemm/gemm_burn.h"
#include "probes/gemm/gemm_busy.h"
#include "probes/gemm/gemm_chain.h"
#include "probes/gemm/gemm_check.h"
#include "probes/gemm/gemm_data.h"
#include "probes/gemm/gemm_device.h"
#include "probes/gemm/gemm_launch.h"
#include "probes/gemm/gemm_rate.h"

/* Part of a device's memory for its three matrices. */
static const double memory_part = 0.25;

static int init_events(struct gemm_device *d, struct err *err)
{
	const struct accel_ops *ops = d->plan->ops;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < GEMM_IN_FLIGHT; i++) {
		r = ops->event_new(d->plan->accel, d->index, &d->ring[i].from, err);
		if (r == 0)
			r = ops->event_new(d->plan->accel, d->index, &d->ring[i].to, err);
	}
	return r;
}

static void release_device(struct gemm_device *d)
{
	const struct accel_ops *ops = d->plan->ops;
	size_t i;

	ops->stream_free(d->stream);
	for (i = 0; i < GEMM_IN_FLIGHT; i++) {
		ops->event_free(d->ring[i].from);
		ops->event_free(d->ring[i].to);
	}
	gemm_job_release(d, &d->job);
	gemm_job_release(d, &d->check);
	gemm_job_release(d, &d->hung);
}

/* Used by the thread of one device for as long as it runs. */
struct set_up {
	struct gemm_device *device;
	const struct gemm_factors *factors;
};

static int set_up(void *context, struct err *err)
{
	const struct set_up *one = context;
	struct gemm_device *d = one->device;
	const struct accel_ops *ops = d->plan->ops;
	int r = ops->stream_new(d->plan->accel, d->index, &d->stream, err);

	if (r == 0)
		r = gemm_job_init(d, &d->plan->shape, &d->job, err);
	if (r == 0 && d->plan->check_shape.m)
		r = gemm_job_init(d, &d->plan->check_shape, &d->check, err);
	if (r == 0)
		r = init_events(d, err);
	return r < 0 ? r : gemm_factors_upload(d, one->factors, &d->job, err);
}

/* Refuse a shape that does not fit before loading any device. */
static int check_size(const struct gemm_device *d, struct err *err)
{
	const struct accel_gemm_shape *s = &d->plan->shape;
	struct gemm_sizes sizes = gemm_sizes(s);
	double bytes = (double)sizes.x + (double)sizes.y + (double)sizes.out;

	if (bytes > memory_part * (double)d->info.memory_bytes)
		return err_set(err, EINVAL,
			       "--shape: %u,%u,%u takes %.0f MiB of each device, more than a "
			       "quarter of its memory",
			       s->m, s->n, s->k, bytes / (1 << 20));
	return 0;
}

/* Refuse a type that the devices do not support, by asking the first that is not in use. */
static int check_type(const struct gemm_run *run, const struct watched_part *parts, unsigned n,
		      struct err *err)
{
	const struct gemm_plan *plan = run->plan;

	if (n == 0 || parts[0].r != -ENOTSUP)
		return 0;
	return err_set(err, EINVAL, "--dtype: not %s on the %s engine",
		       accel_dtype_names[plan->shape.dtype], plan->ops->name);
}

static int open_devices(struct gemm_run *run, struct err *err)
{
	unsigned i;
	int r;

	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];

		d->plan = run->plan;
		d->index = i;
		r = run->plan->ops->device_info(run->plan->accel, i, &d->info, err);
		if (r < 0)
			return r;
	}
	return check_size(&run->devices[0], err);
}

/* Everything that late threads may touch is on the heap, and then never freed. */
struct setting_up {
	struct gemm_factors factors;
	struct set_up *works;
	struct watched_part *parts;
};

static void setting_up_free(struct setting_up *s)
{
	gemm_factors_release(&s->factors);
	free(s->works);
	free(s->parts);
	free(s);
}

static unsigned start_live(struct gemm_run *run, struct setting_up *s, unsigned *ret_late)
{
	const struct gemm_plan *plan = run->plan;
	unsigned i, n = 0;

	for (i = 0; i < run->n; i++) {
		if (!gemm_live(&run->devices[i]))
			continue;
		s->works[n] = (struct set_up){ &run->devices[i], &s->factors };
		s->parts[n].context = &s->works[n];
		n++;
	}
	*ret_late = accel_start_all(plan->accel, set_up, s->parts, n, plan->ready_us);
	for (i = 0; i < n; i++) {
		if (s->parts[i].r < 0)
			gemm_fail(s->works[i].device, s->parts[i].r, &s->parts[i].err);
	}
	return n;
}

static int set_up_devices(struct gemm_run *run, struct err *err)
{
	struct setting_up *s = xcalloc(1, sizeof(*s));
	unsigned n, late = 0;
	int r;

	s->works = xcalloc(run->n, sizeof(*s->works));
	s->parts = xcalloc(run->n, sizeof(*s->parts));
	r = gemm_factors_init(&run->plan->shape, run->plan->seed, &s->factors, err);
	if (r == 0) {
		n = start_live(run, s, &late);
		r = check_type(run, s->parts, n, err);
	}
	if (late)
		run->plan->leaves = true;
	else
		setting_up_free(s);
	return r;
}

/* Set-up took an unpredictable time: scale the shares to the time left. */
static void fit_times(struct gemm_plan *plan)
{
	uint64_t *const times[] = { &plan->warm_us, &plan->rate_us, &plan->check_us, &plan->vote_us,
				    &plan->overlap_us };
	const uint64_t now_us = plan->ops->now_us(plan->accel);
	const uint64_t left_us = plan->deadline_us > now_us ? plan->deadline_us - now_us : 0;
	uint64_t wanted_us = plan->spare_us;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(times); i++)
		wanted_us += *times[i];
	for (i = 0; left_us < wanted_us && i < ARRAY_SIZE(times); i++)
		*times[i] = (uint64_t)((double)*times[i] * (double)left_us / (double)wanted_us);
}

static void release_run(struct gemm_run *run)
{
	unsigned i;

	if (run->plan->leaves)
		return;
	for (i = 0; i < run->n; i++)
		release_device(&run->devices[i]);
	free(run->devices);
}

struct part {
	const char *check;
	int (*measure)(struct gemm_run *run);
};

static const struct part usual[] = {
	{ "gemm.rate", gemm_rate },
	{ "gemm.correct", gemm_check },
	{ "gemm.launch", gemm_launch },
	{ "gemm.chain", gemm_chain },
	/* Last, because what hangs in it may be left hanging. */
	{ "gemm.overlap", gemm_overlap },
	{ 0 },
};
static const struct part burning[] = {
	{ "gemm.burn_rate", gemm_burn },
	{ "gemm.correct", gemm_check }, /* while it is hot */
	{ 0 },
};

int gemm_run(struct gemm_plan *plan, struct err *err)
{
	CLEANUP(release_run)
	struct gemm_run run = { .plan = plan };
	const struct part *part = plan->burn ? burning : usual;
	unsigned n = MIN(plan->ops->n_devices(plan->accel), (unsigned)GEMM_DEVICES_MAX);
	int r;

	if (n == 0)
		return err_set(err, ENODEV, "the %s engine has no device here", plan->ops->name);
	run.devices = xcalloc(n, sizeof(*run.devices));
	for (run.n = 0; run.n < n; run.n++)
		run.devices[run.n].plan = plan;
	r = open_devices(&run, err);
	if (r < 0)
		return r;
	gemm_busy_look(&run);
	r = set_up_devices(&run, err);
	fit_times(plan);
	for (; r == 0 && part->check; part++) {
		plan->check = part->check;
		r = part->measure(&run);
	}
	return r < 0 && err && !err->code ? err_errno(err, -r, "cannot print samples") : r;
}

/* --- one product on one device: its memory, its factors --- */

static size_t matrix_bytes(enum accel_dtype dtype, unsigned rows, unsigned columns)
{
	return accel_dtype_size(dtype) * rows * columns;
}

struct gemm_sizes gemm_sizes(const struct accel_gemm_shape *s)
{
	return (struct gemm_sizes){
		.x = matrix_bytes(s->dtype, s->m, s->k),
		.y = matrix_bytes(s->dtype, s->k, s->n),
		.out = matrix_bytes(s->out, s->m, s->n),
	};
}

static unsigned three_quarters(unsigned n)
{
	return n - n / 4;
}

struct accel_gemm_shape gemm_other_shape(const struct accel_gemm_shape *shape)
{
	struct accel_gemm_shape other = *shape;

	other.m = three_quarters(shape->m);
	other.n = three_quarters(shape->n);
	other.k = three_quarters(shape->k);
	return other;
}

void gemm_job_release(struct gemm_device *d, struct gemm_job *job)
{
	const struct accel_ops *ops = d->plan->ops;

	ops->gemm_free(job->gemm);
	if (job->x.ptr)
		ops->region_free(&job->x);
	if (job->y.ptr)
		ops->region_free(&job->y);
	if (job->out.ptr)
		ops->region_free(&job->out);
	*job = (struct gemm_job){ 0 };
}

int gemm_job_init(struct gemm_device *d, const struct accel_gemm_shape *shape, struct gemm_job *ret,
		  struct err *err)
{
	const struct accel_ops *ops = d->plan->ops;
	struct accel *a = d->plan->accel;
	const struct gemm_sizes sizes = gemm_sizes(shape);
	struct gemm_job job = { 0 };
	struct {
		struct accel_region *region;
		size_t size;
	} regions[] = {
		{ &job.x, sizes.x },
		{ &job.y, sizes.y },
		{ &job.out, sizes.out },
	};
	size_t i;
	int r = ops->gemm_new(a, d->index, shape, &job.gemm, err);

	for (i = 0; r == 0 && i < ARRAY_SIZE(regions); i++) {
		struct accel_memory memory = { ACCEL_DEVICE, -1, regions[i].size };

		r = ops->region_new(a, d->index, &memory, regions[i].region, err);
	}
	if (r < 0)
		gemm_job_release(d, &job);
	else
		*ret = job;
	return r;
}

int gemm_factors_init(const struct accel_gemm_shape *shape, uint64_t seed, struct gemm_factors *ret,
		      struct err *err)
{
	const struct gemm_sizes sizes = gemm_sizes(shape);
	struct gemm_factors f = { .x_size = sizes.x, .y_size = sizes.y };

	f.x = malloc(f.x_size);
	f.y = malloc(f.y_size);
	if (!f.x || !f.y) {
		gemm_factors_release(&f);
		return err_set(err, ENOMEM, "no memory for matrices of %zu and %zu bytes", sizes.x,
			       sizes.y);
	}
	gemm_fill_random(shape->dtype, (size_t)shape->m * shape->k, seed, f.x);
	gemm_fill_random(shape->dtype, (size_t)shape->k * shape->n, ~seed, f.y);
	*ret = f;
	return 0;
}

void gemm_factors_release(struct gemm_factors *f)
{
	free(f->x);
	free(f->y);
	*f = (struct gemm_factors){ 0 };
}

int gemm_factors_upload(struct gemm_device *d, const struct gemm_factors *f, struct gemm_job *job,
			struct err *err)
{
	const struct accel_ops *ops = d->plan->ops;
	int r = ops->upload(&job->x, 0, f->x, f->x_size, err);

	return r < 0 ? r : ops->upload(&job->y, 0, f->y, f->y_size, err);
}

static int measure(void *context, struct err *err)
{
	return gemm_run(context, err);
}

/* Units of the other checks. */
static const struct {
	const char *check, *unit;
	int better;
} units[] = {
	{ "gemm.rate", "FLOP/s", BETTER_HIGHER }, /* also used if no check had begun */
	{ "gemm.overlap", "FLOP/s", BETTER_HIGHER }, { "gemm.burn_rate", "FLOP/s", BETTER_HIGHER },
	{ "gemm.correct", "1", BETTER_LOWER },	     { "gemm.launch", "s", BETTER_LOWER },
	{ "gemm.chain", "s", BETTER_LOWER },
};

/*
 * The GPU queried last has not answered. The others could not be measured, but samples emitted
 * before remain valid.
 */
static int tell_blocked(const struct gemm_plan *plan, struct err *err)
{
	const char *check = plan->check;
	struct sample s = sample_init();
	size_t i = 0, n;
	int r;

	for (n = 0; check && n < ARRAY_SIZE(units); n++)
		i = streq(units[n].check, check) ? n : i;
	s.check = xstrdup(units[i].check);
	s.unit = xstrdup(units[i].unit);
	s.better = units[i].better;
	r = accel_blocked(plan->accel, &s, err);
	if (s.subject)
		(void)plan->sink.emit(plan->sink.context, &s);
	sample_release(&s);
	return r;
}

int gemm_run_watched(const struct gemm_plan *plan, uint64_t deadline_us, struct err *err)
{
	struct gemm_plan *own = xcalloc(1, sizeof(*own)); /* not freed if the thread hangs */
	int r;

	*own = *plan;
	r = accel_watch(measure, own, deadline_us, err);
	if (r == -ETIMEDOUT)
		return tell_blocked(own, err);
	if (!own->leaves) /* late threads still use it */
		free(own);
	return r;
}
