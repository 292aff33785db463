/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order `deep`: `assay run --profile PROFILE --report --order=ID`, always with these
 * words, one at a time, until a deadline. What it finds arrives through the
 * spool; it gives way to jobs by itself. PROFILE is `full`, `burn` by order of a person,
 * or one of a fixed list of rungs, shorter ones. In place of a rung that is not on it, or that
 * profiles.yaml here does not have, `full` runs: the report says what did.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct deep;
struct err;
struct sd_event;

struct deep *deep_new(struct sd_event *event);

/* A run under way is told to end; it dies with this program at the latest. */
void deep_free(struct deep *deep);

/*
 * Start the run; `profile` "": all. -EBUSY while one is under way; `deadline_us` is monotonic,
 * then it is told to end (SIGTERM), and killed CHILD_GRACE_US later.
 */
int deep_start(struct deep *deep, const char *order_id, const char *profile, uint64_t deadline_us,
	       struct err *err);

/* Tell a run under way to end. */
void deep_stop(struct deep *deep);
