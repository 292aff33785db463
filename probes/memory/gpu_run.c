/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/xalloc.h"
#include "probes/accel/watch.h"
#include "probes/memory/gpu.h"
#include "probes/memory/pattern.h"

/* Of one round: long enough for 16 windows of some copies each, and never all of the budget. */
enum { ROUND_MIN_US = 4000, ROUND_MAX_US = 100000, ROUND_LATE_US = 1000000 };

/* Part of a GPU's memory that both regions of its own may take. */
static const double memory_part = 0.25;

static const struct step {
	enum gpu_kind kind;
	enum gpu_place place;
	bool at_once; /* all GPUs together, else one after the other */
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

bool gpu_live(const struct gpu_device *d)
{
	return d->failed == 0 && (!d->busy[0] || d->plan->run_busy);
}

void gpu_fail(struct gpu_device *d, int r, const struct err *err)
{
	d->failed = r;
	(void)snprintf(d->why, sizeof(d->why), "%s", err->msg);
}

/* Who else computes on it: a copy beside them would hurt them, and be slow. */
static void look_for_users(struct gpu_device *d)
{
	const struct gpu_plan *plan = d->plan;
	char command[64] = "";
	double share = 0;
	long pid = 0;

	if (plan->ops->others(plan->accel, d->index, &pid, command, &share, NULL) < 0 || pid == 0)
		return;
	(void)snprintf(d->busy, sizeof(d->busy), "pid %ld (%s) computes on it", pid, command);
}

/* --- nodes --- */

/* The node a GPU is on, else the first with memory; and one far from it: half of the nodes on. */
static void choose_nodes(struct gpu_device *d)
{
	const struct numa_host *host = d->plan->host;
	unsigned ids[NUMA_NODES_MAX], n = 0, near = 0;
	size_t i;

	d->pages[GPU_NEAR].node = MAX(d->info.numa, 0);
	d->pages[GPU_FAR].node = -1;
	for (i = 0; host && i < host->n; i++) {
		if (host->nodes[i].total_bytes == 0)
			continue;
		if ((int)host->nodes[i].id == d->info.numa)
			near = n;
		ids[n++] = host->nodes[i].id;
	}
	if (n == 0)
		return;
	d->pages[GPU_NEAR].node = (int)ids[near];
	if (n > 1)
		d->pages[GPU_FAR].node = (int)ids[(near + n / 2) % n];
}

/* --- set-up --- */

static void fill_words(struct accel_region *region, uint64_t seed)
{
	const struct pattern data = { .key = pattern_key(seed) };

	pattern_fill(&data, region->ptr, region->size / sizeof(uint64_t), 0);
}

/* With one node there is nothing to bind to. */
static void set_up_pages(struct gpu_device *d, enum gpu_place place)
{
	const struct gpu_plan *plan = d->plan;
	struct gpu_pages *pages = &d->pages[place];
	const struct accel_memory memory = {
		.place = ACCEL_HOST_PINNED,
		.numa = d->pages[GPU_FAR].node < 0 ? -1 : pages->node,
		.size = plan->copy_bytes,
	};
	struct err err = ERR_INIT;
	int r;

	if (pages->node < 0)
		return;
	r = plan->ops->region_new(plan->accel, d->index, &memory, &pages->source, &err);
	if (r == 0)
		r = plan->ops->region_new(plan->accel, d->index, &memory, &pages->target, &err);
	if (r == 0) {
		fill_words(&pages->source, plan->seed);
		memset(pages->target.ptr, 0, pages->target.size);
		return;
	}
	pages->failed = r;
	(void)snprintf(pages->why, sizeof(pages->why), "%s", err.msg);
	if (r == -ENODEV || r == -EIO)
		gpu_fail(d, r, &err);
}

static int set_up_queue(struct gpu_device *d, struct gpu_queue *q, struct err *err)
{
	const struct accel_ops *ops = d->plan->ops;
	struct accel *a = d->plan->accel;
	int r = ops->stream_new(a, d->index, &q->stream, err);
	unsigned i;

	for (i = 0; r == 0 && i < GPU_IN_FLIGHT; i++) {
		r = ops->event_new(a, d->index, &q->ring[i].from, err);
		if (r == 0)
			r = ops->event_new(a, d->index, &q->ring[i].to, err);
	}
	return r;
}

static uint64_t own_bytes(const struct gpu_device *d)
{
	const uint64_t most = (uint64_t)(memory_part * (double)d->info.memory_bytes) / 2;

	return MAX(MIN(GPU_OWN_FACTOR * d->plan->copy_bytes, most), d->plan->copy_bytes);
}

static int set_up(void *context, struct err *err)
{
	struct gpu_device *d = context;
	const struct accel_memory memory = { ACCEL_DEVICE, -1, own_bytes(d) };
	unsigned i;
	int r = 0;

	numa_go_near(d->plan->host, d->info.numa);
	for (i = 0; r == 0 && i < ARRAY_SIZE(d->memory); i++)
		r = d->plan->ops->region_new(d->plan->accel, d->index, &memory, &d->memory[i], err);
	for (i = 0; r == 0 && i < GPU_QUEUES; i++)
		r = set_up_queue(d, &d->queues[i], err);
	for (i = 0; r == 0 && i < GPU_PLACES; i++)
		set_up_pages(d, (enum gpu_place)i);
	return r;
}

static int find_device(struct gpu_device *d, struct err *err)
{
	int r = d->plan->ops->device_info(d->plan->accel, d->index, &d->info, err);

	if (r < 0)
		return r;
	(void)snprintf(d->id, sizeof(d->id), "gpu:%s",
		       d->info.pci[0] ? d->info.pci : d->info.subject);
	choose_nodes(d);
	look_for_users(d);
	return 0;
}

static void set_up_all(struct gpu_run *run)
{
	CLEANUP(freep) struct watched_part *parts = xcalloc(run->n, sizeof(*parts));
	struct gpu_plan *plan = run->plan;
	unsigned i, n = 0;

	for (i = 0; i < run->n; i++) {
		struct gpu_device *d = &run->devices[i];
		struct err err = ERR_INIT;
		int r = find_device(d, &err);

		if (r < 0)
			gpu_fail(d, r, &err);
		else if (gpu_live(d))
			parts[n++].context = d;
	}
	if (accel_start_all(plan->accel, set_up, parts, n, plan->ready_us) > 0)
		plan->leaves = true;
	for (i = 0; i < n; i++) {
		if (parts[i].r < 0)
			gpu_fail(parts[i].context, parts[i].r, &parts[i].err);
	}
}

static void release_region(struct accel_region *r)
{
	if (r->accel)
		r->accel->ops->region_free(r);
}

static void release_device(struct gpu_device *d)
{
	const struct accel_ops *ops = d->plan->ops;
	unsigned i, j;

	for (i = 0; i < GPU_QUEUES; i++)
		ops->stream_free(d->queues[i].stream);
	for (i = 0; i < GPU_QUEUES; i++) {
		for (j = 0; j < GPU_IN_FLIGHT; j++) {
			ops->event_free(d->queues[i].ring[j].from);
			ops->event_free(d->queues[i].ring[j].to);
		}
	}
	for (i = 0; i < ARRAY_SIZE(d->memory); i++)
		release_region(&d->memory[i]);
	for (i = 0; i < GPU_PLACES; i++) {
		release_region(&d->pages[i].source);
		release_region(&d->pages[i].target);
	}
}

static void release_run(struct gpu_run *run)
{
	unsigned i;

	if (run->plan->leaves)
		return;
	for (i = 0; i < run->n; i++)
		release_device(&run->devices[i]);
	free(run->devices);
}

/* --- rounds --- */

static void add_lane(struct gpu_job *job, struct accel_region *to, struct accel_region *from)
{
	struct gpu_device *d = job->device;
	const bool own = job->kind == GPU_OWN;

	job->lanes[job->n_lanes] = (struct gpu_lane){
		.device = d,
		.queue = &d->queues[job->n_lanes],
		.to = to,
		.from = from,
		.bytes = own ? own_bytes(d) : d->plan->copy_bytes,
	};
	job->n_lanes++;
}

/* In both directions each has memory of its own on the GPU: what comes back stays what was sent. */
static struct gpu_job make_job(const struct step *step, struct gpu_device *d)
{
	struct gpu_job job = { .kind = step->kind, .place = step->place, .device = d };
	struct gpu_pages *pages = &d->pages[step->place];

	if (step->kind == GPU_H2D || step->kind == GPU_BIDIR)
		add_lane(&job, &d->memory[step->kind == GPU_BIDIR], &pages->source);
	if (step->kind == GPU_D2H || step->kind == GPU_BIDIR)
		add_lane(&job, &pages->target, &d->memory[0]);
	if (step->kind == GPU_OWN)
		add_lane(&job, &d->memory[1], &d->memory[0]);
	return job;
}

/* Only those that can be: the others' samples say why not. */
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

/* The jobs at once, those that cannot run left out; a sample of each. */
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
		look_for_users(d);
		if (jobs[i].peer)
			look_for_users(jobs[i].peer);
	}
	for (i = 0; r == 0 && i < n; i++)
		r = gpu_job_emit(jobs, n, i, &times, late);
	return r;
}

/* No far memory, and no others to run with: nothing to say. */
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

/* From each GPU to each other, one pair at a time. */
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

/* The rest of the time, in equal parts. */
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
	if (r == 0)
		r = run_pairs(&run);
	if (r == 0)
		r = run_patterns(&run);
	return r < 0 && err && !err->code ? err_errno(err, -r, "cannot print samples") : r;
}
