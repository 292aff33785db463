/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel log told since assayd began, by the rules of lib/sys/kernel_rules.h:
 * one kind for each (pattern, code, device). Pure: records and the time come
 * in, samples of host.kernel_log go out.
 *
 *	first line of a kind	told at once
 *	more of them		a count a minute
 *	none for LOG_HOLD_US	told as good, and forgotten
 *	a fatal one		told in every report until the next boot
 *
 * Each report has every kind that is not forgotten, so that it can stand in
 * for the one before. The values of a kind are the lines since it was last
 * told: their sum is the number of lines.
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
	LOG_LINE_SHOWN = 240, /* bytes of the first line that are kept */
};

struct log_kind {
	char *pattern, *code, *subject, *note, *first; /* owned */
	int severity;				       /* enum severity */
	/* Since the boot: its first and its newest line, when it was last told (0: never). */
	uint64_t since_us, last_us, told_us;
	uint64_t count; /* lines in all */
	uint64_t fresh; /* of them, not told yet */
};

struct log_watch {
	struct log_kind kinds[LOG_KINDS_MAX];
	size_t n;
	uint64_t next_sequence; /* of the first record not seen yet */
	uint64_t since_us;	/* when what is to be told at once came; WATCH_NEVER: nothing did */
	uint64_t trouble_us; /* when lines that were lost or had no room were last told; 0: never */
	/* Since the last report. */
	uint64_t lines;	 /* records looked at */
	uint64_t lost;	 /* overwritten before they were read */
	uint64_t untold; /* lines of kinds that there was no room for */
};

void log_watch_init(struct log_watch *w);
void log_watch_release(struct log_watch *w);

/*
 * One record. `backlog`: it was written before anybody followed the log; then
 * what is older than LOG_HOLD_US and not fatal is no news.
 */
void log_watch_record(struct log_watch *w, const struct kernel_rules *rules,
		      const struct kmsg_record *record, bool backlog, uint64_t now_us);

/* Since when there is something to tell, which may be in the future; WATCH_NEVER: nothing. */
uint64_t log_watch_due(const struct log_watch *w);

/*
 * The newest fatal Xid (docs/gpu-state.md) of this subject ("pci:0000:3b:00.0") whose newest line
 * came at `since_us` (since the boot) or later; -1: none.
 */
int64_t log_watch_fatal_xid(const struct log_watch *w, const char *subject, uint64_t since_us);

/* An operator says that all is well again: also what stood until the next boot goes. */
void log_watch_forget(struct log_watch *w);

/* Put the samples of all kinds into the report: they are told. */
void log_watch_tell(struct log_watch *w, const struct clock_pair *now, struct report *report);

/* What outlives the program, within a boot. New reference. */
json_t *log_watch_encode(const struct log_watch *w);

/* Take it into one that is fresh; what is malformed is left out. */
void log_watch_decode(struct log_watch *w, const json_t *value);
