/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/watched.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/clock.h"
#include "lib/err.h"
#include "lib/xalloc.h"

/* On the heap: a thread that comes back late, or never, still has it. */
struct watched {
	watched_work *work;
	void (*left)(void *context);
	void *context;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool over, alone; /* the work is; nobody waits for it any more */
	int r;
	struct err err;
};

static void watched_free(struct watched *w)
{
	(void)pthread_cond_destroy(&w->ended);
	(void)pthread_mutex_destroy(&w->lock);
	free(w);
}

static void *run(void *argument)
{
	struct watched *w = argument;
	struct err err = ERR_INIT;
	int r = w->work(w->context, &err);
	bool alone;

	(void)pthread_mutex_lock(&w->lock);
	w->r = r;
	w->err = err;
	w->over = true;
	alone = w->alone;
	(void)pthread_cond_signal(&w->ended);
	(void)pthread_mutex_unlock(&w->lock);
	if (alone) {
		if (w->left)
			w->left(w->context);
		watched_free(w);
	}
	return NULL;
}

/* False at the deadline: from then on all is the thread's. */
static bool wait_for(struct watched *w, uint64_t deadline_us)
{
	const struct timespec at = clock_timespec(deadline_us);
	bool in_time = true, over;

	(void)pthread_mutex_lock(&w->lock);
	while (!w->over && in_time)
		in_time = pthread_cond_clockwait(&w->ended, &w->lock, CLOCK_MONOTONIC, &at) !=
			  ETIMEDOUT;
	over = w->over;
	w->alone = !over;
	(void)pthread_mutex_unlock(&w->lock);
	return over;
}

int watched_run(watched_work *work, void *context, uint64_t deadline_us,
		void (*left)(void *context), struct err *err)
{
	struct watched *w = xcalloc(1, sizeof(*w));
	pthread_t thread;
	int r;

	w->work = work;
	w->context = context;
	w->left = left;
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->ended, NULL);
	r = pthread_create(&thread, NULL, run, w);
	if (r) {
		watched_free(w);
		return err_errno(err, r, "cannot start a thread");
	}
	if (!wait_for(w, deadline_us)) {
		(void)pthread_detach(thread);
		return -ETIMEDOUT;
	}
	(void)pthread_join(thread, NULL);
	r = w->r;
	if (r < 0 && err)
		*err = w->err;
	watched_free(w);
	return r;
}
