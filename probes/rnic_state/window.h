/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a counter growing too fast? Asked at runs that come when they come, of a
 * limit within a stretch of time: "120 in an hour" is not known after five
 * minutes, unless 120 came already. What the last full stretch showed holds
 * until the next is full. Pure.
 */
#pragma once

#include "lib/base/macro.h"

struct window {
	double sum;   /* growth since it began */
	double age_s; /* how long ago that was */
	bool bad;     /* the last full one was over the limit */
};

/*
 * `growth` more within the last `seconds`; more than `limit` within `length_s`
 * is too fast. True while it is. A window that is full begins anew.
 */
bool window_add(struct window *w, double growth, double seconds, double limit, double length_s);

/* Does it hold nothing worth keeping? */
bool window_is_empty(const struct window *w);
