/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls without a deadline (of a driver, of the resolver of names) made in a
 * thread of their own, so that who waits for one gives up in time.
 */
#pragma once

#include <stdint.h>

struct err;

/* Anything but -ETIMEDOUT. */
typedef int watched_work(void *context, struct err *err);

/*
 * What `work` returns; -ETIMEDOUT, which says nothing in `err`, when it is not over at
 * `deadline_us` (monotonic). It may then still run: `context` is the thread's from then on, which
 * calls `left` (may be NULL) with it should the work end after all.
 */
int watched_run(watched_work *work, void *context, uint64_t deadline_us,
		void (*left)(void *context), struct err *err);
