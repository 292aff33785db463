/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "controller/job/trace_files.h"
#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define NOW_US (100 * USEC_PER_DAY)

static struct store *open_store(const char *name)
{
	CLEANUP(freep) char *path = xasprintf("%s/%s", test_dir(), name);
	struct err err = ERR_INIT;
	struct store *s = NULL;

	CHECK_EQ(store_open(path, &s, &err), 0);
	CHECK_STR(err.msg, "");
	return s;
}

static int64_t job_of(struct store *s, const char *name, uint64_t now_us)
{
	int64_t id = -1;

	CHECK_EQ(store_need_job(s, name, now_us, &id, NULL), 0);
	return id;
}

static int64_t queue(struct store *s, int64_t job, const char *digest, uint64_t at_us)
{
	const struct store_trace_window w = {
		.job = job,
		.run = 1,
		.digest = digest,
		.parts = 1,
		.came = 1,
		.received_us = at_us,
	};
	int64_t id = -1;

	CHECK_EQ(store_queue_window(s, &w, &id, NULL), 0);
	return id;
}

static void end(struct store *s, int64_t job, int64_t id, enum window_state state)
{
	const struct store_trace_window w = { .id = id,
					      .job = job,
					      .state = state,
					      .reason = state == WINDOW_ANALYSED ? NULL : "because",
					      .summary = "{\"steps\":9,\"suspect\":\"gpu-1\"}" };

	CHECK_EQ(store_end_window(s, &w, NULL), 0);
}

static void take_id(void *context, const struct store_trace_window *w)
{
	*(int64_t *)context = w->id;
}

static void windows_are_taken_in_turn_and_end(void)
{
	CLEANUP(store_closep) struct store *s = open_store("turn.db");
	const int64_t job = job_of(s, "research/a", NOW_US);
	const int64_t first = queue(s, job, "11", NOW_US), second = queue(s, job, "22", NOW_US);
	CLEANUP(json_freep) json_t *window = NULL;
	const struct store_span before = { NOW_US - 1, NOW_US }, after = { NOW_US, NOW_US + 9 };
	uint64_t n[WINDOW_STATES], came = 0, first_us = 0;
	struct store_queue queued;
	int64_t next = -1;

	CHECK_EQ(store_next_window(s, take_id, &next, NULL), 0);
	CHECK_EQ(next, first);
	end(s, job, first, WINDOW_REJECTED);
	CHECK_EQ(store_next_window(s, take_id, &next, NULL), 0);
	CHECK_EQ(next, second);
	CHECK_EQ(store_commit(s, NULL), 0);
	CHECK_EQ(store_count_trace_windows(s, job, n, NULL), 0);
	CHECK_EQ(n[WINDOW_QUEUED], 1);
	CHECK_EQ(n[WINDOW_REJECTED], 1);
	CHECK_EQ(store_queued_windows(s, job, &queued, NULL), 0);
	CHECK_EQ(queued.windows, 1);
	CHECK_EQ(queued.bytes, queued.job_bytes);
	CHECK_EQ(store_windows_since(s, job, &before, 4, &came, &first_us, NULL), 0);
	CHECK_EQ(came, 2);
	CHECK_EQ(first_us, NOW_US);
	CHECK_EQ(store_windows_since(s, job, &after, 4, &came, &first_us, NULL), 0);
	CHECK_EQ(came, 0);
	CHECK_EQ(store_trace_window(s, job, first, &window, NULL), 0);
	CHECK_STR(json_string_value(json_object_get(window, "reason")), "because");
	CHECK(json_is_true(json_object_get(window, "coarse")));
	CHECK_EQ(store_trace_window(s, job + 1, first, &window, NULL), -ENOENT);
}

static void the_same_trace_is_found_again_in_its_run_alone(void)
{
	CLEANUP(store_closep) struct store *s = open_store("again.db");
	const int64_t job = job_of(s, "a", NOW_US), id = queue(s, job, "11", NOW_US);
	struct store_trace_window like = { .job = job, .run = 1, .digest = "11" };
	enum window_state state = WINDOW_FAILED;
	int64_t found = -1;

	CHECK_EQ(store_find_window(s, &like, &found, &state, NULL), 0);
	CHECK_EQ(found, id);
	CHECK_EQ(state, WINDOW_QUEUED);
	like.run = 2;
	CHECK_EQ(store_find_window(s, &like, &found, &state, NULL), -ENOENT);
}

/* The one heard of longest ago goes, with its windows; one that waits for an analysis stays. */
static void a_job_too_many_takes_the_place_of_the_oldest(void)
{
	CLEANUP(store_closep) struct store *s = open_store("many.db");
	int64_t id = -1, waits = job_of(s, "waits", 1), oldest = job_of(s, "oldest", 2);
	int i;

	(void)queue(s, waits, "11", 1);
	end(s, oldest, queue(s, oldest, "22", 2), WINDOW_ANALYSED);
	for (i = 2; i < STORE_JOBS_MAX; i++) {
		CLEANUP(freep) char *name = xasprintf("job-%d", i);

		(void)job_of(s, name, NOW_US);
	}
	CHECK_EQ(store_find_job(s, "oldest", &id, NULL), 0);
	(void)job_of(s, "one-more", NOW_US);
	CHECK_EQ(store_find_job(s, "oldest", &id, NULL), -ENOENT);
	CHECK_EQ(store_find_job(s, "waits", &id, NULL), 0);
	CHECK_EQ(store_find_job(s, "one-more", &id, NULL), 0);
}

static void what_is_shown_is_kept_and_counted(void)
{
	CLEANUP(store_closep) struct store *s = open_store("shown.db");
	const struct store_range range = { NULL, 10 };
	CLEANUP(store_jobs_told_release) struct store_jobs_told told = { .suspects = 0 };
	CLEANUP(json_freep) json_t *job = NULL;
	struct store_page page = { 0 };
	const int64_t a = job_of(s, "a", NOW_US);
	const json_t *first;

	(void)job_of(s, "b", NOW_US);
	CHECK_EQ(store_show_job(s, a, "{\"state\":\"suspected\",\"slowdown\":1.25,\"suspects\":[1]}",
				NULL),
		 0);
	CHECK_EQ(store_jobs_now(s, 8, 0, &told, NULL), 0);
	CHECK_EQ(json_integer_value(json_object_get(told.states, "suspected")), 1);
	CHECK_EQ(json_integer_value(json_object_get(told.states, "waiting")), 1);
	CHECK_NEAR(json_number_value(json_object_get(told.slowdowns, "a")), 1.25, 1e-9);
	CHECK(!json_object_get(told.slowdowns, "b"));
	CHECK_EQ(json_object_size(told.own), 0);
	CHECK_EQ(told.suspects, 0);
	CHECK_EQ(store_jobs(s, NULL, &range, &page, NULL), 0);
	CHECK_EQ(json_array_size(page.items), 2);
	first = json_array_get(page.items, 0);
	CHECK_STR(json_string_value(json_object_get(first, "state")), "suspected");
	CHECK(!json_object_get(first, "suspects")); /* for who asks for it alone */
	json_decref(page.items);
	CHECK_EQ(store_job(s, a, &job, NULL), 0);
	CHECK_EQ(json_array_size(json_object_get(job, "suspects")), 1);
}

static void suspects_and_jobs_that_slow_themselves_are_counted(void)
{
	CLEANUP(store_closep) struct store *s = open_store("told.db");
	CLEANUP(store_jobs_told_release) struct store_jobs_told told = { .suspects = 0 };
	const int64_t a = job_of(s, "a", NOW_US), b = job_of(s, "b", NOW_US);
	const int64_t gone = job_of(s, "old", 1);

	CHECK_EQ(store_show_job(s, a,
				"{\"state\":\"owner informed\",\"slowdown\":1.5,\"suspects\":["
				"{\"since\":\"x\",\"hosts\":[\"h1\",\"h2\"]},"
				"{\"since\":\"x\",\"hosts\":[\"h3\"],\"lapsed\":true},"
				"{\"since\":null,\"hosts\":[\"h4\"]}]}",
				NULL),
		 0);
	CHECK_EQ(store_show_job(
			 s, b,
			 "{\"slowdown\":1.2,\"suspects\":[{\"since\":\"x\",\"hosts\":[\"h2\"]}]}",
			 NULL),
		 0);
	CHECK_EQ(store_show_job(s, gone, "{\"slowdown\":9}", NULL), 0);
	CHECK_EQ(store_jobs_now(s, 8, NOW_US, &told, NULL), 0);
	CHECK_EQ(told.suspects, 2);
	CHECK_EQ(json_object_size(told.slowdowns), 2);
	CHECK_EQ(json_object_size(told.own), 1);
	CHECK_NEAR(json_number_value(json_object_get(told.own, "a")), 1.5, 1e-9);
}

static void what_is_old_goes_but_no_window_that_is_queued(void)
{
	CLEANUP(store_closep) struct store *s = open_store("old.db");
	const int64_t job = job_of(s, "a", 1), gone = job_of(s, "b", 1);
	const int64_t waits = queue(s, job, "11", 1), done = queue(s, job, "22", 1);
	int64_t there = 0;
	int64_t id;

	end(s, job, done, WINDOW_ANALYSED);
	CHECK_EQ(store_thin_jobs(s, NOW_US, NOW_US, NOW_US, NULL), 1);
	CHECK_EQ(store_thin_jobs(s, NOW_US, NOW_US, NOW_US, NULL), 0);
	CHECK_EQ(store_window_is(s, waits, WINDOW_QUEUED, &there, NULL), 0);
	CHECK(there);
	CHECK_EQ(store_window_is(s, done, WINDOW_ANALYSED, &there, NULL), 0);
	CHECK(!there);
	CHECK_EQ(store_find_job(s, "a", &id, NULL), 0);
	CHECK_EQ(store_find_job(s, "b", &id, NULL), -ENOENT);
	CHECK(gone != job);
}

/* --- parts --- */

static void take_row(void *context, const struct store_trace_window *w)
{
	struct store_trace_window *ret = context;

	*ret = *w;
	ret->digest = ret->reason = ret->summary = NULL;
}

static void count_part(void *context, int64_t part)
{
	*(int64_t *)context += part;
}

static void a_window_in_parts_waits_for_all_of_them(void)
{
	CLEANUP(store_closep) struct store *s = open_store("parts.db");
	struct store_trace_window w = { .job = job_of(s, "a", NOW_US),
					.run = 1,
					.digest = "d2",
					.parts = 2,
					.came = 1,
					.bytes = 7,
					.from_us = 50,
					.until_us = 60,
					.received_us = NOW_US };
	struct store_trace_window row = { .id = -1 };
	enum window_state state = WINDOW_FAILED;
	int64_t id = -1, sum = 0;
	bool there = true;

	CHECK_EQ(store_queue_window(s, &w, &w.id, NULL), 0);
	CHECK_EQ(store_add_part(s, &w, 2, "d2", true, NULL), 0);
	CHECK_EQ(store_next_window(s, take_id, &id, NULL), 0);
	CHECK_EQ(id, -1); /* it waits */
	CHECK_EQ(store_late_window(s, NOW_US, take_id, &id, NULL), 0);
	CHECK_EQ(id, -1);
	CHECK_EQ(store_late_window(s, NOW_US + 1, take_id, &id, NULL), 0);
	CHECK_EQ(id, w.id);
	CHECK_EQ(store_has_part(s, w.id, 1, &there, NULL), 0);
	CHECK(!there);
	CHECK_EQ(store_open_window(s, &w, take_row, &row, NULL), 0);
	CHECK_EQ(row.id, w.id);
	CHECK_EQ(row.came, 1);
	row.digest = "d2";
	row.bytes = 5; /* of the part that comes, with its times */
	row.from_us = 40;
	row.until_us = 55;
	CHECK_EQ(store_add_part(s, &row, 1, "d1", false, NULL), 0);
	row.id = id = -1;
	CHECK_EQ(store_open_window(s, &w, take_row, &row, NULL), 0);
	CHECK_EQ(row.id, -1);
	CHECK_EQ(store_next_window(s, take_row, &row, NULL), 0);
	CHECK_EQ(row.id, w.id);
	CHECK_EQ(row.bytes, 12);
	CHECK_EQ(row.from_us, 40);
	CHECK_EQ(row.until_us, 60);
	CHECK_EQ(store_trace_parts(s, w.id, count_part, &sum, NULL), 0);
	CHECK_EQ(sum, 3);
	CHECK_EQ(store_find_part(s, &w, 2, "d2", &id, &state, NULL), 0);
	CHECK_EQ(id, w.id);
	CHECK_EQ(state, WINDOW_QUEUED);
	CHECK_EQ(store_find_part(s, &w, 1, "d2", &id, &state, NULL), -ENOENT);
}

/* --- files --- */

static int64_t is_even(void *context UNUSED, int64_t window, bool analysis UNUSED)
{
	return window % 2 == 0;
}

static bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void files_of_windows_that_nobody_wants_are_swept(void)
{
	CLEANUP(trace_files_release) struct trace_files files = { .n_kept = 0 };
	CLEANUP(freep) char *db = xasprintf("%s/files.db", test_dir());
	CLEANUP(freep) char *one = NULL;
	CLEANUP(freep) char *two = NULL;
	CLEANUP(freep) char *meta = NULL;
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *stray = NULL;

	CHECK_EQ(trace_files_open(db, &files, NULL), 0);
	CHECK_EQ(trace_files_put(&files, 1, 1, "abc", 3, "v: 1", NULL), 0);
	CHECK_EQ(trace_files_put(&files, 2, 1, "abc", 3, "v: 1", NULL), 0);
	CHECK_EQ(trace_files_keep(&files, 2, 1, "{}", NULL), 0);
	stray = xasprintf("%s/2.tmp", files.traces);
	CHECK_EQ(symlink("/etc/passwd", stray), 0);
	trace_files_sweep(&files, is_even, NULL);
	one = trace_files_trace(&files, 1, 1);
	two = trace_files_trace(&files, 2, 1);
	meta = trace_files_meta(&files, 2);
	CHECK(!is_there(one));
	CHECK(is_there(two));
	CHECK(meta != NULL);
	CHECK(!is_there(stray));
	CHECK(is_there("/etc/passwd"));
	CHECK_EQ(trace_files_analysis(&files, 2, &text, NULL), 0);
	CHECK_STR(text, "{}");
	CHECK_EQ(trace_files_analysis(&files, 4, &text, NULL), -ENOENT);
	/* Without a shape none is left of a window of the same number. */
	CHECK_EQ(trace_files_put(&files, 2, 1, "abc", 3, NULL, NULL), 0);
	free(meta);
	meta = trace_files_meta(&files, 2);
	CHECK(!meta);
	trace_files_drop(&files, 2, 1);
	CHECK(!is_there(two));
}

/* Those of the job first, then of all; a number is there once. */
static void the_oldest_analyses_make_room(void)
{
	CLEANUP(freep) char *db = xasprintf("%s/room/a.db", test_dir());
	CLEANUP(freep) char *text = NULL;
	CLEANUP(trace_files_release) struct trace_files files = { .n_kept = 0 };
	int64_t i;

	CHECK_EQ(trace_files_open(db, &files, NULL), 0);
	CHECK_EQ(trace_files_keep(&files, 1, 7, "{}", NULL), 0);
	for (i = 2; i < ANALYSES_JOB_MAX + 2; i++)
		CHECK_EQ(trace_files_keep(&files, i, 8, "{}", NULL), 0);
	CHECK_EQ(trace_files_keep(&files, 3, 8, "[3]", NULL), 0);
	CHECK_EQ(files.n_kept, ANALYSES_JOB_MAX + 1);
	CHECK_EQ(trace_files_keep(&files, i, 8, "{}", NULL), 0);
	CHECK_EQ(files.n_kept, ANALYSES_JOB_MAX + 1);
	CHECK_EQ(trace_files_analysis(&files, 2, &text, NULL), -ENOENT);
	CHECK_EQ(trace_files_analysis(&files, 1, &text, NULL), 0);
	trace_files_sweep(&files, is_even, NULL);
	CHECK_EQ(files.n_kept, ANALYSES_JOB_MAX / 2);
}

/* "abc" is the newest though it came first. */
static void windows_count_by_their_steps_not_by_when_they_came(void)
{
	CLEANUP(store_closep) struct store *s = open_store("order.db");
	const int64_t job = job_of(s, "a", NOW_US);
	struct store_trace_window w = { .job = job, .run = 1, .parts = 1, .came = 1 };
	int64_t id = -1, last = -1;
	uint64_t i;

	for (i = 0; i < 3; i++) {
		w.digest = i == 0 ? "abc" : i == 1 ? "def" : "ghi";
		w.received_us = NOW_US + i;
		w.from_us = NOW_US - i * USEC_PER_HOUR;
		w.until_us = w.from_us + 1;
		CHECK_EQ(store_queue_window(s, &w, &id, NULL), 0);
		end(s, job, id, WINDOW_ANALYSED);
	}
	CHECK_EQ(store_analysed_windows(s, job, 3, take_id, &last, NULL), 0);
	CHECK_EQ(last, id); /* the last of them is the oldest */
}

/* Two windows of run 1, then one of run 3, one of run 2 that failed, and one more of run 3. */
static void the_window_before_a_run_is_the_newest_of_an_earlier_one(void)
{
	static const int64_t runs[] = { 1, 1, 3, 2, 3 };
	CLEANUP(store_closep) struct store *s = open_store("before.db");
	const int64_t job = job_of(s, "a", NOW_US);
	int64_t ids[ARRAY_SIZE(runs)], id = -1, run = -1;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(runs); i++) {
		CLEANUP(freep) char *digest = xasprintf("abc%zu", i);
		const struct store_trace_window w = { .job = job,
						      .run = runs[i],
						      .parts = 1,
						      .came = 1,
						      .digest = digest,
						      .received_us = NOW_US + i };

		CHECK_EQ(store_queue_window(s, &w, &ids[i], NULL), 0);
		end(s, job, ids[i], runs[i] == 2 ? WINDOW_FAILED : WINDOW_ANALYSED);
	}
	CHECK_EQ(store_window_before(s, job, 3, 512, &id, &run, NULL), 0);
	CHECK_EQ(id, ids[1]);
	CHECK_EQ(run, 1);
	CHECK_EQ(store_window_before(s, job, 1, 512, &id, &run, NULL), 0);
	CHECK_EQ(id, 0);
	CHECK_EQ(store_window_before(s, job, 3, 2, &id, &run, NULL), 0);
	CHECK_EQ(id, 0); /* it is further back */
}

static const struct test tests[] = {
	TEST(windows_are_taken_in_turn_and_end),
	TEST(the_same_trace_is_found_again_in_its_run_alone),
	TEST(a_job_too_many_takes_the_place_of_the_oldest),
	TEST(what_is_shown_is_kept_and_counted),
	TEST(suspects_and_jobs_that_slow_themselves_are_counted),
	TEST(what_is_old_goes_but_no_window_that_is_queued),
	TEST(a_window_in_parts_waits_for_all_of_them),
	TEST(files_of_windows_that_nobody_wants_are_swept),
	TEST(the_oldest_analyses_make_room),
	TEST(windows_count_by_their_steps_not_by_when_they_came),
	TEST(the_window_before_a_run_is_the_newest_of_an_earlier_one),
};

TEST_SUITE(tests);
