/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section `jobs` of controller.yaml: the site's cost of changes to jobs other than a restart,
 * whose cost is in the policy (jobs.restart_cost).
 */
#pragma once

#include <stdint.h>

struct err;
struct jval;

/* The code of jobs cannot make the change at run time. */
#define SETTINGS_JOBS_RESTART UINT64_MAX

struct settings_jobs {
	uint64_t checkpoint_us; /* between checkpoints, half of which is lost on average; or 0 */
	uint64_t warm_up_us;	/* additional time of a run's first steps; or 0 */
	/* Continue without a replica, redistribute micro-batches, move layers. */
	uint64_t regroup_us, rebalance_us, layers_us; /* or SETTINGS_JOBS_RESTART */
};

struct settings_jobs settings_jobs_init(void);

/* For J_CUSTOM, into a struct settings_jobs. */
int settings_jobs_decode(const struct jval *v, void *member, struct err *err);
