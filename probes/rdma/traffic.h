/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects foreign traffic on a port during a measurement: the growth of the port's counters is
 * compared with what we asked of it. Anything more was sent by somebody else, and the measurement
 * then says nothing about the path.
 *
 * Bytes come from counters/port_xmit_data and port_rcv_data (in units of 4: IBTA 16.1.3.5), packets
 * from counters/ or Soft-RoCE's hw_counters/. ethtool counts what left over the wire and what was
 * looped back internally (mlx5: Documentation/networking/device_drivers/ethernet/mellanox).
 *
 * Not every device counts what it sends to itself. A count below half of our own bytes is taken as
 * all foreign, so foreign traffic between half and all of our own goes unnoticed on such a device.
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
	uint64_t cached_us; /* the values may be this old, at most 100 ms */
	struct {
		bool known;
		uint64_t value;
	} counts[TRAFFIC_COUNTERS];
};

/* What we asked of the port between two moments; all of it completed in between. */
struct traffic_own {
	uint64_t requests;
	uint32_t size; /* bytes of each */
	unsigned mtu;
	uint64_t window;  /* requests that one lost packet may cause to be resent */
	uint64_t resends; /* counted by other ports, of what they sent to this one */
	bool others;	  /* others have queue pairs here: extra traffic is theirs, not resends */
};

struct traffic_finding {
	bool foreign;			/* too much for the measurement to count */
	bool wire;			/* what should stay inside went over the wire */
	double foreign_bytes;		/* per second; an upper bound if only packets are counted */
	char words[TRAFFIC_WORDS_SIZE]; /* for people; "" if there is nothing to say */
};

/* Read the counters; `nic` provides those that sysfs does not have (nic_none: none). */
void traffic_read(const struct rdma_port *port, const struct nic *nic, struct traffic *ret);

/*
 * Read the current counters. The kernel may return values some milliseconds old, which would
 * attribute the end of earlier traffic to the next interval; if so, they are read again later.
 */
void traffic_read_fresh(const struct rdma_port *port, const struct nic *nic, struct traffic *ret);

/* Growth of a counter; false if it is unknown at either moment or was reset. Pure. */
bool traffic_growth(const struct traffic *before, const struct traffic *after,
		    enum traffic_counter counter, uint64_t *ret);

/*
 * Compare the growth with `own`, for a port that was both ends of the traffic: everything is
 * counted in both directions. `line_rate` is the port's, in bytes/s (0: unknown). Pure.
 */
void traffic_judge(const struct traffic *before, const struct traffic *after,
		   const struct traffic_own *own, double line_rate, struct traffic_finding *ret);

/* The same for a port that was one end: `out` left through it, and `in` arrived. */
void traffic_judge_ways(const struct traffic *before, const struct traffic *after,
			const struct traffic_own *out, const struct traffic_own *in,
			double line_rate, struct traffic_finding *ret);

/*
 * Upper bound of the bytes per second through the port while we sent nothing; 0 if the moments are
 * less than 20 ms apart or nothing is counted. Pure.
 */
double traffic_rate(const struct traffic *before, const struct traffic *after, unsigned mtu);
