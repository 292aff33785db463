/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py-spy, where somebody has installed it: `py-spy dump --nonblocking --json --pid PID` as a child
 * under the event loop, one at a time, killed after PYSPY_WALL_US or HANG_STACK_MAX bytes. One that
 * then still does not end, as it is in D, is left behind; until it has ended no other is started.
 * It reads the memory of the process and never stops it. Only with `hang.pyspy` of assayd.yaml on,
 * and only of a process that stands still.
 *
 * assayd is root: the program must be root's and writable by nobody else, and so must be every
 * directory above it, wherever it was found.
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

/* `stack` NULL: nothing was seen, and `why` says so in a sentence. */
typedef void pyspy_done(void *context, pid_t pid, const struct hang_stack *stack, const char *why);

/* `path` NULL: found in PATH, when it is first needed. */
struct pyspy *pyspy_new(struct sd_event *event, const char *path, pyspy_done *done, void *context);

/* From now on this program is run; `path` as above. */
void pyspy_use(struct pyspy *p, const char *path);

/* A child under way is killed, without `done`. */
void pyspy_free(struct pyspy *p);

/*
 * Look at a process; `done` is called once, later. -EBUSY while one runs, or was left behind;
 * -ENOENT: it is not installed; -EPERM: the program is not root's own; -errno.
 */
int pyspy_look(struct pyspy *p, pid_t pid, struct err *err);

/* Is `done` still to be called? Not of one that was left behind. */
bool pyspy_looks(const struct pyspy *p);

/* Kill it after so long, in place of PYSPY_WALL_US: for tests. */
void pyspy_hurry(struct pyspy *p, uint64_t wall_us);
