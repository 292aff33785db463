/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of a GPU driver have no deadline, and may hang if a GPU is faulty. So they run in a thread
 * of their own, and the waiting thread can still report which GPU it was.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/sys/watched.h"

struct accel;
struct err;
struct sample;

/* Returns anything except -ETIMEDOUT. */
typedef int accel_work(void *context, struct err *err);

/*
 * Run `work` and return its result, or -ETIMEDOUT if it has not ended by `deadline_us` (monotonic).
 * It may then still be running: `context` and the engine must not be touched, and the process exits
 * by accel_leave_at_once().
 */
int accel_watch(accel_work *work, void *context, uint64_t deadline_us, struct err *err);

struct accel_ops;

/*
 * Set up `n` devices with work(parts[i].context), at once in a thread for each if the engine
 * supports that, otherwise one after the other. Starting a GPU takes from a fraction of a second to
 * minutes, and the driver starts several in parallel. A device that is not ready by `deadline_us`
 * (monotonic) gets -ETIMEDOUT and a message that it is slow to start; nothing that its work may
 * access can be freed then, and the process exits by accel_leave_at_once(). Returns the number of
 * works still running.
 */
unsigned accel_start_all(const struct accel *a, accel_work *work, struct watched_part *parts,
			 unsigned n, uint64_t deadline_us);

/*
 * ops->open() with a deadline: -ETIMEDOUT with a message if the driver hangs while starting;
 * otherwise the result of the call.
 */
int accel_open_watched(const struct accel_ops *ops, uint64_t deadline_us, struct accel **ret,
		       struct err *err);

/*
 * After -ETIMEDOUT: report the GPU that was queried last. `s`, a sample with check and unit, gets
 * it as its subject and becomes a timeout; it has no subject if no GPU was queried. Always returns
 * -ETIMEDOUT with a message.
 */
int accel_blocked(const struct accel *a, struct sample *s, struct err *err);

/*
 * Fill `s` for the failure `failed` (negative errno) of the device `subject`, with message `why`: a
 * lost device is fatal, one that failed during work a warning, anything else a timeout or set-up.
 * If `why` begins with the subject (may be NULL), that is left out.
 */
void accel_failure_fill(struct sample *s, const char *subject, int failed, const char *why);
