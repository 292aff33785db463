/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One analysis of a trace at a time: `assay-attribute --summary` as a child of its own, since the
 * trace is a stranger's. It has limits of memory, processor and wall time, of what it prints and
 * of what it writes; at the end of one of them its whole process group is killed, and it dies with
 * this program. It reads the trace from its standard input, which the child puts together where
 * the trace has parts. Nothing here blocks.
 */
#pragma once

#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct analysis;
struct err;
struct sd_event;

enum {
	ANALYSIS_CPU_S = 60,
	ANALYSIS_NICE = 10,
	ANALYSIS_OUTPUT_MAX = 256 * 1024,
	ANALYSIS_WORDS_MAX = 4096, /* of what it complains of */
};
#define ANALYSIS_MEMORY_MAX (UINT64_C(2) << 30)
#define ANALYSIS_WALL_US (120 * USEC_PER_SEC)

enum analysis_result {
	ANALYSIS_DONE,	   /* `text` is what it printed */
	ANALYSIS_REJECTED, /* the trace says what cannot be: `text` is the sentence */
	ANALYSIS_FAILED,   /* it came to nothing: `text` is why */
};

/* `ended` is called once for each that was started, with texts that are borrowed. Both are kept. */
struct analysis *analysis_new(struct sd_event *loop,
			      void (*ended)(void *context, enum analysis_result result,
					    const char *text),
			      void *context);

/* One under way is killed. */
void analysis_free(struct analysis *analysis);
DEFINE_CLEANUP(struct analysis *, analysis_free, analysis_freep);

/* What suspects must reach to count: the policy's numbers (policy_jobs.h). */
struct analysis_bars {
	double min_gain, share;
};

/*
 * Of the trace in `files` (paths up to NULL), in the shape of the file `meta` unless that is NULL.
 * `speeds` is the text of what is known of its hosts (attribution/speeds.h), or NULL. -EBUSY: one
 * runs.
 */
int analysis_start(struct analysis *analysis, const char *const *files, const char *meta,
		   const char *speeds, const struct analysis_bars *bars, struct err *err);

bool analysis_runs(const struct analysis *analysis);
