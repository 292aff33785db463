/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a directory of profiles to the controller (docs/jobs.md, "Follow a directory"):
 *
 *	trace_watch -> whose is it? (trace_rules) -> trace_converter -> trace_send
 *
 * One file is converted at a time; names wait, so many of each user that nobody's files crowd out
 * another's. Every file ends as taken or refused, counted by its reason in $RUN/traces.prom.
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
	TRACES_FILES_MAX = 256, /* names that wait */
	TRACES_FILES_OF_USER = 64,
};

/* `config` is borrowed. */
struct traces *traces_new(struct sd_event *event, const struct assayd_config *config,
			  bool (*no_report_waits)(void *context), void *context);
void traces_free(struct traces *t);

/* Follow what the configuration says now, or nothing when `on` is false. What waits stays. */
void traces_set(struct traces *t, bool on);

/* Parts go there from now on; NULL: to nobody. */
void traces_send_to(struct traces *t, struct http *http);

struct trace_queue_part;

/*
 * Send a part that was made here; its first step began and its last one ended at these times,
 * seconds since 1970. Its descriptor is taken, whatever becomes of it.
 */
void traces_add(struct traces *t, const struct trace_queue_part *part, double first_s,
		double last_s);

/* These processes run here now; to be told once a minute. */
void traces_look(struct traces *t, const struct process_entry *entries, size_t n);
