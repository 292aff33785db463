/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/host.h"
#include "lib/sys/paths.h"

static void host_close(struct accel *a)
{
	struct host *h;

	if (!a)
		return;
	h = host_of(a);
	if (h->stuck)
		return; /* a thread that never came back still reads it */
	host_others_release(h);
	host_free_cores(h);
	free(h);
}

DEFINE_CLEANUP(struct accel *, host_close, host_closep);

static int host_open(struct accel **ret, struct err *err)
{
	struct host *h = xcalloc(1, sizeof(*h));
	CLEANUP(host_closep) struct accel *a = &h->accel;
	CLEANUP(freep) char *model = NULL;
	int r;

	a->ops = &accel_host_ops;
	r = host_find_cores(h, err);
	if (r < 0)
		return r;
	host_blas_init(h->version, sizeof(h->version));
	model = host_cpu_model();
	(void)snprintf(h->cpu_model, sizeof(h->cpu_model), "%s", model ? model : "CPU core");
	host_others_init(h);
	*ret = TAKE(a);
	return 0;
}

static unsigned host_n_devices(const struct accel *a)
{
	return host_of(a)->n_cores;
}

static int host_device_info(const struct accel *a, unsigned device, struct accel_device_info *ret,
			    struct err *err)
{
	const struct host *h = host_of(a);
	long pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGESIZE);
	struct accel_device_info info = { .units = 1 };

	if (device >= h->n_cores)
		return err_set(err, ENODEV, "no core %u: this host has %u", device, h->n_cores);
	info.cpu = h->cores[device].cpu;
	info.numa = h->cores[device].numa;
	info.memory_bytes = pages > 0 && page_size > 0 ? (uint64_t)pages * (uint64_t)page_size : 0;
	(void)snprintf(info.subject, sizeof(info.subject), "cpu:%u", info.cpu);
	(void)snprintf(info.name, sizeof(info.name), "%s", h->cpu_model);
	*ret = info;
	return 0;
}

/*
 * Cores of one chip may differ by design (performance and efficiency cores):
 * the kernel's relative capacity keeps them from being compared.
 */
static void host_device_params(const struct accel *a, unsigned device, json_t *params)
{
	const struct host *h = host_of(a);
	CLEANUP(closep) int fd = paths_open_sys("/sys/devices/system/cpu");
	CLEANUP(freep) char *path = xasprintf("cpu%u/cpu_capacity", h->cores[device].cpu);
	long long capacity;

	if (file_read_i64(fd, path, &capacity) == 0)
		(void)json_object_set_new(params, "capacity", json_integer(capacity));
}

/* Any thread may drive any core. */
static int host_device_enter(struct accel *a, unsigned device, struct err *err)
{
	const struct host *h = host_of(a);

	return device < h->n_cores
		       ? 0
		       : err_set(err, ENODEV, "no core %u: this host has %u", device, h->n_cores);
}

static void *host_stream_handle(const struct accel_stream *s UNUSED)
{
	return NULL;
}

static const char *host_version(const struct accel *a)
{
	return host_of(a)->version;
}

/* None of its calls blocks. */
static const char *host_asked(const struct accel *a UNUSED)
{
	return "";
}

/* Every core reaches all memory of the host. */
static int host_peer_open(struct accel *a UNUSED, unsigned device UNUSED, unsigned peer UNUSED,
			  struct err *err UNUSED)
{
	return 0;
}

const struct accel_ops accel_host_ops = {
	.name = "cpu",
	.queue_max = HOST_STREAM_QUEUE_MAX,
	.open = host_open,
	.close = host_close,
	.n_devices = host_n_devices,
	.device_info = host_device_info,
	.device_params = host_device_params,
	.condition = host_condition,
	.device_enter = host_device_enter,
	.version = host_version,
	.asked = host_asked,
	.now_us = accel_mono_us,
	.now_ns = accel_mono_ns,
	.region_new = host_region_new,
	.region_free = host_region_free,
	.region_export = host_region_export,
	.stream_new = host_stream_new,
	.stream_free = host_stream_free,
	.stream_handle = host_stream_handle,
	.stream_wait = host_stream_wait,
	.event_new = host_event_new,
	.event_free = host_event_free,
	.event_record = host_event_record,
	.event_wait = host_event_wait,
	.event_seconds = host_event_seconds,
	.peer_open = host_peer_open,
	.copy = host_copy,
	.upload = host_upload,
	.download = host_download,
	.gemm_new = host_gemm_new,
	.gemm_free = host_gemm_free,
	.gemm_algorithm = host_gemm_algorithm,
	.gemm_run = host_gemm_run,
	.others = host_others,
};
