/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/beats_kept.h"

#include "lib/json/json.h"

/* A longer pause is stored if it exceeds the stored one by this factor. */
#define PAUSE_GREW 1.25

json_t *beats_kept_of(const struct standstill *s, const struct beats_kept *kept)
{
	return json_pack("{s:I, s:I, s:o, s:f, s:f, s:f, s:f, s:f, s:b, s:b}", "run",
			 (json_int_t)s->run, "step", (json_int_t)s->step, "advanced",
			 json_stamp(s->advanced_us), "step_s", s->step_s, "spread_s", s->spread_s,
			 "first_s", s->first_s, "first_spread_s", s->first_spread_s, "pause_s",
			 s->pause_s, "told", kept->told, "ended", kept->ended);
}

/* Returns a duration, or 0. */
static double seconds_of(const json_t *json, const char *key, double most)
{
	const double value = json_number_value(json_object_get(json, key));

	return value > 0 && value <= most ? value : 0;
}

bool beats_kept_read(const json_t *json, struct standstill *ret, struct beats_kept *ret_kept)
{
	const json_int_t run = json_integer_value(json_object_get(json, "run"));
	const json_int_t step = json_integer_value(json_object_get(json, "step"));

	*ret = (struct standstill){
		.run = run,
		.step = (uint64_t)step,
		.advanced_us = json_stamp_us(json_object_get(json, "advanced")),
		.step_s = seconds_of(json, "step_s", STANDSTILL_SECONDS_MAX),
		.spread_s = seconds_of(json, "spread_s", STANDSTILL_SECONDS_MAX),
		.first_s = seconds_of(json, "first_s", STANDSTILL_SECONDS_MAX),
		.first_spread_s = seconds_of(json, "first_spread_s", STANDSTILL_SECONDS_MAX),
		.pause_s = seconds_of(json, "pause_s", STANDSTILL_PAUSE_MAX_S),
	};
	ret_kept->told = json_is_true(json_object_get(json, "told"));
	ret_kept->ended = json_is_true(json_object_get(json, "ended"));
	return run > 0 && step >= 0 && (uint64_t)step <= STANDSTILL_STEP_MAX;
}

bool beats_kept_differ(const struct standstill *s, const struct standstill *was)
{
	return s->run != was->run || (s->step_s > 0) != (was->step_s > 0) ||
	       (s->first_s > 0) != (was->first_s > 0) || s->pause_s > PAUSE_GREW * was->pause_s;
}
