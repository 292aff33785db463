/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes from a list and a watch. */
#include "controller/cluster/kube/kube_watch.h"

#include <stdlib.h>

#include "controller/cluster/kube/kube_list.h"
#include "lib/base/xalloc.h"
#include "tests/unit/kube_world.h"
#include "tests/unit/test.h"

/* ---- the list ------------------------------------------------------------------------ */

static void nobody_is_told_of_a_part_of_a_list(void)
{
	struct world w;
	unsigned pages = 0;

	world_open(&w, 11);
	world_later(&w, 0);
	CHECK(!kube_watch_fresh(w.watch));
	while (w.synced == 0 && pages++ < 10) {
		CHECK_EQ(w.told, 0);
		CHECK_HAS(fake_request(&w.kube, 0)->query, "limit=100");
		CHECK_HAS(fake_request(&w.kube, 0)->query, "&labelSelector=pool=gpu");
		fake_serve(fake_request(&w.kube, 0));
	}
	CHECK_EQ(pages, 4);
	CHECK_EQ(w.told, 11);
	world_check(&w);
	CHECK_STR(w.stale, NULL);
	world_close(&w);
}

static void a_list_whose_snapshot_is_forgotten_begins_again(void)
{
	struct world w;

	world_open(&w, 11);
	world_later(&w, 0);
	fake_serve(fake_request(&w.kube, 0));
	fake_delete(&w.kube, 1);
	fake_compact(&w.kube);
	world_serve(&w);
	CHECK_EQ(w.synced, 1);
	CHECK_EQ(w.told, 10);
	CHECK_EQ(w.gone, 0);
	CHECK_EQ(w.kube.lists, 2);
	world_check(&w);
	world_close(&w);
}

static void a_list_that_is_forgotten_again_and_again_fails(void)
{
	struct world w;
	unsigned i;

	world_open(&w, 11);
	world_later(&w, 0);
	for (i = 0; i < 20 && fake_request(&w.kube, 0); i++) {
		fake_serve(fake_request(&w.kube, 0));
		fake_touch(&w.kube, 0);
		fake_compact(&w.kube);
	}
	CHECK_EQ(w.synced, 0);
	CHECK_EQ(w.kube.lists, 1 + KUBE_LIST_RESTARTS);
	CHECK_HAS(w.stale ? w.stale : "", "410");
	world_close(&w);
}

static void a_list_tells_what_went_and_what_came_back_as_another(void)
{
	struct world w;
	unsigned gone;

	world_settle(&w, 11);
	fake_delete(&w.kube, 3);
	fake_recreate(&w.kube, 4);
	fake_touch(&w.kube, 11);
	gone = w.gone;
	fake_end(fake_watch(&w.kube), 410);
	world_later(&w, USEC_PER_MIN);
	world_serve(&w);
	CHECK_EQ(w.synced, 2);
	CHECK_EQ(w.gone, gone + 2);
	world_check(&w);
	world_close(&w);
}

/* ---- the watch ------------------------------------------------------------------------ */

static void changes_are_told_as_they_come(void)
{
	struct world w;

	world_settle(&w, 5);
	fake_touch(&w.kube, 2);
	fake_touch(&w.kube, 9);
	fake_delete(&w.kube, 0);
	fake_recreate(&w.kube, 1);
	fake_serve(fake_watch(&w.kube));
	CHECK_EQ(w.told, 8);
	CHECK_EQ(w.gone, 2);
	CHECK_EQ(w.synced, 1);
	world_check(&w);
	world_close(&w);
}

static void after_its_time_a_watch_goes_on_where_it_was(void)
{
	struct world w;
	CLEANUP(freep) char *from = NULL;

	world_settle(&w, 5);
	fake_touch(&w.kube, 2);
	fake_serve(fake_watch(&w.kube));
	w.kube.version += 7; /* of objects that are not nodes */
	fake_watch(&w.kube)->at = w.kube.version;
	fake_bookmark(fake_watch(&w.kube));
	from = xasprintf("resourceVersion=%llu", (unsigned long long)w.kube.version);
	world_quiet(&w, 400);
	fake_end(fake_watch(&w.kube), 200);
	CHECK(fake_watch(&w.kube));
	CHECK_HAS(fake_watch(&w.kube)->query, from);
	CHECK_HAS(fake_watch(&w.kube)->query, "allowWatchBookmarks=true");
	CHECK_HAS(fake_watch(&w.kube)->query, "&labelSelector=pool=gpu");
	CHECK_EQ(w.kube.watches, 2);
	CHECK_EQ(w.kube.lists, 1);
	world_close(&w);
}

static void a_watch_that_ends_at_once_waits(void)
{
	struct world w;
	unsigned i;

	world_settle(&w, 5);
	for (i = 0; i < 1000; i++) {
		if (fake_watch(&w.kube))
			fake_end(fake_watch(&w.kube), 200);
		world_later(&w, 100 * USEC_PER_MSEC);
		while (fake_request(&w.kube, 0) && !fake_watch(&w.kube))
			fake_serve(fake_request(&w.kube, 0));
	}
	CHECK(w.kube.watches > 3); /* in 100 s, with waits of 0 to 30 s */
	CHECK(w.kube.watches < 60);
	world_close(&w);
}

/* Ends of a watch that require a list. */
static void what_a_watch_cannot_go_on_from_ends_in_a_list(void)
{
	static const char *const lines[] = {
		"{\"type\":\"ERROR\",\"object\":{\"code\":410,\"message\":\"too old: 5 (254)\"}}",
		"{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":500}}",
		"{\"type\":\"ERROR\"}",
		"{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"gpu-1\"",
		"{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"gpu-1\"}}}",
		"{\"type\":\"DELETED\",\"object\":{}}",
		"{\"type\":\"BOOKMARK\",\"object\":{}}",
		"{\"type\":\"TURNED\",\"object\":{}}",
		"{\"type\":7}",
		"[]",
		"",
		"\x01\xff",
		"null",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		struct world w;

		world_settle(&w, 5);
		world_later(&w, 10 * USEC_PER_SEC);
		fake_touch(&w.kube, 2);
		fake_recreate(&w.kube, 3);
		fake_say(fake_watch(&w.kube), lines[i]);
		CHECK(fake_watch(&w.kube)->cut);
		fake_end(fake_watch(&w.kube), 0);
		world_later(&w, USEC_PER_SEC);
		world_serve(&w);
		CHECK_EQ(w.kube.lists, 2);
		CHECK_EQ(w.synced, 2);
		CHECK(kube_watch_fresh(w.watch));
		world_check(&w);
		world_close(&w);
	}
}

static void after_a_cut_nothing_is_known_until_there_is_a_list(void)
{
	static const unsigned ends[] = { 0, 429, 500, 503, 403, 410 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		struct world w;

		world_settle(&w, 5);
		world_later(&w, 10 * USEC_PER_SEC);
		world_serve(&w);
		fake_touch(&w.kube, 2);
		fake_end(fake_watch(&w.kube), ends[i]);
		CHECK(!kube_watch_fresh(w.watch));
		CHECK_HAS(w.stale ? w.stale : "", "broke at");
		world_later(&w, 6 * USEC_PER_SEC); /* the widest first wait is 5.8 s */
		CHECK(!fake_watch(&w.kube));
		CHECK(!kube_watch_fresh(w.watch));
		world_serve(&w);
		CHECK(kube_watch_fresh(w.watch));
		CHECK_EQ(w.kube.lists, 2);
		CHECK_EQ(w.stales, 2);
		world_check(&w);
		world_close(&w);
	}
}

static void lists_after_cuts_come_ever_more_rarely(void)
{
	struct world w;
	unsigned s, early = 0;

	world_settle(&w, 5);
	for (s = 0; s < 300; s++) {
		if (fake_watch(&w.kube)) {
			fake_touch(&w.kube, 2); /* it says something each time */
			fake_serve(fake_watch(&w.kube));
			fake_end(fake_watch(&w.kube), 0);
		}
		world_later(&w, USEC_PER_SEC);
		world_serve(&w);
		early = s == 9 ? w.kube.lists : early;
	}
	CHECK(early >= 3); /* 0.8, 1.6, 3.2 s at most */
	CHECK(w.kube.lists <= 100);
	world_check(&w);
	world_close(&w);
}

static void there_is_a_list_every_ten_minutes(void)
{
	struct world w;
	unsigned s;

	world_settle(&w, 5);
	w.kube.nodes[1].uid = 0; /* the watch has missed it */
	w.kube.events[2].was.uid = 0;
	for (s = 0; s < 605; s++) {
		world_later(&w, USEC_PER_SEC);
		world_serve(&w);
	}
	CHECK_EQ(w.kube.lists, 2);
	CHECK_EQ(w.synced, 2);
	CHECK(!w.nodes[1].name);
	CHECK_EQ(w.stales, 0);
	world_close(&w);
}

/* ---- failures --------------------------------------------------------------------------- */

static void what_we_may_not_is_asked_for_by_the_minute(void)
{
	struct world w;
	unsigned s, asked = 0;

	world_open(&w, 5);
	for (s = 0; s < 600; s++) {
		world_later(&w, USEC_PER_SEC);
		if (fake_request(&w.kube, 0)) {
			fake_end(fake_request(&w.kube, 0), 403);
			asked++;
		}
	}
	CHECK(asked >= 3 + 5 &&
	      asked <= 3 + 10); /* a server that just started knows no roles yet */
	CHECK_HAS(w.stale ? w.stale : "", "not known yet: GET /api/v1/nodes: 403");
	CHECK_EQ(w.stales, 1);
	world_later(&w, 2 * USEC_PER_MIN);
	world_serve(&w);
	CHECK_EQ(w.synced, 1);
	CHECK_STR(w.stale, NULL);
	world_close(&w);
}

static void a_server_that_is_down_is_asked_ever_more_rarely(void)
{
	struct world w;
	unsigned s, early = 0, asked = 0;

	world_open(&w, 5);
	for (s = 0; s < 600; s++) {
		world_later(&w, USEC_PER_SEC);
		if (fake_request(&w.kube, 0)) {
			fake_end(fake_request(&w.kube, 0), s % 2 ? 429 : 0);
			asked++;
		}
		if (s == 9)
			early = asked;
	}
	CHECK(early >= 2); /* 0.8, 1.6, 3.2 s at most */
	CHECK(asked >= 20 && asked <= 80);
	w.kube.down = true; /* not even a request can be sent */
	for (s = 0; s < 100; s++)
		world_later(&w, USEC_PER_SEC);
	w.kube.down = false;
	world_later(&w, USEC_PER_MIN);
	world_serve(&w);
	CHECK_EQ(w.synced, 1);
	world_close(&w);
}

/* ---- cluster_ops.list -------------------------------------------------------------------- */

struct asked {
	unsigned nodes, answers;
	enum cluster_result result;
	char *words;
};

static void on_each(void *context, const struct cluster_node *node)
{
	struct asked *asked = context;

	CHECK(node->name != NULL);
	CHECK_EQ(asked->answers, 0);
	asked->nodes++;
}

static void on_answer(void *context, const struct cluster_answer *answer)
{
	struct asked *asked = context;

	asked->answers++;
	asked->result = answer->result;
	free(asked->words);
	asked->words = xstrdup(answer->words);
}

static void a_list_is_answered_once_whatever_becomes_of_it(void)
{
	struct kube kube = { .version = 0 };
	struct kube_lists lists = { NULL };
	const struct kube_chosen all = { NULL, NULL };
	struct asked asked[4] = { 0 };
	unsigned i;

	for (i = 0; i < 7; i++)
		fake_touch(&kube, i);
	for (i = 0; i < 3; i++)
		kube_list(&lists, &kube, &all, on_each,
			  &(struct cluster_call){ on_answer, &asked[i] });
	for (i = 0; i < 3; i++)
		fake_serve(fake_request(&kube, 0)); /* the pages of the first */
	fake_end(fake_request(&kube, 0), 403);
	kube_lists_close(&lists);
	kube.down = true;
	kube_list(&lists, &kube, &all, on_each, &(struct cluster_call){ on_answer, &asked[3] });
	CHECK_EQ(asked[0].nodes, 7);
	CHECK_EQ(asked[0].result, CLUSTER_DONE);
	CHECK_EQ(asked[1].result, CLUSTER_REFUSED);
	CHECK_HAS(asked[1].words, "403");
	CHECK_EQ(asked[2].result, CLUSTER_AGAIN);
	CHECK_EQ(asked[3].result, CLUSTER_AGAIN);
	CHECK_HAS(asked[3].words, "refused");
	for (i = 0; i < 4; i++) {
		CHECK_EQ(asked[i].answers, 1);
		CHECK_EQ(asked[i].nodes, i == 0 ? 7 : 0);
		free(asked[i].words);
	}
	CHECK(!lists.first);
	fake_release(&kube);
}

static const struct test tests[] = {
	TEST(nobody_is_told_of_a_part_of_a_list),
	TEST(a_list_whose_snapshot_is_forgotten_begins_again),
	TEST(a_list_that_is_forgotten_again_and_again_fails),
	TEST(a_list_tells_what_went_and_what_came_back_as_another),
	TEST(changes_are_told_as_they_come),
	TEST(after_its_time_a_watch_goes_on_where_it_was),
	TEST(a_watch_that_ends_at_once_waits),
	TEST(what_a_watch_cannot_go_on_from_ends_in_a_list),
	TEST(after_a_cut_nothing_is_known_until_there_is_a_list),
	TEST(lists_after_cuts_come_ever_more_rarely),
	TEST(there_is_a_list_every_ten_minutes),
	TEST(what_we_may_not_is_asked_for_by_the_minute),
	TEST(a_server_that_is_down_is_asked_ever_more_rarely),
	TEST(a_list_is_answered_once_whatever_becomes_of_it),
};

TEST_SUITE(tests);
