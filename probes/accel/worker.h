/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread for calls that a sick device may hold for ever. Who asks waits
 * until the work is done, or until one step of it took too long; a thread that
 * has not answered by then is left where it is, with all that it may touch, and
 * nobody asks it again.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct err;
struct worker;

/* A worker each of whose steps may take `step_us`. A negative errno when there is no thread. */
int worker_new(uint64_t step_us, struct worker **ret, struct err *err);

/*
 * From now on no step is waited for beyond this (monotonic), however short it has been; neither is
 * the one under way. For the thread that waits.
 */
void worker_until(struct worker *w, uint64_t until_us);

/*
 * Run work(w, context) there. 0; -ETIMEDOUT when a step took too long, and from
 * then on: `context` belongs to the thread then, and must stay.
 */
int worker_do(struct worker *w, void (*work)(struct worker *w, void *context), void *context,
	      struct err *err);

/*
 * The same in two: begin, then wait for it; several workers are waited for one after the other
 * while all of them work. None may be waited for that was given up.
 */
void worker_begin(struct worker *w, void (*work)(struct worker *w, void *context), void *context);
int worker_wait(struct worker *w, struct err *err);

/*
 * One that was given up may have been slow only: wait for its answer until then. True: the work is
 * over, what it wrote may be read, and the worker is as good as before.
 */
bool worker_came_back(struct worker *w, uint64_t until_us);

/* From inside the work: the next step begins. `name` is for the sentence and must stay. */
void worker_step(struct worker *w, const char *name);

/* The same for one step that may take so long, not `step_us`. */
void worker_long_step(struct worker *w, const char *name, uint64_t us);

/* The step that took too long, or NULL. */
const char *worker_stuck_at(struct worker *w);

/* Was it given up for worker_until(), and may be no slower than it should be? */
bool worker_was_cut(struct worker *w);

/* A thread that is stuck stays, and so does `w`. NULL is nothing. */
void worker_free(struct worker *w);
