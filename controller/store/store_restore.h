/* SPDX-License-Identifier: Apache-2.0 */
/* The way back to a copy of the store (store_backup.h); all is found out before anything changes. */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;

/* What of the store before was put into the copy. */
struct store_restored {
	bool carried; /* false: that store is not there, or cannot be read */
	uint64_t reports,
		lost; /* in the copy; of the store before that it lacks, where they can be counted */
};

/*
 * Put the copy at `from` in the place of the store at `path`, which becomes PATH-before. What
 * keeps hosts out of service, and the numbers that were given since, are taken over from it:
 * cordons, the ledger, lives, the record of parts, actions, transitions, incidents. -EBUSY while
 * somebody has it open, -EINVAL for a copy that is none; then nothing has changed.
 */
int store_restore(const char *path, const char *from, struct store_restored *ret, struct err *err);
