/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/bond.h"

#include <string.h>

#include "lib/base/xalloc.h"
#include "lib/sys/sysfs.h"
#include "probes/rdma/rdma.h"

enum { BOND_MEMBERS_MAX = 16 };

#define MEGABIT (1e6 / 8)

/* Bytes per second of a network device; 0 if it is down or does not say. */
static double rate_of(const char *device)
{
	uint64_t megabits;

	return sys_u64(&megabits, "/sys/class/net/%s/speed", device) ? (double)megabits * MEGABIT
								     : 0;
}

void bond_find(struct rdma_port *port)
{
	CLEANUP(freep)
	char *bond = sys_line("/sys/class/infiniband/%s/ports/%u/gid_attrs/ndevs/0", port->device,
			      port->number);
	CLEANUP(freep)
	char *names = bond && bond[0] ? sys_line("/sys/class/net/%s/bonding/slaves", bond) : NULL;
	double slowest = 0, rate;
	char *place = NULL, *name;
	unsigned n = 0;

	if (!names)
		return;
	for (name = strtok_r(names, " ", &place); name && n < BOND_MEMBERS_MAX;
	     name = strtok_r(NULL, " ", &place)) {
		rate = rate_of(name);
		n++;
		if (rate > 0 && (slowest <= 0 || rate < slowest))
			slowest = rate;
	}
	if (n < 2)
		return;
	port->members = n;
	if (slowest > 0 && (port->bytes_per_s <= 0 || slowest < port->bytes_per_s))
		port->bytes_per_s = slowest;
}
