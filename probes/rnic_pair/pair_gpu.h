/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU memory for the ports of a host. Each port uses memory of its nearest GPU as source and
 * target, as jobs do (NCCL's GPU Direct RDMA). Ports with the same nearest GPU share its memory, so
 * the data that arrives there is not checked.
 */
#pragma once

#include <argp.h>

#include "probes/rnic_pair/pair_side.h"

struct endpoint;
struct gpu_endpoints;
struct pair_options;
struct probe;
struct topology;

enum pair_memory { PAIR_MEMORY_HOST, PAIR_MEMORY_GPU };
extern const char *const pair_memory_names[]; /* "host", "gpu"; NULL-terminated */

/* --memory; its input is a struct pair_options. */
extern const struct argp pair_memory_argp;

/* The open GPUs of this host. Zero-initialised: none open. */
struct pair_gpus {
	struct gpu_endpoints *from; /* owned */
	struct endpoint *ends;	    /* owned */
	size_t n;
};

/* How the sides of a host get their GPU memory. */
struct pair_memory_want {
	const struct probe *probe;	 /* for its seed and whether GPUs in use are taken too */
	const struct topology *topology; /* may be NULL: nearest by NUMA node only */
	uint64_t bytes;			 /* in each direction */
	uint64_t open_us;		 /* how long to wait for the GPUs */
};

/*
 * Open the GPUs of the engine of `options` and assign to each of the `n` sides, which are not open
 * yet, its nearest GPU. pair_side_open() then uses its memory or reports why it cannot (no GPU, in
 * use by others, lost or hanging). The caller releases `g` in any case, after the sides.
 */
void pair_gpus_take(struct pair_gpus *g, const struct pair_options *options,
		    const struct pair_memory_want *want, struct pair_side *sides, size_t n);
void pair_gpus_release(struct pair_gpus *g);

/* -ENODEV with the reason if this host has no GPU to get memory from. */
int pair_gpus_check(const struct pair_options *options, struct err *err);
