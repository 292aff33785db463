/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and queues of the simulated fabric. Private to it. */
#pragma once

#include "tests/fakes/rdma_sim.h"

enum { QUEUE_MAX = 4096, SIM_MTU = 4096 /* of a port, if the queue pair sets none */ };

struct rdma_device {
	struct rdma_sim *sim;
	char name[RDMA_NAME_SIZE];
};

/* A signalled request; kept in posting order. */
struct pending {
	uint64_t at_ns;
	struct rdma_done done;
	struct rdma_queue *queue;
	size_t weight; /* requests behind the completion */
};

struct rdma_queue {
	struct rdma_sim *sim;
	struct rdma_queue *next; /* in the list of open queues */
	struct rdma_queue *home; /* the queue whose completion queue it shares, or itself */
	struct rdma_queue_options options;
	struct pending pending[QUEUE_MAX];
	size_t first, n;    /* a ring */
	size_t outstanding; /* requests, not completions */
	size_t unsignalled;
	bool connected, broken, armed;
	bool gone; /* the peer was closed: no response */
	uint16_t pkey;
	uint32_t number;
	struct rdma_queue *peer;
	struct rdma_receive receives[QUEUE_MAX];
	size_t first_receive, n_receives; /* a ring */
	char device[RDMA_NAME_SIZE];
	struct sim_path *path; /* of the last request */
	double packets_ns;     /* when it will have sent all posted packets */
	struct rdma_posted posted;
};

/* Returns when all links of the path have served the request, without the way back. */
uint64_t sim_pass(struct rdma_queue *q, const struct rdma_work *work);
