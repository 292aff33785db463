/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_clock.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "probes/gemm/gemm_device.h"

enum { CLOCK_EVERY_US = 200000, WORDS_MAX = 400 };

/* NVML, nvmlClocksEventReason*: what limits the clock. Does not include idle. */
static const struct {
	uint64_t bit;
	const char *words;
} reasons[] = {
	{ 0x2, "application clocks" },	 { 0x4, "SW power cap" },
	{ 0x8, "HW slowdown" },		 { 0x10, "sync boost" },
	{ 0x20, "SW thermal slowdown" }, { 0x40, "HW thermal slowdown" },
	{ 0x80, "HW power brake" },	 { 0x100, "display clocks" },
};

static void look(struct gemm_device *d)
{
	struct accel_condition now = {
		.clock_hz = NAN, .power_w = NAN, .temperature_c = NAN, .memory_c = NAN
	};
	struct gemm_clock *c = &d->clock;
	struct err err = ERR_INIT;

	if (d->plan->ops->condition(d->plan->accel, d->index, &now, &err) < 0) {
		(void)snprintf(c->why, sizeof(c->why), "%s", err.msg);
		return;
	}
	if (!(now.clock_hz > 0))
		return;
	c->sum_hz += now.clock_hz;
	c->min_hz = c->n ? fmin(c->min_hz, now.clock_hz) : now.clock_hz;
	c->max_w = c->n ? fmax(c->max_w, now.power_w) : now.power_w;
	c->max_c = c->n ? fmax(c->max_c, now.temperature_c) : now.temperature_c;
	c->max_memory_c = c->n ? fmax(c->max_memory_c, now.memory_c) : now.memory_c;
	if (now.power_w > 0) {
		c->sum_w += now.power_w;
		c->n_w++;
	}
	c->reasons |= now.throttle_reasons;
	c->n++;
}

void gemm_clock_look(struct gemm_run *run, uint64_t now_us)
{
	unsigned i;

	if (!run->plan->gpu || now_us < run->clock_due_us)
		return;
	run->clock_due_us = now_us + CLOCK_EVERY_US;
	for (i = 0; i < run->n; i++) {
		/*
		 * The first window has to end before readings count, so that the clock has settled.
		 */
		if (gemm_live(&run->devices[i]) && run->devices[i].n_rates)
			look(&run->devices[i]);
	}
}

char *gemm_clock_words(const struct gemm_device *d)
{
	const struct gemm_clock *c = &d->clock;
	CLEANUP(strbuf_release) struct strbuf words = STRBUF_INIT(WORDS_MAX);
	const char *before = "; held back by ";
	size_t i;

	if (!c->n)
		return c->why[0] ? xasprintf("clock unknown: %s", c->why) : NULL;
	(void)strbuf_printf(&words, "SM clock %.0f MHz on average, %.0f at least",
			    c->sum_hz / c->n * 1e-6, c->min_hz * 1e-6);
	if (c->max_w > 0)
		(void)strbuf_printf(&words, "; at most %.0f W", c->max_w);
	if (c->max_c > 0)
		(void)strbuf_printf(&words, ", %.0f C", c->max_c);
	if (c->max_memory_c > 0)
		(void)strbuf_printf(&words, ", HBM %.0f C", c->max_memory_c);
	for (i = 0; i < ARRAY_SIZE(reasons); i++) {
		if (!(c->reasons & reasons[i].bit))
			continue;
		(void)strbuf_printf(&words, "%s%s", before, reasons[i].words);
		before = ", ";
	}
	return xstrdup(strbuf_text(&words));
}

bool gemm_clock_sample(const struct gemm_device *d, struct sample *ret)
{
	const struct gemm_clock *c = &d->clock;
	double cycles, windows[GEMM_WINDOWS];
	struct sample s;
	size_t i;

	if (!gemm_live(d) || !d->n_rates || !c->n || !d->info.units)
		return false;
	if (d->busy[0] && !d->plan->run_busy)
		return false;
	cycles = c->sum_hz / c->n * d->info.units;
	for (i = 0; i < d->n_rates; i++)
		windows[i] = d->rates[i] / cycles;
	s = gemm_sample(d, "gemm.per_clock");
	s.unit = xstrdup("1");
	s.better = BETTER_HIGHER;
	s.note = gemm_clock_words(d);
	sample_set_windows(&s, windows, d->n_rates);
	*ret = s;
	return true;
}
