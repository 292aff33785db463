/* SPDX-License-Identifier: Apache-2.0 */
/* PCI without hwloc: the type of a device, and what one end of a link reports. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { PCI_ADDRESS_SIZE = 24, PORT_FILES = 4, PCI_CLASS_INFINIBAND = 0x0207 };

/* True for a GPU, by class code (base and subclass) and vendor. */
bool topology_pci_is_gpu(unsigned class, unsigned vendor);

/* 0 is unknown. */
struct port {
	double gts;
	uint64_t width;
	double max_gts;
	uint64_t max_width;
};

/* current_link_speed, current_link_width, max_link_speed, max_link_width. */
extern const char *const port_files[PORT_FILES];

/* The text of file `which` of a PCI device in /sys at `sys_fd`; new memory or NULL. */
char *port_read(int sys_fd, const char *address, size_t which);

/*
 * Sets what file `which` says, from its text ("32.0 GT/s PCIe", "16"); NULL, "Unknown" and
 * impossible values give 0.
 */
void port_set(struct port *port, size_t which, const char *text);

/* Sets the current speed and width to the standard ones with about this bandwidth. */
void port_fit(struct port *port, double bytes_per_s);

/* The only verbs device of a PCI device in /sys ("mlx5_0"); new memory or NULL. */
char *port_verbs_name(int sys_fd, const char *address);
