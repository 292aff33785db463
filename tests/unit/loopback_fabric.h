/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loopback probe on a simulated host: the links of its topology at their
 * expected rates, one more for each port, and all memories. No data is copied;
 * only simulated time advances.
 */
#pragma once

#include "lib/report/report.h"
#include "probes/loopback/loopback.h"
#include "tests/fakes/rdma_sim.h"
#include "tests/unit/mesh_host.h"

struct fabric {
	struct mesh_host host;
	struct rdma_sim sim;
	struct sim_path paths[HOST_PORTS_MAX * HOST_ENDS_MAX];
	struct endpoint ends[HOST_ENDS_MAX];
	struct loopback_options options;
	struct probe probe;
	double seconds; /* simulated duration of the last run */
	char *memory;
	size_t memory_bytes;
};

/* Returns the standard host without faults; on error NULL and a failed check. */
struct fabric *fabric_new(void);
void fabric_free(struct fabric *f);

/* Reduces the link to this fraction of its capacity. */
void fabric_slow(struct fabric *f, const char *link, double part);

/* Gives each path its own noise: a factor from a normal distribution around 1. */
void fabric_noise(struct fabric *f, double sigma, uint64_t seed);

/* Runs the probe and collects its output. The caller releases `ret`. */
void fabric_run(struct fabric *f, enum loopback_set set, uint64_t budget_us, struct report *ret);
