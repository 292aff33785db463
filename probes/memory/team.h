/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that work together, one pinned to each given core, asleep between jobs. A job starts on
 * all at once and has ended on all when team_run() returns; the work must observe its own deadline.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct err;
struct team;

enum { TEAM_THREADS_MAX = 2048 };

/* The work of thread `i` of `n`. Must not allocate and cannot fail. */
typedef void team_work(void *context, size_t i, size_t n);

/*
 * Create one thread pinned to each of `cpus`. -E2BIG for more than TEAM_THREADS_MAX, -EAGAIN or
 * -ENOMEM if a thread cannot be created, -EINVAL for a CPU that we may not use; the message names
 * the CPU.
 */
int team_new(const unsigned *cpus, size_t n, struct team **ret, struct err *err);
void team_free(struct team *team);
DEFINE_CLEANUP(struct team *, team_free, team_freep);

size_t team_size(const struct team *team);

/* The thread id of thread `i`, for its schedstat. */
pid_t team_tid(const struct team *team, size_t i);

/* Run `work` on all threads and wait for all of them. */
void team_run(struct team *team, team_work *work, void *context);
