/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom the windows of a run blame: their summaries as lib/policy/suspicion.h takes them. Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/policy/suspicion.h"

/* So many of the newest analysed windows are looked at. */
enum { JOB_SUSPECTS_WINDOWS = SUSPICION_WINDOWS_MAX };

/* An analysed window. */
struct job_window {
	const json_t *summary; /* of summary_read(); borrowed */
	int64_t id, run;
	uint64_t from_us, until_us; /* by our clock; 0: nobody said */
	uint64_t received_us;
};

/* Of a run, as of now, and whenever its windows were: whoever is in that list alone has lapsed. */
struct job_suspects {
	struct suspicion windows;
	struct suspicion_list list, ever;
};

/*
 * `windows` newest first, at most JOB_SUSPECTS_WINDOWS; the texts of their summaries stay borrowed.
 * Suspects of the same run that were shown `before` as "kept" (job_judging.h) are kept; NULL: none.
 */
void job_suspects_read(const struct job_window *windows, size_t n, const struct policy_jobs *jobs,
		       const json_t *before, uint64_t now_us, struct job_suspects *ret);
void job_suspects_release(struct job_suspects *suspects);

/* enum blame_class of a summary or a suspect of it; BLAME_CLASSES: none that we know. */
int job_suspects_class(const json_t *value);

/* Does it blame the suspect? A job that slows itself blames nobody, whoever is its slowest. */
bool job_suspects_accuses(const json_t *summary, const json_t *suspect);

/* What a list says of a suspect that is called `name`; NULL: nothing. */
const struct suspicion_found *job_suspects_find(const struct suspicion_list *list,
						const json_t *suspect, const char *name);
