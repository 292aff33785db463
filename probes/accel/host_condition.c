/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/err.h"
#include "lib/file.h"
#include "lib/paths.h"
#include "lib/xalloc.h"
#include "probes/accel/host.h"

enum { PROC_FILE_MAX = 16 * 1024 * 1024 }; /* /proc/cpuinfo and /proc/stat of the largest hosts */

/* Columns of a cpu line of /proc/stat, proc(5). */
enum {
	STAT_USER,
	STAT_NICE,
	STAT_SYSTEM,
	STAT_IDLE,
	STAT_IOWAIT,
	STAT_IRQ,
	STAT_SOFTIRQ,
	STAT_STEAL,
	STAT_COLUMNS
};

static char *read_proc(const char *path)
{
	CLEANUP(freep) char *full = xasprintf("%s%s", paths_sysroot(), path);
	char *text = NULL;

	return file_read(AT_FDCWD, full, PROC_FILE_MAX, &text, NULL, NULL) < 0 ? NULL : text;
}

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
	CLEANUP(freep) char *text = read_proc("/proc/cpuinfo");
	bool in_block = false;
	const char *line;

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

static uint64_t ticks_to_ns(uint64_t ticks)
{
	long per_s = sysconf(_SC_CLK_TCK);

	return ticks * (UINT64_C(1000000000) / (uint64_t)(per_s > 0 ? per_s : 100));
}

/* Read "cpuN a b c ..." ; false for another line. */
static bool parse_cpu_line(const char *line, unsigned long *ret_cpu,
			   uint64_t ret_ticks[static STAT_COLUMNS])
{
	char *at = NULL;
	int i;

	if (!starts_with(line, "cpu") || line[3] < '0' || line[3] > '9')
		return false;
	*ret_cpu = strtoul(line + 3, &at, 10);
	for (i = 0; i < STAT_COLUMNS; i++)
		ret_ticks[i] = strtoull(at, &at, 10);
	return *ret_cpu < HOST_CPUS_MAX;
}

/* Steal of the core's own CPU, and what ran on the other threads of the core. */
static void read_stat(const struct host_core *core, struct accel_condition *ret)
{
	size_t set_size = CPU_ALLOC_SIZE(HOST_CPUS_MAX);
	CLEANUP(freep) char *text = read_proc("/proc/stat");
	uint64_t steal = 0, sibling = 0;
	const char *line;

	for (line = text; line; line = next_line(line)) {
		uint64_t t[STAT_COLUMNS];
		unsigned long cpu;

		if (!parse_cpu_line(line, &cpu, t))
			continue;
		if (cpu == core->cpu)
			steal = t[STAT_STEAL];
		else if (CPU_ISSET_S(cpu, set_size, core->group))
			sibling += t[STAT_USER] + t[STAT_NICE] + t[STAT_SYSTEM] + t[STAT_IRQ] +
				   t[STAT_SOFTIRQ] + t[STAT_STEAL];
	}
	ret->steal_ns = ticks_to_ns(steal);
	ret->sibling_ns = ticks_to_ns(sibling);
}

/*
 * Second number of schedstat: nanoseconds ready but not running
 * (Documentation/scheduler/sched-stats.rst). A thread of this process is only
 * in the real /proc, so the sysroot does not apply.
 */
uint64_t host_run_delay_ns(pid_t tid)
{
	CLEANUP(freep) char *path = xasprintf("/proc/self/task/%ld/schedstat", (long)tid);
	CLEANUP(freep) char *text = NULL;
	char *at = NULL;

	if (file_read_line(AT_FDCWD, path, &text) < 0)
		return 0;
	(void)strtoull(text, &at, 10);
	return strtoull(at, NULL, 10);
}

int host_condition(struct accel *a, unsigned device, struct accel_condition *ret, struct err *err)
{
	const struct host *h = host_of(a);
	const struct host_core *core;
	struct accel_condition c = { .power_w = NAN, .temperature_c = NAN };
	unsigned i;

	if (device >= h->n_cores)
		return err_set(err, ENODEV, "no core %u: there are %u", device, h->n_cores);
	core = &h->cores[device];
	c.clock_hz = clock_hz(core->cpu);
	c.run_delay_ns = core->gone_delay_ns;
	for (i = 0; i < HOST_STREAMS_MAX; i++) {
		if (core->streams[i])
			c.run_delay_ns += host_run_delay_ns(host_stream_tid(core->streams[i]));
	}
	read_stat(core, &c);
	*ret = c;
	return 0;
}
