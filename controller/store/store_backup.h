/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of the live store; store_restore.h restores one.
 *
 * A copy is made in slices between commits. Concurrent writes go into both files, so the copy is
 * the state at the moment it ends, with everything committed until then; it never has to start
 * over, however many reports arrive.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;

enum backup_state { BACKUP_NONE, BACKUP_RUNNING, BACKUP_DONE, BACKUP_FAILED };

struct store_backup {
	enum backup_state state;
	uint64_t pages, left; /* of the copy in progress, or the last one */
	uint64_t made;	      /* copies finished since the start */
	const char *error;    /* of the last one, borrowed; NULL: none */
};

/* Begin a copy, which appears at `path` only once it is complete. -EBUSY: one is in progress. */
int store_backup_begin(struct store *s, const char *path, struct err *err);

/* Continue until the monotonic deadline. Returns 1 while there is more to do, 0 otherwise, or an
 * error. */
int store_backup_step(struct store *s, uint64_t deadline_us, struct err *err);

struct store_backup store_backup_state(const struct store *s);

/* Discard an unfinished copy. */
void store_backup_end(struct store *s);

/*
 * Copy the store, of this version, to PATH.before-NEXT before it is migrated to NEXT,
 * synchronously, so that one can go back to an older program. An existing copy with an earlier
 * version is from an interrupted upgrade and stays; any other is replaced.
 */
int store_backup_before(struct store *s, int version, int next, struct err *err);
