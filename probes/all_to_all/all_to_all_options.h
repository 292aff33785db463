/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the program, and its RDMA engine. */
#pragma once

#include "probes/all_to_all/all_to_all.h"
#include "probes/harness/probe.h"
#include "probes/rnic_pair/pair.h"

struct all_to_all_options {
	struct pair_options pair; /* first: ports are opened with them */
	bool verbs;		  /* RNICs; otherwise GPUs */
	bool quick;
	uint64_t size;
};

/* The libibverbs engine; NULL if built without it (all_to_all_verbs_none.c). */
struct rdma_engine *all_to_all_rdma(void);
