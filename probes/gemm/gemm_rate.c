/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of each device while all of them work. The device's own clock
 * times windows of several products between two events; a few windows are
 * always put ahead, so that no device waits for the one who counts. Nobody
 * waits for a device that is late either: each fills its windows at its own
 * pace until the phase ends.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>

#include "lib/clock.h"
#include "lib/xalloc.h"
#include "probes/gemm/gemm.h"

enum {
	WARM_WINDOW_US = 50000, /* of the warm-up: short, the speed is not known yet */
	WARM_LATE_US = 1000000, /* what is late after the warm-up goes on into the measurement */
	BATCH_MAX = 4096,	/* products of one window: what streams and launch queues hold */
	WINDOW_EVENTS = 2,	/* of one window, beside its products */
	SLICE_MIN_US = 200,	/* shortest wait for one device before the next is looked at */
};
/* A measurement that others slow down ends after this much of its share, once it has 8 windows. */
static const double patience = 1.2;

struct phase {
	uint64_t window_us; /* length of a window */
	uint64_t end_us;    /* from then on no more windows are put than must be */
	uint64_t last_us;   /* what is late then is left */
	bool counts;	    /* the windows are the measurement */
};

static uint64_t now_us(const struct gemm_run *run)
{
	return run->plan->ops->now_us(run->plan->accel);
}

static double products_flop(const struct gemm_plan *plan, unsigned n)
{
	return 2.0 * plan->shape.m * plan->shape.n * plan->shape.k * n;
}

/* Most products of one window: all windows in flight and their events fit into a stream. */
static unsigned batch_max(const struct gemm_plan *plan)
{
	unsigned held = plan->ops->queue_max / GEMM_IN_FLIGHT;

	return held > WINDOW_EVENTS ? MIN(held - WINDOW_EVENTS, (unsigned)BATCH_MAX) : BATCH_MAX;
}

/* Products that fill `window_us`; one while the speed is unknown. */
static unsigned batch_for(const struct gemm_device *d, uint64_t window_us)
{
	double n = d->seconds_per_product > 0 ? (double)window_us * 1e-6 / d->seconds_per_product
					      : 1;
	unsigned most = batch_max(d->plan);

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

/* Learn the speed from the oldest window, when it is over by `deadline_us`. -ETIMEDOUT. */
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
	if (d->n_taken >= d->n_warm && d->n_rates < GEMM_WINDOWS)
		d->rates[d->n_rates++] = products_flop(d->plan, w->batch) / seconds;
	d->n_taken++;
	return 0;
}

static bool wants_window(const struct gemm_device *d, const struct phase *phase, uint64_t now)
{
	unsigned in_flight = d->n_put - d->n_taken, put = d->n_put - d->n_warm;

	if (!gemm_live(d) || in_flight == GEMM_IN_FLIGHT)
		return false;
	if (d->seconds_per_product <= 0 && in_flight)
		return false; /* the cold one goes alone: it tells how long a window is */
	if (!phase->counts)
		return now < phase->end_us;
	return put < (now < phase->end_us ? (unsigned)GEMM_WINDOWS : (unsigned)SAMPLE_WINDOWS_MIN);
}

/*
 * How long the next window should be: less than planned when the device is
 * behind, so that it still fills enough windows in the time left.
 */
static uint64_t window_length_us(const struct gemm_device *d, const struct phase *phase,
				 uint64_t now)
{
	bool late = now >= phase->end_us;
	uint64_t until_us = late ? phase->last_us : phase->end_us;
	unsigned want = late ? SAMPLE_WINDOWS_MIN : GEMM_WINDOWS;

	if (!phase->counts)
		return phase->window_us;
	if (until_us <= now || want <= d->n_rates)
		return 0;
	return MIN(phase->window_us, (until_us - now) / (want - d->n_rates));
}

static void put_windows(struct gemm_run *run, const struct phase *phase)
{
	uint64_t now = now_us(run);
	unsigned i;

	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct err err = ERR_INIT;
		int r = 0;

		while (r == 0 && wants_window(d, phase, now))
			r = put_window(d, batch_for(d, window_length_us(d, phase, now)), &err);
		if (r < 0)
			gemm_fail(d, r, &err);
	}
}

/* Take at most one window of each device. False when none is in flight any more. */
static bool take_windows(struct gemm_run *run, const struct phase *phase)
{
	uint64_t slice_us = MAX(phase->window_us / (run->n ? run->n : 1), (uint64_t)SLICE_MIN_US);
	bool in_flight = false;
	unsigned i;

	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct err err = ERR_INIT;
		int r;

		if (!gemm_live(d) || d->n_taken == d->n_put)
			continue;
		in_flight = true;
		r = take_window(d, MIN(now_us(run) + slice_us, phase->last_us), &err);
		if (r < 0 && r != -ETIMEDOUT)
			gemm_fail(d, r, &err);
	}
	return in_flight;
}

static void run_phase(struct gemm_run *run, const struct phase *phase)
{
	do {
		put_windows(run, phase);
		if (phase->counts)
			gemm_clock_look(run, now_us(run));
	} while (take_windows(run, phase) && now_us(run) < phase->last_us);
}

/* The check after the rate needs its share too. */
static uint64_t last_of_rate_us(const struct gemm_plan *plan)
{
	return plan->deadline_us - MIN(plan->check_us, plan->deadline_us);
}

static void warm_up(struct gemm_run *run)
{
	uint64_t end_us = now_us(run) + run->plan->warm_us;
	const struct phase phase = {
		.window_us = WARM_WINDOW_US,
		.end_us = end_us,
		.last_us = MIN(end_us + WARM_LATE_US, last_of_rate_us(run->plan)),
	};
	unsigned i;

	for (i = 0; i < run->n; i++)
		run->devices[i].n_warm = UINT_MAX; /* no window counts yet */
	run_phase(run, &phase);
	for (i = 0; i < run->n; i++)
		run->devices[i].n_warm = run->devices[i].n_put;
}

static void measure(struct gemm_run *run)
{
	uint64_t most_us = (uint64_t)(patience * (double)run->plan->rate_us);
	const struct phase phase = {
		.window_us = run->plan->rate_us / GEMM_WINDOWS,
		.end_us = now_us(run) + most_us,
		.last_us = last_of_rate_us(run->plan),
		.counts = true,
	};
	unsigned i;

	run_phase(run, &phase);
	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct err err = ERR_INIT;

		if (!gemm_live(d) || d->n_rates >= SAMPLE_WINDOWS_MIN)
			continue;
		(void)err_set(&err, ETIMEDOUT, "%s finished %zu of at least %d windows in time",
			      d->info.subject, d->n_rates, SAMPLE_WINDOWS_MIN);
		gemm_fail(d, -ETIMEDOUT, &err);
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
	s->note = d->busy[0] ? xasprintf("measured although %s", d->busy) : gemm_clock_words(d);
	sample_set_windows(s, d->rates, d->n_rates);
}

static void set_time(struct sample *s, const struct gemm_run *run, uint64_t start_us,
		     uint64_t end_us)
{
	s->start = ((double)start_us + (double)run->plan->epoch_us) * 1e-6;
	s->seconds = (double)(end_us - start_us) * 1e-6;
}

static int emit_rates(struct gemm_run *run, uint64_t start_us, uint64_t end_us)
{
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct sample s = gemm_sample(d, "gemm.rate"), per_clock;

		s.unit = xstrdup("FLOP/s");
		s.better = BETTER_HIGHER;
		set_time(&s, run, start_us, end_us);
		set_rate(&s, d);
		r = gemm_emit(run, &s);
		if (r < 0 || !gemm_clock_sample(d, &per_clock))
			continue;
		set_time(&per_clock, run, start_us, end_us);
		r = gemm_emit(run, &per_clock);
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
