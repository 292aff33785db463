/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "lib/err.h"
#include "lib/host.h"
#include "lib/log.h"
#include "lib/paths.h"
#include "lib/xalloc.h"
#include "probes/host_state/host_state.h"
#include "probes/host_state/kernel_rules.h"
#include "probes/host_state/pci.h"
#include "probes/host_state/sysfs.h"

/* Seconds since boot, NAN when not known. */
static double read_uptime(void)
{
	CLEANUP(freep) char *line = sys_line("/proc/uptime");
	char *end = NULL;
	double uptime = line ? strtod(line, &end) : NAN;

	return line && end > line && isfinite(uptime) ? uptime : NAN;
}

static void set_window(struct host *h)
{
	const json_t *before = json_object_get(h->past, "uptime_s");
	double uptime = read_uptime();

	h->window_s = uptime;
	if (h->same_boot && json_is_number(before))
		h->window_s = uptime - json_number_value(before);
	if (isfinite(uptime))
		(void)json_object_set_new(h->next, "uptime_s", json_real(uptime));
}

static int run_areas(struct host *h, struct err *err)
{
	static int (*const areas[])(struct host * h, struct err * err) = {
		host_inventory, host_cpu, host_memory, host_pcie, host_iommu, host_kernel_log,
	};
	size_t i;
	int r = 0;

	for (i = 0; i < ARRAY_SIZE(areas) && r == 0; i++)
		r = areas[i](h, err);
	return r < 0 ? err_errno(err, -r, "cannot print samples") : 0;
}

/*
 * What was printed is remembered only once all of it was printed: a run that
 * was killed leaves its findings to the next one.
 */
static void keep(struct host *h)
{
	struct err err = ERR_INIT;

	if (probe_save(h->probe, h->next, &err) < 0)
		log_warning("%s; the next run will report the same errors again", err.msg);
}

static int run(struct probe *probe, struct err *err)
{
	CLEANUP(kernel_rules_release) struct kernel_rules rules = { 0 };
	CLEANUP(pci_release) struct pci_tree pci = { 0 };
	CLEANUP(json_freep) json_t *past = NULL;
	CLEANUP(json_freep) json_t *next = json_object();
	CLEANUP(freep) char *boot_id = host_boot_id();
	CLEANUP(freep) char *policy_dir = paths_policy();
	struct host h = { .probe = probe, .next = next, .pci = &pci, .rules = &rules };
	json_t *counters = json_object();
	int r = kernel_rules_load(policy_dir, &rules, err);

	(void)json_object_set_new(next, "counters", counters);
	if (r < 0)
		return r;
	past = probe_load(probe, true);
	pci_read(&pci);
	h.past = past;
	h.same_boot = streq(json_string_value(json_object_get(past, "boot_id")), boot_id);
	h.counters.next = counters;
	if (h.same_boot)
		h.counters.past = json_object_get(past, "counters");
	set_window(&h);
	r = run_areas(&h, err);
	if (r < 0)
		return r;
	if (probe->n_samples == 0)
		return err_set(err, ENODEV, "nothing to read below '%s/sys' and '%s/proc'",
			       paths_sysroot(), paths_sysroot());
	keep(&h);
	return 0;
}

int main(int argc, char **argv)
{
	const struct probe_desc desc = {
		.name = "host-state",
		.summary = "Reads what the host says about itself: processor, memory errors, PCIe "
			   "links, IOMMU, inventory and kernel log. Loads nothing.",
		.active = false,
		.budget_us = 5 * USEC_PER_SEC,
		.checks = host_checks,
		.n_checks = host_n_checks,
		.run = run,
	};

	return probe_main(&desc, NULL, argc, argv);
}
