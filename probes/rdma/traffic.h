/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose traffic went through a port while it was measured: the counters of the
 * port before and after are held against what was asked of it. More than that
 * was somebody else's, and then what was measured says nothing about the path.
 *
 * Bytes are those of counters/port_xmit_data and port_rcv_data (in units of 4:
 * IBTA 16.1.3.5), packets those of counters/ or of Soft-RoCE's hw_counters/;
 * ethtool counts what left by the wire and what was looped back inside
 * (mlx5: Documentation/networking/device_drivers/ethernet/mellanox).
 *
 * Not every device counts what it sends to itself: a count below half of our
 * own bytes is taken as all foreign, so that then foreign traffic between half
 * and all of our own is not seen.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct nic;
struct rdma_port;

enum traffic_counter {
	TRAFFIC_SENT_BYTES,
	TRAFFIC_RECEIVED_BYTES,
	TRAFFIC_SENT_PACKETS,
	TRAFFIC_RECEIVED_PACKETS,
	TRAFFIC_RETRIES,
	TRAFFIC_WIRE_BYTES,  /* sent by the physical port */
	TRAFFIC_INNER_BYTES, /* looped back inside the device */
	TRAFFIC_COUNTERS,
};

enum { TRAFFIC_WORDS_SIZE = 192 };

/* Foreign traffic above this part of the nominal rate makes a port busy. */
#define TRAFFIC_BUSY_SHARE 0.01

/* The counters of a port at one moment. */
struct traffic {
	uint64_t at_us;	    /* monotonic */
	uint64_t cached_us; /* the values may be as old as this, at most 100 ms */
	struct {
		bool known;
		uint64_t value;
	} counts[TRAFFIC_COUNTERS];
};

/* What we asked of the port between two moments: all of it ended in between. */
struct traffic_own {
	uint64_t requests;
	uint32_t size; /* bytes of each */
	unsigned mtu;
	uint64_t window;  /* requests that one lost packet may make the device send again */
	uint64_t resends; /* that other ports counted, of what they sent to this one */
	bool others; /* have queue pairs here too: then more than our own is theirs, not resent */
};

struct traffic_finding {
	bool foreign;	      /* too much of it for the measurement to count */
	bool wire;	      /* what should stay inside went out by the wire */
	double foreign_bytes; /* per second; an upper estimate where only packets are counted */
	char words[TRAFFIC_WORDS_SIZE]; /* for people; "" when there is nothing to say */
};

/* Read what there is; `nic` tells the counters that sysfs has not (nic_none: none). */
void traffic_read(const struct rdma_port *port, const struct nic *nic, struct traffic *ret);

/*
 * The same, of now: the kernel may hand out what it read some milliseconds ago, which would
 * count the end of what went before to what comes. Then it is asked again after that.
 */
void traffic_read_fresh(const struct rdma_port *port, const struct nic *nic, struct traffic *ret);

/* The growth of a counter; false when either is not known or it was reset. Pure. */
bool traffic_growth(const struct traffic *before, const struct traffic *after,
		    enum traffic_counter counter, uint64_t *ret);

/*
 * Hold the growth against `own`, of a port that was both ends of it: everything is counted in
 * both directions. `line_rate` is the port's, bytes/s (0: not known). Pure.
 */
void traffic_judge(const struct traffic *before, const struct traffic *after,
		   const struct traffic_own *own, double line_rate, struct traffic_finding *ret);

/* The same of a port that was one end: what went out of it, and what came in. */
void traffic_judge_ways(const struct traffic *before, const struct traffic *after,
			const struct traffic_own *out, const struct traffic_own *in,
			double line_rate, struct traffic_finding *ret);

/*
 * Bytes per second that went through the port, at most, without any of ours; 0 when the
 * moments are less than 20 ms apart or nothing is counted. Pure.
 */
double traffic_rate(const struct traffic *before, const struct traffic *after, unsigned mtu);
