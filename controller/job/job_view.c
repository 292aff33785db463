/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_view.h"

#include <stdlib.h>

#include "controller/job/summary.h"
#include "lib/base/xalloc.h"

/* When it begins, as well as is known. */
static uint64_t begins_us(const struct job_window *w)
{
	return w->from_us ? w->from_us : w->received_us;
}

/* Do both tell, one of another time than the other? */
static bool is_apart(const struct job_window *newer, const struct job_window *older)
{
	const bool dated = newer->from_us && older->until_us;

	return begins_us(newer) >= begins_us(older) + JOB_VIEW_APART_US &&
	       (!dated || newer->from_us >= older->until_us);
}

static bool accuses(const json_t *summary, const char *name)
{
	const json_t *suspects = json_object_get(summary, "suspects");
	size_t i;

	for (i = 0; i < json_array_size(suspects); i++) {
		const json_t *one = json_array_get(suspects, i);
		CLEANUP(freep) char *its = summary_suspect_name(one);

		if (json_is_true(json_object_get(one, "counts")) && streq(its, name))
			return true;
	}
	return false;
}

struct hits {
	int hits, of;
};

/* In how many of the last windows that are apart from each other it counts. */
static struct hits count_hits(const struct job_window *windows, size_t n, const char *name)
{
	struct hits sum = { 0, 0 };
	const struct job_window *last = NULL;
	size_t i;

	for (i = 0; i < n && i < JOB_VIEW_WINDOWS; i++) {
		if (last && !is_apart(last, &windows[i]))
			continue;
		last = &windows[i];
		sum.of++;
		sum.hits += accuses(windows[i].summary, name);
	}
	return sum;
}

/* The suspects of the newest window that count, each with its hits; the most hits into `ret_most`. */
static json_t *suspects_of(const struct job_window *windows, size_t n, int *ret_most)
{
	const json_t *all = json_object_get(windows[0].summary, "suspects");
	json_t *ret = json_array();
	size_t i;

	*ret_most = 0;
	for (i = 0; i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i);
		CLEANUP(freep) char *name = summary_suspect_name(one);
		const struct hits hits = count_hits(windows, n, name);
		json_t *shown;

		if (!json_is_true(json_object_get(one, "counts")))
			continue;
		shown = json_deep_copy(one);
		(void)json_object_set_new(shown, "name", json_string(name));
		(void)json_object_set_new(shown, "hits", json_integer(hits.hits));
		(void)json_object_set_new(shown, "of", json_integer(hits.of));
		(void)json_array_append_new(ret, shown);
		*ret_most = MAX(*ret_most, hits.hits);
	}
	return ret;
}

/* --- what it comes to --- */

enum state { HEALTHY, SLOW, INFORMED, WATCHED, SUSPECTED };

static const struct {
	const char *name, *action, *reason;
} states[] = {
	[HEALTHY] = { "healthy", "none", "nothing slows it by more than hosts differ" },
	[SLOW] = { "slow", "watch", "it is slow, and no host explains it: nobody is blamed" },
	[INFORMED] = { "owner informed", "owner",
		       "the job slows itself: it is for its owner, and no host is tested" },
	[WATCHED] = { "watched", "watch",
		      "one window blames a host: it is suspected when another one does, too" },
	[SUSPECTED] = { "suspected", "probe",
			"windows apart from each other blame the same host: it would be tested "
			"next; a trace alone takes none out of service" },
};

static double number(const json_t *summary, const char *key)
{
	return json_number_value(json_object_get(summary, key));
}

static enum state state_of(const json_t *summary, int hits)
{
	const char *class = json_string_value(json_object_get(summary, "class"));

	if (hits >= JOB_VIEW_HITS)
		return SUSPECTED;
	if (hits > 0)
		return WATCHED;
	if (streq(class, "none"))
		return HEALTHY;
	if (streq(class, "job") && number(summary, "slowdown") >= JOB_VIEW_OWNER_SLOWDOWN)
		return INFORMED;
	return SLOW;
}

static json_t *view_of_nothing(bool rejected)
{
	return json_pack("{s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:s, s:[], s:{s:s, s:s}, s:n}",
			 "hosts", "run", "step_s", "slowdown", "slowdown_low", "slowdown_high",
			 "cause", "suspect", "state", rejected ? "rejected" : "waiting", "suspects",
			 "decision", "action", "none", "reason",
			 rejected ? "its last window was rejected, and none was analysed yet"
				  : "no window of it was analysed yet",
			 "sentence");
}

json_t *job_view(const struct job_window *windows, size_t n, bool rejected)
{
	static const char *const keys[] = { "hosts",	     "step_s", "slowdown", "slowdown_low",
					    "slowdown_high", "cause",  "suspect",  "sentence" };
	json_t *view, *suspects;
	enum state state;
	size_t i;
	int hits;

	if (n == 0)
		return view_of_nothing(rejected);
	suspects = suspects_of(windows, n, &hits);
	state = state_of(windows[0].summary, hits);
	view = json_pack("{s:I, s:s, s:o, s:{s:s, s:s}}", "run", (json_int_t)windows[0].run,
			 "state", rejected ? "rejected" : states[state].name, "suspects", suspects,
			 "decision", "action", states[state].action, "reason", states[state].reason);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(windows[0].summary, keys[i]);

		(void)json_object_set(view, keys[i], value ? value : json_null());
	}
	return view;
}
