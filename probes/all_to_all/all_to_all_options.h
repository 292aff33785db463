/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of the program, and who carries it out. */
#pragma once

#include "probes/all_to_all/all_to_all.h"
#include "probes/harness/probe.h"
#include "probes/rnic_pair/pair.h"

struct all_to_all_options {
	struct pair_options pair; /* first: ports are opened with them */
	bool verbs;		  /* RNICs; else GPUs */
	bool quick;
	uint64_t size;
};

/* The devices of libibverbs; NULL where this was built without (all_to_all_verbs_none.c). */
struct rdma_engine *all_to_all_rdma(void);
