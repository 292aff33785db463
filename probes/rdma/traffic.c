/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rdma/traffic.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/clock.h"
#include "lib/base/xalloc.h"
#include "lib/sys/rnic_ports.h"
#include "lib/sys/sysfs.h"
#include "probes/rdma/rdma.h"
#include "probes/rnic_state/nic.h"

/* At most Ethernet 18, IPv6 40, UDP 8, BTH 12, RETH 16 and ICRC 4 bytes around each payload. */
enum { HEADER_BYTES = 98 };

/* Acknowledgements come at the end of a message and, on Soft-RoCE, every so many packets. */
enum { PACKETS_PER_ACK = 64 };

/* Foreign bytes above this part of our own make a value worthless. */
#define FOREIGN_SHARE 0.05
/*
 * If less than this part of our own is counted, the device does not count what it sends to itself.
 */
#define COUNTED_SHARE 0.5
#define WIRE_SHARE 0.5
#define MIN_INTERVAL_US (20 * USEC_PER_MSEC)
#define MEGA 1e6
#define USEC (double)USEC_PER_SEC

bool traffic_growth(const struct traffic *before, const struct traffic *after,
		    enum traffic_counter counter, uint64_t *ret)
{
	uint64_t from = before->counts[counter].value, to = after->counts[counter].value;

	if (!before->counts[counter].known || !after->counts[counter].known || to < from)
		return false;
	*ret = to - from;
	return true;
}

/* Our traffic in one direction: data of one flow, and answers to the other. */
struct way {
	const struct traffic_own *data, *answered;
	bool loops; /* the port is both ends, and may not count it */
};

static double packets_of(const struct traffic_own *own)
{
	const unsigned mtu = own->mtu ? own->mtu : 1;

	return (double)((own->size + mtu - 1) / mtu);
}

static double bytes_of(const struct traffic_own *own)
{
	return (double)own->requests * own->size;
}

/* Upper bound of the requests that may have been resent. */
static double resent_of(const struct traffic *before, const struct traffic *after,
			const struct traffic_own *own)
{
	uint64_t retries = 0;

	if (own->others)
		return 0;
	(void)traffic_growth(before, after, TRAFFIC_RETRIES, &retries);
	return (double)(retries + own->resends) * (double)own->window;
}

/*
 * Upper bound of our own packets: data, acknowledgements or read requests, and resends, each of
 * which may be acknowledged again.
 */
static double own_packets(const struct traffic *before, const struct traffic *after,
			  const struct way *way)
{
	const struct traffic_own *data = way->data, *answered = way->answered;
	double all = (double)data->requests * packets_of(data) +
		     (double)answered->requests * (packets_of(answered) / PACKETS_PER_ACK + 1);

	all += resent_of(before, after, data) * (packets_of(data) + 1);
	if (!way->loops)
		all += resent_of(before, after, answered) * (packets_of(answered) + 1);
	return all;
}

/* Foreign bytes in one direction, from byte counters if there are any, otherwise from packets. */
static double foreign_in(const struct traffic *before, const struct traffic *after, bool sent,
			 const struct way *way)
{
	const double resent = resent_of(before, after, way->data);
	const double own_bytes = bytes_of(way->data), n_own = own_packets(before, after, way);
	const double own_counted = n_own * HEADER_BYTES + own_bytes + resent * way->data->size;
	uint64_t bytes, packets;

	if (traffic_growth(before, after, sent ? TRAFFIC_SENT_BYTES : TRAFFIC_RECEIVED_BYTES,
			   &bytes)) {
		if (way->loops && (double)bytes < COUNTED_SHARE * own_bytes)
			return (double)bytes;
		return MAX(0.0, (double)bytes - own_counted);
	}
	if (traffic_growth(before, after, sent ? TRAFFIC_SENT_PACKETS : TRAFFIC_RECEIVED_PACKETS,
			   &packets))
		return MAX(0.0, (double)packets - n_own) * (double)way->data->mtu;
	return 0;
}

static void judge_wire(const struct traffic *before, const struct traffic *after,
		       const struct traffic_own *own, struct traffic_finding *ret)
{
	const double own_bytes = bytes_of(own);
	uint64_t wire, inner;

	if (own_bytes <= 0)
		return;
	if (traffic_growth(before, after, TRAFFIC_WIRE_BYTES, &wire) &&
	    (double)wire >= WIRE_SHARE * own_bytes) {
		ret->wire = true;
		(void)snprintf(
			ret->words, sizeof(ret->words),
			"%.0f MB went over the wire and were sent back by the switch, so the "
			"cable was measured too",
			(double)wire / MEGA);
	} else if (traffic_growth(before, after, TRAFFIC_INNER_BYTES, &inner) &&
		   (double)inner >= WIRE_SHARE * own_bytes) {
		(void)snprintf(ret->words, sizeof(ret->words),
			       "%.0f MB looped back inside the RNIC", (double)inner / MEGA);
	}
}

static void judge(const struct traffic *before, const struct traffic *after, const struct way *out,
		  const struct way *in, double line_rate, struct traffic_finding *ret)
{
	const double seconds = (double)(after->at_us - before->at_us) / USEC;
	const double sent = foreign_in(before, after, true, out);
	const double received = foreign_in(before, after, false, in), most = MAX(sent, received);
	const struct traffic_own *own = bytes_of(out->data) >= bytes_of(in->data) ? out->data
										  : in->data;

	*ret = (struct traffic_finding){ .foreign_bytes = seconds > 0 ? most / seconds : 0 };
	ret->foreign =
		(line_rate > 0 && ret->foreign_bytes > TRAFFIC_BUSY_SHARE * line_rate) ||
		most > FOREIGN_SHARE * MAX(bytes_of(own), (double)own->mtu * (double)own->requests);
	if (ret->foreign)
		(void)snprintf(ret->words, sizeof(ret->words),
			       "other traffic of about %.1f MB/s used the port during the test, in "
			       "addition to our %.1f MB/s",
			       ret->foreign_bytes / MEGA,
			       seconds > 0 ? bytes_of(own) / seconds / MEGA : 0);
}

void traffic_judge(const struct traffic *before, const struct traffic *after,
		   const struct traffic_own *own, double line_rate, struct traffic_finding *ret)
{
	const struct way both = { own, own, .loops = true };

	judge(before, after, &both, &both, line_rate, ret);
	if (!ret->foreign)
		judge_wire(before, after, own, ret);
}

void traffic_judge_ways(const struct traffic *before, const struct traffic *after,
			const struct traffic_own *out, const struct traffic_own *in,
			double line_rate, struct traffic_finding *ret)
{
	const struct way sent = { .data = out, .answered = in };
	const struct way received = { .data = in, .answered = out };

	judge(before, after, &sent, &received, line_rate, ret);
}

double traffic_rate(const struct traffic *before, const struct traffic *after, unsigned mtu)
{
	const struct traffic_own none = { .mtu = mtu };
	const struct way nothing = { &none, &none, false };
	uint64_t us = after->at_us - before->at_us;
	double out, in;

	if (after->at_us < before->at_us || us < MIN_INTERVAL_US)
		return 0;
	out = foreign_in(before, after, true, &nothing);
	in = foreign_in(before, after, false, &nothing);
	return MAX(out, in) * USEC / (double)us;
}

/* --- reading the counters of a port, from sysfs and from its network device --- */

enum { CACHED_MAX_MS = 100 };

/* Counter files of a port; several files of one counter add up. */
static const struct row {
	enum traffic_counter counter;
	const char *file;
	unsigned unit;
	bool instead; /* fallback: read only if no earlier file exists */
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

/* The kernel caches hw_counters for this many milliseconds. */
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
	/* A software device does not belong to a NIC that has more counters. */
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
