/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs one program of this suite under assayd's event loop: SIGTERM at a deadline, SIGKILL
 * CHILD_GRACE_US later, and it never outlives assayd.
 */
#pragma once

#include <signal.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct child;
struct err;
struct sd_event;

#define CHILD_GRACE_US UINT64_C(2000000)

enum { CHILD_ARGUMENTS_MAX = 24 };

/* `name` is for the log; `exited` is called once per started program. Both are borrowed. */
struct child *child_new(struct sd_event *event, const char *name,
			void (*exited)(void *context, const siginfo_t *info), void *context);

/* Also terminates a running program, which dies with this process at the latest. */
void child_free(struct child *child);

/*
 * Start `assay` with these arguments (NULL-terminated, without argv[0]). -EBUSY while one is
 * running; `deadline_us` is monotonic.
 */
int child_start(struct child *child, const char *const *arguments, uint64_t deadline_us,
		struct err *err);

bool child_runs(const struct child *child);

/* Terminate a running program. */
void child_stop(struct child *child);
