/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the logs of jobs on this host (assayd.yaml, traces.logs) and searches them for error
 * messages (job_log_match.h). Findings are evidence besides the measurements: they are reported
 * when a job is examined, logged by assayd once a minute, and counted in $RUN/job-logs.prom. No
 * line of a log leaves the host.
 *
 * The file's owner and path tell whose job it belongs to (job_log_owner.h). Files may be on an
 * unresponsive network file system, so a separate thread reads them; if it hangs, only the logs
 * are lost. What a file contained before it was first seen is not read.
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
	JOB_LOGS_FILES_MAX = 128,	 /* followed at once; others are ignored */
	JOB_LOGS_LOOK_MAX = 1024 * 1024, /* bytes read per look and file; the rest is skipped */
	JOB_LOGS_FOUND_MAX = 512,	 /* patterns remembered per user and pod, in all */
};

#define JOB_LOGS_EVERY_US (5 * USEC_PER_SEC)
#define JOB_LOGS_LATE_US USEC_PER_MIN /* a look that takes longer is logged, once */
#define JOB_LOGS_FORGET_US USEC_PER_HOUR

/*
 * Follow the files of `globs` (NULL-terminated, copied), with the patterns of the file at `path`,
 * or of policies/job-log.yaml if NULL. -EINVAL, with the place, if that is bad; -EAGAIN if no
 * thread can be started.
 */
int job_logs_new(struct sd_event *event, char *const *globs, const char *path,
		 struct job_logs **ret, struct err *err);
void job_logs_free(struct job_logs *j);

/*
 * Append the findings in the logs of a rank that runs as `uid` in `pod` ("": none) to `list`:
 * {"pattern", "says", "count", "last_s"}.
 */
void job_logs_tell(struct job_logs *j, uid_t uid, const char *pod, json_t *list);
