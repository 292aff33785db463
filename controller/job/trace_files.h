/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces that wait for their analysis, and what analyses found, as files beside the store:
 *
 *	traces/ID.N		the trace of window ID as it was sent, its part N (1: all of it)
 *	traces/ID.yaml		its shape, where the sender gave one apart
 *	analyses/ID.json	what `assay-attribute --summary` printed of it
 *
 * A trace is there before the commit that queues its window, and goes after the commit that ends
 * it; what a kill leaves over goes at the next start.
 */
#pragma once

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
	ANALYSES_MAX = 4096, /* kept: with the traces that can wait, at most 3 GiB */
};

struct trace_files {
	char *traces, *analyses; /* directories */
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

/* Keep what was found of it; the oldest beyond ANALYSES_MAX windows before it go. */
int trace_files_keep(const struct trace_files *files, int64_t window, const char *text,
		     struct err *err);

/* What was found, new memory. -ENOENT: it has gone. */
int trace_files_analysis(const struct trace_files *files, int64_t window, char **ret_text,
			 struct err *err);

/* Remove the files of windows that `is_wanted` does not want, and whatever else lies there. */
void trace_files_sweep(const struct trace_files *files,
		       bool (*is_wanted)(void *context, int64_t window, bool analysis),
		       void *context);
