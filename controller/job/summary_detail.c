/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/summary_detail.h"

#include <stdlib.h>
#include <string.h>

#include "controller/job/summary.h"
#include "controller/job/summary_remedies.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/node_name.h"

#define SECONDS_MAX 86400.0
#define SLOWDOWN_MAX 1000.0
#define SHARE_MAX 1000.0
#define STEP_MAX 9000000000000000

enum {
	BESIDE_MAX = 1 << 20,
	NAMES_BYTES_MAX = 32 << 10, /* of all host names, as in assay-attribute */
};

/* --- lists of numbers --- */

static bool is_number(const json_t *value, double low, double high)
{
	const double number = json_number_value(value);

	return json_is_null(value) || (json_is_number(value) && number >= low && number <= high);
}

static bool are_numbers(const json_t *list, size_t n, double low, double high)
{
	size_t i;

	if (!json_is_array(list) || json_array_size(list) != n)
		return false;
	for (i = 0; i < n; i++) {
		if (!is_number(json_array_get(list, i), low, high))
			return false;
	}
	return true;
}

static bool are_integers(const json_t *list, size_t n, json_int_t low, json_int_t high)
{
	size_t i;

	if (!json_is_array(list) || json_array_size(list) != n)
		return false;
	for (i = 0; i < n; i++) {
		const json_t *value = json_array_get(list, i);

		if (!json_is_integer(value) || json_integer_value(value) < low ||
		    json_integer_value(value) > high)
			return false;
	}
	return true;
}

/* Lines of slowdowns, one for each of `n` steps, all as long as the first? */
static bool are_lines(const json_t *lines, size_t n)
{
	const size_t width = json_array_size(json_array_get(lines, 0));
	size_t i;

	if (!json_is_array(lines) || json_array_size(lines) != n || width < 1 ||
	    width > SUMMARY_DETAIL_LINES_MAX)
		return false;
	for (i = 0; i < n; i++) {
		if (!are_numbers(json_array_get(lines, i), width, 0, SLOWDOWN_MAX))
			return false;
	}
	return true;
}

/* --- members --- */

static int take_steps(const struct jval *v, json_t *ret, struct err *err)
{
	const json_t *steps = json_object_get(v->value, "step");
	const size_t n = json_array_size(steps);
	static const char *const times[] = { "step_act", "step_T" };
	static const char *const maps[] = { "step_S_dp", "step_S_pp" };
	size_t i;

	if (n < 1 || n > SUMMARY_DETAIL_STEPS_MAX || !are_integers(steps, n, -STEP_MAX, STEP_MAX))
		return jval_fail(v, err, "expected 1 to %d steps", SUMMARY_DETAIL_STEPS_MAX);
	(void)json_object_set(ret, "step", (json_t *)(uintptr_t)steps);
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		json_t *list = json_object_get(v->value, times[i]);

		if (!are_numbers(list, n, 0, SECONDS_MAX))
			return jval_fail(v, err, "%s: expected the seconds of %zu steps", times[i],
					 n);
		(void)json_object_set(ret, times[i], list);
	}
	for (i = 0; i < ARRAY_SIZE(maps); i++) {
		json_t *lines = json_object_get(v->value, maps[i]);

		if (!are_lines(lines, n))
			return jval_fail(v, err,
					 "%s: expected the slowdowns of %zu steps, at most %d each",
					 maps[i], n, SUMMARY_DETAIL_LINES_MAX);
		(void)json_object_set(ret, maps[i], lines);
	}
	return 0;
}

/* Numbers by name; names are untrusted. */
static int take_named(const struct jval *v, const char *key, double low, double high, json_t *ret,
		      struct err *err)
{
	json_t *from = json_object_get(v->value, key), *to = json_object(), *value;
	const char *name;

	(void)json_object_set_new(ret, key, to);
	if (!json_is_object(from) || json_object_size(from) > SUMMARY_DETAIL_TYPES_MAX)
		return jval_fail(v, err, "%s: expected at most %d named numbers", key,
				 SUMMARY_DETAIL_TYPES_MAX);
	json_object_foreach(from, name, value)
	{
		if (strlen(name) > SUMMARY_DETAIL_NAME_MAX || !is_number(value, low, high))
			return jval_fail(v, err,
					 "%s: has a name that is too long, or a value that is "
					 "no number",
					 key);
		(void)json_object_set(to, name, value);
	}
	return 0;
}

static int take_totals(const struct jval *v, json_t *ret, struct err *err)
{
	static const char *const keys[] = { "T_act", "T", "T_ideal" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(v->value, keys[i]);

		if (!value || !is_number(value, 0, SECONDS_MAX))
			return jval_fail(v, err, "%s: expected seconds", keys[i]);
		(void)json_object_set(ret, keys[i], value);
	}
	return 0;
}

static bool are_hosts(const json_t *hosts)
{
	size_t i;

	if (!json_is_array(hosts) || json_array_size(hosts) > SUMMARY_JOB_HOSTS_MAX)
		return false;
	for (i = 0; i < json_array_size(hosts); i++) {
		const json_t *name = json_array_get(hosts, i);

		if (!json_is_string(name) || !node_name_ok(json_string_value(name)))
			return false;
	}
	return true;
}

/* The workers; not given for a job that is too large. */
static int take_workers(const struct jval *v, json_t *ret, struct err *err)
{
	json_t *ranks = json_object_get(v->value, "ranks");
	json_t *nodes = json_object_get(v->value, "nodes");
	json_t *hosts = json_object_get(v->value, "hosts");
	json_t *beside = json_object_get(v->value, "beside");
	const size_t n = json_array_size(ranks);

	if (beside && (!json_is_integer(beside) || json_integer_value(beside) < 1 ||
		       json_integer_value(beside) > BESIDE_MAX))
		return jval_fail(v, err, "beside: expected a number of ranks");
	if (beside)
		(void)json_object_set(ret, "beside", beside);
	if (!ranks)
		return 0;
	if (n < 1 || n > SUMMARY_CELLS_MAX || !are_integers(ranks, n, 0, SUMMARY_RANKS_MAX - 1))
		return jval_fail(v, err, "ranks: expected the ranks of at most %d workers",
				 SUMMARY_CELLS_MAX);
	(void)json_object_set(ret, "ranks", ranks);
	if (!hosts || json_is_null(hosts))
		return 0;
	if (!are_hosts(hosts) || !are_integers(nodes, n, -1, (json_int_t)json_array_size(hosts) - 1))
		return jval_fail(v, err,
				 "expected hosts, and in nodes an index into them for each rank");
	(void)json_object_set(ret, "hosts", hosts);
	(void)json_object_set(ret, "nodes", nodes);
	return 0;
}

int summary_detail_decode(const struct jval *v, void *member, struct err *err)
{
	CLEANUP(json_freep) json_t *detail = NULL;
	json_t **ret = member;
	int r;

	if (json_is_null(v->value))
		return 0;
	if (!json_is_object(v->value))
		return jval_fail(v, err, "expected an object");
	detail = json_object();
	r = take_totals(v, detail, err);
	if (r == 0)
		r = take_steps(v, detail, err);
	if (r == 0)
		r = take_named(v, "S_t", 0, SLOWDOWN_MAX, detail, err);
	if (r == 0)
		r = take_named(v, "mended", -SHARE_MAX, SHARE_MAX, detail, err);
	if (r == 0)
		r = take_workers(v, detail, err);
	if (r == 0) {
		const struct jval remedies = jval_get(v, "remedies");

		r = summary_remedies_take(&remedies, detail, err);
	}
	if (r < 0)
		return r;
	json_decref(*ret);
	*ret = TAKE(detail);
	return 0;
}

/* --- host of each worker --- */

void summary_detail_begin(struct summary_detail_hosts *hosts, const json_t *detail)
{
	const json_t *ranks = json_object_get(detail, "ranks");
	const size_t n = json_array_size(ranks);
	size_t w;

	*hosts = (struct summary_detail_hosts){ json_array(), json_array(), json_object(),
						xcalloc(SUMMARY_RANKS_MAX, sizeof(int64_t)), 0 };
	for (w = 0; w < SUMMARY_RANKS_MAX; w++)
		hosts->workers[w] = -1;
	for (w = 0; w < n; w++) {
		hosts->workers[json_integer_value(json_array_get(ranks, w))] = (int64_t)w;
		(void)json_array_append_new(hosts->nodes, json_integer(-1));
	}
}

void summary_detail_name(struct summary_detail_hosts *hosts, int64_t rank, const char *host)
{
	const int64_t worker = rank >= 0 && rank < SUMMARY_RANKS_MAX ? hosts->workers[rank] : -1;
	json_t *place = json_object_get(hosts->places, host);

	if (worker < 0)
		return;
	if (!place) {
		place = json_integer((json_int_t)json_array_size(hosts->names));
		hosts->bytes += strlen(host);
		(void)json_array_append_new(hosts->names, json_string(host));
		(void)json_object_set_new(hosts->places, host, place);
	}
	(void)json_array_set(hosts->nodes, (size_t)worker, place);
}

void summary_detail_end(struct summary_detail_hosts *hosts, json_t *detail, bool believed)
{
	if (hosts->bytes > NAMES_BYTES_MAX)
		believed = false;
	if (hosts->bytes > 0 && hosts->bytes <= NAMES_BYTES_MAX) {
		(void)json_object_set(detail, "hosts", hosts->names);
		(void)json_object_set(detail, "nodes", hosts->nodes);
	} else if (!believed) {
		(void)json_object_del(detail, "hosts");
		(void)json_object_del(detail, "nodes");
	}
	json_decref(hosts->nodes);
	json_decref(hosts->names);
	json_decref(hosts->places);
	free(hosts->workers);
}
