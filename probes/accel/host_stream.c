/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/accel/host_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "probes/accel/host.h"
#include "probes/accel/host_memory.h"

struct queued {
	struct host_work work;
	STAILQ_ENTRY(queued) next;
};

/* Invariant: done <= put; the thread is idle if and only if they are equal. */
struct accel_stream {
	struct host *host;
	struct host_core *core;
	pthread_t thread;
	pid_t tid;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* new work, work done, or stop */
	STAILQ_HEAD(, queued) queue;
	uint64_t put, done; /* pieces of work since creation */
	bool stop;
};

void host_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(cond, &attr);
	(void)pthread_condattr_destroy(&attr);
}

bool host_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_us)
{
	const struct timespec at = clock_timespec(deadline_us);

	return pthread_cond_timedwait(cond, lock, &at) != ETIMEDOUT;
}

/* The next work, or NULL to end. Called with the lock held. */
static struct queued *next_work(struct accel_stream *s)
{
	struct queued *q;

	while (!s->stop && STAILQ_EMPTY(&s->queue))
		(void)pthread_cond_wait(&s->changed, &s->lock);
	if (s->stop)
		return NULL;
	q = STAILQ_FIRST(&s->queue);
	STAILQ_REMOVE_HEAD(&s->queue, next);
	return q;
}

static void *run_stream(void *argument)
{
	struct accel_stream *s = argument;
	struct queued *q;

	(void)pthread_mutex_lock(&s->lock);
	s->tid = gettid();
	(void)pthread_cond_broadcast(&s->changed);
	while ((q = next_work(s))) {
		(void)pthread_mutex_unlock(&s->lock);
		q->work.run(&q->work);
		free(q);
		(void)pthread_mutex_lock(&s->lock);
		s->done++;
		if (s->done == s->put)
			(void)pthread_cond_broadcast(&s->changed);
	}
	(void)pthread_mutex_unlock(&s->lock);
	return NULL;
}

static int start_pinned(struct accel_stream *s)
{
	size_t set_size = CPU_ALLOC_SIZE(HOST_CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(HOST_CPUS_MAX);
	pthread_attr_t attr;
	int r;

	if (!set)
		return ENOMEM;
	CPU_ZERO_S(set_size, set);
	CPU_SET_S(s->core->cpu, set_size, set);
	(void)pthread_attr_init(&attr);
	r = pthread_attr_setaffinity_np(&attr, set_size, set);
	if (r == 0)
		r = pthread_create(&s->thread, &attr, run_stream, s);
	(void)pthread_attr_destroy(&attr);
	CPU_FREE(set);
	return r;
}

static struct accel_stream **free_place(struct host_core *core)
{
	unsigned i;

	for (i = 0; i < HOST_STREAMS_MAX; i++) {
		if (!core->streams[i])
			return &core->streams[i];
	}
	return NULL;
}

int host_stream_new(struct accel *a, unsigned device, struct accel_stream **ret, struct err *err)
{
	struct host *h = host_of(a);
	struct accel_stream **place, *s;
	int r;

	if (device >= h->n_cores)
		return err_set(err, ENODEV, "no core %u: this host has %u", device, h->n_cores);
	place = free_place(&h->cores[device]);
	if (!place)
		return err_set(err, EAGAIN, "core %u already has %d streams", device,
			       HOST_STREAMS_MAX);
	s = xcalloc(1, sizeof(*s));
	s->host = h;
	s->core = &h->cores[device];
	STAILQ_INIT(&s->queue);
	(void)pthread_mutex_init(&s->lock, NULL);
	host_cond_init(&s->changed);
	r = start_pinned(s);
	if (r) {
		free(s);
		return err_errno(err, r, "cannot start a thread on CPU %u", h->cores[device].cpu);
	}
	(void)pthread_mutex_lock(&s->lock);
	while (!s->tid)
		(void)pthread_cond_wait(&s->changed, &s->lock);
	(void)pthread_mutex_unlock(&s->lock);
	*ret = *place = s;
	return 0;
}

/* Ask the thread to end after its current work. Returns false if it hangs. */
static bool stop_thread(struct accel_stream *s)
{
	/* Give a hung thread time to return, but only once. */
	uint64_t wait_us = s->host->stuck ? 0 : HOST_STREAM_STOP_US;
	uint64_t deadline_us = clock_mono_us() + wait_us;
	const struct timespec at = clock_timespec(deadline_us);

	(void)pthread_mutex_lock(&s->lock);
	s->stop = true;
	(void)pthread_cond_broadcast(&s->changed);
	(void)pthread_mutex_unlock(&s->lock);
	return pthread_clockjoin_np(s->thread, NULL, CLOCK_MONOTONIC, &at) == 0;
}

/* Our own threads are only in the real /proc, so the sysroot does not apply. */
uint64_t host_stream_delay_ns(const struct accel_stream *s)
{
	CLEANUP(closep) int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t waited_ns = 0;

	(void)cpu_use_schedstat(fd, getpid(), s->tid, NULL, &waited_ns);
	return waited_ns;
}

void host_stream_free(struct accel_stream *s)
{
	struct queued *q;
	unsigned i;

	if (!s)
		return;
	for (i = 0; i < HOST_STREAMS_MAX; i++) {
		if (s->core->streams[i] == s)
			s->core->streams[i] = NULL;
	}
	s->core->gone_delay_ns += host_stream_delay_ns(s);
	if (!stop_thread(s)) {
		s->host->stuck = true;
		(void)pthread_detach(s->thread);
		return;
	}
	while ((q = STAILQ_FIRST(&s->queue))) {
		STAILQ_REMOVE_HEAD(&s->queue, next);
		free(q);
	}
	(void)pthread_cond_destroy(&s->changed);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}

int host_stream_wait(struct accel_stream *s, uint64_t deadline_us, struct err *err)
{
	bool in_time = true;
	uint64_t until;

	(void)pthread_mutex_lock(&s->lock);
	until = s->put;
	while (s->done < until && in_time)
		in_time = host_cond_wait(&s->changed, &s->lock, deadline_us);
	in_time = s->done >= until;
	(void)pthread_mutex_unlock(&s->lock);
	if (in_time)
		return 0;
	return err_set(err, ETIMEDOUT, "the stream on CPU %u did not finish in time", s->core->cpu);
}

int host_stream_put(struct accel_stream *s, const struct host_work *work, struct err *err)
{
	struct queued *q = xcalloc(1, sizeof(*q));
	bool full;

	q->work = *work;
	(void)pthread_mutex_lock(&s->lock);
	full = s->put - s->done >= HOST_STREAM_QUEUE_MAX;
	if (!full) {
		STAILQ_INSERT_TAIL(&s->queue, q, next);
		s->put++;
		(void)pthread_cond_broadcast(&s->changed);
	}
	(void)pthread_mutex_unlock(&s->lock);
	if (!full)
		return 0;
	free(q);
	return err_set(err, EAGAIN, "the stream on CPU %u is full", s->core->cpu);
}

static void run_copy(const struct host_work *work)
{
	memmove(work->out, work->x, work->size);
}

int host_copy(struct accel_stream *s, struct accel_at to, struct accel_at from, size_t size,
	      struct err *err)
{
	struct host_work work = { .run = run_copy, .size = size };
	int r = host_check_range(from.region, from.offset, size, err);

	if (r == 0)
		r = host_check_range(to.region, to.offset, size, err);
	if (r < 0)
		return r;
	/* Not before the range check: computing an address outside the region is undefined. */
	work.x = (const unsigned char *)from.region->ptr + from.offset;
	work.out = (unsigned char *)to.region->ptr + to.offset;
	return host_stream_put(s, &work, err);
}
