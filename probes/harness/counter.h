/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growth of counters that start at 0 at boot and may wrap or be reset. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

/*
 * How much a counter of `bits` (32 or 64) bits grew from `last` to `now`. A
 * smaller value is a wrap when a 32-bit counter stood above 2^31, else a
 * reset, after which all of `now` is new.
 */
uint64_t counter_delta(uint64_t last, uint64_t now, unsigned bits);

/*
 * Growth per hour of `delta` within `window_s` seconds. Windows shorter than an
 * hour, or not known (NAN), count as one hour: a burst of a few is no rate.
 */
double counter_per_hour(uint64_t delta, double window_s);

/* The counters of the last run and of this one, by name. */
struct counters {
	const json_t *past; /* of this boot, borrowed; NULL when there are none */
	json_t *next;	    /* borrowed */
};

/* Keep `now` for the next run; the growth since the last one, or since boot. */
uint64_t counters_take(struct counters *c, const char *name, uint64_t now, unsigned bits);
