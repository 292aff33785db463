/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/summary_remedies.h"

#include <stdbool.h>
#include <stdint.h>

#include "controller/job/summary.h"
#include "lib/base/macro.h"
#include "lib/json/json.h"
#include "lib/remedy/pipe_schedule.h"

#define SECONDS_MAX 86400.0
#define SLOWDOWN_MAX 1000.0

static json_t *member(const struct jval *v, const char *key)
{
	return json_object_get(v->value, key);
}

static bool is_seconds(const json_t *value)
{
	return json_is_number(value) && json_number_value(value) >= 0 &&
	       json_number_value(value) <= SECONDS_MAX;
}

/* Or null: unknown for those that did nothing. */
static bool is_slowdown(const json_t *value)
{
	return json_is_null(value) || (json_is_number(value) && json_number_value(value) >= 0 &&
				       json_number_value(value) <= SLOWDOWN_MAX);
}

static bool are(const json_t *list, size_t n, bool (*is)(const json_t *value))
{
	size_t i;

	if (!json_is_array(list) || json_array_size(list) != n)
		return false;
	for (i = 0; i < n; i++) {
		if (!is(json_array_get(list, i)))
			return false;
	}
	return true;
}

/* New reference; null if it is not a time. */
static json_t *seconds_or_null(json_t *value)
{
	return is_seconds(value) ? json_incref(value) : json_null();
}

static bool is_count(const json_t *value, json_int_t most)
{
	return json_is_integer(value) && json_integer_value(value) >= 1 &&
	       json_integer_value(value) <= most;
}

static int take_shape(const struct jval *v, json_t *to, struct err *err)
{
	static const char *const keys[] = { "dp",	 "pp",	       "microbatches",
					    "forward_s", "backward_s", "slowdown" };
	const json_t *dp = member(v, "dp"), *pp = member(v, "pp"), *chunks = member(v, "vpp");
	size_t n, i;

	if (!dp && !pp)
		return 0;
	if (!is_count(dp, SUMMARY_CELLS_MAX) || !is_count(pp, SUMMARY_CELLS_MAX) ||
	    !is_count(member(v, "microbatches"), SUMMARY_REMEDIES_MICROBATCHES_MAX))
		return jval_fail(v, err, "expected dp, pp and microbatches");
	if (chunks && !is_count(chunks, PIPE_SCHEDULE_CHUNKS_MAX))
		return jval_fail(v, err, "vpp: expected 1 to %d", PIPE_SCHEDULE_CHUNKS_MAX);
	n = (size_t)json_integer_value(pp);
	if (!are(member(v, "forward_s"), n, is_seconds) ||
	    !are(member(v, "backward_s"), n, is_seconds))
		return jval_fail(v, err,
				 "forward_s, backward_s: expected the seconds of %zu stages", n);
	n *= (size_t)json_integer_value(dp);
	if (n > SUMMARY_CELLS_MAX || !are(member(v, "slowdown"), n, is_slowdown))
		return jval_fail(v, err,
				 "slowdown: expected one for each of %zu workers, at most %d", n,
				 SUMMARY_CELLS_MAX);
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		(void)json_object_set(to, keys[i], member(v, keys[i]));
	if (chunks)
		(void)json_object_set(to, "vpp", member(v, "vpp"));
	return 0;
}

/* A time with its interval, or null; the ends may be null. */
static json_t *range_of(const json_t *from)
{
	static const char *const keys[] = { "value", "low", "high" };
	json_t *range;
	size_t i;

	if (!is_seconds(json_object_get(from, "value")))
		return NULL;
	range = json_object();
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		(void)json_object_set_new(range, keys[i],
					  seconds_or_null(json_object_get(from, keys[i])));
	return range;
}

static int take_times(const struct jval *v, json_t *to, struct err *err)
{
	static const char *const keys[] = { "sequences", "gc" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		const json_t *from = member(v, keys[i]);
		json_t *range = range_of(from);

		if (!range && from && !json_is_null(from))
			return jval_fail(v, err, "%s: expected the seconds of a step", keys[i]);
		(void)json_object_set_new(to, keys[i], range ? range : json_null());
	}
	(void)json_object_set_new(to, "pause_s", seconds_or_null(member(v, "pause_s")));
	(void)json_object_set_new(to, "stages", json_boolean(json_is_true(member(v, "stages"))));
	return 0;
}

static int take_sets(const struct jval *v, json_t *to, struct err *err)
{
	const json_t *from = member(v, "replace");
	json_t *list = json_array();
	size_t i;

	(void)json_object_set_new(to, "replace", list);
	if (json_array_size(from) > SUMMARY_REMEDIES_SETS_MAX)
		return jval_fail(v, err, "replace: expected at most %d hosts",
				 SUMMARY_REMEDIES_SETS_MAX);
	for (i = 0; i < json_array_size(from); i++) {
		const json_t *one = json_array_get(from, i);
		const json_t *worker = json_object_get(one, "worker");
		json_t *range = range_of(json_object_get(one, "T"));

		if (!range || !json_is_integer(worker) || json_integer_value(worker) < 0 ||
		    json_integer_value(worker) >= SUMMARY_CELLS_MAX) {
			json_decref(range);
			return jval_fail(v, err,
					 "replace: expected a worker and the seconds of a "
					 "step without its host");
		}
		(void)json_array_append_new(
			list,
			json_pack("{s:I, s:o, s:o}", "worker", json_integer_value(worker), "T",
				  range, "gap_s", seconds_or_null(json_object_get(one, "gap_s"))));
	}
	return 0;
}

int summary_remedies_take(const struct jval *v, json_t *ret, struct err *err)
{
	json_t *to;
	int r;

	if (!v->value || json_is_null(v->value))
		return 0;
	if (!json_is_object(v->value))
		return jval_fail(v, err, "expected an object");
	to = json_object();
	(void)json_object_set_new(ret, "remedies", to);
	r = take_shape(v, to, err);
	if (r == 0)
		r = take_times(v, to, err);
	return r < 0 ? r : take_sets(v, to, err);
}
