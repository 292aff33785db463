/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces waiting for analysis, and results of analyses, as files beside the store:
 *
 *   traces/ID.N             part N of the trace of window ID as received (1: all of it)
 *   traces/ID.yaml          its shape, if sent separately
 *   analyses/ID.json        output of `assay-attribute --summary` for it
 *
 * A trace is written before the commit that queues its window, and deleted after the commit that
 * ends it; leftovers of a kill are removed at the next start. The total is at most 2 GiB: one half
 * for queued traces (enforced when they are accepted), one for analyses, of which the oldest are
 * deleted. A job has at most an eighth of either.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum {
	TRACE_MAX = 32 * 1024 * 1024, /* bytes of one part */
	TRACE_META_MAX = 2048,
	TRACE_PARTS_MAX = 512,		  /* per window */
	TRACE_JOINED_MAX = 4 * TRACE_MAX, /* bytes of all parts together */
	ANALYSIS_MAX = 256 * 1024,
	ANALYSES_MAX = 4096, /* kept: 1 GiB */
	ANALYSES_JOB_MAX = ANALYSES_MAX / 8,
};
#define TRACES_MAX (UINT64_C(1) << 30) /* bytes of queued traces */
#define TRACES_JOB_MAX (TRACES_MAX / 8)

/* A stored analysis. */
struct trace_files_kept {
	int64_t window, job;
};

struct trace_files {
	char *traces, *analyses;       /* directories */
	struct trace_files_kept *kept; /* oldest first; owned */
	size_t n_kept;
};

/* Beside the store at `db`; creates the directories. */
int trace_files_open(const char *db, struct trace_files *ret, struct err *err);
void trace_files_release(struct trace_files *files);

/* Write a part of a window's trace durably, and its shape unless that is NULL. */
int trace_files_put(const struct trace_files *files, int64_t window, int64_t part,
		    const void *bytes, size_t length, const char *meta, struct err *err);

/* Paths of a part of its trace, and of its shape (NULL: none), in new memory. */
char *trace_files_trace(const struct trace_files *files, int64_t window, int64_t part);
char *trace_files_meta(const struct trace_files *files, int64_t window);

/* Delete its trace. */
void trace_files_drop(const struct trace_files *files, int64_t window, int64_t parts);

/* Store the analysis of a window; the oldest of the job or of all make room. */
int trace_files_keep(struct trace_files *files, int64_t window, int64_t job, const char *text,
		     struct err *err);

/* The analysis, new memory. -ENOENT: it is gone. */
int trace_files_analysis(const struct trace_files *files, int64_t window, char **ret_text,
			 struct err *err);

/* Set "heat" and "lateness" of `job` from the analysis; null if it is gone, from an earlier
 * version, or there is no window (-1). */
void trace_files_show(const struct trace_files *files, int64_t window, json_t *job);

/*
 * Delete the files of windows that are not wanted, and any others. `wanted_by` returns the job that
 * wants the trace, or the analysis, of a window; 0: none.
 */
void trace_files_sweep(struct trace_files *files,
		       int64_t (*wanted_by)(void *context, int64_t window, bool analysis),
		       void *context);
