/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the store as it was left? SQLite takes a damaged log for one that ends early, and does not
 * look at what it reads of a page beyond its form. FILE-sums beside the store has a sum of each
 * page of the file, and how many commits there were:
 *
 *	0, 512		the last commits, in turn: a torn one leaves the one before
 *	4096 + 4 n	the sum of page n; 0: not known
 *
 * Never a false alarm, whenever the power fails: a commit is noted here after it is durable
 * there, so the note may be behind and never ahead (unsynced, it may be behind by what the
 * kernel had not written yet when the power failed; a crash of the program alone loses nothing).
 * Pages of the file change only while the log is copied to it, and the log has them until their
 * sums and then they are synced. The log that a crash left is therefore copied before any page is
 *judged.
 *
 * It sits between SQLite and its VFS, and writes by the same.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct sqlite3_vfs;
struct sums;

/* The last commit that was noted. */
struct sums_note {
	uint64_t store;	  /* a number of the store's own; 0: none is noted */
	uint64_t commits; /* of all time */
	uint64_t reports; /* the highest number of one */
};

struct sums_counts {
	uint64_t damaged;    /* pages found that are not as they were left */
	uint64_t first_byte; /* of the first of them */
	uint64_t rounds;     /* times that all pages were looked at */
};

/* For the store at `path` on that VFS (NULL: the usual one); reads what there is, makes nothing. */
int sums_open(const char *path, const char *vfs, struct sums **ret, struct err *err);

/* The VFS to open the store with. */
const char *sums_vfs(const struct sums *s);

/* Is the file there? One that cannot be read is there, with a note of no store. */
bool sums_there(const struct sums *s);
struct sums_note sums_last(const struct sums *s);

/* Forget all that is known: it belongs to another store. */
void sums_forget(struct sums *s);

/* The store is good and ours: from now on it is kept, beginning with this note. Durable. */
int sums_begin(struct sums *s, const struct sums_note *note, struct err *err);

/* A commit is durable. */
void sums_commit(struct sums *s, const struct sums_note *note);

/* Look at some pages: at most `max`, or until the monotonic time. 1 while a round goes on. */
int sums_look(struct sums *s, uint64_t max, uint64_t deadline_us);

struct sums_counts sums_counts(const struct sums *s);

/* After the store is closed. */
void sums_close(struct sums *s);
DEFINE_CLEANUP(struct sums *, sums_close, sums_closep);
