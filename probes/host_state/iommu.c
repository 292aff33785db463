/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/sysfs.h"
#include "probes/host_state/host_state.h"
#include "probes/host_state/iommu_mode.h"
#include "probes/host_state/pci.h"

enum { CMDLINE_MAX = 64 * 1024 };

/* Type of a device's IOMMU group ("identity", "DMA", "DMA-FQ"), or NULL. */
static char *group_type(const struct pci_device *d)
{
	CLEANUP(freep) char *link = sys_path("/sys/bus/pci/devices/%s/iommu_group", d->address);
	char target[PATH_MAX];
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	const char *group;

	if (n <= 0)
		return NULL;
	target[n] = '\0';
	group = strrchr(target, '/');
	return sys_line("/sys/kernel/iommu_groups/%s/type", group ? group + 1 : target);
}

struct translation {
	size_t n_devices;    /* GPUs and NICs */
	size_t n_translated; /* those behind a translating IOMMU */
	const char *example; /* address of one of those */
	bool has_gpu;
};

static struct translation read_translation(const struct pci_tree *pci)
{
	struct translation t = { 0 };
	size_t i;

	for (i = 0; i < pci->n; i++) {
		const struct pci_device *d = &pci->devices[i];
		CLEANUP(freep) char *type = NULL;

		if (!pci_is_gpu(d) && !pci_is_nic(d))
			continue;
		t.n_devices++;
		t.has_gpu = t.has_gpu || pci_is_gpu(d);
		type = group_type(d);
		if (!type || !starts_with(type, "DMA"))
			continue;
		t.n_translated++;
		t.example = d->address;
	}
	return t;
}

static int check_iommu(struct host *h)
{
	CLEANUP(strv_freep) char **groups = sys_list("/sys/kernel/iommu_groups", "");
	CLEANUP(strv_freep) char **units = sys_list("/sys/class/iommu", "");
	CLEANUP(freep) char *path = sys_path("/proc/cmdline");
	CLEANUP(freep) char *cmdline = NULL;
	struct translation t = read_translation(h->pci);
	const char *mode;
	struct sample s;

	if (!groups && !units)
		return 0;
	if (file_read(AT_FDCWD, path, CMDLINE_MAX, &cmdline, NULL, NULL) < 0)
		cmdline = xstrdup("");
	mode = iommu_mode(cmdline, strv_len(groups));
	s = host_sample("host.iommu", "host", (double)strv_len(groups));
	s.code = xstrdup(t.n_translated ? "translated" : mode);
	s.params = json_pack("{s:i, s:s, s:s}", "units", (int)strv_len(units), "cmdline", mode,
			     "setting", s.code);
	if (t.n_translated && t.has_gpu)
		return host_emit(h, &s, FINDING_WARN,
				 "the IOMMU translates DMA of %zu of %zu GPUs and NICs (such as "
				 "%s), which slows RDMA and GPU peer traffic; unless VMs need it, "
				 "boot with iommu=pt",
				 t.n_translated, t.n_devices, t.example);
	return host_emit(h, &s, t.has_gpu ? FINDING_GOOD : FINDING_NOTE,
			 "%zu IOMMU groups, kernel command line says %s", strv_len(groups), mode);
}

/* --- access control services ------------------------------------------------- */

/* Mark every bridge above `d` in `marks`. */
static void mark_above(const struct pci_tree *pci, const struct pci_device *d, bool *marks)
{
	unsigned steps;
	int up = d->parent;

	for (steps = 0; up >= 0 && steps < d->depth; steps++) {
		marks[up] = true;
		up = pci->devices[up].parent;
	}
}

struct acs {
	size_t n_read;	     /* switch ports whose control word could be read */
	size_t n_redirected; /* those that redirect */
	const char *example;
};

static void read_acs(const struct pci_device *d, struct acs *acs)
{
	unsigned char config[PCI_CONFIG_MAX];
	size_t len = pci_config(d, config);
	int control;

	if (len <= 256 || pci_port_kind(config, len) != PCI_PORT_DOWNSTREAM)
		return;
	acs->n_read++;
	control = pci_acs_control(config, len);
	if (control < 0 || !(control & (PCI_ACS_REQUEST_REDIRECT | PCI_ACS_COMPLETION_REDIRECT)))
		return;
	acs->n_redirected++;
	acs->example = d->address;
}

/*
 * Only downstream ports of switches count: with a redirect there, traffic between neighbouring
 * devices goes up to the root port and down again. If configuration space cannot be read, no sample
 * is emitted.
 */
static int check_acs(struct host *h)
{
	CLEANUP(freep) bool *above = xcalloc(h->pci->n + 1, sizeof(bool));
	struct acs acs = { 0 };
	bool has_gpu = false;
	struct sample s;
	size_t i;

	for (i = 0; i < h->pci->n; i++) {
		const struct pci_device *d = &h->pci->devices[i];

		has_gpu = has_gpu || pci_is_gpu(d);
		if (pci_is_gpu(d) || pci_is_nic(d))
			mark_above(h->pci, d, above);
	}
	for (i = 0; i < h->pci->n; i++) {
		if (above[i])
			read_acs(&h->pci->devices[i], &acs);
	}
	if (acs.n_read == 0)
		return 0;
	s = host_sample("host.acs", "host", (double)acs.n_redirected);
	s.params =
		json_pack("{s:o}", "setting",
			  json_sprintf("%zu of %zu ports redirect", acs.n_redirected, acs.n_read));
	if (acs.n_redirected == 0)
		return host_emit(h, &s, FINDING_GOOD,
				 "none of %zu switch ports above GPUs and NICs redirects peer "
				 "traffic",
				 acs.n_read);
	s.code = xstrdup("acs-redirect");
	return host_emit(h, &s, has_gpu ? FINDING_WARN : FINDING_NOTE,
			 "ACS of %zu of %zu switch ports above GPUs and NICs (such as %s) sends "
			 "peer traffic through the root port; unless VMs need it, switch ACS off "
			 "in the BIOS or with setpci ECAP_ACS+6.w=0",
			 acs.n_redirected, acs.n_read, acs.example);
}

int host_iommu(struct host *h, struct err *err UNUSED)
{
	int r = check_iommu(h);

	return r < 0 ? r : check_acs(h);
}
