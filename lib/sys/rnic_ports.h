/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The RDMA ports of this host as /sys/class/infiniband shows them, and the
 * network device that each is the RDMA side of.
 */
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
	char netdev[IF_NAMESIZE];	 /* "" when it has none, or in another namespace */
	char model[PORT_NAME_SIZE];	 /* board id, else type of adapter, else "software" */
	char firmware[PORT_TEXT_SIZE];	 /* "" when not known */
	char pci[PORT_NAME_SIZE];	 /* "0000:1b:00.0", "" when not of PCI */
	char state[PORT_TEXT_SIZE];	 /* "ACTIVE", without its number */
	char phys_state[PORT_TEXT_SIZE]; /* "LinkUp" */
	char rate[PORT_TEXT_SIZE];	 /* "400 Gb/sec (4X NDR)" */
	bool ethernet;			 /* RoCE or iWARP, else InfiniBand */
	bool software;			 /* no device below it: Soft-RoCE */
	bool active;			 /* the logical state */
	bool phys_up;			 /* the physical one */
};

struct ports {
	struct port *all; /* owned; by device, then number */
	size_t n;
};

/*
 * Read them, without virtual functions (they belong to guests, and reading
 * their counters fills the log of some firmware) and without the devices
 * in `exclude` ("mlx5_2,mlx5_3", may be NULL).
 */
void ports_read(const char *exclude, struct ports *ret);
void ports_release(struct ports *ports);

/* Read the state, the physical state and the rate of a port anew. */
void port_refresh(struct port *port);

/*
 * The network device of a port, here: of the same PCI function, else that of its first
 * addresses, else the `parent` of a software one. False, and "", without one.
 */
bool port_netdev(const char *device, unsigned number, char ret[static IF_NAMESIZE]);

/* Is it a virtual function, or a subfunction, of a device of this host? */
bool rnic_is_virtual(const char *device);

/*
 * With devices bound to one network namespace each, one that a container took
 * is not seen here and is not lost.
 */
bool ports_may_move(void);

/* "400 Gb/sec (4X NDR)" as bits per second and lanes; 0 where it is not said. Pure. */
double port_rate(const char *text, unsigned *ret_lanes);

/* Is `name` one of the comma-separated `list` (may be NULL)? Pure. */
bool port_listed(const char *list, const char *name);
