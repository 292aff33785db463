/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/cuda_stream.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/cuda_context.h"

/* Sleep for CUDA_POLL_US, but not past the deadline. */
static void pause_until(uint64_t deadline_us)
{
	struct timespec time = {
		.tv_nsec = (long)MIN(clock_left_us(deadline_us), (uint64_t)CUDA_POLL_US) * 1000,
	};

	(void)ppoll(NULL, 0, &time, NULL);
}

static unsigned query_stream(struct cuda *c, void *object)
{
	return c->libs.driver.stream_query(object);
}

static unsigned query_event(struct cuda *c, void *object)
{
	return c->libs.driver.event_query(object);
}

struct wait {
	unsigned (*query)(struct cuda *c, void *object);
	void *object;
	const char *what;
	uint64_t deadline_us;
};

static int wait_for(struct cuda *c, unsigned device, const struct wait *w, struct err *err)
{
	unsigned result = w->query(c, w->object);

	while (result == CUDA_NOT_READY && clock_left_us(w->deadline_us) > 0) {
		pause_until(w->deadline_us);
		result = w->query(c, w->object);
	}
	if (result == CUDA_NOT_READY)
		return err_set(err, ETIMEDOUT, "%s: its work did not finish in time",
			       c->devices[device].info.subject);
	return cuda_check(c, device, result, w->what, err);
}

int cuda_stream_new(struct accel *a, unsigned device, struct accel_stream **ret, struct err *err)
{
	struct cuda *c = cuda_of(a);
	struct CUstream_st *handle = NULL;
	struct accel_stream *s;
	int r = cuda_enter(c, device, err);

	if (r == 0)
		r = cuda_check(c, device,
			       c->libs.driver.stream_create(&handle, CUDA_STREAM_NON_BLOCKING),
			       "cannot make a stream", err);
	if (r < 0)
		return r;
	s = xcalloc(1, sizeof(*s));
	s->cuda = c;
	s->device = device;
	s->handle = handle;
	*ret = s;
	return 0;
}

void cuda_stream_free(struct accel_stream *s)
{
	struct cuda *c;

	if (!s)
		return;
	c = s->cuda;
	/* Do not wait again for a stream that has already timed out. */
	if (!c->stuck &&
	    cuda_stream_wait(s, clock_mono_us() + (s->late ? 0 : CUDA_FREE_US), NULL) == -ETIMEDOUT)
		c->stuck = true;
	if (!c->stuck)
		(void)c->libs.driver.stream_destroy(s->handle);
	free(s);
}

void *cuda_stream_handle(const struct accel_stream *s)
{
	return s->handle;
}

int cuda_stream_wait(struct accel_stream *s, uint64_t deadline_us, struct err *err)
{
	const struct wait wait = { query_stream, s->handle, "its work failed", deadline_us };
	int r = cuda_enter(s->cuda, s->device, err);

	if (r == 0)
		r = wait_for(s->cuda, s->device, &wait, err);
	if (r == 0)
		s->done = s->put;
	s->late = r == -ETIMEDOUT;
	return r;
}

int cuda_stream_enter(struct accel_stream *s, unsigned n, struct err *err)
{
	int r;

	if (s->put - s->done + n > CUDA_QUEUE_MAX)
		return err_set(err, EAGAIN, "%s: its stream is full",
			       s->cuda->devices[s->device].info.subject);
	r = cuda_enter(s->cuda, s->device, err);
	if (r == 0)
		s->put += n;
	return r;
}

int cuda_event_new(struct accel *a, unsigned device, struct accel_event **ret, struct err *err)
{
	struct cuda *c = cuda_of(a);
	struct CUevent_st *handle = NULL;
	struct accel_event *e;
	int r = cuda_enter(c, device, err);

	if (r == 0)
		r = cuda_check(c, device, c->libs.driver.event_create(&handle, CUDA_EVENT_DEFAULT),
			       "cannot create an event", err);
	if (r < 0)
		return r;
	e = xcalloc(1, sizeof(*e));
	e->cuda = c;
	e->device = device;
	e->handle = handle;
	*ret = e;
	return 0;
}

void cuda_event_free(struct accel_event *e)
{
	if (!e)
		return;
	if (!e->cuda->stuck && cuda_enter(e->cuda, e->device, NULL) == 0)
		(void)e->cuda->libs.driver.event_destroy(e->handle);
	free(e);
}

int cuda_event_record(struct accel_event *e, struct accel_stream *s, struct err *err)
{
	int r = cuda_stream_enter(s, 1, err);

	if (r == 0)
		r = cuda_check(s->cuda, s->device,
			       s->cuda->libs.driver.event_record(e->handle, s->handle),
			       "cannot record an event", err);
	if (r < 0)
		return r;
	e->stream = s;
	e->mark = s->put;
	return 0;
}

int cuda_event_wait(struct accel_event *e, uint64_t deadline_us, struct err *err)
{
	const struct wait wait = { query_event, e->handle, "its work failed", deadline_us };
	int r = e->stream ? cuda_enter(e->cuda, e->device, err)
			  : err_set(err, EINVAL, "waiting for an event that was never recorded");

	if (r == 0)
		r = wait_for(e->cuda, e->device, &wait, err);
	if (r == 0)
		e->stream->done = MAX(e->stream->done, e->mark);
	if (e->stream)
		e->stream->late = r == -ETIMEDOUT;
	return r;
}

int cuda_event_seconds(const struct accel_event *from, const struct accel_event *to, double *ret,
		       struct err *err)
{
	struct cuda *c = from->cuda;
	unsigned result;
	float ms = 0;
	int r = cuda_enter(c, from->device, err);

	if (r < 0)
		return r;
	result = c->libs.driver.event_ms(&ms, from->handle, to->handle);
	if (result == CUDA_NOT_READY)
		return err_set(err, EAGAIN, "an event was not recorded or has not passed");
	r = cuda_check(c, from->device, result, "cannot read its clock", err);
	if (r == 0)
		*ret = (double)ms * 1e-3;
	return r;
}
