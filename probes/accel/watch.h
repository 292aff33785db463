/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a GPU driver have no deadline, and that of a sick GPU may never
 * come back. So what uses one runs in a thread of its own, and who waits for
 * it can still tell which GPU it was.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"
#include "lib/sys/watched.h"

struct accel;
struct err;
struct sample;

/* Anything but -ETIMEDOUT. */
typedef int accel_work(void *context, struct err *err);

/*
 * What `work` returns; -ETIMEDOUT when it is not over at `deadline_us`
 * (monotonic). It may then still run: `context` and the engine must be left as
 * they are, and the process ends by accel_leave_at_once().
 */
int accel_watch(accel_work *work, void *context, uint64_t deadline_us, struct err *err);

struct accel_ops;

/*
 * Set up each of `n` devices by work(parts[i].context): at once, each in a thread of its own, where
 * the engine takes that, else one after the other. Starting a GPU takes from a part of a second to
 * minutes, and the driver starts several side by side. A device that is not ready at
 * `deadline_us` (monotonic) is -ETIMEDOUT, with the sentence that it is slow to start: nothing
 * that its work may touch can be given back then, and the process ends by accel_leave_at_once().
 * Returns how many of the works are still running.
 */
unsigned accel_start_all(const struct accel *a, accel_work *work, struct watched_part *parts,
			 unsigned n, uint64_t deadline_us);

/*
 * ops->open() with that deadline: -ETIMEDOUT with the sentence when the driver does not
 * even come back from its start; else what it returns.
 */
int accel_open_watched(const struct accel_ops *ops, uint64_t deadline_us, struct accel **ret,
		       struct err *err);

/*
 * After that, the GPU that was asked for something last: `s`, a sample with its
 * check and unit, gets it as its subject and becomes a timeout. Always
 * -ETIMEDOUT, with the sentence; `s` has no subject when nobody was asked.
 */
int accel_blocked(const struct accel *a, struct sample *s, struct err *err);

/*
 * How the failure `failed` (negative errno) of the device `subject` with the words
 * `why` reads as a sample: a lost device is fatal, one that failed in mid-work a
 * warning, the rest is a timeout or a set-up. A subject (or NULL) that `why` begins with is left out.
 */
void accel_failure_fill(struct sample *s, const char *subject, int failed, const char *why);
