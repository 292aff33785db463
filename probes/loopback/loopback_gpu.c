/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/loopback/loopback_gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "lib/err.h"
#include "lib/xalloc.h"
#include "probes/accel/accel.h"
#include "probes/accel/watch.h"
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

/* Who else computes there: traffic would be in their way. */
static void find_user(const struct gpu_endpoints *g, unsigned device, struct endpoint *end)
{
	char command[64] = "";
	double share = 0;
	long pid = 0;

	if (g->run_busy ||
	    g->accel->ops->others(g->accel, device, &pid, command, &share, NULL) < 0 || pid == 0)
		return;
	end->in_use = true;
	end->broken = xasprintf("pid %ld (%s) computes on %s", pid, command, end->subject);
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
		find_user(g, device, end);
	if (r == 0 && !end->broken)
		r = take_memory(g, device, end, &err);
	if (r < 0)
		end->broken = xstrdup(err.msg);
}

/* Kept when the thread hangs. */
struct opening {
	struct gpu_endpoints gpus;
	size_t n, max;
	struct endpoint ends[];
};

static int add_all(void *context, struct err *err UNUSED)
{
	struct opening *o = context;
	const unsigned n_devices = o->gpus.accel->ops->n_devices(o->gpus.accel);
	unsigned i;

	for (i = 0; i < n_devices && o->n < o->max; i++)
		add(&o->gpus, i, &o->ends[o->n++]);
	return 0;
}

int gpu_endpoints_open(struct gpu_endpoints *gpus, struct endpoint *ends, size_t *n, size_t max,
		       struct err *err)
{
	struct opening *o;
	int r;

	gpus->accel = NULL;
	r = gpus->engine ? gpus->engine->open(&gpus->accel, err) : 0;
	if (!gpus->accel)
		return r;
	o = xcalloc(1, sizeof(*o) + max * sizeof(*o->ends));
	o->gpus = *gpus;
	o->max = max - *n;
	r = accel_watch(add_all, o, clock_mono_us() + gpus->open_us, err);
	if (r == -ETIMEDOUT) {
		const char *subject = gpus->accel->ops->asked(gpus->accel);

		gpus->accel = NULL; /* that thread still uses it */
		return err_set(err, ETIMEDOUT, "%s%sa call of the GPU driver did not come back",
			       subject, subject[0] ? ": " : "");
	}
	memcpy(&ends[*n], o->ends, o->n * sizeof(*ends));
	*n += o->n;
	free(o);
	return r;
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
