/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hosts are being tested, or are about to be for a job, since when and in which rack, so that
 * job_judge.h can spread tests over racks. A test draws the same power whoever ordered it, so those
 * not ordered for a job count, too; each host counts once. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/fleet.h"
#include "lib/policy/job_judge.h"

struct job_loads {
	struct job_judge_load *all; /* owns the texts */
	int64_t *jobs;		    /* who asked; 0: no known job */
	size_t n;
};

/* Read the tests in progress from the fleet; once before each round of jobs. */
void job_loads_look(struct job_loads *loads, const struct fleet *fleet);

/* Replace the requests of a job. */
void job_loads_take(struct job_loads *loads, int64_t job, const struct job_judge_result *judged,
		    uint64_t now_us);

void job_loads_release(struct job_loads *loads);
