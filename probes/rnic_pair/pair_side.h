/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One port of this host, ready for use: device open, address chosen, source and target memory
 * registered, from its own NUMA node or from the nearest GPU.
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
	unsigned rail; /* index among the active ports */
	int node;      /* NUMA node of its memory */
	int wait;      /* enum flow_wait */
	struct rdma_device *device;
	struct buffer *buffer; /* owned */
	struct rdma_region source, target;
	const struct endpoint *gpu; /* GPU to use (pair_gpu.h); NULL: host memory; borrowed */
	struct region_way via;	    /* how GPU memory was registered; NULLs: host memory */
	struct err no_gpu;	    /* why there is no GPU memory, if it was asked for */
	struct gid_choice gid;
	unsigned char subnet[PAIR_SUBNET_SIZE]; /* on InfiniBand */
	uint32_t network, mask; /* IPv4, of its address, host order; mask 0: unknown */
	bool met_before;	/* reached another port of this host in an earlier run */
	struct err err;		/* why it is unusable; code 0 if usable */
};

/*
 * Open the port with `bytes` of memory in each direction (of a GPU, what pair_gpus_take()
 * allocated). A failure only concerns this port and is stored in `s->err`. The caller calls
 * pair_side_close() in any case.
 */
void pair_side_open(struct pair_side *s, const struct numa_host *host, uint64_t bytes);
void pair_side_close(struct pair_side *s);

/* The enum sample_state for samples not measured because of `s->err`: busy or set-up. */
int pair_side_state(const struct pair_side *s);

/* A common number of queue pairs for `n` sides: as given, or to suit the fastest. At least 1. */
unsigned pair_side_queues(const struct pair_side *sides, size_t n);

/* False if the port went down, or away, since it was opened. */
bool pair_side_is_up(const struct pair_side *s);
