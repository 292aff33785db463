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

/* As struct probe_desc's run(). */
int all_to_all_start_gpus(struct probe *probe, struct err *err);
int all_to_all_start_rnics(struct probe *probe, struct err *err);

/* What both begin with; all of an engine is to be added. Free it. */
struct all_to_all_plan *all_to_all_plan_new(struct probe *probe);

/*
 * Run `work` with the best that was measured before under `key`, and keep the new best. What
 * `work` returned.
 */
int all_to_all_with_known(struct all_to_all_plan *plan, const char *key,
			  int (*work)(struct all_to_all_plan *plan, struct err *err),
			  struct err *err);

/* The devices of libibverbs; NULL where this was built without (all_to_all_verbs_none.c). */
struct rdma_engine *all_to_all_rdma(void);
