/* SPDX-License-Identifier: Apache-2.0 */
/* Is the view of the nodes still current, and is it plausible? */
#include "controller/cluster/kube/kube_view.h"

#include "lib/base/xalloc.h"
#include "tests/unit/kube_world.h"
#include "tests/unit/test.h"

/* ---- is it still so? ------------------------------------------------------------------- */

static void an_idle_watch_is_fresh_while_the_server_answers(void)
{
	struct world w;
	unsigned s;

	world_settle(&w, 5);
	for (s = 0; s < 500; s++) {
		world_later(&w, USEC_PER_SEC);
		world_serve(&w); /* the beats */
		CHECK(kube_watch_fresh(w.watch));
	}
	CHECK_EQ(w.stales, 0);
	CHECK_EQ(w.kube.lists, 1);
	CHECK_EQ(w.kube.watches, 1);
	world_close(&w);
}

static void a_server_that_hangs_is_stale_after_a_minute_and_known_again_when_it_answers(void)
{
	struct world w;
	unsigned s, fresh = 0;

	world_settle(&w, 5);
	for (s = 0; s < 59; s++) { /* nothing is answered: the beat hangs, too */
		world_later(&w, USEC_PER_SEC);
		fresh += kube_watch_fresh(w.watch);
	}
	CHECK_EQ(fresh, 59);
	CHECK_EQ(w.stales, 0);
	for (; s < 65; s++)
		world_later(&w, USEC_PER_SEC);
	CHECK(!kube_watch_fresh(w.watch));
	CHECK_HAS(w.stale ? w.stale : "", "the state of the cluster has been unknown since 19");
	CHECK_EQ(w.stales, 1);
	CHECK(!fake_watch(&w.kube)); /* it is given up, and all is asked anew */
	fake_recreate(&w.kube, 3);
	world_serve(&w);
	CHECK_STR(w.stale, NULL);
	CHECK(kube_watch_fresh(w.watch));
	CHECK_EQ(w.synced, 2);
	world_check(&w);
	world_close(&w);
}

static void a_server_that_is_gone_is_stale_at_once_and_says_so_in_other_words_after_a_minute(void)
{
	struct world w;
	unsigned s;

	world_settle(&w, 5);
	fake_end(fake_watch(&w.kube), 0);
	w.kube.down = true;
	for (s = 0; s < 60; s++) {
		CHECK(!kube_watch_fresh(w.watch));
		world_later(&w, USEC_PER_SEC);
	}
	CHECK_EQ(w.stales, 1);
	CHECK_HAS(w.stale ? w.stale : "", "broke at");
	world_later(&w, USEC_PER_SEC);
	CHECK_EQ(w.stales, 2);
	CHECK_HAS(w.stale ? w.stale : "", "refused");
	w.kube.down = false;
	world_later(&w, USEC_PER_MIN);
	world_serve(&w);
	CHECK(kube_watch_fresh(w.watch));
	CHECK_STR(w.stale, NULL);
	world_close(&w);
}

/* A watch on a dead connection says nothing, and that is not told from nothing to say. */
static void a_beat_without_an_answer_is_a_cut(void)
{
	struct world w;

	world_settle(&w, 5);
	world_later(&w, 16 * USEC_PER_SEC);
	fake_recreate(&w.kube, 3);
	fake_end(fake_request(&w.kube, 1), 503); /* the beat: somebody is there */
	CHECK(kube_watch_fresh(w.watch));
	world_later(&w, 16 * USEC_PER_SEC);
	fake_end(fake_request(&w.kube, 1), 0);
	CHECK(!kube_watch_fresh(w.watch));
	CHECK(!fake_watch(&w.kube));
	world_later(&w, USEC_PER_SEC);
	world_serve(&w);
	CHECK(kube_watch_fresh(w.watch));
	CHECK_EQ(w.kube.lists, 2);
	world_check(&w);
	world_close(&w);
}

/* Each page takes 25 s: the list is old when it is there, and the first beat makes it good. */
static void a_slow_server_is_no_stale_one_for_ever(void)
{
	struct world w;
	unsigned i;

	world_open(&w, 11);
	world_later(&w, 0);
	for (i = 0; i < 4; i++) {
		world_later(&w, 25 * USEC_PER_SEC);
		fake_serve(fake_request(&w.kube, 0));
	}
	CHECK_EQ(w.synced, 1);
	CHECK(!kube_watch_fresh(w.watch));
	world_later(&w, USEC_PER_SEC);
	world_later(&w, 5 * USEC_PER_SEC);
	world_serve(&w);
	CHECK(kube_watch_fresh(w.watch));
	CHECK_STR(w.stale, NULL);
	CHECK_EQ(w.kube.lists, 1);
	world_close(&w);
}

static void a_cluster_without_nodes_is_doubted(void)
{
	struct world w;

	world_open(&w, 0);
	fake_touch(&w.kube, 0);
	fake_delete(&w.kube, 0);
	world_later(&w, 0);
	world_serve(&w);
	CHECK_EQ(w.synced, 1);
	CHECK_HAS(w.stale ? w.stale : "", "no nodes");
	CHECK(!kube_watch_fresh(w.watch));
	fake_touch(&w.kube, 1);
	fake_serve(fake_watch(&w.kube));
	CHECK_STR(w.stale, NULL);
	world_close(&w);
}

/* A fleet of ten, and who goes at once. */
static void check_shrunk(unsigned gone, bool by_list, bool doubted)
{
	struct world w;
	unsigned i, s;

	world_settle(&w, 10);
	for (i = 0; i < gone; i++)
		fake_delete(&w.kube, i);
	if (by_list)
		fake_end(fake_watch(&w.kube), 410);
	world_later(&w, USEC_PER_MIN / 2);
	world_serve(&w);
	world_check(&w);
	CHECK_EQ(!kube_watch_fresh(w.watch), doubted);
	CHECK_EQ(w.stale != NULL, doubted);
	for (s = 0; s < 11 * 60; s++) { /* so it is, and it stays so */
		world_later(&w, USEC_PER_SEC);
		world_serve(&w);
		if (s < 500)
			CHECK_EQ(w.stale != NULL, doubted);
	}
	CHECK_STR(w.stale, NULL);
	world_close(&w);
}

static void a_fleet_that_lost_more_than_a_fifth_is_doubted_for_ten_minutes(void)
{
	check_shrunk(1, false, false);
	check_shrunk(2, false, false);
	check_shrunk(3, false, true);
	check_shrunk(2, true, false);
	check_shrunk(3, true, true);
	check_shrunk(9, true, true);
}

static void one_node_of_three_that_goes_is_one_node(void)
{
	struct world w;

	world_settle(&w, 3);
	fake_delete(&w.kube, 1);
	fake_serve(fake_watch(&w.kube));
	CHECK(kube_watch_fresh(w.watch));
	fake_delete(&w.kube, 2);
	fake_serve(fake_watch(&w.kube));
	CHECK_HAS(w.stale ? w.stale : "", "2 of 3 nodes disappeared within 10m");
	fake_touch(&w.kube, 2); /* it is back, as another one */
	fake_serve(fake_watch(&w.kube));
	CHECK(kube_watch_fresh(w.watch));
	world_close(&w);
}

/* ---- young nodes ------------------------------------------------------------------------ */

/* The view alone: a node that joined `age_us` ago. */
static void a_young_node_is_left_alone_until_it_has_grown_up(void)
{
	/* 4 minutes ago, an hour ago, and by its clock in two hours. */
	static const uint64_t ages_min[] = { 124, 180, 0 };
	const uint64_t young_us = 10 * USEC_PER_MIN;
	struct world w;
	struct kube_view view = { .young_us = young_us };
	struct kube_now now = { USEC_PER_HOUR, 1000 * USEC_PER_DAY };
	unsigned i;

	world_open(&w, 0);
	view.watcher = &w.watcher;
	for (i = 0; i < 3; i++) {
		struct cluster_node node = {
			.name = xasprintf("gpu-%u", i),
			.uid = xstrdup("u"),
			.version = xstrdup("1"),
			.since_us = now.real_us + 2 * USEC_PER_HOUR - ages_min[i] * USEC_PER_MIN,
		};

		kube_view_take(&view, &node, now);
	}
	CHECK_HAS(w.nodes[0].hands_off ? w.nodes[0].hands_off : "", "less than 10m ago");
	CHECK_STR(w.nodes[1].hands_off, NULL);
	CHECK(w.nodes[2].hands_off != NULL);
	CHECK(!w.nodes[0].leaving && !w.nodes[0].outside);
	now.mono_us += 6 * USEC_PER_MIN - 1;
	now.real_us += 6 * USEC_PER_MIN - 1;
	kube_view_grow(&view, now);
	CHECK(w.nodes[0].hands_off != NULL);
	now.mono_us++;
	now.real_us++;
	kube_view_grow(&view, now);
	CHECK_STR(w.nodes[0].hands_off, NULL);
	CHECK(w.nodes[2].hands_off != NULL);
	now.mono_us +=
		4 * USEC_PER_MIN; /* clocks differ; we have known it for as long as it takes */
	now.real_us += 4 * USEC_PER_MIN;
	kube_view_grow(&view, now);
	CHECK_STR(w.nodes[2].hands_off, NULL);
	CHECK_EQ(w.told, 5);
	kube_view_release(&view);
	world_close(&w);
}

static const struct test tests[] = {
	TEST(an_idle_watch_is_fresh_while_the_server_answers),
	TEST(a_server_that_hangs_is_stale_after_a_minute_and_known_again_when_it_answers),
	TEST(a_server_that_is_gone_is_stale_at_once_and_says_so_in_other_words_after_a_minute),
	TEST(a_beat_without_an_answer_is_a_cut),
	TEST(a_slow_server_is_no_stale_one_for_ever),
	TEST(a_cluster_without_nodes_is_doubted),
	TEST(a_fleet_that_lost_more_than_a_fifth_is_doubted_for_ten_minutes),
	TEST(one_node_of_three_that_goes_is_one_node),
	TEST(a_young_node_is_left_alone_until_it_has_grown_up),
};

TEST_SUITE(tests);
