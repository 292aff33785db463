/* SPDX-License-Identifier: Apache-2.0 */
/* Whom the windows of a run blame: their summaries as input for lib/policy/suspicion.h. Pure. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/suspicion.h"

/* Number of the newest analysed windows considered. */
enum { JOB_SUSPECTS_WINDOWS = SUSPICION_WINDOWS_MAX };

/* An analysed window. */
struct job_window {
	const json_t *summary; /* from summary_read(); borrowed */
	int64_t id, run;
	uint64_t from_us, until_us; /* by our clock; 0: unknown */
	uint64_t received_us;
};

/* Suspects of a run: current ones, and those at any time; suspects only in `ever` have lapsed. */
struct job_suspects {
	struct suspicion windows;
	struct suspicion_list list, ever;
};

/*
 * `windows` newest first, at most JOB_SUSPECTS_WINDOWS; borrows the texts of their summaries.
 * Suspects of the same run that were "kept" in `before` (job_judging.h) are kept; NULL: none.
 */
void job_suspects_read(const struct job_window *windows, size_t n, const struct policy_jobs *jobs,
		       const json_t *before, uint64_t now_us, struct job_suspects *ret);
void job_suspects_release(struct job_suspects *suspects);

/* enum blame_class of a summary or one of its suspects; BLAME_CLASSES: unknown. */
int job_suspects_class(const json_t *value);

/* Does the summary blame the suspect? A job that slows itself blames nobody, whichever host is
 * slowest. */
bool job_suspects_accuses(const json_t *summary, const json_t *suspect);

/* The entry of the suspect named `name`; NULL: none. */
const struct suspicion_found *job_suspects_find(const struct suspicion_list *list,
						const json_t *suspect, const char *name);
