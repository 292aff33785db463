/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_placements.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/job/placing.h"
#include "controller/job/summary.h"
#include "controller/store/store.h"
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

/* The host has ranks `first` to `last` of job "a", begun at `from_us`; first -1: none. */
static int put(struct store *s, const char *node, const int64_t ranks[static 2], uint64_t from_us,
	       uint64_t now_us)
{
	struct store_placement list[STORE_PLACEMENTS_AT_ONCE];
	struct store_placed placed = {
		.node = node, .boot_id = "b1", .now_us = now_us, .list = list, .hosts_max = 10000
	};
	int64_t rank;

	for (rank = ranks[0]; rank >= 0 && rank <= ranks[1]; rank++)
		list[placed.n++] = (struct store_placement){ .job = "a",
							     .rank = rank,
							     .source = PLACEMENT_AGENTS,
							     .start = (int64_t)from_us,
							     .from_us = from_us };
	return store_set_placements(s, &placed, NULL);
}

static void add_row(void *context, const struct store_placement *p)
{
	char *text = context;
	const size_t n = strlen(text);

	(void)snprintf(text + n, 1000 - n, "%d on %s from %d until %d; ", (int)p->rank, p->node,
		       (int)(((int64_t)p->from_us - (int64_t)NOW_US) / (int64_t)USEC_PER_SEC),
		       (int)(((int64_t)p->until_us - (int64_t)NOW_US) / (int64_t)USEC_PER_SEC));
}

static const char *rows(struct store *s, int64_t first, int64_t last)
{
	static char text[1000];

	text[0] = '\0';
	CHECK_EQ(store_placements(s, "a", (const int64_t[]){ first, last }, add_row, text, NULL), 0);
	return text;
}

static void what_a_host_says_takes_the_place_of_what_it_said(void)
{
	CLEANUP(store_closep) struct store *s = open_store("said.db");
	const uint64_t later_us = NOW_US + 60 * USEC_PER_SEC;

	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ 0, 1 }, NOW_US - USEC_PER_SEC, NOW_US), 0);
	CHECK_EQ(put(s, "gpu-2", (const int64_t[]){ 2, 2 }, NOW_US - USEC_PER_SEC, NOW_US), 0);
	CHECK_STR(rows(s, 0, 2), "0 on gpu-1 from -1 until 720; 1 on gpu-1 from -1 until 720; "
				 "2 on gpu-2 from -1 until 720; ");
	/* The same once more, less one. */
	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ 0, 0 }, NOW_US - USEC_PER_SEC, later_us), 0);
	CHECK_STR(rows(s, 0, 1), "0 on gpu-1 from -1 until 780; 1 on gpu-1 from -1 until 60; ");
	/* The process was started anew: another one. */
	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ 0, 0 }, later_us, later_us), 0);
	CHECK_STR(rows(s, 0, 0), "0 on gpu-1 from 60 until 780; 0 on gpu-1 from -1 until 60; ");
	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ -1, -1 }, 0, later_us + USEC_PER_SEC), 0);
	CHECK_STR(rows(s, 0, 0), "0 on gpu-1 from 60 until 61; 0 on gpu-1 from -1 until 60; ");
	CHECK_STR(rows(s, 3, 9), "");
}

/* Whoever was away for long says nothing of the time between. */
static void what_was_not_heard_of_for_long_ended_when_it_was_believed_no_more(void)
{
	CLEANUP(store_closep) struct store *s = open_store("away.db");

	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ 0, 0 }, NOW_US, NOW_US), 0);
	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ -1, -1 }, 0, NOW_US + USEC_PER_DAY), 0);
	CHECK_STR(rows(s, 0, 0), "0 on gpu-1 from 0 until 720; ");
}

static void another_boot_has_other_processes(void)
{
	CLEANUP(store_closep) struct store *s = open_store("boot.db");
	const struct store_placement one = { .job = "a",
					     .start = (int64_t)NOW_US,
					     .from_us = NOW_US };
	const struct store_placed placed = { .node = "gpu-1",
					     .boot_id = "b2",
					     .now_us = NOW_US + USEC_PER_SEC,
					     .list = &one,
					     .n = 1,
					     .hosts_max = 1 };

	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ 0, 0 }, NOW_US, NOW_US), 0);
	CHECK_EQ(store_set_placements(s, &placed, NULL), 0);
	CHECK_STR(rows(s, 0, 0), "0 on gpu-1 from 0 until 721; 0 on gpu-1 from 0 until 1; ");
}

static void count(void *context, const struct store_placement *p UNUSED)
{
	(*(size_t *)context)++;
}

static size_t count_of(struct store *s, int64_t last)
{
	size_t n = 0;

	CHECK_EQ(store_placements(s, "a", (const int64_t[]){ 0, last }, count, &n, NULL), 0);
	return n;
}

static void of_a_host_only_so_many_are_kept_and_the_oldest_go(void)
{
	CLEANUP(store_closep) struct store *s = open_store("many.db");
	size_t i;

	for (i = 0; i < 40; i++)
		CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ 0, STORE_PLACEMENTS_AT_ONCE - 1 },
			     NOW_US + i, NOW_US + i),
			 0);
	CHECK_EQ(count_of(s, STORE_PLACEMENTS_AT_ONCE - 1), STORE_PLACEMENTS_OF_NODE);
	/* The i-th ended when the next came: 0 to 28 before. */
	CHECK_EQ(store_thin_placements(s, NOW_US + 30, NULL), 0);
	CHECK_EQ(count_of(s, STORE_PLACEMENTS_AT_ONCE - 1), 11 * STORE_PLACEMENTS_AT_ONCE);
	/* Its host says no more. */
	CHECK_EQ(store_thin_placements(s, NOW_US + USEC_PER_DAY, NULL), 0);
	CHECK_EQ(count_of(s, STORE_PLACEMENTS_AT_ONCE - 1), 0);
}

static void a_job_has_only_so_many_hosts_and_so_has_the_fleet(void)
{
	CLEANUP(store_closep) struct store *s = open_store("hosts.db");
	const struct store_placed stranger = { .node = "x", .boot_id = "b", .hosts_max = 4097 };
	char node[32];
	int i;

	for (i = 0; i <= STORE_PLACEMENT_NODES_MAX; i++) {
		(void)snprintf(node, sizeof(node), "gpu-%d", i);
		CHECK_EQ(put(s, node, (const int64_t[]){ i, i }, NOW_US, NOW_US), 0);
	}
	CHECK_EQ(count_of(s, 16383), STORE_PLACEMENT_NODES_MAX);
	CHECK_EQ(store_set_placements(s, &stranger, NULL), -EDQUOT);
}

/* --- what a window makes of it --- */

#define SUMMARY(hosts, low, high)                                                             \
	"{\"format\":\"assay-attribution-summary/1\",\"steps\":64,\"ranks\":128,\"hosts\":2," \
	"\"step_s\":0.5,\"slowdown\":{\"value\":1.09,\"low\":1.07,\"high\":1.11},\"cause\":"  \
	"\"worker\",\"class\":\"compute\",\"enough\":true,\"suspects\":[{\"hosts\":[" hosts   \
	"],\"dp\":3,\"stage\":1,\"ranks\":[" low "," high "],\"class\":\"compute\","          \
	"\"identifiable\":true,\"counts\":true}],\"heat\":null,\"sentence\":\"It is slow.\"}"

static json_t *settled_with(struct store *s, const char *text, uint64_t from_us, uint64_t until_us,
			    const struct placing_pods *pods)
{
	const struct placing_window w = {
		.job = "a", .run = 1, .span = { from_us, until_us }, .pods = pods
	};
	struct err err = ERR_INIT;
	json_t *summary = NULL;

	CHECK_EQ(summary_read(text, &summary, &err), 0);
	CHECK_EQ(placing_settle(s, &w, summary, &err), 0);
	CHECK_STR(err.msg, "");
	return summary;
}

static json_t *settled(struct store *s, const char *text, uint64_t from_us, uint64_t until_us)
{
	return settled_with(s, text, from_us, until_us, NULL);
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static void a_suspect_is_named_by_where_its_ranks_were(void)
{
	static const struct {
		const char *text, *suspect, *source, *sentence;
	} rows_[] = {
		{ SUMMARY("", "8", "15"), "gpu-1", "agents", "It is slow. Its ranks ran on gpu-1." },
		{ SUMMARY("", "8", "16"), "gpu-1,gpu-2", "agents",
		  "It is slow. Its ranks ran on gpu-1,gpu-2." },
		{ SUMMARY("\"gpu-1\"", "8", "15"), "gpu-1", "agents", "It is slow." },
		{ SUMMARY("\"gpu-1\",\"gpu-1\"", "8", "15"), "gpu-1", "agents", "It is slow." },
		{ SUMMARY("\"gpu-2\"", "8", "15"), NULL, NULL,
		  "No host is suspected for dp 3 stage 1: the trace names hosts other than "
		  "those "
		  "its ranks were on." },
		{ SUMMARY("\"gpu-9\"", "40", "47"), "gpu-9", "trace", "It is slow." },
		{ SUMMARY("", "40", "47"), NULL, NULL,
		  "No host is suspected for dp 3 stage 1: neither the trace nor anything else "
		  "says which host it ran on." },
		{ SUMMARY("", "16", "40"), NULL,
		  NULL, "No host is suspected for dp 3 stage 1: where some of its ranks ran is unknown." },
	};
	CLEANUP(store_closep) struct store *s = open_store("named.db");
	size_t i;

	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ 8, 15 }, NOW_US, NOW_US + 9), 0);
	CHECK_EQ(put(s, "gpu-2", (const int64_t[]){ 16, 23 }, NOW_US, NOW_US + 9), 0);
	for (i = 0; i < ARRAY_SIZE(rows_); i++) {
		CLEANUP(json_freep)
		json_t *summary = settled(s, rows_[i].text, NOW_US + 1, NOW_US + 8);
		const json_t *one = json_array_get(json_object_get(summary, "suspects"), 0);

		CHECK_STR(text_of(summary, "suspect"), rows_[i].suspect);
		CHECK_STR(text_of(summary, "sentence"), rows_[i].sentence);
		CHECK_STR(text_of(json_object_get(one, "placed"), "source"), rows_[i].source);
		CHECK_EQ(json_is_true(json_object_get(one, "counts")), rows_[i].suspect != NULL);
		if (!rows_[i].suspect)
			CHECK_EQ(json_array_size(json_object_get(one, "hosts")), 0);
	}
}

/* Ranks 0 to 7 on the first and so on; the last has as many as make `ranks` of them. */
static void pods_come_before_what_processes_say(void)
{
	static char gpu_1[] = "gpu-1", gpu_7[] = "gpu-7";
	static const struct {
		const char *text, *suspect, *source, *words;
		int64_t ranks;
		uint64_t from_us, until_us;
	} rows_[] = {
		/* Processes of gpu-1 have 8 to 15. */
		{ SUMMARY("", "8", "15"), "gpu-1", "pods", "ran on gpu-1", 128, NOW_US, NOW_US + 9 },
		{ SUMMARY("\"gpu-1\"", "8", "15"), "gpu-1", "pods", "It is slow.", 128, NOW_US,
		  NOW_US + 9 },
		{ SUMMARY("", "16", "20"), "gpu-7", "pods", "ran on gpu-7", 128, NOW_US,
		  NOW_US + 9 },
		{ SUMMARY("", "15", "16"), "gpu-1,gpu-7", "pods", "ran on gpu-1,gpu-7", 128, NOW_US,
		  NOW_US + 9 },
		{ SUMMARY("", "0", "7"), NULL, NULL, "disagree on the host", 128, NOW_US,
		  NOW_US + 9 },
		{ SUMMARY("\"gpu-1\"", "16", "20"), NULL, NULL, "hosts other than", 128, NOW_US,
		  NOW_US + 9 },
		/* They started within the window, or were asked for before its end. */
		{ SUMMARY("", "16", "20"), NULL, NULL, "part of the window", 128, NOW_US + 2,
		  NOW_US + 9 },
		{ SUMMARY("", "16", "20"), NULL, NULL, "part of the window", 128, NOW_US,
		  NOW_US + 7 },
		/* There are more or fewer of them than the trace has. */
		{ SUMMARY("", "16", "20"), NULL, NULL, "nor anything else", 127, NOW_US,
		  NOW_US + 9 },
		{ SUMMARY("", "16", "20"), NULL, NULL, "nor anything else", 129, NOW_US,
		  NOW_US + 9 },
		{ SUMMARY("", "8", "15"), "gpu-1", "agents", "ran on gpu-1", 127, NOW_US,
		  NOW_US + 9 },
	};
	CLEANUP(store_closep) struct store *s = open_store("pods.db");
	size_t i;

	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ 8, 15 }, NOW_US, NOW_US + 9), 0);
	CHECK_EQ(put(s, "gpu-9", (const int64_t[]){ 0, 0 }, NOW_US, NOW_US + 9), 0);
	for (i = 0; i < ARRAY_SIZE(rows_); i++) {
		const uint64_t from_us = rows_[i].from_us, until_us = rows_[i].until_us;
		struct placing_pod pods[] = {
			{ gpu_7, 0, 8, from_us, until_us },
			{ gpu_1, 8, 8, from_us, until_us },
			{ gpu_7, 16, rows_[i].ranks - 16, from_us, until_us },
		};
		CLEANUP(json_freep)
		json_t *summary = settled_with(s, rows_[i].text, NOW_US + 1, NOW_US + 8,
					       &(struct placing_pods){ pods, ARRAY_SIZE(pods) });
		const json_t *one = json_array_get(json_object_get(summary, "suspects"), 0);

		CHECK_STR(text_of(summary, "suspect"), rows_[i].suspect);
		CHECK_HAS(text_of(summary, "sentence"), rows_[i].words);
		CHECK_STR(text_of(json_object_get(one, "placed"), "source"), rows_[i].source);
	}
}

static void who_moved_within_the_window_is_not_suspected(void)
{
	CLEANUP(store_closep) struct store *s = open_store("moved.db");
	static const int64_t ranks[] = { 8, 15 }, none[] = { -1, -1 };
	const uint64_t moved_us = NOW_US + USEC_PER_MIN;
	json_t *summary;

	CHECK_EQ(put(s, "gpu-1", ranks, NOW_US, NOW_US), 0);
	CHECK_EQ(put(s, "gpu-1", none, 0, moved_us), 0);
	CHECK_EQ(put(s, "gpu-2", ranks, moved_us, moved_us), 0);
	summary = settled(s, SUMMARY("", "8", "15"), NOW_US + 1, moved_us + 1);
	CHECK_STR(text_of(summary, "suspect"), NULL);
	CHECK_HAS(text_of(summary, "sentence"), "two hosts");
	json_decref(summary);
	summary = settled(s, SUMMARY("", "8", "15"), NOW_US + 1, moved_us - 1);
	CHECK_STR(text_of(summary, "suspect"), "gpu-1");
	json_decref(summary);
	summary = settled(s, SUMMARY("", "8", "15"), moved_us + 1, moved_us + 9);
	CHECK_STR(text_of(summary, "suspect"), "gpu-2");
	json_decref(summary);
	/* Nobody said when it was. */
	summary = settled(s, SUMMARY("", "8", "15"), 0, 0);
	CHECK_STR(text_of(summary, "suspect"), NULL);
	json_decref(summary);
}

static void who_says_nothing_any_more_is_believed_for_a_while(void)
{
	CLEANUP(store_closep) struct store *s = open_store("silent.db");
	json_t *summary;

	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ 8, 15 }, NOW_US, NOW_US), 0);
	summary = settled(s, SUMMARY("", "8", "15"), NOW_US, NOW_US + 11 * USEC_PER_MIN);
	CHECK_STR(text_of(summary, "suspect"), "gpu-1");
	json_decref(summary);
	summary = settled(s, SUMMARY("", "8", "15"), NOW_US, NOW_US + 13 * USEC_PER_MIN);
	CHECK_STR(text_of(summary, "suspect"), NULL);
	json_decref(summary);
}

/* The hosts of job "a", "gpu-1 gpu-2 ". */
static const char *hosts_of_job(struct store *s, uint64_t now_us, uint64_t lately_us, size_t most)
{
	static char text[200];
	CLEANUP(json_freep) json_t *names = NULL;
	size_t i;

	text[0] = '\0';
	CHECK_EQ(store_job_hosts(s, "a", (const uint64_t[]){ now_us, lately_us }, most, &names,
				 NULL),
		 0);
	for (i = 0; i < json_array_size(names); i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ",
			       json_string_value(json_array_get(names, i)));
	return text;
}

static void the_hosts_of_a_job_are_those_of_now_else_those_of_its_last_run(void)
{
	CLEANUP(store_closep) struct store *s = open_store("hosts.db");
	const uint64_t ended_us = NOW_US + 5 * USEC_PER_MIN;

	CHECK_STR(hosts_of_job(s, NOW_US, 0, 9), "");
	CHECK_EQ(put(s, "gpu-2", (const int64_t[]){ 2, 3 }, NOW_US, NOW_US), 0);
	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ 0, 1 }, NOW_US, NOW_US), 0);
	CHECK_STR(hosts_of_job(s, NOW_US, 0, 9), "gpu-1 gpu-2 ");
	CHECK_STR(hosts_of_job(s, NOW_US, 0, 1), "gpu-1 ");
	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ -1, -1 }, NOW_US, ended_us), 0);
	CHECK_STR(hosts_of_job(s, ended_us, 0, 9), "gpu-2 ");
	CHECK_EQ(put(s, "gpu-2", (const int64_t[]){ -1, -1 }, NOW_US, ended_us), 0);
	CHECK_STR(hosts_of_job(s, ended_us, NOW_US, 9), "gpu-1 gpu-2 ");
	CHECK_STR(hosts_of_job(s, ended_us, ended_us + 1, 9), "");
}

static void add_job(void *context, const struct store_placement *p)
{
	char *text = context;
	const size_t n = strlen(text);

	(void)snprintf(text + n, 1000 - n, "%s from %d until %d; ", p->job,
		       (int)(((int64_t)p->from_us - (int64_t)NOW_US) / (int64_t)USEC_PER_SEC),
		       (int)(((int64_t)p->until_us - (int64_t)NOW_US) / (int64_t)USEC_PER_SEC));
}

static const char *jobs_of_node(struct store *s, const char *node, uint64_t since_us)
{
	static char text[1000];

	text[0] = '\0';
	CHECK_EQ(store_node_jobs(s, node, (const uint64_t[]){ since_us, 9 }, add_job, text, NULL),
		 0);
	return text;
}

static void the_jobs_of_a_host_are_told_from_its_first_rank_to_its_last(void)
{
	CLEANUP(store_closep) struct store *s = open_store("jobs-of-node.db");
	const uint64_t ended_us = NOW_US + 60 * USEC_PER_SEC;

	CHECK_STR(jobs_of_node(s, "gpu-1", 0), "");
	CHECK_EQ(put(s, "gpu-2", (const int64_t[]){ 2, 3 }, NOW_US, NOW_US), 0);
	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ 0, 1 }, NOW_US - USEC_PER_SEC, NOW_US), 0);
	CHECK_STR(jobs_of_node(s, "gpu-1", NOW_US), "a from -1 until 720; ");
	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ 0, 0 }, NOW_US - USEC_PER_SEC, NOW_US), 0);
	CHECK_EQ(put(s, "gpu-1", (const int64_t[]){ -1, -1 }, 0, ended_us), 0);
	CHECK_STR(jobs_of_node(s, "gpu-1", ended_us), "a from -1 until 60; ");
	CHECK_STR(jobs_of_node(s, "gpu-1", ended_us + 1), "");
	/* Who is heard of no more had it as long as that was believed. */
	CHECK_STR(jobs_of_node(s, "gpu-2", NOW_US + STORE_PLACEMENT_BELIEVED_US),
		  "a from 0 until 720; ");
	CHECK_STR(jobs_of_node(s, "gpu-2", NOW_US + STORE_PLACEMENT_BELIEVED_US + 1), "");
}

static const struct test tests[] = {
	TEST(the_jobs_of_a_host_are_told_from_its_first_rank_to_its_last),
	TEST(the_hosts_of_a_job_are_those_of_now_else_those_of_its_last_run),
	TEST(what_a_host_says_takes_the_place_of_what_it_said),
	TEST(what_was_not_heard_of_for_long_ended_when_it_was_believed_no_more),
	TEST(another_boot_has_other_processes),
	TEST(of_a_host_only_so_many_are_kept_and_the_oldest_go),
	TEST(a_job_has_only_so_many_hosts_and_so_has_the_fleet),
	TEST(a_suspect_is_named_by_where_its_ranks_were),
	TEST(pods_come_before_what_processes_say),
	TEST(who_moved_within_the_window_is_not_suspected),
	TEST(who_says_nothing_any_more_is_believed_for_a_while),
};

TEST_SUITE(tests);
