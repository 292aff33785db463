/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread for calls that may hang on a faulty device. The caller waits until the work is done, or
 * until one step of it took too long. A thread that has not answered by then is abandoned with
 * everything it may access, and not used again.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct worker;

/* Create a worker whose steps may take `step_us` each. Negative errno: no thread available. */
int worker_new(uint64_t step_us, struct worker **ret, struct err *err);

/*
 * Limit the wait for any step, including the current one, to this monotonic time, even if the step
 * began just before it. To be called by the waiting thread.
 */
void worker_until(struct worker *w, uint64_t until_us);

/*
 * Run work(w, context) in the worker. Returns 0, or -ETIMEDOUT if a step took too long, and always
 * from then on; `context` then belongs to the thread and must stay valid.
 */
int worker_do(struct worker *w, void (*work)(struct worker *w, void *context), void *context,
	      struct err *err);

/*
 * The same in two calls, so that several workers can run at once and be waited for one after the
 * other. A worker that was given up must not be waited for.
 */
void worker_begin(struct worker *w, void (*work)(struct worker *w, void *context), void *context);
int worker_wait(struct worker *w, struct err *err);

/*
 * A worker that was given up may only have been slow: wait for its answer until then. Returns true
 * if the work is over; its results may then be read, and the worker can be used again.
 */
bool worker_came_back(struct worker *w, uint64_t until_us);

/*
 * Called from inside the work: begin the next step. `name` is used in messages and must stay valid.
 */
void worker_step(struct worker *w, const char *name);

/* The same for a step that may take `us` instead of `step_us`. */
void worker_long_step(struct worker *w, const char *name, uint64_t us);

/* The step that took too long, or NULL. */
const char *worker_stuck_at(struct worker *w);

/* Was it given up because of worker_until(), so that it may not actually be slow? */
bool worker_was_cut(struct worker *w);

/* Does not free `w` if its thread hangs. NULL is allowed. */
void worker_free(struct worker *w);
