/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the windows of a run come to: who is suspected, since when, and what would be done. A host
 * is suspected once K of the last N windows that count blame it (lib/policy/suspicion.h), by the
 * policy's numbers, and lib/policy/blame.h says what follows. Nobody is tested yet: what is said is
 * what would be done. A trace alone takes no host out of service: at most it says which one to
 * test. Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/suspicion.h"

/* So many of the newest analysed windows are looked at. */
enum { JOB_VIEW_WINDOWS = SUSPICION_WINDOWS_MAX };

/* An analysed window. */
struct job_window {
	const json_t *summary; /* of summary_read(); borrowed */
	int64_t id, run;
	uint64_t from_us, until_us; /* by our clock; 0: nobody said */
	uint64_t received_us;
};

/*
 * What the API shows of the job (docs/jobs.md): new reference. `windows` are the newest analysed
 * ones of its newest run, newest first, at most JOB_VIEW_WINDOWS; none: it waits. `rejected`: the
 * newest window of all was. Each suspect has "windows", the numbers of those that blame it, and
 * "action" and "reason" of its own; "decision" is the hardest of them.
 */
json_t *job_view(const struct job_window *windows, size_t n, bool rejected,
		 const struct policy_jobs *jobs);
