/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls without a deadline (into a driver, the name resolver) made in a thread of their own, so
 * that the caller can give up in time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"

/* Returns anything but -ETIMEDOUT. */
typedef int watched_work(void *context, struct err *err);

/*
 * Returns the result of `work`, or -ETIMEDOUT, without a message in `err`, if it is not done at
 * `deadline_us` (monotonic). It may then still run: the thread owns `context` from then on, and
 * calls `left` (may be NULL) with it if the work ends after all.
 */
int watched_run(watched_work *work, void *context, uint64_t deadline_us,
		void (*left)(void *context), struct err *err);

/* One of several pieces of work: its context, and its result. */
struct watched_part {
	void *context;
	int r; /* as returned by watched_run() */
	struct err err;
};

/*
 * The same for `n` contexts at once, each in its own thread. The context of a part with -ETIMEDOUT
 * is owned by its thread from then on, and all that it may touch must stay.
 */
void watched_run_all(watched_work *work, struct watched_part *parts, size_t n, uint64_t deadline_us);

/*
 * For use inside the work: true once nobody waits any more for it, nor for the work that it is part
 * of. It then only gets in the way: it should end as soon as possible, and report nothing.
 */
bool watched_is_left(void);
