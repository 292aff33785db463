/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams and events. The driver's own waits have no deadline, and an event has no descriptor to
 * wait for, so it is polled with pauses long enough not to occupy a core.
 */
#pragma once

#include <stdint.h>

struct accel;
struct accel_event;
struct accel_stream;
struct err;

int cuda_stream_new(struct accel *a, unsigned device, struct accel_stream **ret, struct err *err);
void cuda_stream_free(struct accel_stream *s);
void *cuda_stream_handle(const struct accel_stream *s);
int cuda_stream_wait(struct accel_stream *s, uint64_t deadline_us, struct err *err);
/* Enter the device to put `n` more pieces of work on the stream. -EAGAIN if there is no room. */
int cuda_stream_enter(struct accel_stream *s, unsigned n, struct err *err);

int cuda_event_new(struct accel *a, unsigned device, struct accel_event **ret, struct err *err);
void cuda_event_free(struct accel_event *e);
int cuda_event_record(struct accel_event *e, struct accel_stream *s, struct err *err);
int cuda_event_wait(struct accel_event *e, uint64_t deadline_us, struct err *err);
int cuda_event_seconds(const struct accel_event *from, const struct accel_event *to, double *ret,
		       struct err *err);
