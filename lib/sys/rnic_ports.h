/* SPDX-License-Identifier: Apache-2.0 */
/* The RDMA ports of this host from /sys/class/infiniband, and their network devices. */
#pragma once

#include <net/if.h>

#include "lib/base/macro.h"

enum {
	PORTS_MAX = 256,
	PORT_NAME_SIZE = 64,
	PORT_TEXT_SIZE = 96, /* of a one-line file */
};

struct port {
	char device[PORT_NAME_SIZE];	 /* "mlx5_0" */
	unsigned number;		 /* from 1 */
	char subject[PORT_NAME_SIZE];	 /* "mlx5_0:1" */
	char netdev[IF_NAMESIZE];	 /* "" if it has none, or in another namespace */
	char model[PORT_NAME_SIZE];	 /* board id, else adapter type, else "software" */
	char firmware[PORT_TEXT_SIZE];	 /* "" if unknown */
	char pci[PORT_NAME_SIZE];	 /* "0000:1b:00.0", "" if not PCI */
	char state[PORT_TEXT_SIZE];	 /* "ACTIVE", without its number */
	char phys_state[PORT_TEXT_SIZE]; /* "LinkUp" */
	char rate[PORT_TEXT_SIZE];	 /* "400 Gb/sec (4X NDR)" */
	bool ethernet;			 /* RoCE or iWARP, else InfiniBand */
	bool software;			 /* without hardware: Soft-RoCE */
	bool active;			 /* logical state */
	bool phys_up;			 /* physical state */
};

struct ports {
	struct port *all; /* owned; by device, then number */
	size_t n;
};

/*
 * Reads them, without virtual functions (they belong to guests, and reading their counters fills
 * the log of some firmware) and without the devices in `exclude` ("mlx5_2,mlx5_3", may be NULL).
 */
void ports_read(const char *exclude, struct ports *ret);
void ports_release(struct ports *ports);

/* Reads state, physical state and rate of a port again. */
void port_refresh(struct port *port);

/*
 * The network device of a port: of the same PCI function, else that of its first addresses, else
 * the `parent` of a software one. Returns false, and "", if there is none.
 */
bool port_netdev(const char *device, unsigned number, char ret[static IF_NAMESIZE]);

/* True if it is a virtual function, or a subfunction, of a device of this host. */
bool rnic_is_virtual(const char *device);

/*
 * True if devices are bound to one network namespace each: then one that a container took is not
 * visible here, but not lost.
 */
bool ports_may_move(void);

/* Parses "400 Gb/sec (4X NDR)" to bits per second and lanes; 0 if not given. Pure. */
double port_rate(const char *text, unsigned *ret_lanes);

/* True if `name` is in the comma-separated `list` (may be NULL). Pure. */
bool port_listed(const char *list, const char *name);
