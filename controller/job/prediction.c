/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/prediction.h"

#include <math.h>

/* A larger gain is caused by a clock that jumped. */
#define GAIN_MAX 0.99

static bool is_gain(double value)
{
	return value > 0 && value <= GAIN_MAX;
}

/* An end of the interval, limited so that steps take some time. */
static double end_of(double before_s, double gain, double usual)
{
	return isfinite(gain) ? before_s * (1 - fmin(gain, GAIN_MAX)) : usual;
}

bool prediction_make(double before_s, const struct prediction_gain *gain, double restart_s,
		     struct prediction *ret)
{
	struct prediction p = { .before_s = before_s, .restart_s = restart_s };

	if (!(before_s > 0) || !isfinite(before_s) || !is_gain(gain->value) || !(restart_s >= 0) ||
	    !isfinite(restart_s))
		return false;
	p.after_s = before_s * (1 - gain->value);
	p.low_s = fmin(end_of(before_s, gain->high, p.after_s), p.after_s);
	p.high_s = fmax(end_of(before_s, gain->low, p.after_s), p.after_s);
	p.pays_steps = ceil(restart_s / (before_s - p.after_s));
	p.pays_s = p.pays_steps * p.after_s;
	*ret = p;
	return true;
}

bool prediction_pays_within(const struct prediction *p, double seconds)
{
	const double saved_s = p->before_s - p->high_s;

	return saved_s > 0 && ceil(p->restart_s / saved_s) * p->high_s <= seconds;
}

bool prediction_held(const struct prediction *p, double measured_s)
{
	const double low_s = fmin(p->low_s, p->after_s * (1 - PREDICTION_TOLERANCE));
	const double high_s = fmax(p->high_s, p->after_s * (1 + PREDICTION_TOLERANCE));

	return measured_s >= low_s && measured_s <= high_s;
}

bool prediction_is_distrusted(uint64_t held, uint64_t checked, double least, uint64_t of)
{
	const uint64_t failed = checked - (held < checked ? held : checked);

	return of > 0 && (double)(of - (failed < of ? failed : of)) < least * (double)of;
}

void prediction_add_window(struct prediction_mean *mean, double step_s, uint64_t steps)
{
	if (!(step_s > 0) || !isfinite(step_s) || steps == 0)
		return;
	mean->seconds = (mean->seconds * (double)mean->steps + step_s * (double)steps) /
			(double)(mean->steps + steps);
	mean->steps += steps;
}
