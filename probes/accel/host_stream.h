/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of the CPU engine: a thread each, which runs its queue in order. */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "probes/accel/accel.h"

struct accel_stream;
struct err;

/* A piece of work; `run` must not block for long. */
struct host_work {
	void (*run)(const struct host_work *work);
	void *object;		/* event or product */
	const unsigned char *x; /* sources */
	const unsigned char *y;
	unsigned char *out;
	size_t size;
};

int host_stream_new(struct accel *a, unsigned device, struct accel_stream **ret, struct err *err);
void host_stream_free(struct accel_stream *s);
int host_stream_wait(struct accel_stream *s, uint64_t deadline_us, struct err *err);
/* Queue `work`, which is copied. -EAGAIN at HOST_STREAM_QUEUE_MAX. */
int host_stream_put(struct accel_stream *s, const struct host_work *work, struct err *err);
/* Time that its thread was runnable but not running; 0 if unknown. */
uint64_t host_stream_delay_ns(const struct accel_stream *s);

int host_copy(struct accel_stream *s, struct accel_at to, struct accel_at from, size_t size,
	      struct err *err);

/* A condition variable with CLOCK_MONOTONIC deadlines. */
void host_cond_init(pthread_cond_t *cond);
/* Wait for `cond` until `deadline_us`; returns false if that has passed. */
bool host_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_us);
