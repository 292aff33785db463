/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs of the jobs that run here (assayd.yaml, traces.logs): read on as they grow, and searched for
 * words that say that something is wrong (job_log_match.h). What is found is evidence beside what
 * is measured, told when a job is looked at, with a line a minute in the log of assayd and counts
 * in $RUN/job-logs.prom. No line of a log leaves the host.
 *
 * Whose job a file is of, its owner and its path say (job_log_owner.h). It may lie on a file system
 * of the network that does not answer: files are read by a thread of their own, and a thread that
 * does not come back costs the logs alone. What stood in a file before it was seen first is not
 * read.
 */
#pragma once

#include <jansson.h>
#include <sys/types.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct job_logs;
struct sd_event;

enum {
	JOB_LOGS_FILES_MAX = 128, /* followed at once; the rest is not */
	JOB_LOGS_LOOK_MAX =
		1024 * 1024,	  /* bytes of a file in one look; what is beyond is skipped */
	JOB_LOGS_FOUND_MAX = 512, /* patterns of users and pods that are remembered */
};

#define JOB_LOGS_EVERY_US (5 * USEC_PER_SEC)
#define JOB_LOGS_LATE_US USEC_PER_MIN /* a look that takes longer is told, once */
#define JOB_LOGS_FORGET_US USEC_PER_HOUR

/*
 * Follow the files of `globs` (NULL-terminated, copied); the patterns are of the file at `path`, or
 * of policies/job-log.yaml when that is NULL. -EINVAL with what is wrong with it; -EAGAIN: there is
 * no thread.
 */
int job_logs_new(struct sd_event *event, char *const *globs, const char *path,
		 struct job_logs **ret, struct err *err);
void job_logs_free(struct job_logs *j);

/*
 * Add to the array what was found in logs of a rank that runs as this user and in this pod ("": in
 * none): {"pattern", "says", "count", "last_s"}.
 */
void job_logs_tell(struct job_logs *j, uid_t uid, const char *pod, json_t *list);
