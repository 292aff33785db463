/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hosts are tested now, or are about to be for a job, since when, and in which rack: what
 * job_judge.h spreads tests over racks by. A test draws as much whoever wanted it, so those under
 * way count that no job asked for; a host counts once. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/fleet.h"
#include "lib/policy/job_judge.h"

struct job_loads {
	struct job_judge_load *all; /* texts are owned */
	int64_t *jobs;		    /* who asked; 0: no job that is known */
	size_t n;
};

/* What is under way by the fleet; asked once before each round of jobs. */
void job_loads_look(struct job_loads *loads, const struct fleet *fleet);

/* What a job asks for from now on. */
void job_loads_take(struct job_loads *loads, int64_t job, const struct job_judge_result *judged,
		    uint64_t now_us);

void job_loads_release(struct job_loads *loads);
