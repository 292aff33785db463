/* SPDX-License-Identifier: Apache-2.0 */
/* The counters of a port, from sysfs and from its network device. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/sys/rnic_ports.h"
#include "lib/sys/sysfs.h"
#include "probes/rdma/rdma.h"
#include "probes/rdma/traffic.h"
#include "probes/rnic_state/nic.h"

enum { CACHED_MAX_MS = 100 };

/* Files of a port; those of one counter add up. */
static const struct row {
	enum traffic_counter counter;
	const char *file;
	unsigned unit;
	bool instead; /* read only when none before it was there */
} rows[] = {
	{ TRAFFIC_SENT_BYTES, "counters/port_xmit_data", 4, false },
	{ TRAFFIC_RECEIVED_BYTES, "counters/port_rcv_data", 4, false },
	{ TRAFFIC_SENT_PACKETS, "counters/port_xmit_packets", 1, false },
	{ TRAFFIC_SENT_PACKETS, "hw_counters/sent_pkts", 1, true },
	{ TRAFFIC_RECEIVED_PACKETS, "counters/port_rcv_packets", 1, false },
	{ TRAFFIC_RECEIVED_PACKETS, "hw_counters/rcvd_pkts", 1, true },
	{ TRAFFIC_RETRIES, "hw_counters/local_ack_timeout_err", 1, false },
	{ TRAFFIC_RETRIES, "hw_counters/packet_seq_err", 1, false },
	{ TRAFFIC_RETRIES, "hw_counters/completer_retry_err", 1, false },
};

static const struct {
	enum traffic_counter counter;
	const char *name;
} nic_rows[] = {
	{ TRAFFIC_WIRE_BYTES, "tx_bytes_phy" },
	{ TRAFFIC_INNER_BYTES, "vport_loopback_bytes" },
};

static void take(struct traffic *t, enum traffic_counter counter, uint64_t value)
{
	t->counts[counter].known = true;
	t->counts[counter].value += value;
}

/* The kernel asks the device for hw_counters once in so many milliseconds. */
static void take_age(const struct rdma_port *port, struct traffic *ret)
{
	uint64_t ms;

	if (sys_u64(&ms, "/sys/class/infiniband/%s/ports/%u/hw_counters/lifespan", port->device,
		    port->number))
		ret->cached_us = MIN(ms, (uint64_t)CACHED_MAX_MS) * USEC_PER_MSEC;
}

static void read_nic(const struct rdma_port *port, const struct nic *nic, struct traffic *ret)
{
	char netdev[IF_NAMESIZE];
	struct nic_stats stats = { 0 };
	size_t i, k;

	if (!port_netdev(port->device, port->number, netdev) ||
	    nic->stats(nic->context, netdev, &stats) < 0)
		return;
	for (i = 0; i < stats.n; i++) {
		for (k = 0; k < ARRAY_SIZE(nic_rows); k++) {
			if (streq(stats.names[i], nic_rows[k].name))
				take(ret, nic_rows[k].counter, stats.values[i]);
		}
	}
	nic_stats_release(&stats);
}

void traffic_read(const struct rdma_port *port, const struct nic *nic, struct traffic *ret)
{
	size_t i;

	*ret = (struct traffic){ .at_us = clock_mono_us() };
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t value;

		if (rows[i].instead && ret->counts[rows[i].counter].known)
			continue;
		if (sys_u64(&value, "/sys/class/infiniband/%s/ports/%u/%s", port->device,
			    port->number, rows[i].file))
			take(ret, rows[i].counter, value * rows[i].unit);
		if (rows[i].instead && ret->counts[rows[i].counter].known)
			take_age(port, ret);
	}
	/* A software device is no part of a NIC that could tell more. */
	if (port->pci[0])
		read_nic(port, nic, ret);
}

void traffic_read_fresh(const struct rdma_port *port, const struct nic *nic, struct traffic *ret)
{
	traffic_read(port, nic, ret);
	if (ret->cached_us == 0)
		return;
	(void)poll(NULL, 0, (int)(ret->cached_us / USEC_PER_MSEC) + 1);
	traffic_read(port, nic, ret);
}
