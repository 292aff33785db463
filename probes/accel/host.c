/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/host.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/host.h"
#include "lib/sys/paths.h"
#include "probes/accel/host_event.h"
#include "probes/accel/host_gemm.h"
#include "probes/accel/host_memory.h"
#include "probes/accel/host_stream.h"
#include "probes/accel/host_topology.h"

static void host_close(struct accel *a)
{
	struct host *h;

	if (!a)
		return;
	h = host_of(a);
	if (h->stuck)
		return; /* a hung thread still reads it */
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
 * Cores of one chip may differ by design (performance and efficiency cores); the kernel's relative
 * capacity prevents comparing them.
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

/* None of the calls blocks. */
static const char *host_asked(const struct accel *a UNUSED)
{
	return "";
}

/* Every core can access all memory of the host. */
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
	.gemm_pieces = host_gemm_pieces,
	.gemm_run = host_gemm_run,
	.others = host_others,
};

/*
 * Who else runs on a core, from two looks at /proc (probes/harness/cpu_use.h). One look serves all
 * cores, so a new one is only taken when a core asks for the second time.
 */

enum { GROUP_MAX = 16 }; /* hardware threads per core; POWER10 has 8 */

static void look(struct host *h)
{
	CLEANUP(closep) int fd = paths_open_sys("/proc");

	cpu_look_release(&h->before);
	h->before = h->now;
	h->now = (struct cpu_look){ 0 };
	(void)cpu_look_take(fd, true, &h->now, NULL); /* without /proc nobody is named */
}

void host_others_init(struct host *h)
{
	look(h);
}

void host_others_release(struct host *h)
{
	cpu_look_release(&h->before);
	cpu_look_release(&h->now);
}

static void look_again(struct host *h)
{
	unsigned i;

	look(h);
	for (i = 0; i < h->n_cores; i++)
		h->cores[i].answered = false;
}

static size_t group_cpus(const struct host_core *core, unsigned ret_cpus[static GROUP_MAX])
{
	unsigned cpu;
	size_t n = 0;

	for (cpu = 0; cpu < HOST_CPUS_MAX && n < GROUP_MAX; cpu++) {
		if (host_core_has(core, cpu))
			ret_cpus[n++] = cpu;
	}
	return n;
}

int host_others(struct accel *a, unsigned device, long *ret_pid, char ret_command[64],
		double *ret_share, struct err *err)
{
	CLEANUP(closep) int fd = paths_open_sys("/proc");
	struct host *h = host_of(a);
	const struct cpu_use_window window = { &h->before, &h->now };
	unsigned cpus[GROUP_MAX];
	struct cpu_use_cpus group = { .v = cpus };
	struct cpu_user user;

	if (device >= h->n_cores)
		return err_set(err, ENODEV, "no core %u: this host has %u", device, h->n_cores);
	if (h->cores[device].answered)
		look_again(h);
	h->cores[device].answered = true;
	group.n = group_cpus(&h->cores[device], cpus);
	cpu_use_busiest(fd, &window, &group, getpid(), &user);
	*ret_pid = user.pid;
	*ret_share = user.pid ? NAN : 0;
	(void)snprintf(ret_command, 64, "%s", user.command);
	return 0;
}

enum { CPUINFO_MAX = 16 * 1024 * 1024 }; /* on the largest hosts */

/* The next line, or NULL. */
static const char *next_line(const char *at)
{
	at = strchr(at, '\n');
	return at && at[1] ? at + 1 : NULL;
}

/* The value of "key : value" at `line`, or NULL if it is another key. The caller frees it. */
static char *line_value(const char *line, const char *key)
{
	const char *at = line + strlen(key);

	if (!starts_with(line, key))
		return NULL;
	at += strspn(at, " \t");
	if (*at != ':')
		return NULL;
	at += 1 + strspn(at + 1, " \t");
	return xstrndup(at, strcspn(at, "\n"));
}

char *host_cpuinfo(unsigned cpu, const char *key)
{
	CLEANUP(freep) char *path = xasprintf("%s/proc/cpuinfo", paths_sysroot());
	CLEANUP(freep) char *text = NULL;
	bool in_block = false;
	const char *line;

	if (file_read(AT_FDCWD, path, CPUINFO_MAX, &text, NULL, NULL) < 0)
		return NULL;
	for (line = text; line; line = next_line(line)) {
		CLEANUP(freep) char *processor = line_value(line, "processor");
		char *value = NULL;

		if (processor)
			in_block = strtoul(processor, NULL, 10) == cpu;
		if (in_block)
			value = line_value(line, key);
		if (value)
			return value;
	}
	return NULL;
}

/* cpufreq has the clock in kHz; a guest only has /proc/cpuinfo, in MHz. */
static double clock_hz(unsigned cpu)
{
	CLEANUP(closep) int fd = paths_open_sys("/sys/devices/system/cpu");
	CLEANUP(freep) char *path = xasprintf("cpu%u/cpufreq/scaling_cur_freq", cpu);
	CLEANUP(freep) char *mhz = NULL;
	long long khz;

	if (file_read_i64(fd, path, &khz) == 0 && khz > 0)
		return (double)khz * 1e3;
	mhz = host_cpuinfo(cpu, "cpu MHz");
	return mhz ? strtod(mhz, NULL) * 1e6 : NAN;
}

/* Read the steal time of the core's own CPU, and what ran on its other hardware threads. */
static void read_stat(const struct host_core *core, struct accel_condition *ret)
{
	CLEANUP(closep) int fd = paths_open_sys("/proc");
	CLEANUP(cpu_look_release) struct cpu_look look = { 0 };
	unsigned cpu;

	if (cpu_look_take(fd, false, &look, NULL) < 0)
		return;
	ret->steal_ns = cpu_look_steal_ns(&look, core->cpu);
	for (cpu = 0; cpu < look.n_cores; cpu++) {
		if (cpu != core->cpu && host_core_has(core, cpu))
			ret->sibling_ns += look.cores[cpu].busy_ns + look.cores[cpu].steal_ns;
	}
}

int host_condition(struct accel *a, unsigned device, struct accel_condition *ret, struct err *err)
{
	const struct host *h = host_of(a);
	const struct host_core *core;
	struct accel_condition c = { .power_w = NAN, .temperature_c = NAN, .memory_c = NAN };
	unsigned i;

	if (device >= h->n_cores)
		return err_set(err, ENODEV, "no core %u: this host has %u", device, h->n_cores);
	core = &h->cores[device];
	c.clock_hz = clock_hz(core->cpu);
	c.run_delay_ns = core->gone_delay_ns;
	for (i = 0; i < HOST_STREAMS_MAX; i++) {
		if (core->streams[i])
			c.run_delay_ns += host_stream_delay_ns(core->streams[i]);
	}
	read_stat(core, &c);
	*ret = c;
	return 0;
}
