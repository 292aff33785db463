/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the environment of a rank says of its job (docs/jobs.md, section 5): one rule for the agent,
 * which sends traces by that name, and for the controller, which knows ranks by it. Pure. Each text
 * may be NULL or "" where the variable is not set.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { RANK_ENV_RUN_MAX = 1000000 };

/* A number of digits alone, from 0 to `most`; -1: it is none. */
int64_t rank_env_number(const char *text, int64_t most);

/* ASSAY_JOB, else slurm:CLUSTER/ID or slurm:ID; new memory. NULL: it says none. */
char *rank_env_job(const char *job, const char *slurm_cluster, const char *slurm_id);

/* ASSAY_RUN, else one more than SLURM_RESTART_COUNT; 0: it says neither. */
int64_t rank_env_run(const char *run, const char *slurm_restarts);
