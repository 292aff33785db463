/* SPDX-License-Identifier: Apache-2.0 */
/* Runs independent tasks on as many threads as there are cores. */
#pragma once

#include "lib/base/macro.h"

enum { CREW_THREADS_MAX = 16 };

/* Cores that this process may use, at most CREW_THREADS_MAX. */
size_t crew_threads(void);

/*
 * Call `task(context, i, thread)` once for each i from 0 to n - 1, with `thread` < `n_threads`,
 * and wait for all. Uses fewer threads if the system provides no more.
 */
void crew_run(size_t n_threads, size_t n, void (*task)(void *context, size_t i, size_t thread),
	      void *context);
