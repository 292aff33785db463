/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/memory/gpu_device.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probes/memory/pattern.h"

/* Part of a GPU's memory for its two own regions. */
static const double memory_part = 0.25;

bool gpu_live(const struct gpu_device *d)
{
	return d->failed == 0 && (!d->busy[0] || d->plan->run_busy);
}

void gpu_fail(struct gpu_device *d, int r, const struct err *err)
{
	d->failed = r;
	(void)snprintf(d->why, sizeof(d->why), "%s", err->msg);
}

void gpu_device_look_for_users(struct gpu_device *d)
{
	const struct gpu_plan *plan = d->plan;
	char command[64] = "";
	double share = 0;
	long pid = 0;

	if (plan->ops->others(plan->accel, d->index, &pid, command, &share, NULL) < 0 || pid == 0)
		return;
	(void)snprintf(d->busy, sizeof(d->busy), "pid %ld (%s) computes on it", pid, command);
}

/* --- NUMA nodes --- */

/* Near: the GPU's node, otherwise the first with memory. Far: half of the nodes further on. */
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

/* With a single node there is nothing to bind to. */
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
	for (i = 0; r == 0 && i < GPU_MARKS; i++)
		r = ops->event_new(a, d->index, &q->marks[i], err);
	return r;
}

uint64_t gpu_device_own_bytes(const struct gpu_device *d)
{
	const uint64_t most = (uint64_t)(memory_part * (double)d->info.memory_bytes) / 2;

	return MAX(MIN(GPU_OWN_FACTOR * d->plan->copy_bytes, most), d->plan->copy_bytes);
}

int gpu_device_set_up(void *device, struct err *err)
{
	struct gpu_device *d = device;
	const struct accel_memory memory = { ACCEL_DEVICE, -1, gpu_device_own_bytes(d) };
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

int gpu_device_find(struct gpu_device *d, struct err *err)
{
	int r = d->plan->ops->device_info(d->plan->accel, d->index, &d->info, err);

	if (r < 0)
		return r;
	(void)snprintf(d->id, sizeof(d->id), "gpu:%s",
		       d->info.pci[0] ? d->info.pci : d->info.subject);
	choose_nodes(d);
	gpu_device_look_for_users(d);
	return 0;
}

/* --- release --- */

static void release_region(struct accel_region *r)
{
	if (r->accel)
		r->accel->ops->region_free(r);
}

void gpu_device_release(struct gpu_device *d)
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
		for (j = 0; j < GPU_MARKS; j++)
			ops->event_free(d->queues[i].marks[j]);
	}
	for (i = 0; i < ARRAY_SIZE(d->memory); i++)
		release_region(&d->memory[i]);
	for (i = 0; i < GPU_PLACES; i++) {
		release_region(&d->pages[i].source);
		release_region(&d->pages[i].target);
	}
}
