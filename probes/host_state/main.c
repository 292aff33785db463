/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/kernel_rules.h"
#include "lib/sys/paths.h"
#include "probes/harness/since.h"
#include "probes/host_state/cpu_idle.h"
#include "probes/host_state/host_state.h"
#include "probes/host_state/pci.h"
#include "probes/host_state/pcie_settings.h"
#include "probes/host_state/services.h"

static int run_areas(struct host *h, struct err *err)
{
	static int (*const areas[])(struct host * h, struct err * err) = {
		host_inventory, host_cpu, cpu_idle,   host_memory,     host_pcie,
		pcie_settings,	services, host_iommu, host_kernel_log,
	};
	size_t i;
	int r = 0;

	for (i = 0; i < ARRAY_SIZE(areas) && r == 0; i++)
		r = areas[i](h, err);
	return r < 0 ? err_errno(err, -r, "cannot print samples") : 0;
}

static int run(struct probe *probe, struct err *err)
{
	CLEANUP(kernel_rules_release) struct kernel_rules rules = { 0 };
	CLEANUP(pci_release) struct pci_tree pci = { 0 };
	CLEANUP(since_release) struct since since = { 0 };
	CLEANUP(freep) char *policy_dir = paths_policy();
	struct host h = { .probe = probe, .pci = &pci, .rules = &rules };
	int r = kernel_rules_load(policy_dir, &rules, err);

	if (r < 0)
		return r;
	since_open(probe, &since);
	pci_read(&pci);
	h.past = since.past;
	h.next = since.next;
	h.same_boot = since.same_boot;
	h.window_s = since.window_s;
	h.counters = since.counters;
	r = run_areas(&h, err);
	if (r < 0)
		return r;
	if (probe->n_samples == 0)
		return err_set(err, ENODEV, "nothing to read below '%s/sys' and '%s/proc'",
			       paths_sysroot(), paths_sysroot());
	since_keep(probe, &since);
	return 0;
}

int main(int argc, char **argv)
{
	const struct probe_desc desc = {
		.name = "host-state",
		.summary =
			"Reads what the host reports about itself: processor, memory errors, PCIe "
			"links, IOMMU, inventory and kernel log. Puts no load on the host.",
		.active = false,
		.budget_us = 5 * USEC_PER_SEC,
		.checks = host_checks,
		.n_checks = host_n_checks,
		.run = run,
	};

	return probe_main(&desc, NULL, argc, argv);
}
