/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/gemm/gemm_burn.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "probes/gemm/gemm_burn_tell.h"
#include "probes/gemm/gemm_busy.h"
#include "probes/gemm/gemm_device.h"
#include "probes/gemm/gemm_overlap.h"
#include "probes/gemm/gemm_window.h"

enum {
	BURN_WINDOW_US = 200000, /* long compared with a launch, short compared with a slot */
	BURN_LOOK_US = 1000000,	 /* heat changes in seconds; each reading queries firmware */
	BURN_LATE_US = 2000000,	 /* windows later than this at the end are abandoned */
};

static uint64_t now_us(const struct gemm_run *run)
{
	return run->plan->ops->now_us(run->plan->accel);
}

static void look_at(struct burn *b, unsigned i)
{
	struct gemm_device *d = &b->run->devices[i];
	struct burn_tally *t = &b->tallies[i];
	struct accel_condition now = { .clock_hz = NAN };
	double seen[BURN_WHATS] = { 0 };
	struct err err = ERR_INIT;
	size_t what;

	if (!gemm_live(d) || d->plan->ops->condition(d->plan->accel, i, &now, &err) < 0)
		return;
	seen[BURN_CLOCK] = now.clock_hz;
	seen[BURN_POWER] = now.power_w;
	seen[BURN_GPU_C] = now.temperature_c;
	seen[BURN_MEMORY_C] = now.memory_c;
	for (what = 0; what < BURN_WHATS; what++) {
		if (!(seen[what] > 0))
			continue;
		t->sum[what] += seen[what];
		t->n[what]++;
	}
	t->reasons |= now.throttle_reasons;
}

static void begin_slot(struct burn *b)
{
	unsigned i;

	for (i = 0; i < b->run->n; i++) {
		struct gemm_device *d = &b->run->devices[i];

		b->tallies[i] = (struct burn_tally){ 0 };
		d->taken_flop = d->taken_s = 0;
	}
}

/* Values without a reading are unknown. */
static void set_slot(struct burn_slot *slot, const struct gemm_device *d, const struct burn_tally *t)
{
	size_t what;

	for (what = 0; what < BURN_WHATS; what++)
		slot->is[what] = t->n[what] ? t->sum[what] / t->n[what] : (double)NAN;
	if (d->taken_s > 0)
		slot->is[BURN_RATE] = d->taken_flop / d->taken_s;
	slot->reasons = t->reasons;
}

static void end_slot(struct burn *b)
{
	unsigned i;

	for (i = 0; i < b->run->n; i++)
		set_slot(&b->series[i].slots[b->slot], &b->run->devices[i], &b->tallies[i]);
	b->slot++;
	begin_slot(b);
}

/* Enqueue and take products, read sensors, and advance to the next slot when it is time. */
static void turn(struct burn *b, uint64_t slice_us)
{
	uint64_t now;
	unsigned i;

	if (b->over)
		return;
	b->over = !gemm_windows_turn(b->run, &b->stretch, slice_us);
	now = now_us(b->run);
	if (!b->warm && now >= b->start_us) {
		b->warm = true;
		begin_slot(b);
	}
	if (now >= b->due_us && now < b->stretch.end_us) {
		b->due_us = now + BURN_LOOK_US;
		for (i = 0; i < b->run->n; i++)
			look_at(b, i);
	}
	while (b->warm && b->slot < BURN_SLOTS && now >= b->start_us + (b->slot + 1) * b->slot_us)
		end_slot(b);
}

/* Called continually by the all-reduce; never gives up. */
static bool look(void *context, int *ret_suspect UNUSED, char ret_why[static COLL_WHY_SIZE] UNUSED)
{
	turn(context, 0);
	return false;
}

/* The time left for slots, minus what comes after them. */
static uint64_t slot_length_us(const struct burn *b)
{
	const struct gemm_plan *plan = b->run->plan;
	const uint64_t end_us = plan->deadline_us - plan->check_us - plan->vote_us;
	const uint64_t left_us = end_us > b->start_us ? end_us - b->start_us : 0;

	return MAX(MIN(plan->rate_us, left_us) / BURN_SLOTS, (uint64_t)1);
}

static void burn(struct burn *b)
{
	const struct gemm_plan *plan = b->run->plan;
	const struct coll_watch watch = { look, b };
	const uint64_t slice_us = BURN_WINDOW_US / (b->run->n ? b->run->n : 1);
	unsigned times = 1;
	bool links = b->links && gemm_overlap_try_alone(b->links, &times);

	gemm_windows_warm(b->run);
	b->start_us = now_us(b->run) + plan->warm_us;
	b->slot_us = slot_length_us(b);
	b->stretch = (struct gemm_stretch){
		.window_us = BURN_WINDOW_US,
		.end_us = b->start_us + BURN_SLOTS * b->slot_us,
		.last_us = MIN(b->start_us + BURN_SLOTS * b->slot_us + BURN_LATE_US,
			       plan->deadline_us),
	};
	while (!b->over) {
		/* A failed or hung all-reduce is reported, and the products continue without it. */
		if (links && now_us(b->run) < b->stretch.end_us)
			links = gemm_overlap_go(b->links, times, &watch);
		else
			turn(b, slice_us);
	}
}

/* The last windows did not end, so they hang. */
static void fail_late(struct gemm_run *run)
{
	unsigned i;

	for (i = 0; i < run->n; i++) {
		struct gemm_device *d = &run->devices[i];
		struct err err = ERR_INIT;

		if (!gemm_live(d) || d->n_taken == d->n_put)
			continue;
		(void)err_set(&err, ETIMEDOUT, "%s: %u of %u windows of the burn did not finish",
			      d->info.subject, d->n_put - d->n_taken, d->n_put);
		gemm_fail(d, -ETIMEDOUT, &err);
	}
}

static void set_series(struct burn *b)
{
	unsigned i;

	for (i = 0; i < b->run->n; i++) {
		const struct gemm_device *d = &b->run->devices[i];
		const bool contended = d->busy[0] && !d->plan->run_busy;

		b->series[i].slot_s = (double)b->slot_us * 1e-6;
		b->series[i].measured = gemm_live(d) && !contended && b->slot == BURN_SLOTS;
	}
}

static void release_burn(struct burn *b)
{
	gemm_overlap_free(b->links);
	free(b->tallies);
	free(b->series);
}

int gemm_burn(struct gemm_run *run)
{
	CLEANUP(release_burn)
	struct burn b = {
		.run = run,
		.tallies = xcalloc(run->n, sizeof(*b.tallies)),
		.series = xcalloc(run->n, sizeof(*b.series)),
	};
	uint64_t start_us = now_us(run);
	unsigned i;
	int r = 0;

	for (i = 0; i < run->n; i++)
		b.series[i].memory_limit_c = run->devices[i].info.memory_limit_c;
	gemm_busy_start(run);
	if (run->plan->overlap)
		b.links = gemm_overlap_new(run);
	burn(&b);
	fail_late(run);
	gemm_busy_end(run, GEMM_MEASURED, now_us(run) - start_us);
	set_series(&b);
	if (b.links)
		r = overlap_emit_busbw(b.links, start_us);
	return r < 0 ? r : gemm_burn_tell(&b, b.start_us, now_us(run));
}
