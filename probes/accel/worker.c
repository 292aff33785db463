/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* Invariant: answered <= asked; the thread works if and only if they differ. */
struct worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t step_us, deadline_us; /* of the current step, monotonic */
	uint64_t asked, answered;
	uint64_t until_us; /* for all steps */
	bool stop, stuck, cut;
	void (*work)(struct worker *w, void *context);
	void *context;
	const char *step;
};

static void *run(void *argument)
{
	struct worker *w = argument;

	(void)pthread_mutex_lock(&w->lock);
	for (;;) {
		while (!w->stop && w->answered == w->asked)
			(void)pthread_cond_wait(&w->changed, &w->lock);
		if (w->stop)
			break;
		(void)pthread_mutex_unlock(&w->lock);
		/* The caller does not touch the context before this is answered. */
		w->work(w, w->context);
		(void)pthread_mutex_lock(&w->lock);
		w->answered++;
		(void)pthread_cond_broadcast(&w->changed);
	}
	(void)pthread_mutex_unlock(&w->lock);
	return NULL;
}

int worker_new(uint64_t step_us, struct worker **ret, struct err *err)
{
	struct worker *w = xcalloc(1, sizeof(*w));
	int r;

	w->step_us = step_us;
	w->until_us = UINT64_MAX;
	w->step = "call";
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->changed, NULL);
	r = pthread_create(&w->thread, NULL, run, w);
	if (r) {
		free(w);
		return err_errno(err, r, "cannot start a thread");
	}
	*ret = w;
	return 0;
}

/* Called with the lock held: wait for the answer, or until the current step is late. */
static void wait_for_answer(struct worker *w)
{
	while (!w->stuck && w->answered < w->asked) {
		uint64_t deadline_us = w->deadline_us;
		const struct timespec at = clock_timespec(deadline_us);
		int r = pthread_cond_clockwait(&w->changed, &w->lock, CLOCK_MONOTONIC, &at);

		w->stuck = r == ETIMEDOUT && w->answered < w->asked && w->deadline_us == deadline_us;
		w->cut = w->stuck && deadline_us == w->until_us;
	}
}

static uint64_t step_deadline(const struct worker *w, uint64_t us)
{
	return MIN(clock_mono_us() + us, w->until_us);
}

void worker_until(struct worker *w, uint64_t until_us)
{
	(void)pthread_mutex_lock(&w->lock);
	w->until_us = until_us;
	w->deadline_us = MIN(w->deadline_us, until_us);
	(void)pthread_mutex_unlock(&w->lock);
}

bool worker_was_cut(struct worker *w)
{
	bool cut;

	(void)pthread_mutex_lock(&w->lock);
	cut = w->cut;
	(void)pthread_mutex_unlock(&w->lock);
	return cut;
}

void worker_begin(struct worker *w, void (*work)(struct worker *w, void *context), void *context)
{
	(void)pthread_mutex_lock(&w->lock);
	if (!w->stuck) {
		w->work = work;
		w->context = context;
		w->deadline_us = step_deadline(w, w->step_us);
		w->asked++;
		(void)pthread_cond_broadcast(&w->changed);
	}
	(void)pthread_mutex_unlock(&w->lock);
}

int worker_do(struct worker *w, void (*work)(struct worker *w, void *context), void *context,
	      struct err *err)
{
	worker_begin(w, work, context);
	return worker_wait(w, err);
}

bool worker_came_back(struct worker *w, uint64_t until_us)
{
	const struct timespec at = clock_timespec(until_us);
	bool in_time = true;

	(void)pthread_mutex_lock(&w->lock);
	while (w->answered < w->asked && in_time)
		in_time = pthread_cond_clockwait(&w->changed, &w->lock, CLOCK_MONOTONIC, &at) !=
			  ETIMEDOUT;
	in_time = w->answered == w->asked;
	w->stuck = w->stuck && !in_time;
	(void)pthread_mutex_unlock(&w->lock);
	return in_time;
}

int worker_wait(struct worker *w, struct err *err)
{
	bool stuck;

	(void)pthread_mutex_lock(&w->lock);
	wait_for_answer(w);
	stuck = w->stuck;
	(void)pthread_mutex_unlock(&w->lock);
	if (!stuck)
		return 0;
	if (worker_was_cut(w))
		return err_set(err, ETIMEDOUT, "a call had not returned when time ran out");
	return err_set(err, ETIMEDOUT, "a call took more than %d s",
		       (int)(w->step_us / USEC_PER_SEC));
}

void worker_long_step(struct worker *w, const char *name, uint64_t us)
{
	(void)pthread_mutex_lock(&w->lock);
	/* After giving up, keep the step that was too long, as it is the one reported. */
	if (!w->stuck)
		w->step = name;
	w->deadline_us = step_deadline(w, us);
	(void)pthread_mutex_unlock(&w->lock);
}

void worker_step(struct worker *w, const char *name)
{
	worker_long_step(w, name, w->step_us);
}

const char *worker_stuck_at(struct worker *w)
{
	const char *step;

	(void)pthread_mutex_lock(&w->lock);
	step = w->stuck ? w->step : NULL;
	(void)pthread_mutex_unlock(&w->lock);
	return step;
}

void worker_free(struct worker *w)
{
	bool stuck;

	if (!w)
		return;
	(void)pthread_mutex_lock(&w->lock);
	w->stop = true;
	stuck = w->stuck;
	(void)pthread_cond_broadcast(&w->changed);
	(void)pthread_mutex_unlock(&w->lock);
	if (stuck) {
		(void)pthread_detach(w->thread);
		return;
	}
	(void)pthread_join(w->thread, NULL);
	(void)pthread_cond_destroy(&w->changed);
	(void)pthread_mutex_destroy(&w->lock);
	free(w);
}
