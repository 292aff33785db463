/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/paths.h"
#include "probes/accel/host.h"

enum { CPUINFO_MAX = 16 * 1024 * 1024 }; /* of the largest hosts */

/* The line after the one at `at`, or NULL. */
static const char *next_line(const char *at)
{
	at = strchr(at, '\n');
	return at && at[1] ? at + 1 : NULL;
}

/* The value of "key : value" at `line`, new memory; NULL when it is another key. */
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

/* cpufreq tells the clock in kHz; a guest has only /proc/cpuinfo, in MHz. */
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

/* Steal of the core's own CPU, and what ran on the other threads of the core. */
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
