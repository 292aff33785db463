/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings that may slow down the host's side of a job without a fault: deep idle states with a
 * long wake-up time, and migration of pages between NUMA nodes by the kernel. Compared between
 * hosts.
 */
#include "probes/host_state/cpu_idle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/sysfs.h"

#define CPU_DIR "/sys/devices/system/cpu"

enum { TEXT_MAX = 200 };

/* Read the idle states of one CPU, "POLL C1 C1E, off C6", and the exit latency of the deepest. */
static bool read_states(int cpu, struct strbuf *ret, uint64_t *ret_latency_us)
{
	CLEANUP(freep) char *dir = xasprintf(CPU_DIR "/cpu%d/cpuidle", cpu);
	CLEANUP(strv_freep) char **states = sys_list(dir, "state");
	CLEANUP(strbuf_release) struct strbuf off = STRBUF_INIT(TEXT_MAX);
	size_t i;

	*ret_latency_us = 0;
	for (i = 0; states && states[i]; i++) {
		CLEANUP(freep) char *name = sys_line("%s/%s/name", dir, states[i]);
		uint64_t disabled = 0, latency_us = 0;

		if (!name)
			continue;
		(void)sys_u64(&disabled, "%s/%s/disable", dir, states[i]);
		(void)sys_u64(&latency_us, "%s/%s/latency", dir, states[i]);
		if (disabled) {
			(void)strbuf_printf(&off, " %s", name);
			continue;
		}
		(void)strbuf_printf(ret, "%s%s", ret->len ? " " : "", name);
		*ret_latency_us = MAX(*ret_latency_us, latency_us);
	}
	if (off.len)
		(void)strbuf_printf(ret, "%soff%s", ret->len ? ", " : "", strbuf_text(&off));
	return ret->len > 0;
}

/* Count online CPUs whose enabled states differ from those of the first, which go into `ret`. */
static size_t read_cpus(struct strbuf *ret, uint64_t *ret_latency_us)
{
	CLEANUP(freep) char *line = sys_line(CPU_DIR "/online");
	CLEANUP(freep) bool *online = xcalloc(SYS_CPUS_MAX, sizeof(bool));
	size_t unlike = 0;
	int i;

	if (!line || cpulist_parse(line, online) < 0)
		return 0;
	for (i = 0; i < SYS_CPUS_MAX; i++) {
		CLEANUP(strbuf_release) struct strbuf one = STRBUF_INIT(TEXT_MAX);
		uint64_t latency_us;

		if (!online[i] || !read_states(i, &one, &latency_us))
			continue;
		if (ret->len == 0)
			(void)strbuf_puts(ret, strbuf_text(&one));
		else
			unlike += !streq(strbuf_text(ret), strbuf_text(&one));
		*ret_latency_us = MAX(*ret_latency_us, latency_us);
	}
	return unlike;
}

static int check_idle(struct host *h)
{
	CLEANUP(strbuf_release) struct strbuf states = STRBUF_INIT(TEXT_MAX);
	CLEANUP(freep) char *driver = sys_line(CPU_DIR "/cpuidle/current_driver");
	CLEANUP(freep) char *governor = sys_line(CPU_DIR "/cpuidle/current_governor");
	CLEANUP(freep) char *text = NULL;
	uint64_t latency_us = 0;
	size_t unlike = read_cpus(&states, &latency_us);
	struct sample s;

	if (states.len == 0 && !driver)
		return 0;
	text = xasprintf("%s%s%s: %s%s", driver ? driver : "no driver", governor ? " " : "",
			 governor ? governor : "", states.len ? strbuf_text(&states) : "no states",
			 unlike ? ", others otherwise" : "");
	s = host_sample("host.cpu_idle", "host", (double)latency_us);
	s.params = json_pack("{s:s}", "setting", text);
	return host_emit(h, &s, FINDING_NOTE,
			 "idle states (%s); leaving the deepest takes %" PRIu64 " us%s", text,
			 latency_us, unlike ? "; CPUs have different states" : "");
}

static int check_numa_balancing(struct host *h)
{
	static const char *const modes[] = { "off", "on" };
	uint64_t on = 0;
	struct sample s;

	if (!sys_u64(&on, "/proc/sys/kernel/numa_balancing"))
		return 0;
	s = host_sample("host.numa_balancing", "host", (double)on);
	s.params = json_pack("{s:s}", "setting", modes[on != 0]);
	return host_emit(h, &s, FINDING_NOTE, "the kernel %s pages between NUMA nodes by itself",
			 on ? "moves" : "does not move");
}

int cpu_idle(struct host *h, struct err *err UNUSED)
{
	int r = check_idle(h);

	return r < 0 ? r : check_numa_balancing(h);
}
