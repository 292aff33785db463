/* SPDX-License-Identifier: Apache-2.0 */
/* PCI without hwloc: what kind of device, and what one end of a link says of itself. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { PCI_ADDRESS_SIZE = 24, PORT_FILES = 4, PCI_CLASS_INFINIBAND = 0x0207 };

/* True for a GPU, by class code (base and sub class) and vendor. */
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
 * Set what file `which` tells by its text ("32.0 GT/s PCIe", "16"); NULL,
 * "Unknown" and values no link can have leave 0.
 */
void port_set(struct port *port, size_t which, const char *text);

/* Set the current speed and width to the standard ones that carry about this much. */
void port_fit(struct port *port, double bytes_per_s);

/* The one verbs device of a PCI device in /sys ("mlx5_0"); new memory or NULL. */
char *port_verbs_name(int sys_fd, const char *address);
