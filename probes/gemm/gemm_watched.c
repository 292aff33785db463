/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a GPU driver have no deadline, and that of a sick GPU may never
 * come back. So the measurement runs in a thread of its own, and who waits for
 * it can still tell which GPU it was.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "lib/clock.h"
#include "lib/xalloc.h"
#include "probes/gemm/gemm.h"

/* On the heap: a thread that never comes back may still read it. */
struct watched {
	struct gemm_plan plan;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool over;
	int r;
	struct err err;
};

static void *measure(void *argument)
{
	struct watched *w = argument;
	struct err err = ERR_INIT;
	int r = gemm_run(&w->plan, &err);

	(void)pthread_mutex_lock(&w->lock);
	w->r = r;
	w->err = err;
	w->over = true;
	(void)pthread_cond_signal(&w->ended);
	(void)pthread_mutex_unlock(&w->lock);
	return NULL;
}

static bool wait_for(struct watched *w, uint64_t deadline_us)
{
	struct timespec at = {
		.tv_sec = (time_t)(deadline_us / USEC_PER_SEC),
		.tv_nsec = (long)(deadline_us % USEC_PER_SEC * 1000),
	};
	bool in_time = true, over;

	(void)pthread_mutex_lock(&w->lock);
	while (!w->over && in_time)
		in_time = pthread_cond_clockwait(&w->ended, &w->lock, CLOCK_MONOTONIC, &at) !=
			  ETIMEDOUT;
	over = w->over;
	(void)pthread_mutex_unlock(&w->lock);
	return over;
}

/* The GPU that was last asked for something has not answered: the others could not be measured. */
static int tell_blocked(const struct gemm_plan *plan, struct err *err)
{
	const char *subject = plan->ops->asked(plan->accel);
	struct sample s = sample_init();

	if (!subject[0])
		return err_set(err, ETIMEDOUT, "the GPU driver does not answer");
	s.check = xstrdup("gemm.rate");
	s.subject = xstrdup(subject);
	s.locality = xstrdup("self");
	s.unit = xstrdup("FLOP/s");
	s.better = BETTER_HIGHER;
	s.state = SAMPLE_TIMEOUT;
	s.start = (double)clock_real_us() * 1e-6;
	s.note = xstrdup("a call of the GPU driver for it did not come back");
	(void)plan->sink.emit(plan->sink.context, &s);
	return err_set(err, ETIMEDOUT, "%s: a call of the GPU driver did not come back", subject);
}

int gemm_run_watched(const struct gemm_plan *plan, uint64_t deadline_us, struct err *err)
{
	struct watched *w = xcalloc(1, sizeof(*w));
	pthread_t thread;
	int r;

	w->plan = *plan;
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->ended, NULL);
	r = pthread_create(&thread, NULL, measure, w);
	if (r) {
		free(w);
		return err_errno(err, r, "cannot start a thread");
	}
	if (!wait_for(w, deadline_us)) {
		(void)pthread_detach(thread);
		accel_leave_at_once();
		return tell_blocked(plan, err);
	}
	(void)pthread_join(thread, NULL);
	r = w->r;
	if (r < 0 && err)
		*err = w->err;
	(void)pthread_cond_destroy(&w->ended);
	(void)pthread_mutex_destroy(&w->lock);
	free(w);
	return r;
}
