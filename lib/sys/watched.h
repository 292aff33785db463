/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls without a deadline (of a driver, of the resolver of names) made in a
 * thread of their own, so that who waits for one gives up in time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* Anything but -ETIMEDOUT. */
typedef int watched_work(void *context, struct err *err);

/*
 * What `work` returns; -ETIMEDOUT, which says nothing in `err`, when it is not over at
 * `deadline_us` (monotonic). It may then still run: `context` is the thread's from then on, which
 * calls `left` (may be NULL) with it should the work end after all.
 */
int watched_run(watched_work *work, void *context, uint64_t deadline_us,
		void (*left)(void *context), struct err *err);

/* One of several works: who it is for, and how it ended. */
struct watched_part {
	void *context;
	int r; /* as watched_run() returns it */
	struct err err;
};

/*
 * The same for `n` contexts at once, each in a thread of its own. The context of a part that is
 * -ETIMEDOUT is its thread's from then on, and all that it may touch must stay.
 */
void watched_run_all(watched_work *work, struct watched_part *parts, size_t n, uint64_t deadline_us);

/*
 * From inside the work: true once nobody waits for it any more, nor for one that it is part of.
 * What it does from then on is in the way of others: it ends as soon as it can, and tells nothing.
 */
bool watched_is_left(void);
