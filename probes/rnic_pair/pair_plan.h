/* SPDX-License-Identifier: Apache-2.0 */
/* What there is to measure on this host: ports made ready, and jobs in rounds of disjoint pairs. */
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
	struct pair_job *jobs; /* owned; those measured at once together */
	size_t n_jobs;
	char *left_out; /* what pairs there are none of, and why, in words, or NULL; owned */
	struct numa_host host;
	struct pair_gpus gpus; /* whose memory the sides have, when that is wanted */
	uint64_t bytes;	       /* of memory of each side, each way */
	struct topology topology;
	bool has_topology;
};

/*
 * Of ports of two InfiniBand subnets nothing gets from one to the other, by design: unless pairs
 * are named (--cells) those between them go, which `left_out` says. -ENODEV with the reason when
 * none stays.
 */
int pair_leave_out_subnets(struct pair_plan *p, struct err *err);

/*
 * Find the ports, make the jobs of one host (none for a pair of two) and open the
 * sides. -ENODEV, -EINVAL as struct probe_desc's run(). Release it in any case.
 */
int pair_plan_make(struct pair_plan *p, struct err *err);
void pair_plan_release(struct pair_plan *p);

/* All its devices are software, which shares our cores. */
bool pair_plan_is_software(const struct pair_plan *p);

/* "mlx5_0:1>mlx5_1:1". New memory. */
char *pair_job_subject(const struct pair_job *job);
