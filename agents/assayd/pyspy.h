/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs py-spy, if it is installed: `py-spy dump --nonblocking --json --pid PID` as a child under
 * the event loop, one at a time, killed after PYSPY_WALL_US or HANG_STACK_MAX bytes of output. If
 * it does not die then (state D), it is abandoned, and no other is started until it has ended. It
 * reads the memory of the process and never stops it. Used only if assayd.yaml sets `hang.pyspy`,
 * and only on a process that stands still.
 *
 * assayd runs as root, so the program, wherever it was found, and every directory above it must
 * belong to root and be writable by nobody else.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct err;
struct hang_stack;
struct pyspy;
struct sd_event;

#define PYSPY_WALL_US (10 * USEC_PER_SEC)

/* `stack` NULL: none was obtained, for the reason in `why`, a sentence. */
typedef void pyspy_done(void *context, pid_t pid, const struct hang_stack *stack, const char *why);

/* `path` NULL: searched in PATH when first needed. */
struct pyspy *pyspy_new(struct sd_event *event, const char *path, pyspy_done *done, void *context);

/* Use another program from now on; `path` as above. */
void pyspy_use(struct pyspy *p, const char *path);

/* Kills a running child, without calling `done`. */
void pyspy_free(struct pyspy *p);

/*
 * Dump the stack of a process; `done` is called once, later. -EBUSY while one runs, or an
 * abandoned one still exists; -ENOENT: not installed; -EPERM: the program is writable by others
 * than root; -errno.
 */
int pyspy_look(struct pyspy *p, pid_t pid, struct err *err);

/* Is `done` still to be called? False for an abandoned child. */
bool pyspy_looks(const struct pyspy *p);

/* For tests: use this timeout instead of PYSPY_WALL_US. */
void pyspy_hurry(struct pyspy *p, uint64_t wall_us);
