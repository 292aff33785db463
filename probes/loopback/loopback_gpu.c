/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/loopback/loopback_gpu.h"

#include <stdlib.h>

#include "lib/err.h"
#include "lib/xalloc.h"
#include "probes/accel/accel.h"
#include "probes/loopback/data.h"

/* The source holds the data that is moved, the target nothing. */
static int fill(struct accel_region *regions, uint64_t bytes, uint64_t seed, struct err *err)
{
	CLEANUP(freep) void *data = xcalloc(1, bytes);
	const struct accel_ops *ops = regions[GPU_SOURCE].accel->ops;
	int r = ops->upload(&regions[GPU_TARGET], 0, data, bytes, err);

	if (r < 0)
		return r;
	data_fill(data, bytes, seed);
	return ops->upload(&regions[GPU_SOURCE], 0, data, bytes, err);
}

static int take_memory(struct gpu_endpoints *g, unsigned device, struct endpoint *end,
		       struct err *err)
{
	const struct accel_memory memory = { .place = ACCEL_DEVICE, .numa = -1, .size = g->bytes };
	int r = 0, i;

	for (i = 0; r == 0 && i < GPU_REGIONS; i++)
		r = g->accel->ops->region_new(g->accel, device, &memory, &end->gpu[i], err);
	return r == 0 ? fill(end->gpu, g->bytes, g->seed, err) : r;
}

static void add(struct gpu_endpoints *g, unsigned device, struct endpoint *end)
{
	struct accel_device_info info = { .subject = "" };
	struct err err = ERR_INIT;
	int r = g->accel->ops->device_info(g->accel, device, &info, &err);

	*end = (struct endpoint){ .bytes = g->bytes,
				  .gpu = xcalloc(GPU_REGIONS, sizeof(*end->gpu)) };
	end->subject = info.subject[0] ? xstrdup(info.subject) : xasprintf("gpu:%u", device);
	end->id = info.pci[0] ? xasprintf("gpu:%s", info.pci) : xstrdup(end->subject);
	end->node = info.numa >= 0 ? (unsigned)info.numa : 0;
	if (r == 0)
		r = take_memory(g, device, end, &err);
	if (r < 0)
		end->broken = xstrdup(err.msg);
}

void gpu_endpoints_open(struct gpu_endpoints *gpus, struct endpoint *ends, size_t *n, size_t max)
{
	unsigned n_devices, i;

	gpus->accel = NULL;
	if (!gpus->engine || gpus->engine->open(&gpus->accel, NULL) < 0)
		return;
	n_devices = gpus->accel->ops->n_devices(gpus->accel);
	for (i = 0; i < n_devices && *n < max; i++)
		add(gpus, i, &ends[(*n)++]);
}

void gpu_endpoint_release(struct endpoint *end)
{
	int i;

	for (i = 0; end->gpu && i < GPU_REGIONS; i++) {
		if (end->gpu[i].accel)
			end->gpu[i].accel->ops->region_free(&end->gpu[i]);
	}
	free(end->gpu);
	free(end->broken);
	free(end->subject);
}

void gpu_endpoints_close(struct gpu_endpoints *gpus)
{
	if (gpus->accel)
		gpus->accel->ops->close(gpus->accel);
	gpus->accel = NULL;
}
