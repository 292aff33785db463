/* SPDX-License-Identifier: Apache-2.0 */
/* What we write to a cluster about its nodes: conditions and events. */
#include <stdlib.h>

#include "controller/cluster/kube/kube_node.h"
#include "lib/base/duration.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

/* --- the condition --- */

static const json_t *condition_of(const struct world *w, const char *node)
{
	return kube_condition_of(fake_node(&w->kube, node), &cluster_names_usual);
}

static const char *text_of(const json_t *value, const char *key)
{
	return json_string_value(json_object_get(value, key));
}

static void tell(struct world *w, const char *node, int healthy)
{
	const struct cluster_condition condition = { node, healthy, "AssayReason", "why" };
	const struct cluster_call none = { 0 };

	w->cluster->ops->condition(w->cluster, &condition, &none);
}

static void a_condition_beats_and_its_transition_only_when_it_flips(void)
{
	struct world w;
	CLEANUP(freep) char *since = NULL, *beat = NULL;
	unsigned writes;

	world_open(&w);
	settle(&w, 2 * USEC_PER_SEC);
	tell(&w, "n0", 1);
	settle(&w, 2 * USEC_PER_SEC);
	CHECK_STR(text_of(condition_of(&w, "n0"), "status"), "True");
	since = xstrdup(text_of(condition_of(&w, "n0"), "lastTransitionTime"));
	beat = xstrdup(text_of(condition_of(&w, "n0"), "lastHeartbeatTime"));
	writes = w.kube.writes;
	settle(&w, 60 * USEC_PER_MIN);
	CHECK_EQ(w.kube.writes - writes, 12); /* one in five minutes */
	CHECK_STR(text_of(condition_of(&w, "n0"), "lastTransitionTime"), since);
	CHECK(strcmp(text_of(condition_of(&w, "n0"), "lastHeartbeatTime"), beat) > 0);
	tell(&w, "n0", 0);
	settle(&w, 2 * USEC_PER_SEC);
	CHECK_STR(text_of(condition_of(&w, "n0"), "status"), "False");
	CHECK(strcmp(text_of(condition_of(&w, "n0"), "lastTransitionTime"), since) > 0);
	CHECK_EQ(json_array_size(json_object_get(
			 json_object_get(fake_node(&w.kube, "n0"), "status"), "conditions")),
		 2); /* Ready is still there */
	world_close(&w);
}

static void a_condition_that_was_there_keeps_its_transition(void)
{
	struct world w;
	json_t *list;

	world_open(&w);
	list = json_object_get(json_object_get(fake_node(&w.kube, "n0"), "status"), "conditions");
	(void)json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "type",
						    cluster_names_usual.healthy, "status", "False",
						    "lastTransitionTime", "2025-06-01T00:00:00Z"));
	settle(&w, 2 * USEC_PER_SEC);
	tell(&w, "n0", 0);
	tell(&w, "n1", 0);
	settle(&w, 2 * USEC_PER_SEC);
	CHECK_STR(text_of(condition_of(&w, "n0"), "lastTransitionTime"), "2025-06-01T00:00:00Z");
	CHECK(strcmp(text_of(condition_of(&w, "n1"), "lastTransitionTime"), "2026") > 0);
	world_close(&w);
}

static void a_condition_that_cannot_be_written_is_tried_again(void)
{
	struct world w;

	world_open(&w);
	settle(&w, 2 * USEC_PER_SEC);
	tell(&w, "n0", 0);
	fake_answer(&w.kube, 0, FAKE_SERVED);
	fake_answer(&w.kube, 0, FAKE_BUSY);
	CHECK(condition_of(&w, "n0") == NULL);
	settle(&w, USEC_PER_MIN);
	CHECK_STR(text_of(condition_of(&w, "n0"), "status"), "False");
	fake_delete(&w.kube, "n0");
	settle(&w, 20 * USEC_PER_MIN); /* forgotten with its node */
	CHECK_EQ(w.gone, 1);
	world_close(&w);
}

/* --- events --- */

static void told(struct world *w, const char *node, const char *message)
{
	const struct cluster_event event = { node, "AssayCordoned", message, true };

	w->cluster->ops->event(w->cluster, &event);
}

static const json_t *only_event(const struct world *w)
{
	CHECK_EQ(json_object_size(w->kube.events), 1);
	return json_object_iter_value(json_object_iter(w->kube.events));
}

static void the_same_event_is_counted_and_posted_anew_when_it_was_forgotten(void)
{
	struct world w;

	world_open(&w);
	settle(&w, 2 * USEC_PER_SEC);
	told(&w, "n0", "xid 79");
	fake_run(&w.kube);
	CHECK_STR(text_of(json_object_get(only_event(&w), "involvedObject"), "uid"), "uid-1");
	now_us += USEC_PER_SEC;
	told(&w, "n0", "xid 79");
	fake_run(&w.kube);
	CHECK_EQ(json_integer_value(json_object_get(only_event(&w), "count")), 2);
	(void)json_object_clear(w.kube.events); /* its hour is over */
	told(&w, "n0", "xid 79");
	fake_run(&w.kube);
	CHECK_EQ(json_integer_value(json_object_get(only_event(&w), "count")), 1);
	/* The answer to the first writing is lost: the second finds it there. */
	told(&w, "n1", "other");
	fake_answer(&w.kube, 0, FAKE_UNANSWERED);
	settle(&w, 30 * USEC_PER_SEC);
	CHECK_EQ(json_object_size(w.kube.events), 2);
	world_close(&w);
}

static void events_of_a_node_are_few(void)
{
	struct world w;
	unsigned i;

	world_open(&w);
	settle(&w, 2 * USEC_PER_SEC);
	for (i = 0; i < 100; i++) {
		CLEANUP(freep) char *text = xasprintf("message %u", i);

		told(&w, "n0", text);
	}
	fake_run(&w.kube);
	CHECK_EQ(json_object_size(w.kube.events), 25);
	told(&w, "n1", "of another node");
	fake_run(&w.kube);
	CHECK_EQ(json_object_size(w.kube.events), 26);
	now_us += 5 * USEC_PER_MIN;
	told(&w, "n0", "later");
	told(&w, "n0", "and later");
	fake_run(&w.kube);
	CHECK_EQ(json_object_size(w.kube.events), 27);
	world_close(&w);
}

static const struct test tests[] = {
	TEST(a_condition_beats_and_its_transition_only_when_it_flips),
	TEST(a_condition_that_was_there_keeps_its_transition),
	TEST(a_condition_that_cannot_be_written_is_tried_again),
	TEST(the_same_event_is_counted_and_posted_anew_when_it_was_forgotten),
	TEST(events_of_a_node_are_few),
};

static void log_errors(void)
{
	log_init("test_cluster_kube_told", LOG_ERR);
}

TEST_SUITE(tests, .begin = log_errors);
