/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one analysis of a trace at a time: `assay-attribute --summary` in a child process, as traces
 * are untrusted. It has limits on memory, CPU and wall time, on its output and on the files it
 * writes. When it exceeds one its process group is killed, and it dies with this program. It reads
 * the trace from standard input; the child concatenates a trace that has parts. Nothing here
 * blocks.
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
	ANALYSIS_WORDS_MAX = 4096, /* of stderr */
};
#define ANALYSIS_MEMORY_MAX (UINT64_C(2) << 30)
#define ANALYSIS_WALL_US (120 * USEC_PER_SEC)

enum analysis_result {
	ANALYSIS_DONE,	   /* `text`: its output */
	ANALYSIS_REJECTED, /* the trace is invalid: `text` is the reason */
	ANALYSIS_FAILED,   /* it failed: `text` is the reason */
};

/* `ended` is called once for each analysis started, with borrowed texts. `loop` and `context` are
 * kept. */
struct analysis *analysis_new(struct sd_event *loop,
			      void (*ended)(void *context, enum analysis_result result,
					    const char *text),
			      void *context);

/* Kills a running analysis. */
void analysis_free(struct analysis *analysis);
DEFINE_CLEANUP(struct analysis *, analysis_free, analysis_freep);

/* Thresholds for suspects: the policy's numbers (policy_jobs.h). */
struct analysis_bars {
	double min_gain, share;
};

/*
 * Analyse the trace in `files` (NULL-terminated paths), with the job's shape in the file `meta` or
 * NULL. `speeds`: text of the known speeds of its hosts (attribution/speeds.h), or NULL. Returns
 * -EBUSY if one is running.
 */
int analysis_start(struct analysis *analysis, const char *const *files, const char *meta,
		   const char *speeds, const struct analysis_bars *bars, struct err *err);

bool analysis_runs(const struct analysis *analysis);
