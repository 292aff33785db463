/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/cuda.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "probes/accel/cuda_context.h"
#include "probes/accel/cuda_gemm.h"
#include "probes/accel/cuda_memory.h"
#include "probes/accel/cuda_nvml.h"
#include "probes/accel/cuda_stream.h"
#include "probes/accel/cuda_users.h"

static void close_device(struct cuda *c, unsigned device)
{
	struct cuda_device *d = &c->devices[device];

	if (!d->context || cuda_enter(c, device, NULL) < 0)
		return;
	cuda_stage_release(c, device);
	if (c->stuck)
		return;
	if (d->lt)
		(void)c->libs.lt.destroy(d->lt);
	(void)c->libs.driver.ctx_set(NULL);
	(void)c->libs.driver.ctx_release(d->handle);
}

static void cuda_close(struct accel *a)
{
	struct cuda *c;
	unsigned i;

	if (!a)
		return;
	c = cuda_of(a);
	for (i = 0; i < c->n_devices; i++)
		close_device(c, i);
	cuda_nvml_free(c->nvml);
	gpu_users_release(&c->users);
	if (c->stuck) {
		accel_leave_at_once();
		return;
	}
	free(c->devices);
	free(c);
}

DEFINE_CLEANUP(struct accel *, cuda_close, cuda_closep);

/* "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", as in nvidia-smi. */
static void uuid_text(const unsigned char uuid[static CUDA_UUID_SIZE], char *ret, size_t size)
{
	int used = snprintf(ret, size, "gpu:GPU-");
	size_t i;

	for (i = 0; i < CUDA_UUID_SIZE && used >= 0 && (size_t)used < size; i++)
		used += snprintf(ret + used, size - (size_t)used, "%s%02x",
				 i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

/* Find its NUMA node and a CPU of it, from the kernel (sysfs) rather than the driver. */
static void find_place(struct accel_device_info *info)
{
	CLEANUP(freep) char *path = xasprintf("/sys/bus/pci/devices/%s", info->pci);
	CLEANUP(closep) int fd = paths_open_sys(path);
	CLEANUP(freep) char *cpus = NULL;
	long long numa = -1;

	if (file_read_i64(fd, "numa_node", &numa) < 0)
		numa = -1;
	info->numa = (int)numa;
	if (file_read_line(fd, "local_cpulist", &cpus) == 0)
		info->cpu = (unsigned)strtoul(cpus, NULL, 10);
}

static int open_device(struct cuda *c, unsigned i, struct err *err)
{
	const struct cuda_driver *driver = &c->libs.driver;
	struct cuda_device *d = &c->devices[i];
	unsigned char uuid[CUDA_UUID_SIZE] = { 0 };
	int units = 0, dmabuf = 0;
	size_t bytes = 0;
	char *at;
	int r;

	(void)snprintf(d->info.subject, sizeof(d->info.subject), "gpu:%u", i);
	r = cuda_check(c, i, driver->device_get(&d->handle, (int)i), "cuDeviceGet", err);
	if (r == 0)
		r = cuda_check(c, i,
			       driver->device_uuid((struct CUuuid_st *)(void *)uuid, d->handle),
			       "cuDeviceGetUuid", err);
	if (r == 0)
		r = cuda_check(c, i, driver->device_pci(d->info.pci, sizeof(d->info.pci), d->handle),
			       "cuDeviceGetPCIBusId", err);
	if (r < 0)
		return r;
	uuid_text(uuid, d->info.subject, sizeof(d->info.subject));
	for (at = d->info.pci; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	find_place(&d->info);
	/* Values that are unknown stay 0. */
	(void)driver->device_name(d->info.name, sizeof(d->info.name), d->handle);
	(void)driver->device_memory(&bytes, d->handle);
	(void)driver->device_attribute(&units, CUDA_ATTRIBUTE_SM_COUNT, d->handle);
	(void)driver->device_attribute(&d->major, CUDA_ATTRIBUTE_MAJOR, d->handle);
	(void)driver->device_attribute(&d->minor, CUDA_ATTRIBUTE_MINOR, d->handle);
	(void)driver->device_attribute(&dmabuf, CUDA_ATTRIBUTE_DMABUF, d->handle);
	d->info.memory_bytes = bytes;
	d->info.units = units > 0 ? (unsigned)units : 0;
	d->has_dmabuf = dmabuf > 0 && driver->mem_handle;
	return 0;
}

static int open_devices(struct cuda *c, struct err *err)
{
	int n = 0, r;

	if (c->libs.driver.device_count(&n) != CUDA_OK || n < 1)
		return err_set(err, ENOTSUP,
			       "the GPU driver shows no GPU although PCI does (lost, hidden by "
			       "CUDA_VISIBLE_DEVICES, or no /dev/nvidiaN)");
	n = MIN(n, (int)CUDA_DEVICES_MAX);
	c->devices = xcalloc((size_t)n, sizeof(*c->devices));
	c->n_devices = (unsigned)n;
	for (n = 0; n < (int)c->n_devices; n++) {
		r = open_device(c, (unsigned)n, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* "cublaslt 130100, driver 580.65.06 (cuda 13.0)"; the first number is the library's version. */
static void write_version(struct cuda *c)
{
	const char *driver = c->nvml ? cuda_nvml_driver(c->nvml) : "";
	char lt[40] = "";

	if (c->libs.lt.version)
		(void)snprintf(lt, sizeof(lt), "cublaslt %zu, ", c->libs.lt.version());
	(void)snprintf(c->version, sizeof(c->version), "%sdriver %s%s(cuda %d.%d)", lt, driver,
		       driver[0] ? " " : "", c->libs.driver_version / 1000,
		       c->libs.driver_version % 1000 / 10);
}

static int open_with(const struct accel_ops *ops, bool products, struct accel **ret, struct err *err)
{
	struct cuda *c = xcalloc(1, sizeof(*c));
	CLEANUP(cuda_closep) struct accel *a = &c->accel;
	struct err why = ERR_INIT;
	unsigned i;
	int r;

	a->ops = ops;
	r = cuda_libs_load(products, &c->libs, err);
	if (r == 0)
		r = open_devices(c, err);
	if (r == 0)
		r = gpu_users_load(&c->users, err);
	if (r < 0)
		return r;
	if (c->libs.has_nvml && cuda_nvml_new(c, &c->nvml, &why) < 0)
		(void)snprintf(c->libs.nvml_why, sizeof(c->libs.nvml_why), "%s", why.msg);
	r = cuda_refuse_shared(c, err);
	if (r < 0)
		return r;
	for (i = 0; i < c->n_devices; i++) {
		const struct nvml_facts facts = cuda_nvml_facts(c->nvml, i);

		c->devices[i].info.c2c = facts.c2c;
		c->devices[i].info.cc = facts.cc;
		c->devices[i].info.memory_limit_c = facts.memory_limit_c;
	}
	write_version(c);
	*ret = TAKE(a);
	return 0;
}

static int cuda_open(struct accel **ret, struct err *err)
{
	return open_with(&accel_cuda_ops, true, ret, err);
}

static int cuda_open_copy(struct accel **ret, struct err *err)
{
	return open_with(&accel_cuda_copy_ops, false, ret, err);
}

static unsigned cuda_n_devices(const struct accel *a)
{
	return cuda_of(a)->n_devices;
}

static int cuda_device_info(const struct accel *a, unsigned device, struct accel_device_info *ret,
			    struct err *err)
{
	const struct cuda *c = cuda_of(a);

	if (device >= c->n_devices)
		return err_set(err, ENODEV, "no GPU %u: this host has %u", device, c->n_devices);
	*ret = c->devices[device].info;
	return 0;
}

static int cuda_device_enter(struct accel *a, unsigned device, struct err *err)
{
	return cuda_enter(cuda_of(a), device, err);
}

static const char *cuda_version(const struct accel *a)
{
	return cuda_of(a)->version;
}

static const char *cuda_asked(const struct accel *a)
{
	const char *subject = cuda_of(a)->asked;

	return subject ? subject : "";
}

#define OPS(open_)                                                                           \
	{                                                                                    \
		.open = open_, .name = "cuda", .queue_max = CUDA_QUEUE_MAX, .threads = true, \
		.ends_slowly = true, .close = cuda_close, .n_devices = cuda_n_devices,       \
		.device_info = cuda_device_info, .device_params = cuda_params,               \
		.condition = cuda_condition, .device_enter = cuda_device_enter,              \
		.version = cuda_version, .asked = cuda_asked, .now_us = accel_mono_us,       \
		.now_ns = accel_mono_ns, .region_new = cuda_region_new,                      \
		.region_free = cuda_region_free, .region_export = cuda_region_export,        \
		.stream_new = cuda_stream_new, .stream_free = cuda_stream_free,              \
		.stream_handle = cuda_stream_handle, .stream_wait = cuda_stream_wait,        \
		.event_new = cuda_event_new, .event_free = cuda_event_free,                  \
		.event_record = cuda_event_record, .event_wait = cuda_event_wait,            \
		.event_seconds = cuda_event_seconds, .peer_open = cuda_peer_open,            \
		.copy = cuda_copy, .upload = cuda_upload, .download = cuda_download,         \
		.gemm_new = cuda_gemm_new, .gemm_free = cuda_gemm_free,                      \
		.gemm_algorithm = cuda_gemm_algorithm, .gemm_pieces = cuda_gemm_pieces,      \
		.gemm_run = cuda_gemm_run, .others = cuda_others,                            \
	}

const struct accel_ops accel_cuda_ops = OPS(cuda_open);
const struct accel_ops accel_cuda_copy_ops = OPS(cuda_open_copy);
