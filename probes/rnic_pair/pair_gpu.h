/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of GPUs for the ports of a host: each port writes from, and is written to in, that of the
 * GPU nearest to it, as jobs have it (NCCL's GPU Direct RDMA). Ports that one GPU is nearest to
 * share its memory: what lands there is not looked at.
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

/* What is open of the GPUs of this host. All zero: nothing yet. */
struct pair_gpus {
	struct gpu_endpoints *from; /* owned */
	struct endpoint *ends;	    /* owned */
	size_t n;
};

/* Where the sides of a host get their memory from. */
struct pair_memory_want {
	const struct probe *probe; /* whose seed counts, and whether GPUs in use are taken too */
	const struct topology *topology; /* or NULL: nearness is told by NUMA nodes alone */
	uint64_t bytes;			 /* each way */
	uint64_t open_us;		 /* longest wait for the GPUs */
};

/*
 * Open the GPUs of the engine of `options` and give each of the `n` sides, which are not open, the
 * nearest: pair_side_open() then takes its memory, or says why it cannot be had (no GPU here, one
 * that others use, one that is lost or does not answer). Release it in any case, after the sides.
 */
void pair_gpus_take(struct pair_gpus *g, const struct pair_options *options,
		    const struct pair_memory_want *want, struct pair_side *sides, size_t n);
void pair_gpus_release(struct pair_gpus *g);

/* -ENODEV with the sentence when this host has no GPU that could be asked for memory. */
int pair_gpus_check(const struct pair_options *options, struct err *err);
