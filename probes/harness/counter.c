/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/harness/counter.h"

#define SECONDS_PER_HOUR 3600.0

uint64_t counter_delta(uint64_t last, uint64_t now, unsigned bits)
{
	const uint64_t half = UINT64_C(1) << 31, whole = UINT64_C(1) << 32;

	if (now >= last)
		return now - last;
	if (bits == 32 && last > half && last < whole)
		return now + (whole - last);
	return now;
}

double counter_per_hour(uint64_t delta, double window_s)
{
	/* The comparison is false for NAN. */
	double hours = window_s > SECONDS_PER_HOUR ? window_s / SECONDS_PER_HOUR : 1.0;

	return (double)delta / hours;
}

uint64_t counters_take(struct counters *c, const char *name, uint64_t now, unsigned bits)
{
	const json_t *last = json_object_get(c->past, name);
	json_int_t value = json_integer_value(last);

	(void)json_object_set_new(c->next, name, json_integer((json_int_t)now));
	return counter_delta(value > 0 ? (uint64_t)value : 0, now, bits);
}
