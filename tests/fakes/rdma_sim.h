/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated fabric behind the operations of probes/rdma, on a clock that advances
 * only when a caller polls or waits, or on the real clock. Counts the calls.
 *
 * Without links, all ports share one link with a capacity and a latency. With
 * links, a request crosses those on the path from its port to the memory it
 * addresses. Each link serves requests in order at its own rate, and the request
 * completes when the last link has served it. So a flow runs at the rate of its
 * narrowest link, and flows that saturate a link share it. One queue pair sends
 * at most `packets_per_s` packets, however fast the links are.
 */
#pragma once

#include "probes/rdma/rdma.h"

enum { SIM_LINKS_MAX = 128, SIM_PATH_MAX = 16, SIM_PKEYS_MAX = 4 };

struct sim_link {
	double bytes_per_s;
	double free_ns; /* when it will have served all posted requests */
	const struct rdma_queue *last;
};

/* A path from a port to a memory range, of the host or of a GPU. */
struct sim_path {
	char device[RDMA_NAME_SIZE];
	char to[RDMA_NAME_SIZE]; /* only if this device is the peer; "": any */
	unsigned port;
	const char *at;
	uint64_t bytes;
	unsigned links[SIM_PATH_MAX];
	size_t n_links;
	double factor; /* multiplies the rate of all links for this path; 1: no noise */
};

struct rdma_sim {
	struct rdma_engine engine;
	struct rdma_port ports[RDMA_PORTS_MAX];
	size_t n_ports;
	double bytes_per_s; /* of every port */
	double latency_s;
	double packets_per_s; /* limit of one queue pair; 0: unlimited */
	double poll_s;	      /* duration of one poll */
	uint64_t now_ns;
	uint64_t real_ns; /* offset of the real clock from now_ns; 0: the clock is simulated */
	uint64_t free_ns; /* when the link will have sent all posted requests */
	struct sim_link links[SIM_LINKS_MAX];
	size_t n_links;
	struct sim_path *paths; /* owned by the test */
	size_t n_paths;
	/* Writes copy their data, at once. */
	bool moves;
	/* Rates vary by up to this fraction, up and down, every 20 ms. */
	double jitter;
	/* Counts of calls. */
	struct rdma_queue *queues; /* open ones */
	uint32_t numbers;	   /* queue numbers assigned so far */
	uint64_t receive_doorbells;
	uint64_t requests, doorbells, signalled, empty_polls, waits, notifications;
	size_t most_outstanding;
	uint64_t met;  /* requests that found a link busy with another queue's */
	uint64_t lost; /* requests to memory that no path leads to */
	/* Memory that the CPU cannot read, like a GPU's: inlining from it would crash (`died`). */
	const char *beyond;
	uint64_t beyond_bytes;
	uint64_t died;
	uint8_t sl, traffic_class; /* of the last queue opened */
	/* Faults: the request with this number (from 1) fails with fail_status. */
	uint64_t fail_at;
	int fail_status; /* enum rdma_status */
	uint64_t apart;	 /* bitmask of ports, by index, that are isolated from all others */
	bool no_dmabuf, no_address;    /* this registration of device memory fails */
	size_t dmabufs;		       /* registered as a dmabuf */
	int open_error;		       /* errno that open() returns, or 0 */
	int gid_count;		       /* of each port */
	uint16_t pkeys[SIM_PKEYS_MAX]; /* of each port, ends at a 0; empty: the default one */
	size_t open_devices, open_regions, open_queues; /* to find leaks */
};

/* The devices at the ends of a connected queue; "" without a peer. Borrowed. */
const char *rdma_sim_from(const struct rdma_queue *q);
const char *rdma_sim_to(const struct rdma_queue *q);

/* Switches to the real clock; waits then really sleep. */
void rdma_sim_go_real(struct rdma_sim *sim);

/* Returns a fabric of one active port "sim0": 50 GB/s, 2 us latency, one RoCE v2 GID. */
struct rdma_sim rdma_sim_make(void);
