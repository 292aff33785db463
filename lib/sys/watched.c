/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/watched.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"

/* On the heap: a thread that returns late, or never, still uses it. */
struct watched {
	watched_work *work;
	void (*left)(void *context);
	void *context;
	struct watched *whole; /* the whole that this is a part of, which waits for it; NULL */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool over, alone; /* the work is done; nobody waits for it any more */
	int r;
	struct err err;
};

static _Thread_local struct watched *own; /* the work that this thread does */

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
	bool alone;
	int r;

	own = w;
	r = w->work(w->context, &err);
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

/*
 * Whoever waits for a part stays until the part is over or left, and leaves it under its lock, so
 * the whole of a part that is not left exists. Nesting is at most as deep as calls.
 */
static bool is_left(struct watched *w)
{
	bool left;

	(void)pthread_mutex_lock(&w->lock);
	left = w->alone || (w->whole && is_left(w->whole));
	(void)pthread_mutex_unlock(&w->lock);
	return left;
}

bool watched_is_left(void)
{
	return own && is_left(own);
}

static int start(watched_work *work, void *context, void (*left)(void *context),
		 struct watched **ret, struct err *err)
{
	struct watched *w = xcalloc(1, sizeof(*w));
	int r;

	w->work = work;
	w->context = context;
	w->left = left;
	w->whole = own;
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->ended, NULL);
	r = pthread_create(&w->thread, NULL, run, w);
	if (r) {
		watched_free(w);
		return err_errno(err, r, "cannot start a thread");
	}
	*ret = w;
	return 0;
}

/* Returns false at the deadline: from then on the thread owns everything. */
static bool wait_for(struct watched *w, uint64_t deadline_us)
{
	const struct timespec at = clock_timespec(deadline_us);
	const pthread_t thread = w->thread;
	bool in_time = true, over;

	(void)pthread_mutex_lock(&w->lock);
	while (!w->over && in_time)
		in_time = pthread_cond_clockwait(&w->ended, &w->lock, CLOCK_MONOTONIC, &at) !=
			  ETIMEDOUT;
	over = w->over;
	w->alone = !over;
	(void)pthread_mutex_unlock(&w->lock);
	if (over)
		(void)pthread_join(thread, NULL);
	else
		(void)pthread_detach(thread);
	return over;
}

static int end(struct watched *w, uint64_t deadline_us, struct err *err)
{
	int r;

	if (!wait_for(w, deadline_us))
		return -ETIMEDOUT;
	r = w->r;
	if (r < 0 && err)
		*err = w->err;
	watched_free(w);
	return r;
}

int watched_run(watched_work *work, void *context, uint64_t deadline_us,
		void (*left)(void *context), struct err *err)
{
	struct watched *w;
	int r = start(work, context, left, &w, err);

	return r < 0 ? r : end(w, deadline_us, err);
}

void watched_run_all(watched_work *work, struct watched_part *parts, size_t n, uint64_t deadline_us)
{
	struct watched **all = xcalloc(n + 1, sizeof(struct watched *));
	size_t i;

	for (i = 0; i < n; i++) {
		parts[i].err = (struct err)ERR_INIT;
		parts[i].r = start(work, parts[i].context, NULL, &all[i], &parts[i].err);
	}
	for (i = 0; i < n; i++) {
		if (parts[i].r == 0)
			parts[i].r = end(all[i], deadline_us, &parts[i].err);
	}
	free(all);
}
