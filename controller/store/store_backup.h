/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of the store while it works; store_restore.h is the way back.
 *
 * The copy is made in slices between commits. What is written meanwhile goes into both, so it
 * is the store of the moment in which it ends, with all that was committed until then; however
 * many reports come, it never begins anew.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct store;

enum backup_state { BACKUP_NONE, BACKUP_RUNNING, BACKUP_DONE, BACKUP_FAILED };

struct store_backup {
	enum backup_state state;
	uint64_t pages, left; /* of the one under way, or the last */
	uint64_t made;	      /* copies made since the start */
	const char *error;    /* of the last, borrowed; NULL: none */
};

/* Begin a copy at `path`, of which there is none until it is whole. -EBUSY: one is under way. */
int store_backup_begin(struct store *s, const char *path, struct err *err);

/* Go on until the monotonic deadline: 1 while there is more to do, 0 when nothing is, or an error. */
int store_backup_step(struct store *s, uint64_t deadline_us, struct err *err);

struct store_backup store_backup_state(const struct store *s);

/* Drop what is not whole. */
void store_backup_end(struct store *s);

/*
 * Copy the store, of this version, to PATH.before-NEXT before it is brought to the next one, at
 * once: what one goes back to with an older program. A copy of an earlier version by that name is
 * of an upgrade that was interrupted, and stays; any other is replaced.
 */
int store_backup_before(struct store *s, int version, int next, struct err *err);
