/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces that wait for their analysis, and what analyses found, as files beside the store:
 *
 *	traces/ID.N		the trace of window ID as it was sent, its part N (1: all of it)
 *	traces/ID.yaml		its shape, where the sender gave one apart
 *	analyses/ID.json	what `assay-attribute --summary` printed of it
 *
 * A trace is there before the commit that queues its window, and goes after the commit that ends
 * it; what a kill leaves over goes at the next start. All of it is at most 2 GiB: half of that the
 * traces of windows that are queued (who takes them sees to it), half the analyses, of which the
 * oldest make room. One job has at most an eighth of either.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;

enum {
	TRACE_MAX = 32 * 1024 * 1024, /* bytes of one, as it is sent */
	TRACE_META_MAX = 2048,
	TRACE_PARTS_MAX = 512,		  /* of one window */
	TRACE_JOINED_MAX = 4 * TRACE_MAX, /* bytes of them together */
	ANALYSIS_MAX = 256 * 1024,
	ANALYSES_MAX = 4096, /* kept: 1 GiB */
	ANALYSES_JOB_MAX = ANALYSES_MAX / 8,
};
#define TRACES_MAX (UINT64_C(1) << 30) /* bytes of those that wait */
#define TRACES_JOB_MAX (TRACES_MAX / 8)

/* An analysis that is kept. */
struct trace_files_kept {
	int64_t window, job;
};

struct trace_files {
	char *traces, *analyses;       /* directories */
	struct trace_files_kept *kept; /* the oldest first; owned */
	size_t n_kept;
};

/* Beside the store at `db`; the directories are made. */
int trace_files_open(const char *db, struct trace_files *ret, struct err *err);
void trace_files_release(struct trace_files *files);

/* Write a part of the trace of a window durably, and its shape unless that is NULL. */
int trace_files_put(const struct trace_files *files, int64_t window, int64_t part,
		    const void *bytes, size_t length, const char *meta, struct err *err);

/* A part of its trace, and its shape or NULL when there is none: paths in new memory. */
char *trace_files_trace(const struct trace_files *files, int64_t window, int64_t part);
char *trace_files_meta(const struct trace_files *files, int64_t window);

/* Its trace is needed no more. */
void trace_files_drop(const struct trace_files *files, int64_t window, int64_t parts);

/* Keep what was found of a window of the job; the oldest of the job and of all make room. */
int trace_files_keep(struct trace_files *files, int64_t window, int64_t job, const char *text,
		     struct err *err);

/* What was found, new memory. -ENOENT: it has gone. */
int trace_files_analysis(const struct trace_files *files, int64_t window, char **ret_text,
			 struct err *err);

/* Set "heat" and "lateness" of `job` as that has them; null: it has gone, there is no window (-1),
 * or it is of a time before. */
void trace_files_show(const struct trace_files *files, int64_t window, json_t *job);

/*
 * Remove the files of windows that nobody wants, and whatever else lies there. `wanted_by` tells
 * the job that wants the trace, or the analysis, of a window; 0: none does.
 */
void trace_files_sweep(struct trace_files *files,
		       int64_t (*wanted_by)(void *context, int64_t window, bool analysis),
		       void *context);
