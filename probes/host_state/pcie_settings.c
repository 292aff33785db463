/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PCIe settings of GPUs and NICs: maximum payload size (MPS), maximum read request size (MRRS), and
 * address translation services (ATS). Firmware sets them, possibly differently on one host of a
 * rack. If configuration space cannot be read, no sample is emitted.
 */
#include "probes/host_state/pcie_settings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "probes/host_state/pci.h"

enum { VALUES_MAX = 8, TEXT_MAX = 160, NAMES_MAX = 256, NOT_THERE = -1 };

/* One setting of all GPUs and NICs; NOT_THERE for a device without it. */
struct row {
	const char *check, *words;
	bool is_size; /* bytes; otherwise on or off */
	int (*read)(const unsigned char *config, size_t len);
};

static int read_payload(const unsigned char *config, size_t len)
{
	int control = pci_express_control(config, len);

	return control < 0 ? NOT_THERE : 128 << (control >> 5 & 7);
}

static int read_request(const unsigned char *config, size_t len)
{
	int control = pci_express_control(config, len);

	return control < 0 ? NOT_THERE : 128 << (control >> 12 & 7);
}

static int read_ats(const unsigned char *config, size_t len)
{
	int control = pci_ats_control(config, len);

	return control < 0 ? NOT_THERE : (control & PCI_ATS_ENABLED) != 0;
}

static const struct row rows[] = {
	{ "host.pcie_payload", "maximum PCIe payload size (MPS), bytes", true, read_payload },
	{ "host.pcie_read_request", "maximum PCIe read request size (MRRS), bytes", true,
	  read_request },
	{ "host.ats", "address translation by the device (ATS)", false, read_ats },
};

/* Read all settings of all devices: `n` values per row. The caller frees the result. */
static int *read_all(const struct pci_tree *pci)
{
	unsigned char config[PCI_CONFIG_MAX];
	int *all = xcalloc(ARRAY_SIZE(rows) * pci->n + 1, sizeof(*all));
	size_t i, k;

	for (i = 0; i < pci->n; i++) {
		const struct pci_device *d = &pci->devices[i];
		const bool asked = pci_is_gpu(d) || pci_is_nic(d);
		const size_t len = asked ? pci_config(d, config) : 0;

		for (k = 0; k < ARRAY_SIZE(rows); k++)
			all[k * pci->n + i] = asked ? rows[k].read(config, len) : NOT_THERE;
	}
	return all;
}

/* A kind of device. */
struct kind {
	const char *name;
	bool (*is)(const struct pci_device *d);
};

static size_t count(const struct pci_tree *pci, const int *all, const struct kind *kind, int value)
{
	size_t n = 0, i;

	for (i = 0; i < pci->n; i++)
		n += kind->is(&pci->devices[i]) && all[i] == value;
	return n;
}

/* The largest value of that kind below `below`, or NOT_THERE. */
static int next_below(const struct pci_tree *pci, const int *all, const struct kind *kind, int below)
{
	int next = NOT_THERE;
	size_t i;

	for (i = 0; i < pci->n; i++) {
		if (kind->is(&pci->devices[i]) && all[i] < below)
			next = MAX(next, all[i]);
	}
	return next;
}

/*
 * Append "GPU 256", or "GPU 256 (7), 128 (1)" with the larger first if they differ; nothing if no
 * device has it. If they agree there is no count, so that the loss of a GPU does not change the
 * setting.
 */
static void say_kind(const struct pci_tree *pci, const struct row *row, const int *all,
		     const struct kind *kind, struct strbuf *to)
{
	int value = next_below(pci, all, kind, INT_MAX);
	const bool alike = next_below(pci, all, kind, value) == NOT_THERE;
	size_t shown;

	for (shown = 0; shown < VALUES_MAX && value != NOT_THERE; shown++) {
		if (shown)
			(void)strbuf_puts(to, ", ");
		else
			(void)strbuf_printf(to, "%s%s ", to->len ? "; " : "", kind->name);
		if (row->is_size)
			(void)strbuf_printf(to, "%d", value);
		else
			(void)strbuf_puts(to, value ? "on" : "off");
		if (!alike)
			(void)strbuf_printf(to, " (%zu)", count(pci, all, kind, value));
		value = next_below(pci, all, kind, value);
	}
}

static bool is_model(const struct pci_device *a, const struct pci_device *b)
{
	return a->vendor == b->vendor && a->device == b->device && a->class_code == b->class_code;
}

/* Count and name devices that differ from most of their model on this host. */
static size_t name_unlike(const struct pci_tree *pci, const int *all, struct strbuf *names)
{
	size_t n = 0, i, k;

	for (i = 0; i < pci->n; i++) {
		size_t like = 0, of = 0;

		for (k = 0; k < pci->n && all[i] != NOT_THERE; k++) {
			if (all[k] == NOT_THERE || !is_model(&pci->devices[i], &pci->devices[k]))
				continue;
			of++;
			like += all[k] == all[i];
		}
		if (2 * like < of)
			(void)strbuf_printf(names, "%s%s", n++ ? ", " : "", pci->devices[i].address);
	}
	return n;
}

static int tell(struct host *h, const struct row *row, const int *all)
{
	static const struct kind kinds[] = { { "GPU", pci_is_gpu }, { "NIC", pci_is_nic } };
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(TEXT_MAX);
	CLEANUP(strbuf_release) struct strbuf names = STRBUF_INIT(NAMES_MAX);
	struct sample s;
	size_t unlike, i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		say_kind(h->pci, row, all, &kinds[i], &text);
	if (text.len == 0)
		return 0;
	unlike = name_unlike(h->pci, all, &names);
	s = host_sample(row->check, "host", (double)unlike);
	s.params = json_pack("{s:s}", "setting", strbuf_text(&text));
	if (unlike == 0)
		return host_emit(h, &s, FINDING_NOTE, "%s: %s", row->words, strbuf_text(&text));
	s.code = xstrdup("unlike-others");
	return host_emit(h, &s, FINDING_INFO, "%s: %s; unlike most of their model: %s", row->words,
			 strbuf_text(&text), strbuf_text(&names));
}

int pcie_settings(struct host *h, struct err *err UNUSED)
{
	CLEANUP(freep) int *all = read_all(h->pci);
	size_t i;
	int r = 0;

	for (i = 0; i < ARRAY_SIZE(rows) && r == 0; i++)
		r = tell(h, &rows[i], all + i * h->pci->n);
	return r;
}
