/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fatal lines of the kernel log stand until the next boot: a GPU that fell off
 * the bus an hour ago has not come back because nothing more was logged since.
 * Kept between runs as [{code, subject, line, since}].
 */
#pragma once

#include "lib/base/macro.h"
#include "probes/host_state/host_state.h"

enum { STANDING_MAX = 64 };

/* The list of this boot, empty at the first run. New reference. */
json_t *standing_load(const struct host *h);

/* Is (code, subject) on the list? */
bool standing_has(const json_t *list, const char *code, const char *subject);

/* Put one on the list unless it is there or the list is full. */
void standing_add(json_t *list, const char *code, const char *subject, const char *line);

/*
 * Print a fatal sample of `check` for each of `list` that is not in `told`
 * (what this run found in the log itself). The errno of probe_emit().
 */
int standing_emit(struct host *h, const char *check, const json_t *list, const json_t *told);

/* Keep both for the next run. */
void standing_save(struct host *h, const json_t *list, const json_t *told);
