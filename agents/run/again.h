/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repeats of measurements that were disturbed. A kernel thread that takes a core for one second
 * makes a check of that core inconclusive, though the next second would have been fine. So within
 * the run's budget the probe is run again, at most AGAIN_MAX times, and its results fill in what
 * was not measured. Pure.
 *
 * Measured values are kept, so that nobody can repeat until the result looks good: a repeat only
 * replaces samples that were busy, and adds those that the probe itself finds bad (ok=false).
 * Only "busy" is repeated: a job that arrives ends the run, and a device in use stays in use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct report;

/* With the first run that makes 3 windows: policies/default.yaml requires 2 of 3. */
enum { AGAIN_MAX = 2 };

/* Number of busy samples of this probe; 0 if a job arrived during it. */
size_t again_busy(const struct report *report, const char *probe);

/*
 * Move the results that count (see above) from `more`, a repeat of some probes, into `report`,
 * with the problems of the repeat except PROBLEM_BUSY, which means that it did not run. Returns
 * how many busy samples are now measured. The caller still releases `more`.
 */
size_t again_merge(struct report *report, struct report *more);
