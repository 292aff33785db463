/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened, as lines of text that two actors share when they do the same: one a durable
 * change, an effect on the cluster, or an answer to a person. Numbers of the store are replaced by
 * names in the order of a node's own history ("n3#2" is its second action), times count from the
 * start of the seed, and the lines of one instant are sorted: what cannot be told from outside
 * does not show.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct controller;
struct driver;

/* One line of this instant. */
void trace_line(struct controller *c, const char *fmt, ...) PRINTF(2, 3);

/* Likewise of no controller. */
void trace_world(struct driver *d, const char *fmt, ...) PRINTF(2, 3);

/* What must not be. Counted; shown in its place. */
void trace_violation(struct driver *d, const char *fmt, ...) PRINTF(2, 3);

/* The instant is over: its lines are final. */
void trace_flush(struct driver *d);

/* A commit has gone well: what is new in the store, and the points that it has come to. */
void trace_commit(struct controller *c);

/* A controller has begun with what was committed before: nothing of that is news. */
void trace_forget(struct controller *c);

/* The name of an action by its number, "?" when no commit had it. Borrowed. */
const char *trace_action(const struct controller *c, const char *number);

/* The text without numbers of the store: "incident 17" is another one elsewhere. New memory. */
char *trace_text(const struct controller *c, const char *text);

/* Seconds since the start of the seed, with a sign: -1 for 0, which is never. */
double trace_time(uint64_t us);

void trace_release(struct driver *d);
