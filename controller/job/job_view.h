/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the windows of a run come to: who is suspected, since when, and what would be done. A host
 * is suspected while it counts in K of the last N windows that tell on each other: disjoint, and
 * begun a while apart, so that one disturbance is not two. A trace alone takes no host out of
 * service: at most it says which one to test. Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

enum {
	JOB_VIEW_WINDOWS = 3, /* that count */
	JOB_VIEW_HITS = 2,    /* of these */
	/* Looked at for them: at one a minute and some at once, those that are apart are among them. */
	JOB_VIEW_LOOK = 32,
};
#define JOB_VIEW_APART_US (5 * USEC_PER_MIN)

/* From here on a job that slows itself has its owner told. */
#define JOB_VIEW_OWNER_SLOWDOWN 1.1

/* An analysed window. */
struct job_window {
	const json_t *summary; /* of summary_read(); borrowed */
	int64_t run;
	uint64_t from_us, until_us; /* by our clock; 0: nobody said */
	uint64_t received_us;
};

/*
 * What the API shows of the job (docs/jobs.md): new reference. `windows` are the last analysed
 * ones of its newest run, those with the newest steps first, whatever the order in which they
 * came; none: it waits. `rejected`: the last window that ended was.
 */
json_t *job_view(const struct job_window *windows, size_t n, bool rejected);
