/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring again what somebody was in the way of. A kernel thread that takes a core for one
 * second makes a check of that core inconclusive, though the next second would do: within the
 * run's budget the probe is run again, AGAIN_MAX times at most, and what it brings then
 * stands where nothing was measured. Pure.
 *
 * What was measured stands, so that nobody measures until it looks well: of a repeat counts
 * what was busy before, and what the probe itself finds bad (ok=false). Only "busy" is worth a
 * repeat; a job that arrives ends the run, and a device in use stays in use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct report;

/* Two more: with the first they are the 3 windows of which policies/default.yaml asks for 2. */
enum { AGAIN_MAX = 2 };

/* Samples of this probe that are busy; 0 when a job arrived during it. */
size_t again_busy(const struct report *report, const char *probe);

/*
 * Move from `more`, a repeat of some probes, into `report` what counts (see above). Problems
 * of the repeat come along, but for PROBLEM_BUSY: then it did not run. Returns how many samples
 * that were busy are measured now. `more` stays the caller's to release.
 */
size_t again_merge(struct report *report, struct report *more);
