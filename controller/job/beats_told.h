/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports a job that stands still (beats.h): its owner by an Event in its namespace, and if the
 * policy says so (jobs.on_stop) by starting a diagnosis, once per run, as a person could. What is
 * known about the ranks that have stopped (hang_board.h) is reported too, and may prevent the
 * diagnosis.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct service;

/* All borrowed. */
struct beats_told_job {
	const char *name;
	int64_t run;
	const char *words; /* a clause: since when */
};

/* Best effort, as all reports to the cluster. */
void beats_told_stopped(struct service *s, const struct beats_told_job *job);

/*
 * Begin its diagnosis, durable with the next commit, unless the policy says otherwise or the run
 * has had one. Returns true if nothing more is to be done for this run; false if the diagnosis is
 * blocked, or the policy does not ask for it now.
 */
bool beats_told_diagnose(struct service *s, const struct beats_told_job *job);
