/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches job logs for error messages: matches a list of patterns against the lines of a growing
 * file. A pattern is a plain, case-sensitive string, so no line can make matching slow. Only the
 * first pattern of a line counts. No part of a line is kept. Pure.
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
	JOB_LOG_LINE_MAX = 4096, /* bytes of a line that are searched */
};

struct job_log_pattern {
	char name[JOB_LOG_NAME_SIZE]; /* identifier: "nccl-timeout" */
	char text[JOB_LOG_TEXT_SIZE]; /* string to find in the line */
	char says[JOB_LOG_SAYS_SIZE]; /* explanation for people: a clause */
};

struct job_log_patterns {
	struct job_log_pattern *all; /* owned */
	size_t n;
};

/* Decode policies/job-log.yaml or a site's own file. -EINVAL with the place. */
int job_log_match_decode(const struct jval *root, struct job_log_patterns *ret, struct err *err);
/* Read the file at `path`, or policies/job-log.yaml if NULL. */
int job_log_match_read(const char *path, struct job_log_patterns *ret, struct err *err);
void job_log_match_release(struct job_log_patterns *patterns);

/* State of one file. Zero it before its first byte. */
struct job_log_match {
	char line[JOB_LOG_LINE_MAX];
	size_t n;			       /* bytes of the incomplete last line */
	uint64_t counts[JOB_LOG_PATTERNS_MAX]; /* matching lines, by pattern */
};

/* Process the next `n` bytes of the file. */
void job_log_match_add(struct job_log_match *match, const struct job_log_patterns *patterns,
		       const char *bytes, size_t n);
