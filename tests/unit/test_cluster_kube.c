/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a node on an in-memory Kubernetes. */
#include <stdlib.h>

#include "controller/cluster/kube/kube_node.h"
#include "lib/base/duration.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/cluster_world.h"
#include "tests/unit/test.h"

static void a_cordon_is_done_and_told_and_lifted(void)
{
	struct world w;

	world_open(&w);
	settle(&w, 2 * USEC_PER_SEC);
	CHECK_EQ(w.synced, 1);
	CHECK_EQ(json_object_size(w.told), CLUSTER_NODES);
	cordon(&w, "n1", version_of(&w, "n1"), "17");
	fake_run(&w.kube);
	CHECK_EQ(w.result, CLUSTER_DONE);
	CHECK(is_cordoned(&w, "n1"));
	CHECK_HAS(annotation(&w, "n1"), "\"action\":\"17\"");
	/* Known at once, before the watch has said so. */
	CHECK(json_is_true(json_object_get(json_object_get(w.told, "n1"), "marked")));
	uncordon(&w, "n1", version_of(&w, "n1"));
	fake_run(&w.kube);
	CHECK_EQ(w.result, CLUSTER_DONE);
	CHECK(!is_cordoned(&w, "n1"));
	CHECK(annotation(&w, "n1") == NULL);
	CHECK_EQ(w.kube.writes, 2);
	world_close(&w);
}

static void a_heartbeat_of_the_node_is_no_conflict_and_a_hand_is(void)
{
	struct world w;
	CLEANUP(freep) char *version = NULL;

	world_open(&w);
	settle(&w, 2 * USEC_PER_SEC);
	version = xstrdup(version_of(&w, "n0"));
	by_hand(&w, "n0", "{\"status\":{\"phase\":\"x\"}}");
	cordon(&w, "n0", version, "1");
	fake_run(&w.kube);
	CHECK_EQ(w.result, CLUSTER_DONE);
	by_hand(&w, "n1", "{\"metadata\":{\"labels\":{\"rack\":\"r2\"}}}");
	cordon(&w, "n1", version_of(&w, "n1"), "2");
	fake_run(&w.kube);
	CHECK_EQ(w.result, CLUSTER_CONFLICT);
	CHECK(!is_cordoned(&w, "n1"));
	/* Another owner has come. */
	by_hand(&w, "n3",
		"{\"spec\":{\"taints\":[{\"key\":\"karpenter.sh/disrupted\",\"effect\":"
		"\"NoSchedule\"}]}}");
	cordon(&w, "n3", version_of(&w, "n3"), "4");
	fake_run(&w.kube);
	CHECK_EQ(w.result, CLUSTER_CONFLICT);
	/* Between the reading and the writing it is the server that notices. */
	cordon(&w, "n2", version_of(&w, "n2"), "3");
	fake_answer(&w.kube, 0, FAKE_SERVED);
	by_hand(&w, "n2", CORDON);
	fake_run(&w.kube);
	CHECK_EQ(w.result, CLUSTER_CONFLICT);
	CHECK(annotation(&w, "n2") == NULL);
	world_close(&w);
}

static void a_lost_answer_is_looked_for_and_nothing_is_done_twice(void)
{
	static const struct {
		enum fake_fate fate;
		enum cluster_result result;
	} rows[] = { { FAKE_UNANSWERED, CLUSTER_DONE }, { FAKE_LOST, CLUSTER_AGAIN } };
	struct world w;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		world_open(&w);
		settle(&w, 2 * USEC_PER_SEC);
		cordon(&w, "n0", version_of(&w, "n0"), "1");
		fake_answer(&w.kube, 0, FAKE_SERVED);
		fake_answer(&w.kube, 0, rows[i].fate);
		CHECK_STR(fake_what(&w.kube, 0), "GET /api/v1/nodes/n0");
		CHECK_EQ(w.answers, 0);
		fake_run(&w.kube);
		CHECK_EQ(w.answers, 1);
		CHECK_EQ(w.result, rows[i].result);
		CHECK_EQ(w.kube.writes, rows[i].result == CLUSTER_DONE);
		/* Asked again it is done, once. */
		cordon(&w, "n0", NULL, "1");
		fake_run(&w.kube);
		CHECK_EQ(w.result, CLUSTER_DONE);
		CHECK_EQ(w.kube.writes, 1);
		world_close(&w);
	}
}

static void nothing_is_written_while_something_says_why_not(void)
{
	struct world w;
	const struct cluster_condition condition = { "n0", 1, "AssayHealthy", "healthy" };
	const struct cluster_event event = { "n0", "AssayRefused", "no", true };
	const struct cluster_call none = { 0 };

	world_open(&w);
	settle(&w, 2 * USEC_PER_SEC);
	w.stopped = "another controller acts";
	cordon(&w, "n0", NULL, "1");
	fake_run(&w.kube);
	CHECK_EQ(w.result, CLUSTER_AGAIN);
	CHECK_STR(w.words, "another controller acts");
	w.cluster->ops->condition(w.cluster, &condition, &none);
	w.cluster->ops->event(w.cluster, &event);
	settle(&w, 10 * USEC_PER_MIN);
	CHECK_EQ(w.kube.writes, 0);
	CHECK_EQ(json_object_size(w.kube.events), 0);
	/* In the middle of it, too. */
	w.stopped = NULL;
	cordon(&w, "n0", NULL, "1");
	w.stopped = "another controller acts";
	fake_run(&w.kube);
	CHECK_EQ(w.kube.writes, 0);
	CHECK_EQ(w.result, CLUSTER_AGAIN);
	world_close(&w);
}

static void a_standby_knows_all_and_begins_nothing(void)
{
	struct world w;

	world_open(&w);
	w.leads = false;
	settle(&w, 10 * USEC_PER_SEC);
	CHECK_EQ(json_object_size(w.told), CLUSTER_NODES);
	CHECK_EQ(w.synced, 0);
	w.leads = true;
	settle(&w, USEC_PER_SEC);
	CHECK_EQ(w.synced, 1);
	world_close(&w);
}

static void what_waits_is_bounded_and_answered_at_the_end(void)
{
	struct world w;
	unsigned i;

	world_open(&w);
	settle(&w, 2 * USEC_PER_SEC);
	for (i = 0; i < KUBE_OPS_MAX; i++)
		cordon(&w, "n0", NULL, "1");
	CHECK_EQ(fake_waiting(&w.kube), KUBE_OPS_AT_ONCE);
	CHECK_EQ(w.answers, 0);
	cordon(&w, "n0", NULL, "1");
	CHECK_EQ(w.answers, 1);
	CHECK_EQ(w.result, CLUSTER_AGAIN);
	fake_answer(&w.kube, 0, FAKE_BUSY);
	CHECK_EQ(w.answers, 2);
	CHECK_EQ(fake_waiting(&w.kube), KUBE_OPS_AT_ONCE);
	cluster_close(TAKE(w.cluster));
	CHECK_EQ(w.answers, KUBE_OPS_MAX + 1);
	CHECK_EQ(w.result, CLUSTER_AGAIN);
	world_close(&w);
}

static void a_dry_run_asks_the_server_and_changes_nothing(void)
{
	struct world w;
	const struct cluster_change change = { "n0", NULL, true };
	const struct cluster_call call = call_of(&w);

	world_open(&w);
	settle(&w, 2 * USEC_PER_SEC);
	w.cluster->ops->hold(w.cluster, &change, now_us + USEC_PER_HOUR, "assay", &call);
	fake_answer(&w.kube, 0, FAKE_SERVED);
	CHECK_STR(fake_what(&w.kube, 0), "PATCH /api/v1/nodes/n0");
	fake_run(&w.kube);
	CHECK_EQ(w.result, CLUSTER_DONE);
	CHECK_EQ(w.kube.writes, 0);
	CHECK(!json_is_true(json_object_get(json_object_get(w.told, "n0"), "unschedulable")));
	world_close(&w);
}

static bool is_told_out(const struct world *w, const char *node)
{
	return json_is_true(json_object_get(json_object_get(w->told, node), "unschedulable"));
}

static void confirm(struct world *w)
{
	const struct cluster_call call = call_of(w);

	w->cluster->ops->confirm(w->cluster, &call);
}

/* The watch says nothing of what somebody else does. */
static void who_is_out_of_service_can_be_asked_for(void)
{
	struct world w;

	world_open(&w);
	settle(&w, 2 * USEC_PER_SEC);
	by_hand(&w, "n1", CORDON);
	by_hand(&w, "n2", "{\"metadata\":{\"labels\":{\"rack\":\"r2\"}}}");
	confirm(&w);
	CHECK(!is_told_out(&w, "n1"));
	fake_answer(&w.kube, 0, FAKE_BUSY);
	CHECK_EQ(w.result, CLUSTER_AGAIN);
	CHECK(!is_told_out(&w, "n1"));
	confirm(&w);
	fake_run(&w.kube);
	CHECK_EQ(w.result, CLUSTER_DONE);
	CHECK(is_told_out(&w, "n1"));
	fake_add(&w.kube, "n9");
	by_hand(&w, "n9", CORDON);
	confirm(&w);
	fake_run(&w.kube);
	CHECK_EQ(w.result, CLUSTER_AGAIN); /* it would be told as one that nobody has heard of */
	fake_delete(&w.kube, "n1");
	fake_add(&w.kube, "n1");
	settle(&w, 2 * USEC_PER_SEC);
	CHECK(is_told_out(&w, "n9"));
	CHECK(!is_told_out(&w, "n1"));
	confirm(&w);
	fake_run(&w.kube);
	CHECK_EQ(w.result, CLUSTER_DONE);
	CHECK_EQ(w.answers, 4);
	confirm(&w);
	world_close(&w); /* answers it */
}

static const struct test tests[] = {
	TEST(a_cordon_is_done_and_told_and_lifted),
	TEST(a_heartbeat_of_the_node_is_no_conflict_and_a_hand_is),
	TEST(a_lost_answer_is_looked_for_and_nothing_is_done_twice),
	TEST(nothing_is_written_while_something_says_why_not),
	TEST(a_standby_knows_all_and_begins_nothing),
	TEST(what_waits_is_bounded_and_answered_at_the_end),
	TEST(a_dry_run_asks_the_server_and_changes_nothing),
	TEST(who_is_out_of_service_can_be_asked_for),
};

static void log_errors(void)
{
	log_init("test_cluster_kube", LOG_ERR);
}

TEST_SUITE(tests, .begin = log_errors);
