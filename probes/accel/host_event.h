/* SPDX-License-Identifier: Apache-2.0 */
/* Events of the CPU engine, and waiting for them with a deadline. */
#pragma once

#include <stdint.h>

struct accel;
struct accel_event;
struct accel_stream;
struct err;

int host_event_new(struct accel *a, unsigned device, struct accel_event **ret, struct err *err);
void host_event_free(struct accel_event *e);
int host_event_record(struct accel_event *e, struct accel_stream *s, struct err *err);
int host_event_wait(struct accel_event *e, uint64_t deadline_us, struct err *err);
int host_event_seconds(const struct accel_event *from, const struct accel_event *to, double *ret,
		       struct err *err);
