/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace that is the same text for two actors that behave the same. Each line is a durable change,
 * an effect on the cluster, or a reply to a person. Ids of the store are replaced by names that
 * count per node ("n3#2" is its second action), times count from the start of the seed, and the
 * lines of one instant are sorted, so that differences invisible from outside do not show.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct controller;
struct driver;

/* Adds a line to this instant. */
void trace_line(struct controller *c, const char *fmt, ...) PRINTF(2, 3);

/* The same, for an event of no controller. */
void trace_world(struct driver *d, const char *fmt, ...) PRINTF(2, 3);

/* Adds and counts a violated invariant. */
void trace_violation(struct driver *d, const char *fmt, ...) PRINTF(2, 3);

/* Ends the instant: its lines are final. */
void trace_flush(struct driver *d);

/* After a successful commit: traces what is new in the store, and the points reached. */
void trace_commit(struct controller *c);

/* After a start of the controller: rows already in the store are not new. */
void trace_forget(struct controller *c);

/* Returns the name of an action by its id, "?" if it was never committed. Borrowed. */
const char *trace_action(const struct controller *c, const char *number);

/* Returns the text with ids of the store ("incident 17") replaced. The caller frees it. */
char *trace_text(const struct controller *c, const char *text);

/* Returns seconds since the start of the seed; -1 for 0, which means never. */
double trace_time(uint64_t us);

void trace_release(struct driver *d);
