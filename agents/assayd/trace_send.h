/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of traces to the controller: POST /v1/traces, one at a time, after the reports that wait.
 * What it does not take now waits (trace_queue.h); what it never takes goes, with a line.
 */
#pragma once

#include "agents/assayd/trace_queue.h"
#include "lib/base/backoff.h"
#include "lib/base/duration.h"
#include "lib/base/macro.h"

struct http;
struct sd_event;
struct trace_send;

#define TRACE_SEND_OLD_US USEC_PER_HOUR /* who waited so long is refused */

struct trace_send_options {
	struct backoff backoff;
	bool (*may_send)(void *context); /* no report waits */
	void (*ended)(void *context, enum trace_refusal why, const struct trace_queue_part *part,
		      const char *words);
	void *context;
};

/* Idle, with nobody to send to, and no byte may wait. */
struct trace_send *trace_send_new(struct sd_event *event, const struct trace_send_options *options);
void trace_send_free(struct trace_send *s);

/* From now on to this controller; `http` NULL: to nobody, as long as nothing is sent. Both are
 * borrowed until the next call. */
void trace_send_to(struct trace_send *s, struct http *http, const char *url);

/* So many bytes may wait from now on; what waits already may. */
void trace_send_keep(struct trace_send *s, uint64_t bytes);

/* Add one, and own its descriptor unless that fails: as trace_queue_add(). */
enum trace_refusal trace_send_add(struct trace_send *s, const struct trace_queue_part *part);

/* How many wait. */
size_t trace_send_waiting(const struct trace_send *s);
