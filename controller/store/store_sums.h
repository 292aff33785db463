/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Integrity check of the store. SQLite takes a damaged log for one that ends early, and checks only
 * the structure of the pages it reads. FILE-sums beside the store has a checksum of each page of
 * the file, and the number of commits:
 *
 *   0, 512          the last commits, alternating: a torn one leaves the one before
 *   4096 + 4 n      the sum of page n; 0: unknown
 *
 * There are no false alarms, even after a power failure: a commit is noted here after it is durable
 * there, so the note may be behind but never ahead (as it is not synced, it may be behind by what
 * the kernel had not written at the power failure; a crash of the program alone loses nothing).
 * Pages change only while the log is copied to the file, and remain in the log until first their
 * sums and then they themselves are synced. So the log left by a crash is copied before pages are
 * checked.
 *
 * It is a layer between SQLite and its VFS, and uses that for its own file.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct sqlite3_vfs;
struct sums;

/* The last commit noted. */
struct sums_note {
	uint64_t store;	  /* random ID of the store; 0: none noted */
	uint64_t commits; /* in total */
	uint64_t reports; /* highest number of a report */
};

struct sums_counts {
	uint64_t damaged;    /* damaged pages found */
	uint64_t first_byte; /* of the first damaged page */
	uint64_t rounds;     /* complete checks of all pages */
};

/* For the store at `path` on that VFS (NULL: the default). Reads the file; does not create it. */
int sums_open(const char *path, const char *vfs, struct sums **ret, struct err *err);

/* The VFS to open the store with. */
const char *sums_vfs(const struct sums *s);

/* Does the file exist? An unreadable one exists, with a note for no store. */
bool sums_there(const struct sums *s);
struct sums_note sums_last(const struct sums *s);

/* Discard everything: it belongs to another store. */
void sums_forget(struct sums *s);

/* The store is intact and ours: keep sums from now on, starting with this note. Durable. */
int sums_begin(struct sums *s, const struct sums_note *note, struct err *err);

/* A commit is durable. */
void sums_commit(struct sums *s, const struct sums_note *note);

/* Check at most `max` pages, or until the monotonic time. Returns 1 while a round goes on. */
int sums_look(struct sums *s, uint64_t max, uint64_t deadline_us);

struct sums_counts sums_counts(const struct sums *s);

/* Call it after the store is closed. */
void sums_close(struct sums *s);
DEFINE_CLEANUP(struct sums *, sums_close, sums_closep);
