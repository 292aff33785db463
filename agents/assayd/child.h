/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One program of this suite under the event loop of assayd: started, told to
 * end at a deadline, killed CHILD_GRACE_US later, and gone when assayd is.
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

/* `name` is for the log; `exited` is called once for each that was started. Both are kept. */
struct child *child_new(struct sd_event *event, const char *name,
			void (*exited)(void *context, const siginfo_t *info), void *context);

/* One under way is told to end; it dies with this program at the latest. */
void child_free(struct child *child);

/*
 * Start `assay` with these arguments (NULL-terminated, without its name).
 * -EBUSY while one is under way; `deadline_us` is monotonic.
 */
int child_start(struct child *child, const char *const *arguments, uint64_t deadline_us,
		struct err *err);

bool child_runs(const struct child *child);

/* Tell one under way to end. */
void child_stop(struct child *child);
