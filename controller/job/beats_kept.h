/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a job's heartbeat state that survives a restart, stored with the job: its run and
 * last step as of the last save, the usual step time, the first block, the longest pause, whether
 * its standstill was reported, and whether it has ended. Heartbeats are not stored: the next one
 * comes within a minute. Pure.
 */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"
#include "lib/policy/standstill.h"

struct beats_kept {
	bool told;  /* its standstill at that step was reported */
	bool ended; /* it is no longer listened for */
};

/* New reference. */
json_t *beats_kept_of(const struct standstill *s, const struct beats_kept *kept);

/* Reads what standstill_restore() needs into `ret`. Returns false if invalid. */
bool beats_kept_read(const json_t *json, struct standstill *ret, struct beats_kept *ret_kept);

/* Has anything changed since `was` was saved that must not be lost? */
bool beats_kept_differ(const struct standstill *s, const struct standstill *was);
