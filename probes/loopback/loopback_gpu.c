/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/loopback/loopback_gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/accel.h"
#include "probes/accel/watch.h"
#include "probes/loopback/data.h"

/* Divisor of the opening time: the part kept for what follows once the other GPUs are ready. */
enum { READY_PART = 8 };

/* The source gets the data to be moved, the target zeros. */
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

/* Used by the thread of one GPU for as long as it runs. */
struct taking {
	const struct gpu_endpoints *gpus;
	struct endpoint *end;
	struct accel_region *regions; /* the endpoint's, unless the thread is late */
	unsigned device;
};

static int take_memory(void *context, struct err *err)
{
	const struct taking *t = context;
	const struct gpu_endpoints *g = t->gpus;
	const struct accel_memory memory = { .place = ACCEL_DEVICE, .numa = -1, .size = g->bytes };
	int r = 0, i;

	for (i = 0; r == 0 && i < GPU_REGIONS; i++)
		r = g->accel->ops->region_new(g->accel, t->device, &memory, &t->regions[i], err);
	return r == 0 ? fill(t->regions, g->bytes, g->seed, err) : r;
}

/* Does somebody else compute there? Our traffic would disturb them. */
static void find_user(const struct gpu_endpoints *g, unsigned device, struct endpoint *end)
{
	char command[64] = "";
	double share = 0;
	long pid = 0;

	if (g->run_busy ||
	    g->accel->ops->others(g->accel, device, &pid, command, &share, NULL) < 0 || pid == 0)
		return;
	end->failed = -EBUSY;
	end->broken = xasprintf("pid %ld (%s) computes on %s", pid, command, end->subject);
}

static void set_place(const struct accel_device_info *info, unsigned device, struct endpoint *end)
{
	end->subject = info->subject[0] ? xstrdup(info->subject) : xasprintf("gpu:%u", device);
	end->id = info->pci[0] ? xasprintf("gpu:%s", info->pci) : xstrdup(end->subject);
	end->node = info->numa >= 0 ? (unsigned)info->numa : 0;
}

static void break_end(struct endpoint *end, int r, const struct err *err)
{
	end->broken = xstrdup(err->msg);
	end->failed = r;
}

static void add(struct gpu_endpoints *g, unsigned device, struct endpoint *end)
{
	struct accel_device_info info = { .subject = "" };
	struct err err = ERR_INIT;
	int r = g->accel->ops->device_info(g->accel, device, &info, &err);

	*end = (struct endpoint){ .bytes = g->bytes,
				  .gpu = xcalloc(GPU_REGIONS, sizeof(*end->gpu)) };
	set_place(&info, device, end);
	if (r == 0)
		find_user(g, device, end);
	if (r < 0)
		break_end(end, r, &err);
}

/* Not freed if a thread hangs. */
struct opening {
	struct gpu_endpoints gpus;
	_Atomic(struct accel *) opened; /* NULL: the driver has not started yet */
	uint64_t ready_us;		/* monotonic deadline for the per-GPU threads */
	bool late;			/* such a thread still uses this */
	size_t n, max;
	struct endpoint ends[];
};

/* Allocate memory on all GPUs in parallel. What a late thread may still touch is not freed. */
static void take_all(struct opening *o)
{
	struct taking *takings = xcalloc(o->n + 1, sizeof(*takings));
	struct watched_part *parts = xcalloc(o->n + 1, sizeof(*parts));
	unsigned n = 0, i;

	for (i = 0; i < o->n; i++) {
		struct endpoint *end = &o->ends[i];

		if (end->broken)
			continue;
		takings[n] = (struct taking){ &o->gpus, end, end->gpu, i };
		parts[n].context = &takings[n];
		n++;
	}
	o->late = accel_start_all(o->gpus.accel, take_memory, parts, n, o->ready_us) > 0;
	for (i = 0; i < n; i++) {
		if (parts[i].r == 0)
			continue;
		break_end(takings[i].end, parts[i].r, &parts[i].err);
		if (parts[i].r == -ETIMEDOUT)
			takings[i].end->gpu = NULL;
	}
	free(parts);
	if (!o->late)
		free(takings);
}

/* Under confidential computing no other device can access the memory of a GPU. */
static bool is_sealed(const struct accel *a)
{
	struct accel_device_info info = { .cc = false };

	return a->ops->device_info(a, 0, &info, NULL) == 0 && info.cc;
}

static int add_all(void *context, struct err *err)
{
	struct opening *o = context;
	unsigned n_devices, i;
	int r = o->gpus.engine->open(&o->gpus.accel, err);

	if (r < 0)
		return r;
	o->opened = o->gpus.accel;
	if (is_sealed(o->gpus.accel))
		return err_set(err, ENOTSUP, "confidential computing is on, and keeps RNICs out");
	n_devices = o->gpus.accel->ops->n_devices(o->gpus.accel);
	for (i = 0; i < n_devices && o->n < o->max; i++)
		add(&o->gpus, i, &o->ends[o->n++]);
	take_all(o);
	return 0;
}

/*
 * The GPU whose call hangs becomes an endpoint that says so. The others are not queried any more,
 * because that call is still inside their driver.
 */
static int tell_blocked(struct accel *a, struct endpoint *ends, size_t *n, size_t max,
			struct err *err)
{
	static const char words[] = "a call to the GPU driver for it did not return";
	struct accel_device_info info;
	const char *subject = a ? a->ops->asked(a) : "";
	unsigned i, n_devices = a ? a->ops->n_devices(a) : 0;

	if (!subject[0])
		return err_set(err, ETIMEDOUT, "the GPU driver hangs while it starts");
	for (i = 0; i < n_devices && *n < max; i++) {
		if (a->ops->device_info(a, i, &info, NULL) < 0 || !streq(info.subject, subject))
			continue;
		ends[*n] = (struct endpoint){ .failed = -ETIMEDOUT, .broken = xstrdup(words) };
		set_place(&info, i, &ends[(*n)++]);
	}
	return err_set(err, ETIMEDOUT, "%s: %s", subject, words);
}

int gpu_endpoints_open(struct gpu_endpoints *gpus, struct endpoint *ends, size_t *n, size_t max,
		       struct err *err)
{
	struct opening *o;
	int r;

	gpus->accel = NULL;
	if (!gpus->engine)
		return 0;
	o = xcalloc(1, sizeof(*o) + max * sizeof(*o->ends));
	o->gpus = *gpus;
	o->max = max - *n;
	o->ready_us = clock_mono_us() + gpus->open_us - gpus->open_us / READY_PART;
	r = accel_watch(add_all, o, clock_mono_us() + gpus->open_us, err);
	if (r == -ETIMEDOUT)
		return tell_blocked(o->opened, ends, n, max, err); /* the thread still uses `o` */
	gpus->accel = o->gpus.accel;
	memcpy(&ends[*n], o->ends, o->n * sizeof(*ends));
	*n += o->n;
	if (!o->late)
		free(o);
	if (r == 0 && gpus->engine->ends_slowly)
		accel_leave_at_once();
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
	if (gpus->accel && !gpus->engine->ends_slowly)
		gpus->accel->ops->close(gpus->accel);
	gpus->accel = NULL;
}
