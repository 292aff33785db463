/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One flow over a simulated fabric, each queue connected to itself.
 *
 *	bench_open -> bench_run ... -> bench_close
 */
#pragma once

#include "probes/rdma/flow_many.h"
#include "tests/fakes/rdma_sim.h"

enum { SIZE = 64 * 1024, DEPTH = 128, BATCH = 16, REGION = 16 << 20, WINDOWS = 16 };
enum { WARM_US = 2000, WINDOW_US = 1000, PATIENCE_US = 1000000 };

struct bench {
	struct rdma_sim sim;
	struct rdma_device *device;
	struct flow flow; /* of writes, from `bench_memory` to its beginning */
};

extern char bench_memory[REGION];

/* `wait`: enum flow_wait. */
void bench_open(struct bench *b, size_t queues, int wait);

/* Runs all windows, for at most `within_us`. Returns the error of flow_one. */
int bench_run_within(struct bench *b, uint64_t within_us, struct flow_result *ret);

int bench_run(struct bench *b, struct flow_result *ret);

/* CHECKs that nothing is left open. */
void bench_close(struct bench *b);
