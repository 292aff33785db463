/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a pair's queues. Both ends open lanes, exchange offers (in this process or over the
 * out-of-band connection) and connect to each other. Then either can write into the other's memory.
 */
#pragma once

#include "probes/rdma/flow.h"
#include "probes/rdma/rdma.h"

struct pair_side;

enum { PAIR_SUBNET_SIZE = 8 }; /* the first half of a GID (IBTA 4.1.1) */

/* Which memory an end uses, and how it was registered. */
enum pair_memory_way { PAIR_WAY_OLDER = -1, PAIR_WAY_HOST, PAIR_WAY_DMABUF, PAIR_WAY_PEERMEM };
extern const char *const pair_way_names[]; /* "host", ...; NULL-terminated */

struct pair_want {
	unsigned qps, depth, retries;
	unsigned mtu;	   /* 0: the port's */
	unsigned receives; /* posted at once, for sends from the other end; 0: none */
	uint64_t least; /* bytes of memory that the other end must have; 0: as much as this one */
};

struct pair_lanes {
	const struct pair_side *side;
	const struct pair_side *other;	   /* the other end if on this host, otherwise NULL */
	const struct pair_lanes *opposite; /* the other end's, connected, if `other` is set */
	const char *far;		   /* name of the other end if on another host; borrowed */
	struct flow flow;		   /* with its queues */
	unsigned mtu, peer_mtu; /* of both ports, or as requested; the path uses the smaller */
	uint16_t pkey;		/* of this side */
	uint64_t remote;	/* memory of the other end, once connected */
	uint32_t rkey;
	uint64_t remote_bytes;
	uint64_t least;	   /* as requested */
	int way, peer_way; /* enum pair_memory_way of both ends; the peer's once connected */
};

/* What one end needs to know about the other. */
struct pair_offer {
	struct rdma_end ends[FLOW_QUEUES_MAX];
	size_t n;
	int layer; /* enum rdma_layer */
	unsigned char gid[16];
	unsigned char subnet[PAIR_SUBNET_SIZE];
	uint64_t address;
	uint32_t rkey;
	uint64_t bytes;
	int way; /* enum pair_memory_way; PAIR_WAY_OLDER: an older probe, host memory only */
};

/* Errors are of set-up. The caller calls pair_lanes_close() in any case. */
int pair_lanes_open(struct pair_lanes *l, const struct pair_side *side,
		    const struct pair_want *want, struct err *err);
void pair_lanes_offer(const struct pair_lanes *l, struct pair_offer *ret);

/*
 * Connect the queues to the other end. -EPROTOTYPE, -EXDEV, -EAFNOSUPPORT: the two can never
 * connect (Ethernet and InfiniBand, two subnets, IPv4 and IPv6); -EINVAL: different number of
 * queues, too little memory, or GPU memory at only one end; -ETIMEDOUT, -EHOSTUNREACH,
 * -ENETUNREACH: no route to its address.
 */
int pair_lanes_connect(struct pair_lanes *l, const struct pair_offer *peer, struct err *err);
void pair_lanes_close(struct pair_lanes *l);

/* The packet size between the two, in bytes. */
unsigned pair_lanes_mtu(const struct pair_lanes *l);

/* Does this error mean that there is no route to the address? */
bool pair_is_no_way(int r);

/* Post one write of `bytes` on the first queue. */
int pair_lanes_post(struct pair_lanes *l, uint32_t bytes, struct err *err);

/* Wait for its completion: 0 with `ret`, or -ETIME at the deadline. */
int pair_lanes_wait(struct pair_lanes *l, uint64_t deadline_us, struct rdma_done *ret,
		    struct err *err);

/* A flow of writes to the other end over the first `queues` queues. */
struct flow pair_lanes_flow(const struct pair_lanes *l, size_t queues, uint32_t size,
			    unsigned depth);
