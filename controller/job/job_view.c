/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_view.h"

#include <stdlib.h>

#include "controller/job/summary.h"
#include "lib/base/xalloc.h"
#include "lib/policy/windows.h"

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

/* The last windows that are apart from each other, newest first. */
struct picks {
	const struct job_window *windows[JOB_VIEW_WINDOWS];
	size_t n;
};

static struct picks pick(const struct job_window *windows, size_t n)
{
	struct picks picks = { .n = 0 };
	size_t i;

	for (i = 0; i < n && picks.n < JOB_VIEW_WINDOWS; i++) {
		if (picks.n == 0 || is_apart(picks.windows[picks.n - 1], &windows[i]))
			picks.windows[picks.n++] = &windows[i];
	}
	return picks;
}

/* In which of them it counts. */
static struct windows hits_of(const struct picks *picks, const char *name)
{
	struct windows hits = { 0, 0 };
	size_t i;

	for (i = picks->n; i-- > 0;)
		windows_push(&hits, accuses(picks->windows[i]->summary, name));
	return hits;
}

static bool is_shown(const json_t *all, const char *name)
{
	size_t i;

	for (i = 0; i < json_array_size(all); i++) {
		if (streq(json_string_value(json_object_get(json_array_get(all, i), "name")), name))
			return true;
	}
	return false;
}

/* Add one, unless a newer window named it already or it is over. */
static void add_suspect(json_t *all, const json_t *one, const struct picks *picks, bool newest)
{
	CLEANUP(freep) char *name = summary_suspect_name(one);
	const struct windows hits = hits_of(picks, name);
	json_t *shown;

	if (!json_is_true(json_object_get(one, "counts")) || is_shown(all, name) ||
	    !(newest || windows_reached(&hits, JOB_VIEW_HITS, JOB_VIEW_WINDOWS)))
		return;
	shown = json_deep_copy(one);
	(void)json_object_set_new(shown, "name", json_string(name));
	(void)json_object_set_new(shown, "hits", json_integer(windows_bad(&hits, JOB_VIEW_WINDOWS)));
	(void)json_object_set_new(shown, "of", json_integer((json_int_t)picks->n));
	(void)json_array_append_new(all, shown);
}

/* Those of the newest window, and those that enough of the windows name though it does not. */
static json_t *suspects_of(const struct picks *picks)
{
	json_t *all = json_array();
	size_t i, k;

	for (i = 0; i < picks->n; i++) {
		const json_t *its = json_object_get(picks->windows[i]->summary, "suspects");

		for (k = 0; k < json_array_size(its); k++)
			add_suspect(all, json_array_get(its, k), picks, i == 0);
	}
	return all;
}

/* The one with the most hits, the first of these; NULL: there is none. */
static const json_t *worst_of(const json_t *suspects, int *ret_hits)
{
	const json_t *worst = NULL;
	size_t i;

	*ret_hits = 0;
	for (i = 0; i < json_array_size(suspects); i++) {
		const json_t *one = json_array_get(suspects, i);
		const int hits = (int)json_integer_value(json_object_get(one, "hits"));

		if (hits > *ret_hits) {
			worst = one;
			*ret_hits = hits;
		}
	}
	return worst;
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
	const struct picks picks = pick(windows, n);
	const json_t *worst;
	json_t *view, *suspects;
	enum state state;
	size_t i;
	int hits;

	if (n == 0)
		return view_of_nothing(rejected);
	suspects = suspects_of(&picks);
	worst = worst_of(suspects, &hits);
	state = state_of(windows[0].summary, hits);
	view = json_pack("{s:I, s:s, s:o, s:{s:s, s:s}}", "run", (json_int_t)windows[0].run,
			 "state", rejected ? "rejected" : states[state].name, "suspects", suspects,
			 "decision", "action", states[state].action, "reason", states[state].reason);
	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		json_t *value = json_object_get(windows[0].summary, keys[i]);

		(void)json_object_set(view, keys[i], value ? value : json_null());
	}
	if (worst)
		(void)json_object_set(view, "suspect", json_object_get(worst, "name"));
	return view;
}
