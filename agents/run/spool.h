/* SPDX-License-Identifier: Apache-2.0 */
/*
 * $STATE/spool/<seq>.json: reports that wait for the controller. Bounded in
 * files and bytes; when full, reports that passed go first, oldest first, and
 * those with a failure longest. Each file is whole or absent (rename, fsync).
 * How many were given up is counted in spool/.lost and told in later reports.
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
	/* What was set aside: enough for a day of passive runs that a wrong token refused. */
	SPOOL_BAD_MAX = 512, /* reports in spool/bad; the oldest of them goes first */
	SPOOL_BAD_BYTES_MAX = 64 * 1024 * 1024,
};

/*
 * Put a report (with its verdict's level in the file name's index) into the
 * spool. -ENOSPC when the disk is full even after making room: the caller
 * says so in the report that it shows, and goes on.
 */
int spool_put(const struct report *report, const struct verdict *verdict, struct err *err);

/*
 * The disk is full and something else matters more: give up reports that
 * passed, oldest first, until `bytes` are freed. False when there was none.
 */
bool spool_give_up(uint64_t bytes);

/*
 * Did a write fail because the disk is full (`r`), and have older reports that
 * passed made room since? Then it is worth another try.
 */
bool spool_made_room(int r);

/* How many reports were given up in this state directory, as far as it could be noted. */
uint64_t spool_lost(void);

/* When this report was written, seconds since 1970; 0: it is not there. */
uint64_t spool_written_s(uint64_t seq);

/* The seqs that wait, ascending; yours to free. */
int spool_list(uint64_t **ret_seqs, size_t *ret_n, struct err *err);

/*
 * The bytes of one; -ENOENT when it went. A torn or foreign file is moved aside to spool/bad,
 * with what is wrong with it.
 */
int spool_read(uint64_t seq, char **ret_text, size_t *ret_len, struct err *err);

/*
 * Move one that will never be taken as it is to spool/bad/<seq>.json, and `why`, a line, to
 * <seq>.why beside it; -ENOENT is 0. Who has mended the cause moves the .json back.
 */
int spool_set_aside(uint64_t seq, const char *why, struct err *err);

/* How many reports lie in spool/bad. */
size_t spool_aside(void);

/* Remove one that was acknowledged. */
int spool_done(uint64_t seq, struct err *err);
