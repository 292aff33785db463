/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $STATE/spool/<seq>.json: reports that wait for the controller. Bounded in files and bytes; when
 * it is full, the oldest reports that passed are dropped first, and those with a failure last.
 * Each file is complete or absent (rename, fsync). Dropped reports are counted in spool/.lost;
 * later reports carry the count.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct report;
struct verdict;

enum {
	SPOOL_FILES_MAX = 4096,
	SPOOL_BYTES_MAX = 256 * 1024 * 1024,
	/* Limits of spool/bad: enough for a day of passive runs that a wrong token rejected. */
	SPOOL_BAD_MAX = 512, /* files; the oldest is dropped first */
	SPOOL_BAD_BYTES_MAX = 64 * 1024 * 1024,
};

/*
 * Spool a report; one whose verdict is a failure is marked by an empty file beside it. -ENOSPC if
 * the disk is full even after making room: the caller notes that in the report that it shows, and
 * continues.
 */
int spool_put(const struct report *report, const struct verdict *verdict, struct err *err);

/*
 * Free space for something more important on a full disk: drop reports that passed, oldest first,
 * until `bytes` are freed. False if there were none.
 */
bool spool_give_up(uint64_t bytes);

/*
 * Did a write fail (`r`) because the disk is full, and has dropping older reports that passed
 * made room since? Then it is worth another try.
 */
bool spool_made_room(int r);

/* Number of reports dropped in this state directory, as far as it could be recorded. */
uint64_t spool_lost(void);

/* When this report was written, seconds since 1970; 0 if it is not in the spool. */
uint64_t spool_written_s(uint64_t seq);

/* The seqs that are spooled, ascending; the caller frees the array. */
int spool_list(uint64_t **ret_seqs, size_t *ret_n, struct err *err);

/*
 * Read one report; -ENOENT if it is gone. A torn or foreign file is moved to spool/bad, with the
 * reason.
 */
int spool_read(uint64_t seq, char **ret_text, size_t *ret_len, struct err *err);

/*
 * Move a report that will never be accepted as it is to spool/bad/<seq>.json, and write `why`, a
 * line, to <seq>.why beside it; -ENOENT counts as success. An operator who fixes the cause moves
 * the .json back.
 */
int spool_set_aside(uint64_t seq, const char *why, struct err *err);

/* Number of reports in spool/bad. */
size_t spool_aside(void);

/* Remove a report that was acknowledged. */
int spool_done(uint64_t seq, struct err *err);
