/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One port of this host made ready: its device open, its address chosen, memory
 * of its own NUMA node, or of the GPU nearest to it, registered (what is written
 * from, and what is written to).
 */
#pragma once

#include "lib/base/err.h"
#include "probes/rdma/gid.h"
#include "probes/rdma/rdma.h"
#include "probes/rdma/region_accel.h"
#include "probes/rnic_pair/pair_lanes.h"

struct buffer;
struct endpoint;
struct numa_host;
struct pair_options;

struct pair_side {
	struct rdma_engine *engine;
	const struct pair_options *options;
	const struct rdma_port *port;
	unsigned rail; /* place among the active ports */
	int node;      /* NUMA node of its memory */
	int wait;      /* enum flow_wait */
	struct rdma_device *device;
	struct buffer *buffer; /* owned */
	struct rdma_region source, target;
	const struct endpoint *gpu; /* whose memory it has (pair_gpu.h); NULL: the host's; borrowed */
	struct region_way via;	    /* how that was registered; NULLs: host memory */
	struct err no_gpu;	    /* why it has none, of who asked for it */
	struct gid_choice gid;
	unsigned char subnet[PAIR_SUBNET_SIZE]; /* of InfiniBand */
	uint32_t network, mask; /* IPv4 of its address, host order; mask 0: not known */
	bool met_before;	/* in an earlier run it reached another port of this host */
	struct err err;		/* why it cannot be used; code 0 when it can */
};

/*
 * Make the port ready with `bytes` of memory each way (of a GPU what pair_gpus_take() took). What
 * fails is said in `s->err`, for it is of this port alone; pair_side_close() it in any case.
 */
void pair_side_open(struct pair_side *s, const struct numa_host *host, uint64_t bytes);
void pair_side_close(struct pair_side *s);

/* The enum sample_state of what is not measured for `s->err`: busy, else set-up. */
int pair_side_state(const struct pair_side *s);

/* Queue pairs for all `n` of them alike: as asked for, else as suit the fastest. At least 1. */
unsigned pair_side_queues(const struct pair_side *sides, size_t n);

/* False when the port has gone down, or away, since it was opened. */
bool pair_side_is_up(const struct pair_side *s);
