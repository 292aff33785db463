/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/sysfs.h"
#include "probes/host_state/host_state.h"

#define CPU_DIR "/sys/devices/system/cpu"

/*
 * Throttle events per hour of one package that warrant a warning (our own estimate: a well-cooled
 * host has none, and a fan test may cause a few).
 */
#define THROTTLE_WARN_PER_HOUR 10.0

/* A limit below this part of the processor's maximum frequency counts. */
#define FREQUENCY_CAP 0.99

enum {
	PACKAGES_MAX = 64,
	/*
	 * Number of policies whose current frequency is read: older kernels take up to 20 ms per
	 * core for it, and wake the core up.
	 */
	FREQUENCIES_READ_MAX = 16,
	LIST_SHOWN = 200, /* bytes of a list of names in a note */
};

/* Read a CPU set from a file of that name; false if it cannot be read. */
static bool read_set(const char *name, bool *set, int *ret_n)
{
	CLEANUP(freep) char *line = sys_line(CPU_DIR "/%s", name);
	int n = line ? cpulist_parse(line, set) : -1;

	if (n < 0)
		return false;
	*ret_n = n;
	return true;
}

static void add_name(struct strbuf *names, const char *name)
{
	(void)strbuf_printf(names, "%s%s", names->len ? " " : "", name);
}

/* CPUs that are present but offline. If SMT is disabled, sibling threads are offline on purpose. */
static int check_offline(struct host *h)
{
	CLEANUP(freep) bool *present = xcalloc(SYS_CPUS_MAX, sizeof(bool));
	CLEANUP(freep) bool *online = xcalloc(SYS_CPUS_MAX, sizeof(bool));
	CLEANUP(freep) char *smt = sys_line(CPU_DIR "/smt/control");
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(LIST_SHOWN);
	struct sample s;
	int n_present = 0, n_online = 0, i, off = 0;
	bool wanted = smt && (streq(smt, "off") || streq(smt, "forceoff"));

	if (!read_set("present", present, &n_present) || !read_set("online", online, &n_online))
		return 0;
	for (i = 0; i < SYS_CPUS_MAX; i++) {
		char number[16];

		if (!present[i] || online[i])
			continue;
		off++;
		(void)snprintf(number, sizeof(number), "%d", i);
		add_name(&names, number);
	}
	s = host_sample("host.cpu_offline", "host", off);
	if (off == 0)
		return host_emit(h, &s, FINDING_GOOD, "all %d CPUs are online", n_present);
	if (wanted)
		return host_emit(h, &s, FINDING_NOTE, "%d CPUs are off because SMT is off", off);
	return host_emit(h, &s, FINDING_WARN,
			 "%d of %d CPUs are offline: %s; bring them online, or find out why the "
			 "kernel did not",
			 off, n_present, strbuf_text(&names));
}

static int check_smt(struct host *h)
{
	CLEANUP(freep) char *control = sys_line(CPU_DIR "/smt/control");
	uint64_t active = 0;
	struct sample s;

	if (!control || !sys_u64(&active, CPU_DIR "/smt/active"))
		return 0;
	s = host_sample("host.smt", "host", (double)active);
	s.code = xstrdup(control);
	s.params = json_pack("{s:s}", "setting", control);
	return host_emit(h, &s, FINDING_NOTE, "sibling threads are %s (%s)",
			 active ? "in use" : "not in use", control);
}

/* --- frequency ------------------------------------------------------------- */

struct policies {
	char **names; /* "policy0", ... */
	size_t n;
	double now[FREQUENCIES_READ_MAX]; /* of some, relative to the maximum */
	size_t n_now;
	size_t n_capped;
	double lowest_cap; /* relative to the maximum */
	struct strbuf capped;
};

static void policies_release(struct policies *p)
{
	strv_free(p->names);
	strbuf_release(&p->capped);
}

static bool policy_u64(const char *policy, const char *name, uint64_t *ret)
{
	return sys_u64(ret, CPU_DIR "/cpufreq/%s/%s", policy, name);
}

static void read_policy(struct policies *p, size_t i)
{
	const char *name = p->names[i];
	size_t step = (p->n + FREQUENCIES_READ_MAX - 1) / FREQUENCIES_READ_MAX;
	uint64_t max = 0, limit = 0, bios = 0, now = 0;
	double part;

	if (!policy_u64(name, "cpuinfo_max_freq", &max) || max == 0)
		return;
	if (!policy_u64(name, "scaling_max_freq", &limit))
		limit = max;
	if (policy_u64(name, "bios_limit", &bios) && bios)
		limit = MIN(limit, bios);
	part = (double)limit / (double)max;
	p->lowest_cap = MIN(p->lowest_cap, part);
	if (part < FREQUENCY_CAP) {
		p->n_capped++;
		add_name(&p->capped, name);
	}
	if (i % step == 0 && p->n_now < FREQUENCIES_READ_MAX &&
	    policy_u64(name, "scaling_cur_freq", &now))
		p->now[p->n_now++] = (double)now / (double)max;
}

static int check_frequency(struct host *h)
{
	CLEANUP(policies_release)
	struct policies p = { .lowest_cap = 1, .capped = STRBUF_INIT(LIST_SHOWN) };
	struct sample s;
	size_t i;

	p.names = sys_list(CPU_DIR "/cpufreq", "policy");
	p.n = strv_len(p.names);
	for (i = 0; i < p.n; i++)
		read_policy(&p, i);
	if (p.n_now == 0)
		return 0;
	s = host_sample("host.cpu_frequency", "host", NAN);
	sample_set_windows(&s, p.now, p.n_now);
	s.params = json_pack("{s:s}", "of", "maximum");
	if (p.n_capped == 0)
		return host_emit(
			h, &s, FINDING_GOOD,
			"no limit; now %.0f to %.0f %% of the maximum (idle cores are slow)",
			s.min * 100, s.max * 100);
	s.code = xstrdup("frequency-limit");
	return host_emit(h, &s, FINDING_WARN,
			 "%zu of %zu frequency policies are capped, down to %.0f %% of the "
			 "maximum: %s; see scaling_max_freq and the BIOS",
			 p.n_capped, p.n, p.lowest_cap * 100, strbuf_text(&p.capped));
}

static int check_governor(struct host *h)
{
	CLEANUP(strv_freep) char **names = sys_list(CPU_DIR "/cpufreq", "policy");
	CLEANUP(freep) char *first = NULL;
	CLEANUP(strbuf_release) struct strbuf others = STRBUF_INIT(LIST_SHOWN);
	size_t n = strv_len(names), n_other = 0, i;
	struct sample s;

	for (i = 0; i < n; i++) {
		char *governor = sys_line(CPU_DIR "/cpufreq/%s/scaling_governor", names[i]);

		if (first && governor && !streq(first, governor)) {
			n_other++;
			add_name(&others, names[i]);
		}
		if (first)
			free(governor);
		else
			first = governor;
	}
	if (!first)
		return 0;
	s = host_sample("host.cpu_governor", "host", (double)n_other);
	s.code = xstrdup(n_other ? "mixed" : first);
	s.params = json_pack("{s:s}", "setting", s.code);
	if (n_other == 0)
		return host_emit(h, &s, FINDING_NOTE, "every core uses governor %s", first);
	return host_emit(h, &s, FINDING_WARN, "most cores use governor %s, but not these: %s",
			 first, strbuf_text(&others));
}

/* --- throttling ------------------------------------------------------------- */

struct package {
	uint64_t core_events;	 /* of all cores, since the last run */
	uint64_t package_events; /* every core counts the same events, so the maximum */
	bool seen;
	unsigned worst_cpu;
	uint64_t worst_events;
};

static void read_throttle(struct host *h, unsigned cpu, struct package *packages)
{
	uint64_t core = 0, package = 0, id = 0;
	char name[64];
	struct package *p;

	if (!sys_u64(&core, CPU_DIR "/cpu%u/thermal_throttle/core_throttle_count", cpu))
		return;
	(void)sys_u64(&package, CPU_DIR "/cpu%u/thermal_throttle/package_throttle_count", cpu);
	(void)sys_u64(&id, CPU_DIR "/cpu%u/topology/physical_package_id", cpu);
	p = &packages[MIN(id, (uint64_t)PACKAGES_MAX - 1)];
	(void)snprintf(name, sizeof(name), "throttle.core.%u", cpu);
	core = counters_take(&h->counters, name, core, 64);
	(void)snprintf(name, sizeof(name), "throttle.package.%u", cpu);
	package = counters_take(&h->counters, name, package, 64);
	p->seen = true;
	p->core_events += core;
	p->package_events = MAX(p->package_events, package);
	if (core > p->worst_events) {
		p->worst_events = core;
		p->worst_cpu = cpu;
	}
}

static int emit_throttle(struct host *h, unsigned id, const struct package *p)
{
	uint64_t events = p->core_events + p->package_events;
	double rate = counter_per_hour(events, h->window_s);
	char subject[32];
	struct sample s;

	(void)snprintf(subject, sizeof(subject), "package:%u", id);
	s = host_sample("host.cpu_throttle", subject, (double)events);
	if (events == 0)
		return host_emit(h, &s, FINDING_GOOD, "no thermal throttling");
	s.code = xstrdup("thermal-throttle");
	return host_emit(h, &s, rate >= THROTTLE_WARN_PER_HOUR ? FINDING_WARN : FINDING_NOTE,
			 "thermal throttling: %" PRIu64 " times the package, %" PRIu64
			 " times its cores (most: cpu %u); check fans, airflow, heat sink",
			 p->package_events, p->core_events, p->worst_cpu);
}

static int check_throttle(struct host *h)
{
	CLEANUP(freep) bool *online = xcalloc(SYS_CPUS_MAX, sizeof(bool));
	struct package packages[PACKAGES_MAX] = { 0 };
	int n = 0, r = 0;
	unsigned i;

	if (!read_set("online", online, &n))
		return 0;
	for (i = 0; i < SYS_CPUS_MAX; i++) {
		if (online[i])
			read_throttle(h, i, packages);
	}
	for (i = 0; i < PACKAGES_MAX && r == 0; i++) {
		if (packages[i].seen)
			r = emit_throttle(h, i, &packages[i]);
	}
	return r;
}

/* --- microcode ---------------------------------------------------------------- */

static int check_microcode(struct host *h)
{
	CLEANUP(freep) bool *online = xcalloc(SYS_CPUS_MAX, sizeof(bool));
	CLEANUP(freep) char *first = NULL;
	CLEANUP(strbuf_release) struct strbuf others = STRBUF_INIT(LIST_SHOWN);
	struct sample s;
	int n = 0, i, n_other = 0;

	if (!read_set("online", online, &n))
		return 0;
	for (i = 0; i < SYS_CPUS_MAX; i++) {
		CLEANUP(freep) char *version = NULL;
		char name[64];

		if (!online[i])
			continue;
		version = sys_line(CPU_DIR "/cpu%d/microcode/version", i);
		if (version && first && !streq(version, first)) {
			n_other++;
			(void)snprintf(name, sizeof(name), "cpu%d=%.20s", i, version);
			add_name(&others, name);
		}
		if (!first)
			first = TAKE(version);
	}
	if (!first)
		return 0;
	s = host_sample("host.microcode", "host", n_other);
	s.code = xstrdup(first);
	if (n_other == 0)
		return host_emit(h, &s, FINDING_GOOD, "every core runs microcode %s", first);
	return host_emit(h, &s, FINDING_WARN,
			 "%d cores do not run microcode %s: %s; update and reboot", n_other, first,
			 strbuf_text(&others));
}

int host_cpu(struct host *h, struct err *err UNUSED)
{
	static int (*const areas[])(struct host * h) = {
		check_frequency, check_governor,  check_throttle,
		check_offline,	 check_microcode, check_smt,
	};
	size_t i;
	int r = 0;

	for (i = 0; i < ARRAY_SIZE(areas) && r == 0; i++)
		r = areas[i](h);
	return r;
}
