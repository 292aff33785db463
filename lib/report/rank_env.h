/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the environment of a rank says of its job (docs/jobs.md, section 5). The agent, which sends
 * traces under that name, and the controller, which knows ranks by it, use the same rule. Pure.
 * Each text may be NULL or "" if the variable is not set.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

enum { RANK_ENV_RUN_MAX = 1000000 };

/* A number of digits only, from 0 to `most`; -1 if it is not one. */
int64_t rank_env_number(const char *text, int64_t most);

/* ASSAY_JOB, else slurm:CLUSTER/ID or slurm:ID, in new memory. NULL if none is set. */
char *rank_env_job(const char *job, const char *slurm_cluster, const char *slurm_id);

/* ASSAY_RUN, else SLURM_RESTART_COUNT + 1; 0 if neither is set. */
int64_t rank_env_run(const char *run, const char *slurm_restarts);
