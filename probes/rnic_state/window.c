/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/rnic_state/window.h"

bool window_add(struct window *w, double growth, double seconds, double limit, double length_s)
{
	bool bad;

	/* These comparisons are false for NAN: nothing is known about such a period. */
	if (!(growth >= 0) || !(seconds >= 0))
		return w->bad;
	w->sum += growth;
	w->age_s += seconds;
	if (w->age_s < length_s)
		return w->bad || w->sum > limit;
	bad = w->age_s > 0 && w->sum / w->age_s * length_s > limit;
	*w = (struct window){ .bad = bad };
	return bad;
}

bool window_is_empty(const struct window *w)
{
	return w->sum <= 0 && !w->bad;
}
