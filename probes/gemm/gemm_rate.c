/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of each device while all of them work. The device's own clock
 * times windows of several products between two events; a few windows are
 * always put ahead, so that no device waits for the one who counts.
 */
#include <errno.h>
#include <math.h>

#include "lib/clock.h"
#include "lib/xalloc.h"
#include "probes/gemm/gemm.h"

enum {
	WARM_WINDOW_US = 50000, /* of the warm-up: short, the speed is not known yet */
	BATCH_MAX = 4096,	/* products of one window: what streams and launch queues hold */
	HANG_US = 1000000,	/* what a window may be late, and twice its time */
};
static const double hang_factor = 2;
/* Part of the time left that the first, cold product may take: its speed is not known. */
static const double cold_part = 0.25;
/* A measurement that others slow down ends after this much of its share, once it has 8 windows. */
static const double patience = 1.2;

static uint64_t now_us(const struct gemm_run *run)
{
	return run->plan->ops->now_us(run->plan->accel);
}

static double products_flop(const struct gemm_plan *plan, unsigned n)
{
	return 2.0 * plan->shape.m * plan->shape.n * plan->shape.k * n;
}

/* Products that fill `window_us`; one while the speed is unknown. */
static unsigned batch_for(const struct gemm_device *d, uint64_t window_us)
{
	double n = d->seconds_per_product > 0 ? (double)window_us * 1e-6 / d->seconds_per_product
					      : 1;

	return n >= BATCH_MAX ? BATCH_MAX : n < 1 ? 1 : (unsigned)lround(n);
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

/* When the device counts as hung; the others, and the check, need time after that. */
static uint64_t window_deadline(const struct gemm_device *d, const struct gemm_window *w)
{
	const struct gemm_plan *plan = d->plan;
	uint64_t now = plan->ops->now_us(plan->accel);
	uint64_t last_us = plan->deadline_us - MIN(plan->check_us, plan->deadline_us);
	uint64_t left_us = last_us > now ? last_us - now : 0;
	double us = hang_factor * 1e6 * d->seconds_per_product * w->batch * GEMM_IN_FLIGHT;

	if (d->seconds_per_product <= 0)
		us = cold_part * (double)left_us;
	return now + MIN((uint64_t)us + HANG_US, left_us);
}

/* Wait for the oldest window and learn the speed from it. */
static int take_window(struct gemm_device *d, double *ret_flop_per_s, struct err *err)
{
	const struct accel_ops *ops = d->plan->ops;
	struct gemm_window *w = &d->ring[d->n_taken % GEMM_IN_FLIGHT];
	double seconds = 0;
	int r = ops->event_wait(w->to, window_deadline(d, w), err);

	if (r == 0)
		r = ops->event_seconds(w->from, w->to, &seconds, err);
	if (r < 0)
		return err_wrap(err, r, "%s, %u products", d->info.subject, w->batch);
	if (seconds <= 0)
		return err_set(err, EIO, "%s: %u products took no time on its clock",
			       d->info.subject, w->batch);
	d->n_taken++;
	d->seconds_per_product = seconds / w->batch;
	*ret_flop_per_s = products_flop(d->plan, w->batch) / seconds;
	return 0;
}

static void put_all(struct gemm_run *run, uint64_t window_us)
{
	unsigned i;

	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct err err = ERR_INIT;
		int r = gemm_live(d) ? put_window(d, batch_for(d, window_us), &err) : 0;

		if (r < 0)
			gemm_fail(d, r, &err);
	}
}

static void take_all(struct gemm_run *run, bool keep)
{
	unsigned i;

	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct err err = ERR_INIT;
		double rate = 0;
		int r;

		if (!gemm_live(d) || d->n_taken == d->n_put)
			continue;
		r = take_window(d, &rate, &err);
		if (r < 0)
			gemm_fail(d, r, &err);
		else if (keep && d->n_rates < GEMM_WINDOWS)
			d->rates[d->n_rates++] = rate;
	}
}

/* At least one product, the cold one, then windows until the time is over. */
static void warm_up(struct gemm_run *run)
{
	uint64_t end_us = now_us(run) + run->plan->warm_us;
	unsigned in_flight = 0;

	put_all(run, 0);
	take_all(run, false);
	do {
		put_all(run, WARM_WINDOW_US);
		if (++in_flight == GEMM_IN_FLIGHT) {
			take_all(run, false);
			in_flight--;
		}
	} while (now_us(run) < end_us);
	while (in_flight--)
		take_all(run, false);
}

static void measure(struct gemm_run *run)
{
	uint64_t window_us = run->plan->rate_us / GEMM_WINDOWS;
	uint64_t end_us = now_us(run) + (uint64_t)(patience * (double)run->plan->rate_us);
	unsigned put = 0, taken = 0;

	while (taken < GEMM_WINDOWS) {
		bool enough = taken >= SAMPLE_WINDOWS_MIN && now_us(run) >= end_us;

		if (enough && put == taken)
			return;
		if (!enough && put < GEMM_WINDOWS) {
			put_all(run, window_us);
			put++;
		}
		if (enough || put == GEMM_WINDOWS || put - taken == GEMM_IN_FLIGHT) {
			take_all(run, true);
			taken++;
		}
	}
}

/* The value and its windows; none when others took from the device, unless asked for. */
static void set_rate(struct sample *s, const struct gemm_device *d)
{
	if (!gemm_live(d) || !d->n_rates)
		return;
	if (d->busy[0] && !d->plan->run_busy) {
		s->state = SAMPLE_BUSY;
		s->note = xstrdup(d->busy);
		return;
	}
	if (d->busy[0])
		s->note = xasprintf("measured although %s", d->busy);
	sample_set_windows(s, d->rates, d->n_rates);
}

static int emit_rates(struct gemm_run *run, uint64_t start_us, uint64_t end_us)
{
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct sample s = gemm_sample(d, "gemm.rate");

		s.unit = xstrdup("FLOP/s");
		s.better = BETTER_HIGHER;
		s.start = ((double)start_us + (double)run->plan->epoch_us) * 1e-6;
		s.seconds = (double)(end_us - start_us) * 1e-6;
		set_rate(&s, d);
		r = gemm_emit(run, &s);
	}
	return r;
}

static void timed(struct gemm_run *run, enum gemm_phase phase, void (*work)(struct gemm_run *run),
		  uint64_t *ret_start_us, uint64_t *ret_end_us)
{
	gemm_busy_start(run);
	*ret_start_us = now_us(run);
	work(run);
	*ret_end_us = now_us(run);
	gemm_busy_end(run, phase, *ret_end_us - *ret_start_us);
}

int gemm_rate(struct gemm_run *run)
{
	uint64_t start_us, end_us;

	timed(run, GEMM_WARMED, warm_up, &start_us, &end_us);
	timed(run, GEMM_MEASURED, measure, &start_us, &end_us);
	return emit_rates(run, start_us, end_us);
}
