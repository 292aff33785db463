/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order `deep`: `assay run --profile PROFILE --report --order=ID`, with these arguments only,
 * one at a time, until a deadline. Its results arrive through the spool, and it yields to jobs by
 * itself. PROFILE is `full`, `burn` (only if a person ordered it), or one of a fixed list of
 * shorter ones (rungs). For a rung not on that list, or not in this host's profiles.yaml, `full`
 * runs instead: the report says which profile did.
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct deep;
struct err;
struct sd_event;

struct deep *deep_new(struct sd_event *event);

/* Also terminates a running test, which dies with this process at the latest. */
void deep_free(struct deep *deep);

/*
 * Start the run; `profile` "": full. -EBUSY while one is running. At the monotonic `deadline_us`
 * it gets SIGTERM, and CHILD_GRACE_US later SIGKILL.
 */
int deep_start(struct deep *deep, const char *order_id, const char *profile, uint64_t deadline_us,
	       struct err *err);

/* Terminate a running test. */
void deep_stop(struct deep *deep);
