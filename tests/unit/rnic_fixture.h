/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One RDMA port over one network device, both fake. A test runs an area of
 * assay-probe-rnic-state on it any number of times; the samples are kept.
 */
#pragma once

#include "probes/rnic_state/nic.h"
#include "probes/rnic_state/rnic_state.h"

enum { FIXTURE_STATS_MAX = 64, FIXTURE_SAMPLES_MAX = 256 };

struct rnic_fixture {
	struct port port;
	struct ports ports;
	struct nic nic;
	struct nic_link link;
	char names[FIXTURE_STATS_MAX][NIC_STAT_NAME_SIZE];
	uint64_t values[FIXTURE_STATS_MAX];
	size_t n_stats;
	uint64_t deadline_us;
	json_t *kept; /* the state that the last run saved */
	struct sample samples[FIXTURE_SAMPLES_MAX];
	size_t n_samples;
};

/* mlx5_0:1 over eth2, active at 400 Gb/s, below an empty tree of /sys. */
void fixture_open(struct rnic_fixture *f);
void fixture_close(struct rnic_fixture *f);

/* Sets a counter of ethtool -S. */
void fixture_stat(struct rnic_fixture *f, const char *name, uint64_t value);

/* Runs one area, `uptime_s` after boot; all runs are in the same boot. */
void fixture_run(struct rnic_fixture *f, int (*area)(struct rnic_state *state), double uptime_s);

/* Returns the only sample of the check in the last run; if not exactly one, an empty sample and a
 * failed check. */
const struct sample *fixture_find(const struct rnic_fixture *f, const char *check);
