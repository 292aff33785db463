/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_rate.h"

#include <errno.h>
#include <math.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/gemm/gemm_busy.h"
#include "probes/gemm/gemm_cause.h"
#include "probes/gemm/gemm_clock.h"
#include "probes/gemm/gemm_device.h"
#include "probes/gemm/gemm_window.h"

enum {
	WARM_WINDOW_US = 50000, /* of the warm-up: short, as the speed is not known yet */
	WARM_LATE_US = 1000000, /* what is late after the warm-up continues into the measurement */
};
/*
 * If others slow a measurement down, it ends after this much of its share, once it has 8 windows.
 */
static const double patience = 1.2;

static uint64_t now_us(const struct gemm_run *run)
{
	return run->plan->ops->now_us(run->plan->accel);
}

/* The checks after the rate need their share too. */
static uint64_t last_of_rate_us(const struct gemm_plan *plan)
{
	uint64_t after_us = plan->check_us + plan->vote_us + plan->overlap_us;

	return plan->deadline_us - MIN(after_us, plan->deadline_us);
}

static void warm_up(struct gemm_run *run)
{
	uint64_t end_us = now_us(run) + run->plan->warm_us;
	const struct gemm_stretch stretch = {
		.window_us = WARM_WINDOW_US,
		.end_us = end_us,
		.last_us = MIN(end_us + WARM_LATE_US, last_of_rate_us(run->plan)),
	};

	gemm_windows_warm(run);
	gemm_windows_fill(run, &stretch);
	gemm_windows_count(run);
}

static void measure(struct gemm_run *run)
{
	uint64_t most_us = (uint64_t)(patience * (double)run->plan->rate_us);
	const struct gemm_stretch stretch = {
		.window_us = run->plan->rate_us / GEMM_WINDOWS,
		.end_us = MIN(now_us(run) + most_us, last_of_rate_us(run->plan)),
		.last_us = last_of_rate_us(run->plan),
		.counts = true,
	};
	unsigned i;

	gemm_windows_fill(run, &stretch);
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

/* Set the value and its windows; none if others took from the device, unless asked for. */
static void set_rate(struct sample *s, const struct gemm_run *run, const struct gemm_device *d)
{
	CLEANUP(freep) char *cause = NULL;
	const char *code = NULL;

	if (!gemm_live(d) || !d->n_rates)
		return;
	if (d->busy[0] && !d->plan->run_busy) {
		s->state = SAMPLE_BUSY;
		s->note = xstrdup(d->busy);
		return;
	}
	s->note = d->busy[0] ? xasprintf("measured although %s", d->busy) : gemm_clock_words(d);
	sample_set_windows(s, d->rates, d->n_rates);
	if (gemm_cause(run, d, &code, &cause)) {
		CLEANUP(freep) char *clock = s->note;

		s->note = xasprintf("%s; %s", cause, clock);
		s->code = xstrdup(code);
	}
}

static int emit_rates(struct gemm_run *run, uint64_t start_us, uint64_t end_us)
{
	struct sample host;
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct sample s = gemm_sample(d, "gemm.rate"), per_clock;

		d->plain_rate = (double)NAN;
		s.unit = xstrdup("FLOP/s");
		s.better = BETTER_HIGHER;
		gemm_sample_time(&s, run->plan, start_us, end_us);
		set_rate(&s, run, d);
		if (s.state == SAMPLE_MEASURED)
			d->plain_rate = s.value;
		r = gemm_emit(run, &s);
		if (r < 0 || !gemm_clock_sample(d, &per_clock))
			continue;
		gemm_sample_time(&per_clock, run->plan, start_us, end_us);
		r = gemm_emit(run, &per_clock);
	}
	if (r < 0 || !gemm_host_sample(run, &host))
		return r;
	gemm_sample_time(&host, run->plan, start_us, end_us);
	return gemm_emit(run, &host);
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
