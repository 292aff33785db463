/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends trace parts to the controller: POST /v1/traces, one at a time, and only while no reports
 * wait. A part that is not accepted now stays queued (trace_queue.h); one that never will be is
 * dropped and logged.
 */
#pragma once

#include "agents/assayd/trace_queue.h"
#include "lib/base/backoff.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct http;
struct sd_event;
struct trace_send;

#define TRACE_SEND_OLD_US USEC_PER_HOUR /* a part that waited so long is refused */

struct trace_send_options {
	struct backoff backoff;
	bool (*may_send)(void *context); /* no report is waiting */
	void (*ended)(void *context, enum trace_refusal why, const struct trace_queue_part *part,
		      const char *words);
	void *context;
};

/* Starts idle, without a controller and with a queue limit of 0 bytes. */
struct trace_send *trace_send_new(struct sd_event *event, const struct trace_send_options *options);
void trace_send_free(struct trace_send *s);

/* Set the controller; `http` NULL: none. Both are borrowed until the next call. */
void trace_send_to(struct trace_send *s, struct http *http, const char *url);

/* Limit the queue to this many bytes; queued parts stay. */
void trace_send_keep(struct trace_send *s, uint64_t bytes);

/* Queue a part as trace_queue_add() does. Takes over its descriptor unless that fails. */
enum trace_refusal trace_send_add(struct trace_send *s, const struct trace_queue_part *part);

/* Number of queued parts. */
size_t trace_send_waiting(const struct trace_send *s);
