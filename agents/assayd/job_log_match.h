/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that a job writes into its log when something is wrong with it: which of a list of patterns
 * stand in the lines of a file that grows. A pattern is a plain text, case counts, so that no line
 * can make matching slow. Of a line the first pattern counts. Nothing of a line is kept. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct jval;

enum {
	JOB_LOG_PATTERNS_MAX = 128,
	JOB_LOG_NAME_SIZE = 48,
	JOB_LOG_TEXT_SIZE = 128,
	JOB_LOG_SAYS_SIZE = 160,
	JOB_LOG_LINE_MAX = 4096, /* bytes of a line that are looked at */
};

struct job_log_pattern {
	char name[JOB_LOG_NAME_SIZE]; /* for machines: "nccl-timeout" */
	char text[JOB_LOG_TEXT_SIZE]; /* what stands in the line */
	char says[JOB_LOG_SAYS_SIZE]; /* for people: a clause */
};

struct job_log_patterns {
	struct job_log_pattern *all; /* owned */
	size_t n;
};

/* Of policies/job-log.yaml or a site's own. -EINVAL with the place. */
int job_log_match_decode(const struct jval *root, struct job_log_patterns *ret, struct err *err);
/* Of the file at `path`, NULL: of policies/job-log.yaml. */
int job_log_match_read(const char *path, struct job_log_patterns *ret, struct err *err);
void job_log_match_release(struct job_log_patterns *patterns);

/* A file that is read on. Zero it before its first byte. */
struct job_log_match {
	char line[JOB_LOG_LINE_MAX];
	size_t n;			       /* bytes of the line that has not ended */
	uint64_t counts[JOB_LOG_PATTERNS_MAX]; /* lines with the pattern at that place */
};

/* The next `n` bytes of the file. */
void job_log_match_add(struct job_log_match *match, const struct job_log_patterns *patterns,
		       const char *bytes, size_t n);
