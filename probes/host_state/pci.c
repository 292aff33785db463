/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/host_state/pci.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/file.h"
#include "lib/sys/sysfs.h"

#define PCI_DIR "/sys/bus/pci/devices"

enum {
	CLASS_VGA = 0x0300,
	CLASS_3D = 0x0302,
	CLASS_ETHERNET = 0x0200,
	CLASS_INFINIBAND = 0x0207,
	CLASS_BRIDGE = 0x0604,
	CLASS_ACCELERATOR = 0x1200, /* AMD Instinct */
	LANES_MAX = 32,
};

static unsigned read_unsigned(const char *address, const char *name)
{
	uint64_t value = 0;

	if (!sys_u64(&value, PCI_DIR "/%s/%s", address, name) || value > UINT_MAX)
		return 0;
	return (unsigned)value;
}

/* Reads 0 for "Unknown", and for the 63 lanes reported by a powered-off device. */
static unsigned read_width(const char *address, const char *name)
{
	unsigned width = read_unsigned(address, name);

	return width <= LANES_MAX ? width : 0;
}

static double read_speed(const char *address, const char *name)
{
	CLEANUP(freep) char *line = sys_line(PCI_DIR "/%s/%s", address, name);

	return line ? pci_parse_speed(line) : 0;
}

/* The parent component of the real path, if that is a device. */
static void read_above(struct pci_device *d)
{
	CLEANUP(freep) char *path = sys_path(PCI_DIR "/%s", d->address);
	CLEANUP(freep) char *real = realpath(path, NULL);
	char *last = real ? strrchr(real, '/') : NULL;
	char *before;

	if (!last)
		return;
	*last = '\0';
	before = strrchr(real, '/');
	if (before && strlen(before + 1) < PCI_ADDRESS_SIZE)
		(void)pci_find_address(before + 1, d->above);
}

static bool has(const char *address, const char *name)
{
	CLEANUP(freep) char *path = sys_path(PCI_DIR "/%s/%s", address, name);

	return access(path, F_OK) == 0;
}

static void read_device(const char *address, struct pci_device *d)
{
	d->class_code = read_unsigned(address, "class") >> 8;
	d->vendor = read_unsigned(address, "vendor");
	d->device = read_unsigned(address, "device");
	d->is_virtual = has(address, "physfn");
	d->gts = read_speed(address, "current_link_speed");
	d->max_gts = read_speed(address, "max_link_speed");
	d->width = read_width(address, "current_link_width");
	d->max_width = read_width(address, "max_link_width");
	d->parent = PCI_NO_PARENT;
	read_above(d);
}

static int find_index(const struct pci_tree *tree, const char *address)
{
	size_t i;

	for (i = 0; i < tree->n; i++) {
		if (streq(tree->devices[i].address, address))
			return (int)i;
	}
	return PCI_NO_PARENT;
}

static void link_parents(struct pci_tree *tree)
{
	size_t i;

	for (i = 0; i < tree->n; i++)
		tree->devices[i].parent = find_index(tree, tree->devices[i].above);
	for (i = 0; i < tree->n; i++) {
		int up = tree->devices[i].parent;

		/* Bounded, in case a broken tree has a cycle. */
		for (; up >= 0 && tree->devices[i].depth < 32; up = tree->devices[up].parent)
			tree->devices[i].depth++;
	}
}

void pci_read(struct pci_tree *ret_tree)
{
	CLEANUP(strv_freep) char **names = sys_list(PCI_DIR, "");
	struct pci_tree tree = { .readable = names != NULL };
	size_t n = MIN(strv_len(names), (size_t)PCI_DEVICES_MAX), i;

	if (!names) {
		*ret_tree = tree;
		return;
	}
	tree.devices = xcalloc(n + 1, sizeof(*tree.devices));
	for (i = 0; i < n; i++) {
		struct pci_device *d = &tree.devices[tree.n];

		if (strlen(names[i]) >= PCI_ADDRESS_SIZE || !pci_find_address(names[i], d->address))
			continue;
		read_device(names[i], d);
		tree.n++;
	}
	link_parents(&tree);
	*ret_tree = tree;
}

void pci_release(struct pci_tree *tree)
{
	free(tree->devices);
	*tree = (struct pci_tree){ 0 };
}

bool pci_is_gpu(const struct pci_device *d)
{
	return (d->vendor == PCI_VENDOR_NVIDIA || d->vendor == PCI_VENDOR_AMD) && !d->is_virtual &&
	       (d->class_code == CLASS_VGA || d->class_code == CLASS_3D ||
		d->class_code == CLASS_ACCELERATOR);
}

bool pci_is_nic(const struct pci_device *d)
{
	return !d->is_virtual &&
	       (d->class_code == CLASS_ETHERNET || d->class_code == CLASS_INFINIBAND);
}

bool pci_is_bridge(const struct pci_device *d)
{
	return d->class_code == CLASS_BRIDGE;
}

size_t pci_config(const struct pci_device *d, unsigned char ret_config[static PCI_CONFIG_MAX])
{
	CLEANUP(freep) char *path = sys_path(PCI_DIR "/%s/config", d->address);
	CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : pread(fd, ret_config, PCI_CONFIG_MAX, 0);

	return n > 0 ? (size_t)n : 0;
}

static unsigned word(const unsigned char *at)
{
	return at[0] | (unsigned)at[1] << 8;
}

size_t pci_extended_capability(const unsigned char *config, size_t len, unsigned id)
{
	size_t at = 0x100, steps;

	/* Capabilities are 4-byte aligned and at least 8 bytes long, so more steps mean a cycle. */
	for (steps = 0; at >= 0x100 && at + 8 <= len && steps < PCI_CONFIG_MAX / 8; steps++) {
		unsigned found = word(config + at);

		if (found == 0xffff)
			return 0;
		if (found == id && word(config + at + 2) != 0)
			return at;
		at = (word(config + at + 2) >> 4) & ~3U;
	}
	return 0;
}

/* Offset of the PCI Express capability, with at least four bytes present; 0 if there is none. */
static size_t express_capability(const unsigned char *config, size_t len)
{
	enum { STATUS = 0x06, HAS_LIST = 1 << 4, FIRST = 0x34, PCI_EXPRESS = 0x10 };
	size_t at, steps;

	if (len < 0x40 || !(word(config + STATUS) & HAS_LIST))
		return 0;
	at = config[FIRST] & ~3U;
	for (steps = 0; at >= 0x40 && at + 4 <= len && steps < 48; steps++) {
		if (config[at] == PCI_EXPRESS)
			return at;
		at = config[at + 1] & ~3U;
	}
	return 0;
}

int pci_port_kind(const unsigned char *config, size_t len)
{
	size_t at = express_capability(config, len);

	return at ? (int)(word(config + at + 2) >> 4 & 0xf) : -1;
}

int pci_express_control(const unsigned char *config, size_t len)
{
	enum { DEVICE_CONTROL = 8 };
	size_t at = express_capability(config, len);

	return at && at + DEVICE_CONTROL + 2 <= len ? (int)word(config + at + DEVICE_CONTROL) : -1;
}

int pci_ats_control(const unsigned char *config, size_t len)
{
	enum { ATS = 0x000f, CONTROL = 6 };
	size_t at = pci_extended_capability(config, len, ATS);

	return at ? (int)word(config + at + CONTROL) : -1;
}

int pci_acs_control(const unsigned char *config, size_t len)
{
	enum { ACS = 0x000d, CONTROL = 6 };
	size_t at = pci_extended_capability(config, len, ACS);

	return at ? (int)word(config + at + CONTROL) : -1;
}

double pci_parse_speed(const char *text)
{
	char *end = NULL;
	double gts = strtod(text, &end);

	return end != text && starts_with(end, " GT/s") && isfinite(gts) && gts > 0 ? gts : 0;
}
