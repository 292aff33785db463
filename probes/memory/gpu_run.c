/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/gpu_run.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/memory/gpu_copy.h"
#include "probes/memory/gpu_device.h"
#include "probes/memory/gpu_latency.h"
#include "probes/memory/gpu_link.h"
#include "probes/memory/gpu_pattern.h"
#include "probes/memory/gpu_sample.h"

/* Of one round: long enough for 16 windows of several copies, but never the whole budget. */
enum { ROUND_MIN_US = 4000, ROUND_MAX_US = 100000, ROUND_LATE_US = 1000000 };

static const struct step {
	enum gpu_kind kind;
	enum gpu_place place;
	bool at_once; /* all GPUs together, otherwise one after the other */
} steps[] = {
	{ GPU_H2D, GPU_NEAR, false }, { GPU_D2H, GPU_NEAR, false }, { GPU_BIDIR, GPU_NEAR, false },
	{ GPU_OWN, GPU_NEAR, false }, { GPU_H2D, GPU_FAR, false },  { GPU_D2H, GPU_FAR, false },
	{ GPU_H2D, GPU_NEAR, true },  { GPU_D2H, GPU_NEAR, true },
};

struct gpu_run {
	struct gpu_plan *plan;
	struct gpu_device *devices;
	unsigned n;
	size_t rounds_left;
};

static void set_up_all(struct gpu_run *run)
{
	CLEANUP(freep) struct watched_part *parts = xcalloc(run->n, sizeof(*parts));
	struct gpu_plan *plan = run->plan;
	unsigned i, n = 0;

	for (i = 0; i < run->n; i++) {
		struct gpu_device *d = &run->devices[i];
		struct err err = ERR_INIT;
		int r = gpu_device_find(d, &err);

		if (r < 0)
			gpu_fail(d, r, &err);
		else if (gpu_live(d))
			parts[n++].context = d;
	}
	if (accel_start_all(plan->accel, gpu_device_set_up, parts, n, plan->ready_us) > 0)
		plan->leaves = true;
	for (i = 0; i < n; i++) {
		if (parts[i].r < 0)
			gpu_fail(parts[i].context, parts[i].r, &parts[i].err);
	}
}

static void release_run(struct gpu_run *run)
{
	unsigned i;

	if (run->plan->leaves)
		return;
	for (i = 0; i < run->n; i++)
		gpu_device_release(&run->devices[i]);
	free(run->devices);
}

/* --- rounds --- */

static void add_lane(struct gpu_job *job, struct accel_region *to, struct accel_region *from)
{
	struct gpu_device *d = job->device;
	const uint64_t bytes = job->kind == GPU_OWN		? gpu_device_own_bytes(d)
			       : gpu_kind_is_latency(job->kind) ? (uint64_t)GPU_LATENCY_BYTES
								: d->plan->copy_bytes;

	job->lanes[job->n_lanes] = (struct gpu_lane){
		.device = d,
		.queue = &d->queues[job->n_lanes],
		.to = to,
		.from = from,
		.bytes = bytes,
	};
	job->n_lanes++;
}

/* Both directions use GPU memory of their own, so that what comes back is what was sent. */
static struct gpu_job make_job(const struct step *step, struct gpu_device *d)
{
	struct gpu_job job = { .kind = step->kind, .place = step->place, .device = d };
	struct gpu_pages *pages = &d->pages[step->place];

	if (step->kind == GPU_H2D || step->kind == GPU_BIDIR || step->kind == GPU_H2D_LAT)
		add_lane(&job, &d->memory[step->kind == GPU_BIDIR], &pages->source);
	if (gpu_kind_goes_out(step->kind) || step->kind == GPU_BIDIR)
		add_lane(&job, &pages->target, &d->memory[0]);
	if (step->kind == GPU_OWN)
		add_lane(&job, &d->memory[1], &d->memory[0]);
	return job;
}

/* Only jobs that can run; the samples of the others say why not. */
static bool can_run(const struct gpu_job *job)
{
	return gpu_live(job->device) && (!job->peer || gpu_live(job->peer)) &&
	       (!gpu_kind_needs_host(job->kind) || job->device->pages[job->place].failed == 0);
}

static uint64_t now_us(const struct gpu_run *run)
{
	return run->plan->ops->now_us(run->plan->accel);
}

static uint64_t round_us(struct gpu_run *run)
{
	const uint64_t now = now_us(run), deadline_us = run->plan->deadline_us;
	const uint64_t left = deadline_us > now ? deadline_us - now : 0;

	return MIN(left / 2 / MAX(run->rounds_left, (size_t)1), (uint64_t)ROUND_MAX_US);
}

/* Run the possible jobs at once, and emit a sample for each job. */
static int run_round(struct gpu_run *run, struct gpu_job *jobs, size_t n)
{
	const uint64_t us = round_us(run);
	const bool late = us < ROUND_MIN_US;
	struct gpu_times times = { .start_us = now_us(run) };
	size_t i;
	int r = 0;

	for (i = 0; i < n; i++) {
		if (!can_run(&jobs[i]))
			jobs[i].n_lanes = 0;
	}
	if (!late)
		gpu_copy_run(run->plan, jobs, n, us,
			     MIN(times.start_us + us + ROUND_LATE_US, run->plan->deadline_us));
	times.end_us = now_us(run);
	run->rounds_left -= MIN(run->rounds_left, (size_t)1);
	for (i = 0; i < n; i++) {
		struct gpu_device *d = jobs[i].device;

		if (jobs[i].kind == GPU_H2D && jobs[i].n_lanes > 0 && !late && gpu_live(d))
			d->sent = true;
		gpu_device_look_for_users(d);
		if (jobs[i].peer)
			gpu_device_look_for_users(jobs[i].peer);
	}
	for (i = 0; r == 0 && i < n; i++)
		r = gpu_job_emit(jobs, n, i, &times, late);
	return r;
}

/* There must be a far node, or other GPUs to run with, if the step needs them. */
static bool is_wanted(const struct step *step, const struct gpu_device *d, unsigned n)
{
	return d->pages[step->place].node >= 0 && (!step->at_once || n > 1);
}

static int run_step(struct gpu_run *run, const struct step *step)
{
	CLEANUP(freep) struct gpu_job *jobs = xcalloc(run->n, sizeof(*jobs));
	size_t n = 0;
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && i < run->n; i++) {
		if (!is_wanted(step, &run->devices[i], run->n))
			continue;
		jobs[n++] = make_job(step, &run->devices[i]);
		if (step->at_once)
			continue;
		r = run_round(run, jobs, n);
		n = 0;
	}
	return r == 0 && n > 0 ? run_round(run, jobs, n) : r;
}

/* Time small copies of one GPU in one direction. Takes milliseconds, so it has no round. */
static int run_latency(struct gpu_run *run, const struct step *step, struct gpu_device *d)
{
	struct gpu_job job = make_job(step, d);
	struct gpu_times times = { .start_us = now_us(run) };
	const uint64_t deadline_us = run->plan->deadline_us;
	const bool late = round_us(run) < ROUND_MIN_US;

	if (!can_run(&job))
		job.n_lanes = 0;
	else if (!late)
		gpu_latency_run(&job, MIN(times.start_us + ROUND_LATE_US, deadline_us));
	times.end_us = now_us(run);
	gpu_device_look_for_users(d);
	return gpu_job_emit(&job, 1, 0, &times, late);
}

static int run_latencies(struct gpu_run *run)
{
	static const struct step ways[] = { { GPU_H2D_LAT, GPU_NEAR, false },
					    { GPU_D2H_LAT, GPU_NEAR, false } };
	unsigned i;
	size_t j;
	int r = 0;

	for (i = 0; i < run->n; i++) {
		for (j = 0; r == 0 && j < ARRAY_SIZE(ways); j++) {
			if (is_wanted(&ways[j], &run->devices[i], run->n))
				r = run_latency(run, &ways[j], &run->devices[i]);
		}
	}
	return r;
}

/* From one GPU to another; pairs run one at a time. */
static int run_pair(struct gpu_run *run, struct gpu_device *from, struct gpu_device *to)
{
	struct gpu_job job = { .kind = GPU_P2P, .device = from, .peer = to };
	struct err err = ERR_INIT;
	int r = can_run(&job)
			? run->plan->ops->peer_open(run->plan->accel, from->index, to->index, &err)
			: 0;

	if (r < 0 && r != -ENOTSUP)
		gpu_fail(from, r, &err);
	job.direct = r == 0;
	add_lane(&job, &to->memory[1], &from->memory[0]);
	return run_round(run, &job, 1);
}

static int run_pairs(struct gpu_run *run)
{
	unsigned i, j;
	int r = 0;

	for (i = 0; i < run->n; i++) {
		for (j = 0; r == 0 && j < run->n; j++) {
			if (i != j)
				r = run_pair(run, &run->devices[i], &run->devices[j]);
		}
	}
	return r;
}

/* Divide the remaining time equally. */
static int run_patterns(struct gpu_run *run)
{
	unsigned i;
	int r = 0;

	for (i = 0; r == 0 && run->plan->pattern && i < run->n; i++) {
		const uint64_t now = now_us(run), deadline_us = run->plan->deadline_us;
		const uint64_t left = deadline_us > now ? deadline_us - now : 0;

		r = gpu_pattern(&run->devices[i], now + left / (run->n - i));
	}
	return r;
}

int gpu_run(struct gpu_plan *plan, struct err *err)
{
	CLEANUP(release_run) struct gpu_run run = { .plan = plan };
	const unsigned n = MIN(plan->ops->n_devices(plan->accel), (unsigned)GPU_DEVICES_MAX);
	size_t i;
	int r = 0;

	if (n == 0)
		return err_set(err, ENODEV, "the %s engine has no device here", plan->ops->name);
	run.devices = xcalloc(n, sizeof(*run.devices));
	for (run.n = 0; run.n < n; run.n++) {
		run.devices[run.n].plan = plan;
		run.devices[run.n].index = run.n;
	}
	set_up_all(&run);
	run.rounds_left = (size_t)n * (n - 1);
	for (i = 0; i < ARRAY_SIZE(steps); i++)
		run.rounds_left += steps[i].at_once ? 1 : n;
	for (i = 0; r == 0 && i < ARRAY_SIZE(steps); i++)
		r = run_step(&run, &steps[i]);
	for (i = 0; r == 0 && i < run.n; i++)
		r = gpu_link_emit(&run.devices[i]);
	if (r == 0)
		r = run_latencies(&run);
	if (r == 0)
		r = run_pairs(&run);
	if (r == 0)
		r = run_patterns(&run);
	return r < 0 && err && !err->code ? err_errno(err, -r, "cannot print samples") : r;
}
