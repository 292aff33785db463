/* SPDX-License-Identifier: Apache-2.0 */
/* Growth of counters that start at 0 at boot, and may wrap or be reset. Pure. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

/*
 * Growth of a counter of `bits` (32 or 64) bits from `last` to `now`. A smaller value is a wrap if
 * a 32-bit counter was above 2^31; otherwise it is a reset, and all of `now` is new.
 */
uint64_t counter_delta(uint64_t last, uint64_t now, unsigned bits);

/*
 * Growth per hour, for `delta` within `window_s` seconds. Windows that are shorter than an hour or
 * unknown (NAN) count as one hour, because a few events in a burst are no rate.
 */
double counter_per_hour(uint64_t delta, double window_s);

/* The counters of the last run and of this one, by name. */
struct counters {
	const json_t *past; /* from this boot, borrowed; NULL if there are none */
	json_t *next;	    /* borrowed */
};

/* Save `now` for the next run. Returns the growth since the last run, or since boot. */
uint64_t counters_take(struct counters *c, const char *name, uint64_t now, unsigned bits);
