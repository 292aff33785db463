/* SPDX-License-Identifier: Apache-2.0 */
/* What to measure on this host: opened ports, and jobs in rounds of disjoint pairs. */
#pragma once

#include "lib/topology/topology.h"
#include "probes/memory/numa.h"
#include "probes/rnic_pair/pair_gpu.h"
#include "probes/rnic_pair/pair_sample.h"

struct pair_plan {
	struct probe *probe;
	struct rdma_engine *engine;
	struct rdma_port ports[RDMA_PORTS_MAX];
	struct pair_side sides[PAIR_PORTS_MAX]; /* the active ports, or those of --cells */
	size_t n_sides;
	struct pair_job *jobs; /* owned; jobs measured at once are adjacent */
	size_t n_jobs;
	char *left_out; /* which pairs are left out and why, or NULL; owned */
	struct numa_host host;
	struct pair_gpus gpus; /* memory of the sides, if wanted */
	uint64_t bytes;	       /* memory of each side, in each direction */
	struct topology topology;
	bool has_topology;
};

/*
 * Ports of two InfiniBand subnets cannot reach each other, by design. Drop the jobs between them,
 * unless pairs are named (--cells), and describe that in `left_out`. -ENODEV with the reason if no
 * job is left.
 */
int pair_leave_out_subnets(struct pair_plan *p, struct err *err);

/*
 * Find the ports, make the jobs of one host (none for a pair of two) and open the sides. -ENODEV
 * and -EINVAL as for run() of struct probe_desc. The caller releases `p` in any case.
 */
int pair_plan_make(struct pair_plan *p, struct err *err);
void pair_plan_release(struct pair_plan *p);

/* Are all devices in software, sharing our cores? */
bool pair_plan_is_software(const struct pair_plan *p);

/* "mlx5_0:1>mlx5_1:1". The caller frees it. */
char *pair_job_subject(const struct pair_job *job);
