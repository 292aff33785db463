/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/sys/sysfs.h"
#include "probes/host_state/host_state.h"
#include "probes/host_state/pci.h"
#include "probes/host_state/pcie_aer.h"

/*
 * Correctable errors per hour of one device that warrant a warning (our own estimate: a healthy
 * link has a few a day).
 */
#define CORRECTABLE_WARN_PER_HOUR 60.0

enum { CLASS_NVME = 0x0108, AER_FILE_MAX = 16 * 1024, AER_TYPES_SHOWN = 200 };

/* The maximum of a device's link, and how much of that it reaches. */
struct link {
	double max_gts;
	unsigned max_width;
	double speed, width;  /* relative to the maximum, at most 1 */
	bool bridge_is_known; /* the maximum of the other end is known */
};

/*
 * A device's link is the one above it. Downward ports (root ports, downstream ports of switches)
 * show the link of the device below them and are skipped; they are at even depths of the bridge
 * chain.
 */
static bool has_own_link(const struct pci_device *d)
{
	if (d->is_virtual || d->gts <= 0 || d->width == 0 || d->max_gts <= 0 || d->max_width == 0)
		return false;
	return !pci_is_bridge(d) || d->depth % 2 == 1;
}

static struct link judge_link(const struct pci_tree *pci, const struct pci_device *d)
{
	struct link link = { .max_gts = d->max_gts, .max_width = d->max_width };
	const struct pci_device *up = d->parent < 0 ? NULL : &pci->devices[d->parent];

	if (up && up->max_gts > 0 && up->max_width > 0) {
		link.max_gts = MIN(link.max_gts, up->max_gts);
		link.max_width = MIN(link.max_width, up->max_width);
		link.bridge_is_known = true;
	}
	link.speed = MIN(d->gts / link.max_gts, 1.0);
	link.width = MIN((double)d->width / link.max_width, 1.0);
	return link;
}

/* GPUs, and bridges on their boards, slow their link down when idle. */
static bool saves_power(const struct pci_device *d)
{
	return d->vendor == PCI_VENDOR_NVIDIA || d->vendor == PCI_VENDOR_AMD;
}

/* The link matters to jobs; for other links, a problem is only a warning. */
static bool carries_jobs(const struct pci_device *d)
{
	return pci_is_gpu(d) || pci_is_nic(d) || pci_is_bridge(d) || d->class_code == CLASS_NVME;
}

/* Functions of a device share its link, so only its first function is checked. */
static bool speaks(const struct pci_tree *pci, const struct pci_device *d)
{
	size_t len = strlen(d->address) - 1;
	const struct pci_device *before = d;

	while (before > pci->devices && strncmp(before[-1].address, d->address, len) == 0)
		before--;
	return before == d;
}

static int emit_link(struct host *h, const struct pci_device *d, const struct link *link)
{
	double part = link->width * (saves_power(d) ? 1.0 : link->speed);
	CLEANUP(freep) char *subject = xasprintf("pci:%s", d->address);
	struct sample s = host_sample("host.pcie_link", subject, part);

	s.params = json_pack("{s:f, s:i, s:s}", "max_gts", link->max_gts, "max_width",
			     (int)link->max_width, "class",
			     pci_is_gpu(d)   ? "gpu"
			     : pci_is_nic(d) ? "nic"
					     : "other");
	if (part >= 1)
		return host_emit(h, &s, FINDING_GOOD,
				 "x%u at %g GT/s, the most that both ends support%s", d->width,
				 d->gts, link->speed < 1 ? " (slow while idle)" : "");
	s.code = xstrdup(link->width < 1 ? "pcie-width" : "pcie-speed");
	return host_emit(h, &s, carries_jobs(d) ? FINDING_FAIL : FINDING_WARN,
			 "x%u at %g GT/s, but %s x%u at %g GT/s; reseat the card, check the riser "
			 "and the slot's settings",
			 d->width, d->gts,
			 link->bridge_is_known ? "both ends support" : "the device supports",
			 link->max_width, link->max_gts);
}

/* One sample per GPU, NIC and slow link, and one for the host with the lowest value. */
static int check_links(struct host *h)
{
	double worst = 1;
	size_t n = 0, n_short = 0, i;
	struct sample s;
	int r = 0;

	for (i = 0; i < h->pci->n && r == 0; i++) {
		const struct pci_device *d = &h->pci->devices[i];
		struct link link;
		double part;

		if (!has_own_link(d) || !speaks(h->pci, d))
			continue;
		link = judge_link(h->pci, d);
		part = link.width * (saves_power(d) ? 1.0 : link.speed);
		n++;
		n_short += part < 1;
		worst = MIN(worst, part);
		if (part < 1 || pci_is_gpu(d) || pci_is_nic(d))
			r = emit_link(h, d, &link);
	}
	if (r < 0 || n == 0)
		return r;
	s = host_sample("host.pcie_link", "host", worst);
	s.params = json_pack("{s:s}", "of", "all");
	return host_emit(h, &s, n_short ? FINDING_NOTE : FINDING_GOOD,
			 "%zu of %zu PCIe links below what both ends support", n_short, n);
}

/* --- errors of links --------------------------------------------------------- */

static const struct aer_kind {
	const char *file;
	double per_hour; /* finding at this rate or above */
	enum finding finding;
} aer_kinds[] = {
	{ "aer_dev_correctable", CORRECTABLE_WARN_PER_HOUR, FINDING_WARN },
	{ "aer_dev_nonfatal", 0, FINDING_WARN },
	{ "aer_dev_fatal", 0, FINDING_FAIL },
};

static int emit_aer(struct host *h, const struct pci_device *d, const struct aer_kind *kind,
		    uint64_t growth, const char *types)
{
	bool bad = counter_per_hour(growth, h->window_s) >= kind->per_hour;
	CLEANUP(freep) char *subject = xasprintf("pci:%s", d->address);
	struct sample s = host_sample("host.pcie_aer", subject, (double)growth);

	s.code = xstrdup(kind->file);
	s.params = json_pack("{s:s}", "kind", kind->file);
	return host_emit(h, &s, bad ? kind->finding : FINDING_NOTE,
			 "%" PRIu64 " new PCIe errors of %s (since boot: %s)%s", growth, kind->file,
			 types, bad ? "; reseat the card, check riser and cable" : "");
}

/* Add the growth to `growth_of_all`, and set `is_there` if the device has such counters. */
static int check_aer_file(struct host *h, const struct pci_device *d, const struct aer_kind *kind,
			  uint64_t *growth_of_all, bool *is_there)
{
	CLEANUP(freep) char *path = sys_path("/sys/bus/pci/devices/%s/%s", d->address, kind->file);
	CLEANUP(freep) char *name = xasprintf("%s.%s", kind->file, d->address);
	CLEANUP(freep) char *text = NULL;
	CLEANUP(strbuf_release) struct strbuf types = STRBUF_INIT(AER_TYPES_SHOWN);
	uint64_t total, growth;

	if (file_read(AT_FDCWD, path, AER_FILE_MAX, &text, NULL, NULL) < 0)
		return 0;
	total = aer_total(text, &types);
	growth = counters_take(&h->counters, name, total, 64);
	*is_there = true;
	*growth_of_all += growth;
	return growth ? emit_aer(h, d, kind, growth, strbuf_text(&types)) : 0;
}

static int check_aer(struct host *h)
{
	uint64_t growth = 0;
	bool is_there = false;
	struct sample s;
	size_t i, k;
	int r = 0;

	for (i = 0; i < h->pci->n; i++) {
		for (k = 0; k < ARRAY_SIZE(aer_kinds) && r == 0; k++)
			r = check_aer_file(h, &h->pci->devices[i], &aer_kinds[k], &growth,
					   &is_there);
	}
	if (r < 0 || !is_there)
		return r;
	s = host_sample("host.pcie_aer", "host", (double)growth);
	s.params = json_pack("{s:s}", "kind", "all");
	return host_emit(h, &s, growth ? FINDING_NOTE : FINDING_GOOD,
			 "%" PRIu64 " new PCIe errors on all devices", growth);
}

int host_pcie(struct host *h, struct err *err UNUSED)
{
	int r = check_links(h);

	return r < 0 ? r : check_aer(h);
}
