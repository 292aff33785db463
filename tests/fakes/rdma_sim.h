/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated fabric behind the operations of probes/rdma, on a clock that only
 * moves when somebody polls or waits, or on the real one. Counts what it is asked to do.
 *
 * Without links all ports are one link with a capacity and a latency. With
 * links a request crosses those of the path from its port to the memory that
 * it names: each link serves what it is handed in that order at its own rate,
 * and the request is done when the last of them is. So a flow gets what its
 * narrowest link lets through, and flows that keep a link full share it. Of one
 * queue pair no more packets go out than `packets_per_s`, however wide the links are.
 */
#pragma once

#include "probes/rdma/rdma.h"

enum { SIM_LINKS_MAX = 128, SIM_PATH_MAX = 16, SIM_PKEYS_MAX = 4 };

struct sim_link {
	double bytes_per_s;
	double free_ns; /* when it has served all that was posted */
	const struct rdma_queue *last;
};

/* From a port to a memory; a GPU's is memory of another place. */
struct sim_path {
	char device[RDMA_NAME_SIZE];
	char to[RDMA_NAME_SIZE]; /* only to this other device; "" to any */
	unsigned port;
	const char *at;
	uint64_t bytes;
	unsigned links[SIM_PATH_MAX];
	size_t n_links;
	double factor; /* of the rate of all links for this path: noise; 1 */
};

struct rdma_sim {
	struct rdma_engine engine;
	struct rdma_port ports[RDMA_PORTS_MAX];
	size_t n_ports;
	double bytes_per_s; /* of every port */
	double latency_s;
	double packets_per_s; /* that a port does for one queue pair; 0: any number */
	double poll_s;	      /* that one poll takes */
	uint64_t now_ns;
	uint64_t real_ns; /* of the real clock, which is that much ahead; 0: the clock is not real */
	uint64_t free_ns; /* when the link has sent all that was posted */
	struct sim_link links[SIM_LINKS_MAX];
	size_t n_links;
	struct sim_path *paths; /* of the test */
	size_t n_paths;
	/* Data of writes moves, at once: into this memory of the test. */
	bool moves;
	/* Rates change by up to this part, up and down, every 20 ms. */
	double jitter;
	/* What was asked. */
	struct rdma_queue *queues; /* that are open */
	uint32_t numbers;	   /* of queues that were opened */
	uint64_t receive_doorbells;
	uint64_t requests, doorbells, signalled, empty_polls, waits, notifications;
	size_t most_outstanding;
	uint64_t met;  /* requests that came to a link while it served another queue's */
	uint64_t lost; /* requests to a memory that no path leads to */
	/* Memory that no core reaches, as of a GPU: who inlines a request from there dies. */
	const char *beyond;
	uint64_t beyond_bytes;
	uint64_t died;
	uint8_t sl, traffic_class; /* of the last queue that was opened */
	/* Faults: the request of this number (from 1) fails so. */
	uint64_t fail_at;
	int fail_status; /* enum rdma_status */
	uint64_t apart;	 /* ports, by their place: a bit for each that is on a network of its own */
	bool no_dmabuf, no_address;    /* of memory of other devices, of any */
	size_t dmabufs;		       /* registered so */
	int open_error;		       /* errno that open() returns, or 0 */
	int gid_count;		       /* of each port */
	uint16_t pkeys[SIM_PKEYS_MAX]; /* of each port, up to a 0; none: one default */
	size_t open_devices, open_regions, open_queues; /* to find leaks */
};

/* The devices at both ends of a connected queue; "" without a peer. Borrowed. */
const char *rdma_sim_from(const struct rdma_queue *q);
const char *rdma_sim_to(const struct rdma_queue *q);

/* From now on time passes as it does, and whoever waits does. */
void rdma_sim_go_real(struct rdma_sim *sim);

/* One active port "sim0" of 50 GB/s, 2 us away, with one RoCE v2 GID. */
struct rdma_sim rdma_sim_make(void);
