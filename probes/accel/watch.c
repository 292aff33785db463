/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/clock.h"
#include "lib/err.h"
#include "lib/report.h"
#include "lib/xalloc.h"
#include "probes/accel/accel.h"

/* On the heap: a thread that never comes back may still read it. */
struct watched {
	accel_work *work;
	void *context;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool over;
	int r;
	struct err err;
};

static void *run(void *argument)
{
	struct watched *w = argument;
	struct err err = ERR_INIT;
	int r = w->work(w->context, &err);

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
	const struct timespec at = clock_timespec(deadline_us);
	bool in_time = true, over;

	(void)pthread_mutex_lock(&w->lock);
	while (!w->over && in_time)
		in_time = pthread_cond_clockwait(&w->ended, &w->lock, CLOCK_MONOTONIC, &at) !=
			  ETIMEDOUT;
	over = w->over;
	(void)pthread_mutex_unlock(&w->lock);
	return over;
}

int accel_watch(accel_work *work, void *context, uint64_t deadline_us, struct err *err)
{
	struct watched *w = xcalloc(1, sizeof(*w));
	pthread_t thread;
	int r;

	w->work = work;
	w->context = context;
	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_cond_init(&w->ended, NULL);
	r = pthread_create(&thread, NULL, run, w);
	if (r) {
		free(w);
		return err_errno(err, r, "cannot start a thread");
	}
	if (!wait_for(w, deadline_us)) {
		(void)pthread_detach(thread);
		accel_leave_at_once();
		return err_set(err, ETIMEDOUT, "the GPU driver does not answer");
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

/* On the heap likewise. */
struct opening {
	const struct accel_ops *ops;
	struct accel *accel;
};

static int open_engine(void *context, struct err *err)
{
	struct opening *o = context;

	return o->ops->open(&o->accel, err);
}

int accel_open_watched(const struct accel_ops *ops, uint64_t deadline_us, struct accel **ret,
		       struct err *err)
{
	struct opening *o = xcalloc(1, sizeof(*o));
	int r;

	o->ops = ops;
	r = accel_watch(open_engine, o, deadline_us, err);
	if (r == -ETIMEDOUT)
		return err_set(err, ETIMEDOUT, "the GPU driver does not come back from its start");
	if (r == 0)
		*ret = o->accel;
	free(o);
	return r;
}

int accel_blocked(const struct accel *a, struct sample *s, struct err *err)
{
	const char *subject = a->ops->asked(a);

	if (!subject[0])
		return err_set(err, ETIMEDOUT, "the GPU driver does not answer");
	s->subject = xstrdup(subject);
	s->locality = xstrdup("self");
	s->state = SAMPLE_TIMEOUT;
	s->start = (double)clock_real_us() * 1e-6;
	s->note = xstrdup("a call of the GPU driver for it did not come back");
	return err_set(err, ETIMEDOUT, "%s: a call of the GPU driver did not come back", subject);
}

void accel_failure_fill(struct sample *s, const char *subject, int failed, const char *why)
{
	/* The subject of a GPU is long, and is told beside it. */
	if (subject && starts_with(why, subject)) {
		why += strlen(subject);
		why += strspn(why, " ,:");
	}
	s->note = xstrdup(why);
	switch (failed) {
	case -ETIMEDOUT:
		s->state = SAMPLE_TIMEOUT;
		return;
	case -ENODEV: /* it was there when the engine was opened */
		s->ok = TRI_NO;
		s->severity = SEVERITY_FATAL;
		s->code = xstrdup("device-lost");
		return;
	case -EIO:
		s->ok = TRI_NO;
		s->severity = SEVERITY_WARN;
		s->code = xstrdup("device-error");
		return;
	default:
		s->state = SAMPLE_SET_UP;
	}
}
