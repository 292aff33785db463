/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts' reports on a job's ranks: which are believed, the result, and which hosts are asked. */
#include "controller/job/hang_job.h"

#include <stdio.h>
#include <stdlib.h>

#include "controller/job/hang_merge.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_judge.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define T0 (1000000 * USEC_PER_SEC)

enum { EACH = 8, GROUPS = 20 };

/* --- a world: ranks, EACH on a host --- */

static char *node_of(size_t host)
{
	return xasprintf("gpu-%04zu", host);
}

static struct hang_places places_of(size_t n_ranks)
{
	struct hang_places p = { .nodes = NULL };
	size_t i;

	p.n_nodes = n_ranks / EACH;
	p.nodes = xcalloc(p.n_nodes, sizeof(char *));
	for (i = 0; i < p.n_nodes; i++)
		p.nodes[i] = node_of(i);
	p.of = xcalloc(n_ranks, sizeof(*p.of));
	for (i = 0; i < n_ranks; i++)
		p.of[i] = (uint16_t)(i / EACH + 1);
	p.n_ranks = n_ranks;
	p.run = 1;
	return p;
}

static json_t *rank_of(size_t rank, int64_t completed, const char *source)
{
	return json_pack(
		"{s:I, s:[s], s:{s:s, s:f}, s:[{s:i, s:I, s:I, s:I}], s:[{s:i, s:I, s:s, s:s, "
		"s:f}]}",
		"rank", (json_int_t)rank, "sources", source, "process", "state", "futex", "for_s",
		100.0, "positions", "group", 0, "place", (json_int_t)rank, "enqueued",
		(json_int_t)(completed + 1), "completed", (json_int_t)completed, "ops", "group", 0,
		"seq", (json_int_t)(completed + 1), "op", "all_reduce", "state", "enqueued",
		"for_s", 100.0);
}

static json_t *document_of(const char *node, size_t world)
{
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:i, s:I, s:f, s:[{s:s, s:s, s:I, s:n}], s:[], s:[]}",
		"format", "assay-hang/1", "node", node, "boot_id", "b", "job", "j", "run", 1,
		"world", (json_int_t)world, "age_s", 0.5, "groups", "name", "0", "desc",
		"default_pg", "size", (json_int_t)world, "ranks", "ranks", "missing");
}

static void add_rank(json_t *doc, json_t *rank)
{
	(void)json_array_append_new(json_object_get(doc, "ranks"), rank);
}

/* Cut and take it. */
static struct hang_doc_facts put(struct hang_job *job, const char *node, json_t *doc,
				 uint64_t now_us)
{
	struct hang_docs_words words;
	struct hang_doc_facts facts;
	struct err err = ERR_INIT;

	hang_doc_cut(doc, &job->places, node, &facts);
	CHECK_EQ(hang_docs_read(doc, &words, &err), 0);
	hang_docs_put(&job->docs, node, &words, &facts, now_us);
	json_decref(doc);
	return facts;
}

static struct hang_job job_of(size_t n_ranks)
{
	return (struct hang_job){ .name = (char *)(uintptr_t) "j", .places = places_of(n_ranks) };
}

/* --- whom we believe --- */

static void of_other_hosts_ranks_only_what_ras_told_is_kept(void)
{
	struct hang_job job = job_of(16);
	json_t *doc = document_of("gpu-0000", 16);
	struct hang_doc_facts f;

	add_rank(doc, rank_of(0, 410, "ring"));
	add_rank(doc, rank_of(9, 409, "ring"));
	add_rank(doc, rank_of(10, 409, "ras"));
	add_rank(doc, rank_of(99, 409, "ras"));
	f = put(&job, "gpu-0000", doc, T0);
	CHECK_EQ(f.own, 1);
	CHECK_EQ(f.told, 1);
	CHECK_EQ(f.refused, 2);
	hang_job_release(&job);
}

static void each_rank_is_what_its_own_host_says(void)
{
	struct hang_job job = job_of(16);
	json_t *one = document_of("gpu-0000", 16), *two = document_of("gpu-0001", 16);
	struct hang_case c = { .n_ranks = 0 };
	struct err err = ERR_INIT;

	add_rank(one, rank_of(0, 410, "ring"));
	add_rank(one, rank_of(9, 7, "ras"));
	add_rank(one, rank_of(10, 8, "ras"));
	add_rank(two, rank_of(9, 410, "ring"));
	(void)put(&job, "gpu-0000", one, T0);
	(void)put(&job, "gpu-0001", two, T0);
	CHECK_EQ(hang_merge(&job.docs, &job.places, &c, &err), 0);
	CHECK_EQ(c.n_ranks, 16);
	CHECK_EQ(c.ranks[9].sources, HANG_RING);
	CHECK_EQ(c.ranks[10].sources, HANG_RAS);
	CHECK_STR(c.ranks[10].node, "gpu-0001");
	CHECK_EQ(c.ranks[15].sources, 0);
	hang_case_release(&c);
	hang_job_release(&job);
}

static void one_that_lies_of_the_world_does_not_make_it_larger(void)
{
	struct hang_job job = job_of(16);
	json_t *one = document_of("gpu-0000", 16384), *two = document_of("gpu-0001", 16);
	struct hang_case c = { .n_ranks = 0 };
	struct err err = ERR_INIT;

	add_rank(one, rank_of(0, 410, "ring"));
	add_rank(two, rank_of(9, 410, "ring"));
	(void)json_object_set_new(json_array_get(json_object_get(one, "groups"), 0), "ranks",
				  json_pack("[i, i]", 0, 16383));
	(void)json_object_set_new(json_array_get(json_object_get(one, "groups"), 0), "size",
				  json_integer(2));
	(void)put(&job, "gpu-0000", one, T0);
	(void)put(&job, "gpu-0001", two, T0);
	CHECK_EQ(hang_merge(&job.docs, &job.places, &c, &err), 0);
	CHECK_EQ(c.n_ranks, 16);
	hang_case_release(&c);
	hang_job_release(&job);
}

/* --- what it comes to --- */

static void a_position_that_moved_is_seen(void)
{
	struct hang_job job = job_of(16);
	json_t *was = document_of("gpu-0000", 16), *same = document_of("gpu-0000", 16),
	       *is = document_of("gpu-0000", 16);

	add_rank(was, rank_of(0, 410, "ring"));
	add_rank(same, rank_of(0, 410, "ring"));
	add_rank(is, rank_of(0, 411, "ring"));
	(void)put(&job, "gpu-0000", was, T0);
	(void)put(&job, "gpu-0000", same, T0 + USEC_PER_MIN);
	CHECK_EQ(hang_docs_sight(&job.docs, T0 + USEC_PER_MIN).moved_us, 0);
	CHECK(hang_docs_sight(&job.docs, T0 + USEC_PER_MIN).since_us < T0);
	(void)put(&job, "gpu-0000", is, T0 + 2 * USEC_PER_MIN);
	CHECK(hang_docs_sight(&job.docs, T0 + 2 * USEC_PER_MIN).moved_us > T0 + USEC_PER_MIN);
	hang_job_release(&job);
}

static void what_is_old_or_of_another_run_goes(void)
{
	struct hang_job job = job_of(16);
	json_t *one = document_of("gpu-0000", 16), *two = document_of("gpu-0001", 16);

	add_rank(one, rank_of(0, 410, "ring"));
	add_rank(two, rank_of(9, 410, "ring"));
	(void)put(&job, "gpu-0000", one, T0);
	(void)put(&job, "gpu-0001", two, T0 + 9 * USEC_PER_MIN);
	hang_docs_drop(&job.docs, 1, T0 + 11 * USEC_PER_MIN);
	CHECK_EQ(job.docs.hosts.n, 1);
	hang_docs_drop(&job.docs, 2, T0 + 11 * USEC_PER_MIN);
	CHECK_EQ(job.docs.hosts.n, 0);
	CHECK_EQ(job.docs.bytes, 0);
	hang_job_release(&job);
}

/* --- no class is a reason for anything but words --- */

static void what_was_kept_comes_back_and_is_over_when_nobody_says_it(void)
{
	struct hang_job job = job_of(16);
	json_t *kept = json_pack(
		"{s:i, s:o, s:o, s:n, s:s, s:s, s:{s:s, s:[i], s:[], s:[s], s:[]}}", "run", 1,
		"since", json_stamp(T0 - USEC_PER_HOUR), "judged", json_stamp(T0), "until",
		"sentence", "rank 9 has stopped", "act", "look", "verdict", "class", "host-stalled",
		"ranks", 9, "suspects", "nodes", "gpu-0001", "suspect_nodes");
	json_t *shown, *named;

	hang_job_restore(&job, kept, T0);
	CHECK(!hang_job_look(&job, T0 + USEC_PER_MIN));
	CHECK(job.said);
	CHECK(hang_job_is_owners(&job));
	CHECK(!hang_job_tells(&job, T0 + USEC_PER_HOUR)); /* it was told before */
	named = hang_job_names(&job, "gpu-0001");
	CHECK_STR(json_string_value(json_object_get(named, "class")), "host-stalled");
	json_decref(named);
	CHECK(hang_job_names(&job, "gpu-0000") == NULL);
	CHECK(hang_job_look(&job, T0 + HANG_JOB_GRACE_US + 1));
	shown = hang_job_show(&job, T0 + USEC_PER_HOUR);
	CHECK_STR(json_string_value(json_object_get(shown, "state")), "over");
	json_decref(shown);
	CHECK(!hang_job_is_owners(&job));
	json_decref(kept);
	hang_job_release(&job);
}

static void a_pause_does_not_hide_the_hang_before(void)
{
	struct hang_job job = job_of(16);
	json_t *kept =
		json_pack("{s:i, s:o, s:n, s:o, s:s, s:s, s:{s:s, s:[i], s:[], s:[s], s:[]}}",
			  "run", 1, "since", json_stamp(T0 - 2 * USEC_PER_HOUR), "judged", "until",
			  json_stamp(T0 - USEC_PER_HOUR), "sentence", "rank 9 has stopped", "act",
			  "look", "verdict", "class", "host-stalled", "ranks", 9, "suspects",
			  "nodes", "gpu-0001", "suspect_nodes");
	json_t *was = document_of("gpu-0000", 16), *is = document_of("gpu-0000", 16), *shown;
	struct err err = ERR_INIT;

	add_rank(was, rank_of(0, 410, "ring"));
	add_rank(is, rank_of(0, 411, "ring"));
	hang_job_restore(&job, kept, T0);
	(void)put(&job, "gpu-0000", was, T0);
	CHECK(!hang_job_look(&job, T0));
	CHECK_EQ(job.hung.state, HUNG_QUIET);
	CHECK_EQ(hang_job_judge(&job, T0, &err), 0);
	shown = hang_job_show(&job, T0);
	CHECK_STR(json_string_value(json_object_get(shown, "state")), "quiet");
	CHECK_STR(json_string_value(json_object_get(hang_job_kept(&job), "sentence")),
		  "rank 9 has stopped");
	json_decref(shown);
	(void)put(&job, "gpu-0000", is, T0 + USEC_PER_SEC);
	CHECK(!hang_job_look(&job, T0 + USEC_PER_SEC));
	CHECK(!hang_job_look(&job, T0 + HUNG_FRESH_US + 2 * USEC_PER_SEC));
	shown = hang_job_show(&job, T0 + USEC_PER_HOUR);
	CHECK_STR(json_string_value(json_object_get(shown, "state")), "over");
	CHECK_STR(json_string_value(json_object_get(shown, "sentence")), "rank 9 has stopped");
	json_decref(shown);
	json_decref(kept);
	hang_job_release(&job);
}

static void what_somebody_else_kept_does_no_harm(void)
{
	static const char *const texts[] = { "null",
					     "7",
					     "[]",
					     "{}",
					     "{\"verdict\": {}}",
					     "{\"verdict\": {\"class\": 7}, \"until\": null}",
					     "{\"verdict\": {\"ranks\": 7}, \"until\": null}" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		struct hang_job job = job_of(16);
		json_t *kept = json_loads(texts[i], JSON_DECODE_ANY, NULL);

		hang_job_restore(&job, kept, T0);
		(void)hang_job_look(&job, T0 + USEC_PER_SEC);
		json_decref(hang_job_show(&job, T0));
		json_decref(hang_job_names(&job, "gpu-0001"));
		json_decref(kept);
		hang_job_release(&job);
	}
}

/* --- whom we ask --- */

static void count_asked(void *context, const char *node UNUSED)
{
	++*(size_t *)context;
}

static void each_host_is_asked_once_and_again_when_it_does_not_answer(void)
{
	struct hang_places p = places_of(32);
	struct hang_asks a = { .began_us = 0 };
	uint64_t until_us = 0, now_us = T0;
	size_t asked = 0, i;

	CHECK(!hang_asks_give(&a, "gpu-0000", now_us, &until_us));
	hang_asks_begin(&a, p.nodes, p.n_nodes, now_us);
	CHECK_EQ(hang_asks_waiting(&a, 2, count_asked, &asked), 2);
	CHECK_EQ(hang_asks_waiting(&a, 99, count_asked, &asked), 4);
	for (i = 0; i < HANG_ASKS_TRIES; i++, now_us += HANG_ASKS_LOST_US + 1) {
		(void)hang_asks_look(&a, now_us);
		CHECK(hang_asks_give(&a, "gpu-0000", now_us, &until_us));
		CHECK_EQ(until_us, now_us + HANG_ASKS_LOOK_US);
		CHECK(!hang_asks_give(&a, "gpu-0000", now_us, &until_us));
		CHECK(!hang_asks_give(&a, "gpu-9999", now_us, &until_us));
	}
	(void)hang_asks_look(&a, now_us);
	CHECK(!hang_asks_give(&a, "gpu-0000", now_us, &until_us));
	CHECK_EQ(a.given, 1);
	CHECK_EQ(a.lost, 1);
	CHECK(hang_asks_give(&a, "gpu-0001", now_us, &until_us));
	CHECK_EQ(hang_asks_look(&a, now_us), 1);
	hang_asks_answered(&a, "gpu-0001", now_us);
	hang_asks_answered(&a, "gpu-0001", now_us);
	hang_asks_answered(&a, "gpu-0002", now_us); /* it was not asked yet */
	CHECK_EQ(a.answered, 1);
	hang_asks_end(&a);
	hang_places_release(&p);
}

static void what_is_found_is_told_once_all_were_asked_and_what_they_said_is_judged(void)
{
	struct hang_job job = job_of(16);
	json_t *one = document_of("gpu-0000", 16), *two = document_of("gpu-0001", 16);
	struct err err = ERR_INIT;
	uint64_t until_us;

	add_rank(one, rank_of(0, 410, "ring"));
	add_rank(two, rank_of(9, 409, "ring"));
	job.beats = job.quiet = job.still = true;
	job.run = 1;
	job.advanced_us = T0 - USEC_PER_HOUR;
	(void)put(&job, "gpu-0000", one, T0);
	CHECK(!hang_job_look(&job, T0));
	CHECK_EQ(job.hung.state, HUNG_HUNG);
	CHECK_EQ(hang_job_judge(&job, T0, &err), 0);
	CHECK(!hang_job_tells(&job, T0)); /* nobody was asked */
	hang_asks_begin(&job.asks, job.places.nodes, job.places.n_nodes, T0);
	CHECK(hang_asks_give(&job.asks, "gpu-0000", T0, &until_us));
	CHECK(hang_asks_give(&job.asks, "gpu-0001", T0, &until_us));
	CHECK(!hang_job_tells(&job, T0 + USEC_PER_SEC)); /* nobody has answered */
	hang_asks_answered(&job.asks, "gpu-0000", T0 + USEC_PER_SEC);
	(void)put(&job, "gpu-0001", two, T0 + 2 * USEC_PER_SEC);
	hang_asks_answered(&job.asks, "gpu-0001", T0 + 2 * USEC_PER_SEC);
	CHECK(!hang_job_tells(&job, T0 + 3 * USEC_PER_SEC)); /* it is not judged by it */
	CHECK_EQ(hang_job_judge(&job, T0 + 5 * USEC_PER_SEC, &err), 0);
	CHECK(hang_job_tells(&job, T0 + 5 * USEC_PER_SEC));
	hang_job_release(&job);
}

/* --- many ranks --- */

static void put_host(struct hang_job *job, size_t host, size_t world)
{
	CLEANUP(freep) char *node = node_of(host);
	json_t *doc = document_of(node, world), *groups = json_object_get(doc, "groups");
	size_t i, g;

	for (g = 1; g < GROUPS; g++)
		(void)json_array_append_new(groups, json_pack("{s:o, s:s, s:I, s:n}", "name",
							      json_sprintf("%zu", g), "desc", "tp",
							      "size", (json_int_t)world, "ranks"));
	for (i = host * EACH; i < (host + 1) * EACH; i++) {
		json_t *rank = rank_of(i, i == 9 ? 409 : 410, "ring");

		for (g = 1; g < GROUPS; g++)
			(void)json_array_append_new(json_object_get(rank, "positions"),
						    json_pack("{s:I, s:I, s:I, s:I}", "group",
							      (json_int_t)g, "place", (json_int_t)i,
							      "enqueued", (json_int_t)70,
							      "completed", (json_int_t)70));
		add_rank(doc, rank);
	}
	(void)put(job, node, doc, T0);
}

static void two_thousand_ranks_are_judged(void)
{
	const size_t world = 2000;
	struct hang_job job = job_of(world);
	struct err err = ERR_INIT;
	uint64_t began_us, took_us;
	size_t host;

	for (host = 0; host < world / EACH; host++)
		put_host(&job, host, world);
	job.quiet = true;
	began_us = clock_mono_us();
	CHECK_EQ(hang_job_judge(&job, T0, &err), 0);
	took_us = clock_mono_us() - began_us;
	CHECK_EQ(job.c.n_ranks, world);
	CHECK_EQ(job.docs.hosts.n, world / EACH);
	CHECK(job.docs.bytes < 64 * 1024 * 1024);
	(void)printf("2000 ranks of 250 hosts in %d groups: %zu KiB, judged in %llu ms\n", GROUPS,
		     job.docs.bytes / 1024, (unsigned long long)took_us / 1000);
	hang_job_release(&job);
}

static const struct test tests[] = {
	TEST(of_other_hosts_ranks_only_what_ras_told_is_kept),
	TEST(each_rank_is_what_its_own_host_says),
	TEST(one_that_lies_of_the_world_does_not_make_it_larger),
	TEST(a_position_that_moved_is_seen),
	TEST(what_is_old_or_of_another_run_goes),
	TEST(what_was_kept_comes_back_and_is_over_when_nobody_says_it),
	TEST(a_pause_does_not_hide_the_hang_before),
	TEST(what_somebody_else_kept_does_no_harm),
	TEST(each_host_is_asked_once_and_again_when_it_does_not_answer),
	TEST(what_is_found_is_told_once_all_were_asked_and_what_they_said_is_judged),
	TEST(two_thousand_ranks_are_judged),
};

TEST_SUITE(tests);
