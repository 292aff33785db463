/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of rnic-pair on a simulated fabric: "sim0", "sim1"... whose operations a test may replace. */
#pragma once

#include "probes/memory/numa.h"
#include "probes/rnic_pair/pair.h"
#include "tests/fakes/rdma_sim.h"

/* Ports for most tests, and as many as an HGX host has RNICs. */
enum { PAIR_FABRIC_SIDES = 4, PAIR_FABRIC_MAX = 8, PAIR_FABRIC_BYTES = 1 << 20 /* of memory */ };

struct pair_fabric {
	struct rdma_sim sim;
	struct rdma_ops ops; /* those of the fabric, until a test replaces some */
	struct pair_options options;
	struct numa_node node;
	struct numa_host host;
	struct pair_side sides[PAIR_FABRIC_MAX];
	size_t n;
};

/* Opens `n` ready ports. */
void pair_fabric_open(struct pair_fabric *f, size_t n);

/*
 * Makes sched_yield() a no-op until the fabric is closed, for a single-threaded test. Simulated
 * time advances as it is read, so there is no thread to wait for, and on a busy machine each of a
 * million polls would yield the core to other tests.
 */
void pair_fabric_keep_core(void);

/* Opens a port again. */
void pair_fabric_reopen(struct pair_fabric *f, size_t side);

/* Closes everything; fails the test if the fabric still has open objects. */
void pair_fabric_close(struct pair_fabric *f);
