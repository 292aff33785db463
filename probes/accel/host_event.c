/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/host_event.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "probes/accel/host.h"
#include "probes/accel/host_stream.h"

/* Invariant: passed <= recorded; if equal, stamp_ns is that of the latest record. */
struct accel_event {
	struct host *host;
	pthread_mutex_t lock;
	pthread_cond_t stamped;
	uint64_t recorded, passed; /* number of times */
	uint64_t stamp_ns;	   /* CLOCK_MONOTONIC, set by the stream's thread */
};

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

int host_event_new(struct accel *a, unsigned device, struct accel_event **ret, struct err *err)
{
	struct host *h = host_of(a);
	struct accel_event *e;

	if (device >= h->n_cores)
		return err_set(err, ENODEV, "no core %u: this host has %u", device, h->n_cores);
	e = xcalloc(1, sizeof(*e));
	e->host = h;
	(void)pthread_mutex_init(&e->lock, NULL);
	host_cond_init(&e->stamped);
	*ret = e;
	return 0;
}

void host_event_free(struct accel_event *e)
{
	if (!e || e->host->stuck)
		return; /* a hung thread may still stamp it */
	(void)pthread_cond_destroy(&e->stamped);
	(void)pthread_mutex_destroy(&e->lock);
	free(e);
}

static void run_stamp(const struct host_work *work)
{
	struct accel_event *e = work->object;
	uint64_t stamp_ns = now_ns();

	(void)pthread_mutex_lock(&e->lock);
	e->stamp_ns = stamp_ns;
	e->passed++;
	(void)pthread_cond_broadcast(&e->stamped);
	(void)pthread_mutex_unlock(&e->lock);
}

int host_event_record(struct accel_event *e, struct accel_stream *s, struct err *err)
{
	struct host_work work = { .run = run_stamp, .object = e };
	int r;

	(void)pthread_mutex_lock(&e->lock);
	e->recorded++;
	(void)pthread_mutex_unlock(&e->lock);
	r = host_stream_put(s, &work, err);
	if (r == 0)
		return 0;
	(void)pthread_mutex_lock(&e->lock);
	e->recorded--;
	(void)pthread_mutex_unlock(&e->lock);
	return r;
}

int host_event_wait(struct accel_event *e, uint64_t deadline_us, struct err *err)
{
	bool in_time = true, recorded, passed;

	(void)pthread_mutex_lock(&e->lock);
	recorded = e->recorded > 0;
	while (e->passed < e->recorded && in_time)
		in_time = host_cond_wait(&e->stamped, &e->lock, deadline_us);
	passed = e->passed == e->recorded;
	(void)pthread_mutex_unlock(&e->lock);
	if (!recorded)
		return err_set(err, EINVAL, "waiting for an event that was never recorded");
	if (!passed)
		return err_set(err, ETIMEDOUT, "the event did not complete in time");
	return 0;
}

/* Casts away const to take the lock. */
static bool read_stamp(const struct accel_event *e, uint64_t *ret_ns)
{
	union {
		const struct accel_event *from;
		struct accel_event *to;
	} same = { .from = e };
	bool passed;

	(void)pthread_mutex_lock(&same.to->lock);
	passed = e->recorded > 0 && e->passed == e->recorded;
	*ret_ns = e->stamp_ns;
	(void)pthread_mutex_unlock(&same.to->lock);
	return passed;
}

int host_event_seconds(const struct accel_event *from, const struct accel_event *to, double *ret,
		       struct err *err)
{
	uint64_t first_ns, last_ns;

	if (!read_stamp(from, &first_ns) || !read_stamp(to, &last_ns))
		return err_set(err, EAGAIN, "an event was not recorded or has not passed");
	*ret = last_ns >= first_ns ? (double)(last_ns - first_ns) * 1e-9
				   : -(double)(first_ns - last_ns) * 1e-9;
	return 0;
}
