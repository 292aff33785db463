/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and queues of the simulated fabric, for the files that it is made of. */
#pragma once

#include "tests/fakes/rdma_sim.h"

enum { QUEUE_MAX = 4096, SIM_MTU = 4096 /* of a port, where a queue pair asks for none */ };

struct rdma_device {
	struct rdma_sim *sim;
	char name[RDMA_NAME_SIZE];
};

/* Signalled requests in the order they were posted. */
struct pending {
	uint64_t at_ns;
	struct rdma_done done;
	struct rdma_queue *queue;
	size_t weight; /* requests behind the completion */
};

struct rdma_queue {
	struct rdma_sim *sim;
	struct rdma_queue *next; /* of all that are open */
	struct rdma_queue *home; /* whose completions it shares, or itself */
	struct rdma_queue_options options;
	struct pending pending[QUEUE_MAX];
	size_t first, n;    /* a ring */
	size_t outstanding; /* requests, not completions */
	size_t unsignalled;
	bool connected, broken, armed;
	bool gone; /* the other end was closed: nobody answers */
	uint16_t pkey;
	uint32_t number;
	struct rdma_queue *peer;
	struct rdma_receive receives[QUEUE_MAX];
	size_t first_receive, n_receives; /* a ring */
	char device[RDMA_NAME_SIZE];
	struct sim_path *path; /* of the last request */
	double packets_ns;     /* when it has sent all packets that were posted */
	struct rdma_posted posted;
};

/* When the request has been served by all links of its path, before the way back. */
uint64_t sim_pass(struct rdma_queue *q, const struct rdma_work *work);
