/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section `jobs` of controller.yaml: what changes to jobs cost here, beside a restart, of which
 * the policy knows the cost (jobs.restart_cost).
 */
#pragma once

#include <stdint.h>

struct err;
struct jval;

/* Of a change that the code of jobs cannot make while they run. */
#define SETTINGS_JOBS_RESTART UINT64_MAX

struct settings_jobs {
	uint64_t checkpoint_us; /* between checkpoints: half of it is lost in the mean; 0 */
	uint64_t warm_up_us;	/* first steps of a run take longer by that; 0 */
	/* To go on without a replica, to deal micro-batches otherwise, to move layers. */
	uint64_t regroup_us, rebalance_us, layers_us; /* SETTINGS_JOBS_RESTART */
};

struct settings_jobs settings_jobs_init(void);

/* Of J_CUSTOM, into a struct settings_jobs. */
int settings_jobs_decode(const struct jval *v, void *member, struct err *err);
