/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk for SQLite that loses its power: files in memory, each as it is now
 * and as it is on the platter. What was written becomes durable by xSync of
 * its file alone; a new name and a removed one by a sync of the directory,
 * which the unix VFS does at the first sync of a new journal or WAL, and where
 * xDelete is asked for it.
 *
 *	crash_vfs_begin(seed);
 *	crash_vfs_fail_at(100);   the power fails at the 100th change
 *	... work until crash_vfs_dead(), close ...
 *	crash_vfs_restart(CRASH_NONE_SURVIVES);
 *	... open again: what is there? ...
 *
 * It is the default VFS of the process, which opens one connection at a time;
 * there is no shared memory, so that WAL wants locking_mode = EXCLUSIVE.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What becomes of changes that no sync followed. */
enum crash_loss {
	CRASH_NONE_SURVIVES,
	CRASH_SOME_SURVIVE, /* any of them, in sectors of 512 bytes, in no order */
};

/* An empty disk. `seed` decides what survives. */
void crash_vfs_begin(uint64_t seed);
void crash_vfs_end(void);

/* The power fails at the `n`-th write, truncation, sync or removal from now; 0: never. */
void crash_vfs_fail_at(uint64_t n);

/* Did it fail? Since then every call failed. */
bool crash_vfs_dead(void);

/* The power is back. */
void crash_vfs_restart(enum crash_loss loss);

/* Did it fail at a change of the database itself, and not of a journal or WAL? */
bool crash_vfs_in_file(void);

/*
 * Where the program says `PRAGMA pragma = ...`, it has said `value`, which is
 * no longer than its own word; both static. NULL: what it says counts.
 */
void crash_vfs_force(const char *pragma, const char *value);

/*
 * All rows of all tables, one a line, in new memory; at its beginning what
 * PRAGMA integrity_check has to say but "ok". NULL when the file cannot be read.
 */
char *crash_vfs_dump(const char *path);

/* The first column of a query, at most `max` rows; how many, or -1. */
int crash_vfs_numbers(const char *path, const char *sql, size_t *ret_numbers, size_t max);

/* Forget a file and its journals. No connection has it open. */
void crash_vfs_remove(const char *path);
