/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job stands still (beats.h): its owner is told by an Event in its namespace, and where the
 * policy says so (jobs.on_stop) its diagnosis begins, once for a run, as a person would ask for it.
 * What is known of who has stopped (hang_board.h) is told with it, and may withhold the diagnosis.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct service;

/* All borrowed. */
struct beats_told_job {
	const char *name;
	int64_t run;
	const char *words; /* since when, a clause */
};

/* Best effort, as all that the cluster is told of. */
void beats_told_stopped(struct service *s, const struct beats_told_job *job);

/*
 * Begin its diagnosis, durable with the next commit, unless the policy says otherwise or the run
 * has had one. True: nothing more is to be done for this run; false: something is in the way, or
 * the policy does not ask for it now.
 */
bool beats_told_diagnose(struct service *s, const struct beats_told_job *job);
