/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the way a probe ended into the one problem that the report gets: the most serious one,
 * whose text mentions the others. Pure: no I/O, no clock.
 */
#pragma once

#include <stdint.h>

#include "agents/run/err_tail.h"
#include "agents/run/probe_output.h"
#include "agents/run/supervisor.h"
#include "lib/report/report.h"

struct probe_end {
	const char *probe; /* name, for the problem */
	const char *path;  /* of the program */
	const struct probe_output *output;
	const struct err_tail *err_tail;
	const struct supervisor_report *supervisor;
	uint64_t budget_us;
	bool aborted; /* stopped because a job arrived */
};

/*
 * Fill `ret` (owned by the caller) and return true; return false on success: exit status 0 and
 * nothing but samples.
 */
bool probe_problem_judge(const struct probe_end *end, struct problem *ret);
