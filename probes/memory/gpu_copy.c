/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/gpu_copy.h"

#include <errno.h>
#include <math.h>

#include "probes/memory/gpu_device.h"
#include "probes/memory/gpu_link.h"

enum {
	BATCH_MAX = 250,   /* copies per window: three windows fit into a stream's queue */
	WINDOW_EVENTS = 2, /* per window, besides its copies */
	SLICE_MIN_US = 100,
	COLD = 1, /* discarded windows: the first shows how long a copy takes */
};

static unsigned batch_for(const struct gpu_lane *l, double window_us)
{
	const unsigned held = l->device->plan->ops->queue_max / GPU_IN_FLIGHT;
	const unsigned most = held > WINDOW_EVENTS ? MIN(held - WINDOW_EVENTS, (unsigned)BATCH_MAX)
						   : (unsigned)BATCH_MAX;
	double n = l->seconds_per_copy > 0 ? window_us * 1e-6 / l->seconds_per_copy : 1;

	return n >= most ? most : n < 1 ? 1 : (unsigned)lround(n);
}

static int put_window(struct gpu_lane *l, double window_us, struct err *err)
{
	const struct accel_ops *ops = l->device->plan->ops;
	struct gpu_window *w = &l->queue->ring[l->n_put % GPU_IN_FLIGHT];
	unsigned i;
	int r = ops->event_record(w->from, l->queue->stream, err);

	w->batch = batch_for(l, window_us);
	for (i = 0; r == 0 && i < w->batch; i++)
		r = ops->copy(l->queue->stream, (struct accel_at){ l->to, 0 },
			      (struct accel_at){ l->from, 0 }, l->bytes, err);
	if (r == 0)
		r = ops->event_record(w->to, l->queue->stream, err);
	l->n_put++;
	return r;
}

/* Count the oldest window if it ends by `deadline_us`, otherwise -ETIMEDOUT. */
static int take_window(struct gpu_lane *l, uint64_t deadline_us, struct err *err)
{
	const struct accel_ops *ops = l->device->plan->ops;
	const struct gpu_window *w = &l->queue->ring[l->n_taken % GPU_IN_FLIGHT];
	double seconds = 0;
	int r = ops->event_wait(w->to, deadline_us, err);

	if (r == 0)
		r = ops->event_seconds(w->from, w->to, &seconds, err);
	if (r < 0)
		return r;
	if (seconds <= 0)
		return err_set(err, EIO, "%s: %u copies took no time on its clock",
			       l->device->info.subject, w->batch);
	l->seconds_per_copy = seconds / w->batch;
	if (l->n_taken >= COLD && l->n_rates < GPU_WINDOWS)
		l->rates[l->n_rates++] = (double)l->bytes * w->batch / seconds;
	l->n_taken++;
	return 0;
}

static bool wants_window(const struct gpu_lane *l, bool late)
{
	const unsigned in_flight = l->n_put - l->n_taken;

	if (!gpu_live(l->device) || in_flight == GPU_IN_FLIGHT)
		return false;
	if (l->n_put < COLD)
		return true;
	return l->n_taken >= COLD &&
	       l->n_put < COLD + (late ? (unsigned)SAMPLE_WINDOWS_MIN : (unsigned)GPU_WINDOWS);
}

struct round {
	struct gpu_plan *plan;
	struct gpu_job *jobs;
	size_t n;
	uint64_t end_us, last_us;
	double window_us;
};

static uint64_t now_us(const struct round *round)
{
	return round->plan->ops->now_us(round->plan->accel);
}

/* Call `step` for every lane in turn. Returns true if any call did. */
static bool each_lane(struct round *round, bool (*step)(struct round *, struct gpu_lane *))
{
	bool any = false;
	size_t i;
	unsigned j;

	for (i = 0; i < round->n; i++) {
		for (j = 0; j < round->jobs[i].n_lanes; j++)
			any = step(round, &round->jobs[i].lanes[j]) || any;
	}
	return any;
}

static bool put_windows(struct round *round, struct gpu_lane *l)
{
	struct err err = ERR_INIT;
	int r = 0;

	while (r == 0 && wants_window(l, now_us(round) >= round->end_us))
		r = put_window(l, round->window_us, &err);
	if (r < 0)
		gpu_fail(l->device, r, &err);
	return false;
}

/* Only copies to or from the host keep the PCIe link awake. */
static bool is_on_pcie(const struct gpu_lane *l)
{
	return l->from->place != ACCEL_DEVICE || l->to->place != ACCEL_DEVICE;
}

/* Take at most one window. Returns true if one was in flight. */
static bool take_windows(struct round *round, struct gpu_lane *l)
{
	const uint64_t slice_us =
		MAX((uint64_t)(round->window_us / (double)round->n), (uint64_t)SLICE_MIN_US);
	struct err err = ERR_INIT;
	int r;

	if (!gpu_live(l->device) || l->n_taken == l->n_put)
		return false;
	r = take_window(l, MIN(now_us(round) + slice_us, round->last_us), &err);
	if (r < 0 && r != -ETIMEDOUT)
		gpu_fail(l->device, r, &err);
	else if (r == 0 && l->n_taken == COLD + 1 && is_on_pcie(l))
		gpu_link_look(l->device);
	return true;
}

static bool fail_late(struct round *round UNUSED, struct gpu_lane *l)
{
	struct err err = ERR_INIT;

	if (!gpu_live(l->device) || (l->n_rates >= SAMPLE_WINDOWS_MIN && l->n_taken == l->n_put))
		return false;
	(void)err_set(&err, ETIMEDOUT, "%s finished %u of at least %d windows of copies in time",
		      l->device->info.subject, l->n_rates, SAMPLE_WINDOWS_MIN);
	gpu_fail(l->device, -ETIMEDOUT, &err);
	return false;
}

void gpu_copy_run(struct gpu_plan *plan, struct gpu_job *jobs, size_t n, uint64_t us,
		  uint64_t last_us)
{
	struct round round = {
		.plan = plan,
		.jobs = jobs,
		.n = n,
		.last_us = last_us,
		.window_us = (double)us / GPU_WINDOWS,
	};

	round.end_us = now_us(&round) + us;
	do
		(void)each_lane(&round, put_windows);
	while (each_lane(&round, take_windows) && now_us(&round) < last_us);
	(void)each_lane(&round, fail_late);
}
