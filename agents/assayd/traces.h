/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a directory of profiles to the controller (docs/jobs.md, "Follow a directory"):
 *
 *	trace_watch -> whose is it? (trace_rules) -> trace_converter -> trace_send
 *
 * One file is converted at a time; the others are queued, with a limit per user so that nobody's
 * files crowd out another's. Every file is either taken or refused, counted by reason in
 * $RUN/traces.prom.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

struct assayd_config;
struct http;
struct process_entry;
struct sd_event;
struct traces;

enum {
	TRACES_FILES_MAX = 256, /* queued file names */
	TRACES_FILES_OF_USER = 64,
};

/* `config` is borrowed. */
struct traces *traces_new(struct sd_event *event, const struct assayd_config *config,
			  bool (*no_report_waits)(void *context), void *context);
void traces_free(struct traces *t);

/* Follow what the configuration says, or nothing unless `on`. Queued parts stay. */
void traces_set(struct traces *t, bool on);

/* Send parts to this controller; NULL: none. */
void traces_send_to(struct traces *t, struct http *http);

struct trace_queue_part;

/*
 * Send a part made on this host, whose first step began and last step ended at these times, in
 * seconds since 1970. Takes over its descriptor in any case.
 */
void traces_add(struct traces *t, const struct trace_queue_part *part, double first_s,
		double last_s);

/* The processes that run here now; to be called once a minute. */
void traces_look(struct traces *t, const struct process_entry *entries, size_t n);
