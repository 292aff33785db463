/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a counter growing too fast? Limits apply to a period of time, but runs come at irregular
 * intervals: "120 in an hour" cannot be decided after five minutes, unless there were 120 already.
 * The result of the last full period holds until the next one is full. Pure.
 */
#pragma once

#include "lib/base/macro.h"

struct window {
	double sum;   /* growth since it began */
	double age_s; /* how long ago that was */
	bool bad;     /* the last full period was over the limit */
};

/*
 * Add `growth` during the last `seconds`. More than `limit` within `length_s` is too fast; returns
 * true as long as it is. When a period is full, a new one begins.
 */
bool window_add(struct window *w, double growth, double seconds, double limit, double length_s);

/* Is there nothing in it worth saving? */
bool window_is_empty(const struct window *w);
