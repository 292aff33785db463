/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A disk for SQLite that loses power: files in memory, each with its current
 * contents and those on the platter. Writes become durable only by xSync of
 * their file; creating or removing a name becomes durable by a sync of the
 * directory, which the unix VFS does at the first sync of a new journal or WAL,
 * and in xDelete when asked to.
 *
 *	crash_vfs_begin(seed);
 *	crash_vfs_fail_at(100);   the power fails at the 100th change
 *	... work until crash_vfs_dead(), close ...
 *	crash_vfs_restart(CRASH_NONE_SURVIVES);
 *	... open again: what is there? ...
 *
 * It is the default VFS of the process, which opens one connection at a time.
 * There is no shared memory, so WAL needs locking_mode = EXCLUSIVE.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What happens to unsynced changes. */
enum crash_loss {
	CRASH_NONE_SURVIVES,
	CRASH_SOME_SURVIVE, /* any subset, in sectors of 512 bytes */
};

/* Starts with an empty disk. `seed` decides which changes survive. */
void crash_vfs_begin(uint64_t seed);
void crash_vfs_end(void);

/* The power fails at the `n`-th write, truncation, sync or removal from now; 0: never. */
void crash_vfs_fail_at(uint64_t n);

/* Has the power failed? If so, every call fails until crash_vfs_restart(). */
bool crash_vfs_dead(void);

/* Restores the power. */
void crash_vfs_restart(enum crash_loss loss);

/* Did it fail at a change to the database file, not to a journal or WAL? */
bool crash_vfs_in_file(void);

/*
 * Replaces the value in `PRAGMA pragma = ...` of the program by `value`, which
 * must not be longer than the original. Both are static. NULL: no replacement.
 */
void crash_vfs_force(const char *pragma, const char *value);

/*
 * Returns all rows of all tables, one per line, after the output of PRAGMA
 * integrity_check unless it is "ok"; NULL if the file cannot be read. The
 * caller frees it.
 */
char *crash_vfs_dump(const char *path);

/* Reads the first column of a query, at most `max` rows. Returns how many, or -1. */
int crash_vfs_numbers(const char *path, const char *sql, size_t *ret_numbers, size_t max);

/* Deletes a file and its journals. No connection may have it open. */
void crash_vfs_remove(const char *path);
