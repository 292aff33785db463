/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a pair's queues. Both ends open lanes, hand each other an offer
 * (in this process, or over the wire) and connect to it; then either may write
 * into the other's memory.
 */
#pragma once

#include "probes/rdma/flow.h"
#include "probes/rdma/rdma.h"

struct pair_side;

enum { PAIR_SUBNET_SIZE = 8 }; /* the first half of a GID (IBTA 4.1.1) */

/* Whose memory an end has, and how it was registered. */
enum pair_memory_way { PAIR_WAY_OLDER = -1, PAIR_WAY_HOST, PAIR_WAY_DMABUF, PAIR_WAY_PEERMEM };
extern const char *const pair_way_names[]; /* "host", ...; NULL-terminated */

struct pair_want {
	unsigned qps, depth, retries;
	unsigned mtu;	   /* 0: the port's */
	unsigned receives; /* posted at once, for what the other end sends; 0: none */
	uint64_t least;	   /* bytes of memory that the other end must have; 0: as this one has */
};

struct pair_lanes {
	const struct pair_side *side;
	const struct pair_side *other;	   /* the other end when it is of this host, else NULL */
	const struct pair_lanes *opposite; /* the other end's, connected, when `other` is */
	const char *far;	/* the other end's name when it is of another host; borrowed */
	struct flow flow;	/* its queues */
	unsigned mtu, peer_mtu; /* of both ports, as far as wanted; the path has the smaller */
	uint16_t pkey;		/* of this side */
	uint64_t remote;	/* memory of the other end, once connected */
	uint32_t rkey;
	uint64_t remote_bytes;
	uint64_t least;	   /* as wanted */
	int way, peer_way; /* enum pair_memory_way of both ends; that of the other once connected */
};

/* What one end must know of the other. */
struct pair_offer {
	struct rdma_end ends[FLOW_QUEUES_MAX];
	size_t n;
	int layer; /* enum rdma_layer */
	unsigned char gid[16];
	unsigned char subnet[PAIR_SUBNET_SIZE];
	uint64_t address;
	uint32_t rkey;
	uint64_t bytes;
	int way; /* enum pair_memory_way; PAIR_WAY_OLDER: a probe that knows of no other than the
		    host's */
};

/* Errors are of set-up; pair_lanes_close() in any case. */
int pair_lanes_open(struct pair_lanes *l, const struct pair_side *side,
		    const struct pair_want *want, struct err *err);
void pair_lanes_offer(const struct pair_lanes *l, struct pair_offer *ret);

/*
 * Bring the queues up towards the other end. -EPROTOTYPE, -EXDEV, -EAFNOSUPPORT:
 * these two can never meet (Ethernet and InfiniBand, two subnets, IPv4 and IPv6);
 * -EINVAL: not as many queues, less memory, or that of a GPU at one end alone; -ETIMEDOUT,
 * -EHOSTUNREACH, -ENETUNREACH: no way to its address.
 */
int pair_lanes_connect(struct pair_lanes *l, const struct pair_offer *peer, struct err *err);
void pair_lanes_close(struct pair_lanes *l);

/* Packets of this many bytes go between the two. */
unsigned pair_lanes_mtu(const struct pair_lanes *l);

/* Is this error that of an address which cannot be reached? */
bool pair_is_no_way(int r);

/* Post one write of `bytes` on the first queue. */
int pair_lanes_post(struct pair_lanes *l, uint32_t bytes, struct err *err);

/* What became of it: 0 with `ret`, -ETIME at the deadline. */
int pair_lanes_wait(struct pair_lanes *l, uint64_t deadline_us, struct rdma_done *ret,
		    struct err *err);

/* A flow of writes to the other end over the first `queues`. */
struct flow pair_lanes_flow(const struct pair_lanes *l, size_t queues, uint32_t size,
			    unsigned depth);
