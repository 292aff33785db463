/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One RDMA port over one network device, both made by the test: an area of
 * assay-probe-rnic-state runs on it, again and again, and its samples are kept.
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
	json_t *kept; /* what the last run left */
	struct sample samples[FIXTURE_SAMPLES_MAX];
	size_t n_samples;
};

/* mlx5_0:1 over eth2, active at 400 Gb/s, below an empty tree of /sys. */
void fixture_open(struct rnic_fixture *f);
void fixture_close(struct rnic_fixture *f);

/* A counter of ethtool -S. */
void fixture_stat(struct rnic_fixture *f, const char *name, uint64_t value);

/* Run one area in the same boot, so many seconds after it began. */
void fixture_run(struct rnic_fixture *f, int (*area)(struct rnic_state *state), double uptime_s);

/* The only sample of the check that the last run printed; an empty one, and a failed test, otherwise. */
const struct sample *fixture_find(const struct rnic_fixture *f, const char *check);
