/* SPDX-License-Identifier: Apache-2.0 */
/* Restores a copy of the store (store_backup.h); everything is checked before anything changes. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

/* What was carried over from the previous store. */
struct store_restored {
	bool carried;		/* false: it is missing or unreadable */
	uint64_t reports, lost; /* in the copy; in the old store only, if known */
};

/*
 * Replace the store at `path`, which becomes PATH-before, with the copy at `from`. What keeps hosts
 * out of service, and numbers given out since, are carried over: cordons, the ledger, lives, the
 * record of parts, actions, transitions, incidents. -EBUSY if the store is open, -EINVAL if the
 * copy is invalid; nothing has changed then.
 */
int store_restore(const char *path, const char *from, struct store_restored *ret, struct err *err);
