/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/topology/topology_pci.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "lib/topology/topology.h"

/* PCIe 7.0, and the widest link: more is a broken register (0xff if off the bus). */
enum { GTS_MAX = 128, WIDTH_MAX = 32 };

enum { CURRENT_SPEED, CURRENT_WIDTH, MAX_SPEED, MAX_WIDTH };

const char *const port_files[PORT_FILES] = {
	[CURRENT_SPEED] = "current_link_speed",
	[CURRENT_WIDTH] = "current_link_width",
	[MAX_SPEED] = "max_link_speed",
	[MAX_WIDTH] = "max_link_width",
};

enum {
	VENDOR_NVIDIA = 0x10de,
	VENDOR_AMD = 0x1002,
	CLASS_3D = 0x0302,
	CLASS_DISPLAY_OTHER = 0x0380,
	CLASS_ACCELERATOR = 0x1200,
};

/*
 * Classes from the PCI Code and ID Assignment Specification. A plain VGA chip (0300) of another
 * vendor belongs to a management controller; AMD's compute cards without a display are processing
 * accelerators.
 */
bool topology_pci_is_gpu(unsigned class, unsigned vendor)
{
	bool maker = vendor == VENDOR_NVIDIA || vendor == VENDOR_AMD;

	if (class == CLASS_3D || class == CLASS_DISPLAY_OTHER)
		return true;
	return maker && (class >> 8 == 0x03 || class == CLASS_ACCELERATOR);
}

char *port_read(int sys_fd, const char *address, size_t which)
{
	CLEANUP(freep)
	char *path = xasprintf("bus/pci/devices/%s/%s", address, port_files[which]);
	char *text = NULL;

	return sys_fd >= 0 && file_read_line(sys_fd, path, &text) == 0 ? text : NULL;
}

static double number_within(const char *text, double max)
{
	double value = text ? strtod(text, NULL) : 0;

	return isfinite(value) && value > 0 && value <= max ? value : 0;
}

void port_set(struct port *port, size_t which, const char *text)
{
	double gts = number_within(text, GTS_MAX);
	uint64_t width = (uint64_t)number_within(text, WIDTH_MAX);

	switch (which) {
	case CURRENT_SPEED:
		port->gts = gts;
		break;
	case CURRENT_WIDTH:
		port->width = width;
		break;
	case MAX_SPEED:
		port->max_gts = gts;
		break;
	case MAX_WIDTH:
		port->max_width = width;
		break;
	default:
		abort();
	}
}

void port_fit(struct port *port, double bytes_per_s)
{
	/* Of two with equal bandwidth the wider one: GPUs, RNICs and uplinks are x16. */
	static const uint64_t widths[] = { 16, 8, 4, 2, 1 };
	static const double speeds[] = { 2.5, 5, 8, 16, 32, 64 };
	double best = 0.1; /* farther off than this is not a standard link */
	size_t w, s;

	if (!(bytes_per_s > 0) || !isfinite(bytes_per_s))
		return;
	for (w = 0; w < ARRAY_SIZE(widths); w++) {
		for (s = 0; s < ARRAY_SIZE(speeds); s++) {
			double rate = topology_link_bytes_per_s(speeds[s], widths[w]);
			double off = fabs(rate / bytes_per_s - 1);

			if (off >= best - 1e-3)
				continue;
			best = off;
			port->gts = speeds[s];
			port->width = widths[w];
		}
	}
}

char *port_verbs_name(int sys_fd, const char *address)
{
	CLEANUP(freep) char *path = xasprintf("bus/pci/devices/%s/infiniband", address);
	CLEANUP(closep) int fd = -1;
	struct dirent *entry;
	char *name = NULL;
	DIR *dir;

	if (sys_fd >= 0)
		fd = openat(sys_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir)
		return NULL;
	(void)TAKE_FD(fd); /* closedir() closes it */
	while (!name && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			name = xstrndup(entry->d_name, 64);
	(void)closedir(dir);
	return name;
}
