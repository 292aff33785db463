/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel log messages since assayd started, matched by the rules of lib/sys/kernel_rules.h and
 * grouped into kinds, one per (pattern, code, device). Pure: takes records and the time, produces
 * samples of host.kernel_log.
 *
 *	first line of a kind	reported at once
 *	further lines		a count per minute
 *	none for LOG_HOLD_US	reported as good, and forgotten
 *	a fatal one		in every report until the next boot
 *
 * Each report contains every kind that is not forgotten, so that it can replace the previous one.
 * The values of a kind are the lines since its last report: their sum is the number of lines.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct kernel_rules;
struct kmsg_record;
struct clock_pair;
struct report;

#define LOG_CHECK "host.kernel_log"

#define LOG_HOLD_US (10 * USEC_PER_MIN)
#define LOG_AGAIN_US (1 * USEC_PER_MIN)

enum {
	LOG_KINDS_MAX = 256,
	LOG_LINE_SHOWN = 240, /* bytes kept of the first line */
};

struct log_kind {
	char *pattern, *code, *subject, *note, *first; /* owned */
	int severity;				       /* enum severity */
	/* Time since boot of the first and the newest line and of the last report (0: never). */
	uint64_t since_us, last_us, told_us;
	uint64_t count; /* lines in all */
	uint64_t fresh; /* of them, not yet reported */
};

struct log_watch {
	struct log_kind kinds[LOG_KINDS_MAX];
	size_t n;
	uint64_t next_sequence; /* of the first record not read yet */
	uint64_t since_us;	/* when urgent news came; WATCH_NEVER: none */
	uint64_t trouble_us;	/* last report of lost or ignored lines; 0: never */
	/* Since the last report. */
	uint64_t lines;	 /* records read */
	uint64_t lost;	 /* overwritten before they were read */
	uint64_t untold; /* lines of kinds beyond LOG_KINDS_MAX */
};

void log_watch_init(struct log_watch *w);
void log_watch_release(struct log_watch *w);

/*
 * Add a record. `backlog`: it was written before anybody followed the log; then it is skipped if
 * it is older than LOG_HOLD_US and not fatal.
 */
void log_watch_record(struct log_watch *w, const struct kernel_rules *rules,
		      const struct kmsg_record *record, bool backlog, uint64_t now_us);

/* When a report is due, possibly in the future; WATCH_NEVER: nothing to report. */
uint64_t log_watch_due(const struct log_watch *w);

/*
 * The newest fatal Xid (docs/gpu-state.md) of this subject ("pci:0000:3b:00.0") whose last line
 * came at or after `since_us` (since boot); -1: none.
 */
int64_t log_watch_fatal_xid(const struct log_watch *w, const char *subject, uint64_t since_us);

/*
 * Forget everything, including what stays until the next boot: an operator says all is well
 * again.
 */
void log_watch_forget(struct log_watch *w);

/* Add the samples of all kinds to the report; they then count as reported. */
void log_watch_tell(struct log_watch *w, const struct clock_pair *now, struct report *report);

/* State to keep across restarts within a boot. New reference. */
json_t *log_watch_encode(const struct log_watch *w);

/* Restore it into an initialized object; malformed parts are skipped. */
void log_watch_decode(struct log_watch *w, const json_t *value);
