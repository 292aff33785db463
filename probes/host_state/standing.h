/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fatal kernel log lines stand until the next boot: a GPU that fell off the bus an hour ago is not
 * back just because nothing more was logged. Saved between runs as [{code, subject, line, since}].
 */
#pragma once

#include "lib/base/macro.h"
#include "probes/host_state/host_state.h"

enum { STANDING_MAX = 64 };

/* Load the list of this boot; empty at the first run. Returns a new reference. */
json_t *standing_load(const struct host *h);

/* Is (code, subject) on the list? */
bool standing_has(const json_t *list, const char *code, const char *subject);

/* Add an entry, unless it is there already or the list is full. */
void standing_add(json_t *list, const char *code, const char *subject, const char *line);

/*
 * Emit a fatal sample of `check` for each entry of `list` that is not in `told`, which is what this
 * run found in the log itself. Errors of probe_emit().
 */
int standing_emit(struct host *h, const char *check, const json_t *list, const json_t *told);

/* Save both lists for the next run. */
void standing_save(struct host *h, const json_t *list, const json_t *told);
