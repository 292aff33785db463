/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/job_view.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define MIN_US USEC_PER_MIN
#define HOUR_US USEC_PER_HOUR

/* A window that blames `host`, or nobody, of a class; its first step began at `at_us`. */
static struct job_window window_of(const char *class, double slowdown, const char *host,
				   uint64_t at_us)
{
	json_t *suspects = json_array();

	if (host)
		(void)json_array_append_new(suspects, json_pack("{s:[s], s:s, s:b}", "hosts", host,
								"class", "compute", "counts", 1));
	return (struct job_window){
		.summary = json_pack("{s:s, s:f, s:i, s:o, s:s*}", "class", class, "slowdown",
				     slowdown, "steps", 64, "suspects", suspects, "suspect", host),
		.id = (int64_t)(at_us / MIN_US),
		.run = 4,
		.from_us = at_us,
		.until_us = at_us + MIN_US,
		.received_us = at_us + 2 * MIN_US,
	};
}

static void release(struct job_window *windows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		json_decref((json_t *)(uintptr_t)windows[i].summary);
}

static const char *text_of(const json_t *view, const char *key)
{
	return json_string_value(json_object_get(view, key));
}

/* As it is `later_us` after the newest window came. */
static json_t *view_later(const struct job_window *windows, size_t n, bool rejected,
			  uint64_t later_us)
{
	const struct policy_jobs jobs = policy_jobs_init();
	CLEANUP(job_suspects_release) struct job_suspects suspects;

	job_suspects_read(windows, n, &jobs, NULL,
			  n > 0 ? windows[0].received_us + later_us : HOUR_US, &suspects);
	return job_view(&(struct job_view_input){ windows, n, rejected, &suspects, NULL });
}

static json_t *view_of(const struct job_window *windows, size_t n, bool rejected)
{
	return view_later(windows, n, rejected, 0);
}

static void check(struct job_window *windows, size_t n, const char *state, const char *action)
{
	CLEANUP(json_freep) json_t *view = view_of(windows, n, false);

	CHECK_STR(text_of(view, "state"), state);
	CHECK_STR(text_of(json_object_get(view, "decision"), "action"), action);
	release(windows, n);
}

static void without_a_window_it_waits_and_a_rejected_one_is_said(void)
{
	CLEANUP(json_freep) json_t *waits = view_of(NULL, 0, false);
	CLEANUP(json_freep) json_t *rejected = view_of(NULL, 0, true);

	CHECK_STR(text_of(waits, "state"), "waiting");
	CHECK_STR(text_of(rejected, "state"), "rejected");
	CHECK(json_is_null(json_object_get(waits, "slowdown")));
}

/* The causes that its owner was told of, after a window of that run; `before` becomes what is shown. */
static size_t inform(json_t **before, int64_t run, const char *class, double slowdown, bool news)
{
	struct job_window w = window_of(class, slowdown, NULL, HOUR_US);
	json_t *view;
	size_t n;

	w.run = run;
	view = view_of(&w, 1, false);
	CHECK_EQ(job_view_informs(view, *before), news);
	n = json_array_size(json_object_get(view, "informed"));
	json_decref(*before);
	*before = view;
	release(&w, 1);
	return n;
}

static void an_owner_is_told_once_of_each_run(void)
{
	json_t *before = json_object();

	CHECK_EQ(inform(&before, 1, "none", 1.01, false), 0);
	CHECK_EQ(inform(&before, 1, "job", 1.05, false), 0);
	CHECK_EQ(inform(&before, 1, "job", 1.5, true), 1);
	CHECK_EQ(inform(&before, 1, "job", 1.6, false), 1);
	CHECK_EQ(inform(&before, 1, "none", 1.01, false), 1);
	CHECK_EQ(inform(&before, 1, "job", 1.5, false), 1);
	CHECK_EQ(inform(&before, 2, "job", 1.5, true), 1);
	json_decref(before);
}

static void one_window_says_what_it_can(void)
{
	struct job_window w = window_of("none", 1.01, NULL, HOUR_US);

	check(&w, 1, "healthy", "none");
	w = window_of("job", 1.5, NULL, HOUR_US);
	check(&w, 1, "owner informed", "owner");
	w = window_of("job", 1.09, NULL, HOUR_US);
	check(&w, 1, "slow", "watch");
	w = window_of("unclear", 1.5, NULL, HOUR_US);
	check(&w, 1, "owner informed", "owner");
	w = window_of("unclear", 1.1, NULL, HOUR_US);
	check(&w, 1, "owner informed", "owner");
	w = window_of("unclear", 1.09, NULL, HOUR_US);
	check(&w, 1, "slow", "watch");
	w = window_of("compute", 1.1, "gpu-1", HOUR_US);
	check(&w, 1, "watched", "watch");
}

/* Newest first: when they began, and whom they blame ("": nobody). */
static void hosts_are_suspected_in_two_of_three_that_are_apart(void)
{
	static const struct {
		const char *state, *hosts[4];
		uint64_t at_min[4];
	} rows[] = {
		{ "suspected", { "a", "a" }, { 70, 60 } },
		{ "suspected", { "a", "", "a" }, { 80, 70, 60 } },
		{ "watched", { "a", "b" }, { 70, 60 } },
		{ "watched", { "a", "a" }, { 64, 60 } },		 /* not apart */
		{ "watched", { "a", "", "", "a" }, { 90, 80, 70, 60 } }, /* of the last three */
		{ "suspected", { "", "a", "a" }, { 80, 70, 60 } }, /* one good one is no cure */
		{ "slow", { "", "a", "" }, { 80, 70, 60 } },
		{ "suspected", { "b", "a", "a" }, { 80, 70, 60 } }, /* a, not b */
		{ "suspected", { "a", "a", "a" }, { 66, 64, 60 } }, /* the second is left out */
	};
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct job_window windows[4];

		for (n = 0; n < 4 && rows[i].hosts[n]; n++)
			windows[n] = window_of("compute", 1.1,
					       rows[i].hosts[n][0] ? rows[i].hosts[n] : NULL,
					       rows[i].at_min[n] * MIN_US);
		check(windows, n, rows[i].state,
		      streq(rows[i].state, "suspected") ? "probe" : "watch");
	}
}

static void windows_that_overlap_are_one(void)
{
	struct job_window windows[2] = { window_of("compute", 1.1, "a", 70 * MIN_US),
					 window_of("compute", 1.1, "a", 60 * MIN_US) };

	windows[1].until_us = 71 * MIN_US;
	check(windows, 2, "watched", "watch");
}

/* A window a minute: five minutes lie between those that count. */
static void windows_that_come_often_do_not_hide_those_that_are_apart(void)
{
	struct job_window windows[12];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(windows); i++)
		windows[i] = window_of("compute", 1.1, "a", (80 - i) * MIN_US);
	check(windows, ARRAY_SIZE(windows), "suspected", "probe");
	for (i = 0; i < ARRAY_SIZE(windows); i++)
		windows[i] = window_of("compute", 1.1, i < 5 ? "a" : NULL, (80 - i) * MIN_US);
	check(windows, ARRAY_SIZE(windows), "watched", "watch");
}

static void the_suspect_is_who_was_blamed_most(void)
{
	struct job_window windows[3] = { window_of("compute", 1.1, "b", 80 * MIN_US),
					 window_of("compute", 1.1, "a", 70 * MIN_US),
					 window_of("compute", 1.1, "a", 60 * MIN_US) };
	CLEANUP(json_freep) json_t *view = view_of(windows, 3, false);

	CHECK_STR(text_of(view, "suspect"), "a");
	CHECK_EQ(json_array_size(json_object_get(view, "suspects")), 2);
	release(windows, 3);
}

/* Nobody dated them: when they came has to do. */
static void coarse_windows_count_by_when_they_came(void)
{
	struct job_window windows[2] = { window_of("compute", 1.1, "a", 70 * MIN_US),
					 window_of("compute", 1.1, "a", 60 * MIN_US) };

	windows[0].from_us = windows[0].until_us = windows[1].from_us = windows[1].until_us = 0;
	check(windows, 2, "suspected", "probe");
}

static const json_t *suspect_of(const json_t *view, size_t i)
{
	return json_array_get(json_object_get(view, "suspects"), i);
}

static void it_says_which_tests_would_be_run_and_which_windows_blame_whom(void)
{
	struct job_window windows[2] = { window_of("compute", 1.1, "a", 70 * MIN_US),
					 window_of("compute", 1.1, "a", 60 * MIN_US) };
	CLEANUP(json_freep) json_t *view = view_of(windows, 2, false);
	const json_t *suspect = suspect_of(view, 0);
	CLEANUP(json_freep) json_t *ids = json_pack("[i, i]", 70, 60);

	CHECK_STR(text_of(json_object_get(view, "decision"), "reason"),
		  "a would be tested with gemm, gemm-load, memory");
	CHECK_STR(text_of(suspect, "action"), "probe");
	CHECK(json_equal(json_object_get(suspect, "windows"), ids));
	release(windows, 2);
}

/* A worker whose hosts the trace does not name cannot be tested. */
static void nobody_is_tested_whose_host_is_not_known(void)
{
	struct job_window windows[2] = { window_of("compute", 1.1, "a", 70 * MIN_US),
					 window_of("compute", 1.1, "a", 60 * MIN_US) };
	size_t i;

	for (i = 0; i < 2; i++) {
		json_t *one = json_array_get(json_object_get(windows[i].summary, "suspects"), 0);

		(void)json_object_set_new(one, "hosts", json_array());
	}
	check(windows, 2, "watched", "watch");
}

/* Its slowest host may well count: it is not to blame. */
static void a_job_that_slows_itself_has_no_suspects(void)
{
	struct job_window windows[2] = { window_of("job", 1.5, "a", 70 * MIN_US),
					 window_of("job", 1.5, "a", 60 * MIN_US) };
	CLEANUP(json_freep) json_t *view = view_of(windows, 2, false);

	CHECK(!suspect_of(view, 0));
	check(windows, 2, "owner informed", "owner");
}

static void a_window_that_is_too_short_blames_nobody(void)
{
	struct job_window windows[2] = { window_of("compute", 1.1, "a", 70 * MIN_US),
					 window_of("compute", 1.1, "a", 60 * MIN_US) };

	(void)json_object_set_new((json_t *)(uintptr_t)windows[0].summary, "steps", json_integer(9));
	check(windows, 2, "watched", "watch");
	windows[0] = window_of("compute", 1.1, "a", 70 * MIN_US);
	(void)json_object_set_new((json_t *)(uintptr_t)windows[0].summary, "steps", json_integer(9));
	check(windows, 1, "slow", "watch");
}

/* Whose names no suspect can have is a trace of a stranger: it must cost nothing else. */
static void a_window_that_contradicts_itself_blames_nobody(void)
{
	struct job_window window = window_of("compute", 1.1, "a", 70 * MIN_US);
	json_t *one = json_array_get(json_object_get(window.summary, "suspects"), 0);

	(void)json_object_set_new(one, "hosts", json_pack("[s, s]", "a", "a"));
	check(&window, 1, "slow", "watch");
}

/* Nobody said it again for longer than `fresh`: the same windows, and no suspect any more. */
static void a_suspicion_lapses_with_time_alone(void)
{
	const uint64_t fresh_us = policy_jobs_init().fresh_us - MIN_US; /* since the last step */
	struct job_window windows[2] = { window_of("compute", 1.1, "a", 70 * MIN_US),
					 window_of("compute", 1.1, "a", 60 * MIN_US) };
	CLEANUP(json_freep) json_t *fresh = view_later(windows, 2, false, fresh_us);
	CLEANUP(json_freep) json_t *lapsed = view_later(windows, 2, false, fresh_us + 1);

	CHECK_STR(text_of(fresh, "state"), "suspected");
	CHECK(json_is_false(json_object_get(suspect_of(fresh, 0), "lapsed")));
	CHECK_STR(text_of(lapsed, "state"), "lapsed");
	CHECK_STR(text_of(json_object_get(lapsed, "decision"), "action"), "watch");
	CHECK(json_is_null(json_object_get(lapsed, "suspect")));
	CHECK(json_is_true(json_object_get(suspect_of(lapsed, 0), "lapsed")));
	CHECK_HAS(text_of(suspect_of(lapsed, 0), "reason"), "jobs.windows.fresh");
	release(windows, 2);
}

/* As "kept" of what was shown before says, of the same run alone. */
static void a_suspect_that_was_shown_as_kept_lapses_later(void)
{
	struct job_window windows[] = { window_of("compute", 1.1, "gpu-17", 10 * MIN_US),
					window_of("compute", 1.1, "gpu-17", MIN_US) };
	const struct policy_jobs jobs = policy_jobs_init();
	const struct {
		const char *host;
		int64_t run;
		uint64_t until_us, at_us;
		size_t n;
	} rows[] = {
		{ "gpu-17", 4, 5 * HOUR_US, 4 * HOUR_US, 1 },
		{ "gpu-17", 4, 5 * HOUR_US, 6 * HOUR_US, 0 },
		{ "gpu-17", 4, 0, 4 * HOUR_US, 0 },
		{ "gpu-17", 3, 5 * HOUR_US, 4 * HOUR_US, 0 },
		{ "gpu-18", 4, 5 * HOUR_US, 4 * HOUR_US, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(job_suspects_release) struct job_suspects suspects;
		CLEANUP(json_freep)
		json_t *before = json_pack("{s:I, s:[{s:[s], s:s, s:o}]}", "run", rows[i].run,
					   "suspects", "hosts", rows[i].host, "class", "compute",
					   "kept", json_stamp(rows[i].until_us));

		job_suspects_read(windows, ARRAY_SIZE(windows), &jobs, before, rows[i].at_us,
				  &suspects);
		CHECK_EQ(suspects.list.n, rows[i].n);
		CHECK_EQ(suspects.ever.n, 1);
	}
	release(windows, ARRAY_SIZE(windows));
}

static const struct test tests[] = {
	TEST(without_a_window_it_waits_and_a_rejected_one_is_said),
	TEST(an_owner_is_told_once_of_each_run),
	TEST(one_window_says_what_it_can),
	TEST(hosts_are_suspected_in_two_of_three_that_are_apart),
	TEST(windows_that_overlap_are_one),
	TEST(windows_that_come_often_do_not_hide_those_that_are_apart),
	TEST(the_suspect_is_who_was_blamed_most),
	TEST(coarse_windows_count_by_when_they_came),
	TEST(it_says_which_tests_would_be_run_and_which_windows_blame_whom),
	TEST(nobody_is_tested_whose_host_is_not_known),
	TEST(a_job_that_slows_itself_has_no_suspects),
	TEST(a_window_that_is_too_short_blames_nobody),
	TEST(a_window_that_contradicts_itself_blames_nobody),
	TEST(a_suspicion_lapses_with_time_alone),
	TEST(a_suspect_that_was_shown_as_kept_lapses_later),
};

TEST_SUITE(tests);
