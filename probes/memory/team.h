/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that do one thing together: one pinned to each core given, asleep
 * between jobs. A job starts on all at once and has ended on all when
 * team_run() returns; work must watch its own deadline.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "lib/base/macro.h"

struct err;
struct team;

enum { TEAM_THREADS_MAX = 2048 };

/* What thread `i` of `n` does. Must not allocate and not fail. */
typedef void team_work(void *context, size_t i, size_t n);

/*
 * One thread pinned to each of `cpus`. -E2BIG beyond TEAM_THREADS_MAX, -EAGAIN
 * or -ENOMEM when the system gives no thread, -EINVAL for a CPU that is not
 * ours; the sentence names the CPU.
 */
int team_new(const unsigned *cpus, size_t n, struct team **ret, struct err *err);
void team_free(struct team *team);
DEFINE_CLEANUP(struct team *, team_free, team_freep);

size_t team_size(const struct team *team);

/* The kernel's id of thread `i`, for its schedstat. */
pid_t team_tid(const struct team *team, size_t i);

/* Run `work` on all threads and wait for all. */
void team_run(struct team *team, team_work *work, void *context);
