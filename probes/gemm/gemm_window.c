/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_window.h"

#include <errno.h>
#include <limits.h>
#include <math.h>

#include "lib/base/clock.h"
#include "probes/gemm/gemm_clock.h"
#include "probes/gemm/gemm_device.h"

enum {
	BATCH_MAX = 4096,   /* products per window: what streams and launch queues can hold */
	WINDOW_EVENTS = 2,  /* per window, besides its products */
	SLICE_MIN_US = 200, /* shortest wait for a device before checking the next */
};

static uint64_t now_us(const struct gemm_run *run)
{
	return run->plan->ops->now_us(run->plan->accel);
}

static double products_flop(const struct gemm_plan *plan, unsigned n)
{
	return 2.0 * plan->shape.m * plan->shape.n * plan->shape.k * n;
}

/* Products per window at most, so that all windows in flight and their events fit a stream. */
static unsigned batch_max(const struct gemm_device *d)
{
	const struct accel_ops *ops = d->plan->ops;
	const unsigned held = ops->queue_max / GEMM_IN_FLIGHT;

	if (held <= WINDOW_EVENTS)
		return BATCH_MAX;
	return MIN((held - WINDOW_EVENTS) / ops->gemm_pieces(d->job.gemm), (unsigned)BATCH_MAX);
}

/* Number of products that fill `window_us`; one while the speed is unknown. */
static unsigned batch_for(const struct gemm_device *d, uint64_t window_us)
{
	double n = d->seconds_per_product > 0 ? (double)window_us * 1e-6 / d->seconds_per_product
					      : 1;
	unsigned most = batch_max(d);

	return n >= most ? most : n < 1 ? 1 : (unsigned)lround(n);
}

static int put_window(struct gemm_device *d, unsigned batch, struct err *err)
{
	const struct accel_ops *ops = d->plan->ops;
	struct gemm_window *w = &d->ring[d->n_put % GEMM_IN_FLIGHT];
	unsigned i;
	int r = ops->event_record(w->from, d->stream, err);

	for (i = 0; r == 0 && i < batch; i++)
		r = ops->gemm_run(d->job.gemm, d->stream, &d->job.x, &d->job.y, &d->job.out, err);
	if (r == 0)
		r = ops->event_record(w->to, d->stream, err);
	w->batch = batch;
	d->n_put++;
	return r;
}

/* Take the oldest window if it ends by `deadline_us`, and update the speed from it. -ETIMEDOUT. */
static int take_window(struct gemm_device *d, uint64_t deadline_us, struct err *err)
{
	const struct accel_ops *ops = d->plan->ops;
	struct gemm_window *w = &d->ring[d->n_taken % GEMM_IN_FLIGHT];
	double seconds = 0;
	int r = ops->event_wait(w->to, deadline_us, err);

	if (r == 0)
		r = ops->event_seconds(w->from, w->to, &seconds, err);
	if (r < 0)
		return err_wrap(err, r, "%s, %u products", d->info.subject, w->batch);
	if (seconds <= 0)
		return err_set(err, EIO, "%s: %u products took no time on its clock",
			       d->info.subject, w->batch);
	d->seconds_per_product = seconds / w->batch;
	d->taken_flop += products_flop(d->plan, w->batch);
	d->taken_s += seconds;
	if (d->n_taken >= d->n_warm && d->n_rates < GEMM_WINDOWS)
		d->rates[d->n_rates++] = products_flop(d->plan, w->batch) / seconds;
	d->n_taken++;
	return 0;
}

static bool wants_window(const struct gemm_device *d, const struct gemm_stretch *stretch,
			 uint64_t now)
{
	unsigned in_flight = d->n_put - d->n_taken, put = d->n_put - d->n_warm;

	if (!gemm_live(d) || in_flight == GEMM_IN_FLIGHT)
		return false;
	if (d->seconds_per_product <= 0 && in_flight)
		return false; /* the first one runs alone: it shows how long a product takes */
	if (!stretch->counts)
		return now < stretch->end_us;
	return put < (now < stretch->end_us ? (unsigned)GEMM_WINDOWS : (unsigned)SAMPLE_WINDOWS_MIN);
}

/*
 * The length of the next window: shorter than planned if the device is behind, so that it still
 * fills enough windows in the remaining time.
 */
static uint64_t window_length_us(const struct gemm_device *d, const struct gemm_stretch *stretch,
				 uint64_t now)
{
	bool late = now >= stretch->end_us;
	uint64_t until_us = late ? stretch->last_us : stretch->end_us;
	unsigned want = late ? SAMPLE_WINDOWS_MIN : GEMM_WINDOWS;

	if (!stretch->counts)
		return stretch->window_us;
	if (until_us <= now || want <= d->n_rates)
		return 0;
	return MIN(stretch->window_us, (until_us - now) / (want - d->n_rates));
}

static void put_windows(struct gemm_run *run, const struct gemm_stretch *stretch)
{
	uint64_t now = now_us(run);
	unsigned i;

	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct err err = ERR_INIT;
		int r = 0;

		while (r == 0 && wants_window(d, stretch, now))
			r = put_window(d, batch_for(d, window_length_us(d, stretch, now)), &err);
		if (r < 0)
			gemm_fail(d, r, &err);
	}
}

/* Take at most one window of each device, waiting up to `slice_us` for each. */
static bool take_windows(struct gemm_run *run, const struct gemm_stretch *stretch, uint64_t slice_us)
{
	bool in_flight = false;
	unsigned i;

	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct err err = ERR_INIT;
		int r;

		if (!gemm_live(d) || d->n_taken == d->n_put)
			continue;
		in_flight = true;
		r = take_window(d, MIN(now_us(run) + slice_us, stretch->last_us), &err);
		if (r < 0 && r != -ETIMEDOUT)
			gemm_fail(d, r, &err);
	}
	return in_flight;
}

bool gemm_windows_turn(struct gemm_run *run, const struct gemm_stretch *stretch, uint64_t slice_us)
{
	put_windows(run, stretch);
	if (stretch->counts)
		gemm_clock_look(run, now_us(run));
	return take_windows(run, stretch, slice_us) && now_us(run) < stretch->last_us;
}

void gemm_windows_fill(struct gemm_run *run, const struct gemm_stretch *stretch)
{
	uint64_t slice_us = MAX(stretch->window_us / (run->n ? run->n : 1), (uint64_t)SLICE_MIN_US);

	while (gemm_windows_turn(run, stretch, slice_us))
		;
}

void gemm_windows_warm(struct gemm_run *run)
{
	unsigned i;

	for (i = 0; i < run->n; i++) {
		run->devices[i].n_warm = UINT_MAX;
		run->devices[i].n_rates = 0;
	}
}

void gemm_windows_count(struct gemm_run *run)
{
	unsigned i;

	for (i = 0; i < run->n; i++)
		run->devices[i].n_warm = run->devices[i].n_put;
}
