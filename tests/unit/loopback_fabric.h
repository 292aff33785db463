/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loopback probe on a simulated host: the links of its topology with what
 * they should carry, one more for each port, and all memories. Nothing moves
 * but the simulated time.
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
	double seconds; /* of simulated time, of the last run */
	char *memory;
	size_t memory_bytes;
};

/* The standard host with everything as it should be; NULL and a failed check otherwise. */
struct fabric *fabric_new(void);
void fabric_free(struct fabric *f);

/* Leave the link this part of its capacity. */
void fabric_slow(struct fabric *f, const char *link, double part);

/* Every path its own noise: a normal factor around 1. */
void fabric_noise(struct fabric *f, double sigma, uint64_t seed);

/* Run the probe and collect what it printed. Release `ret`. */
void fabric_run(struct fabric *f, enum loopback_set set, uint64_t budget_us, struct report *ret);
