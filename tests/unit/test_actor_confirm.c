/* SPDX-License-Identifier: Apache-2.0 */
/* The final check before a host is cordoned, and a cluster that refuses. */
#include "controller/actions/actor_env.h"
#include "controller/cluster/embedded/cluster_embedded.h"
#include "lib/base/duration.h"
#include "tests/unit/act_world.h"
#include "tests/unit/test.h"

/* The embedded cluster with some operations of our own: each test begins by open_world(). */
static struct cluster_ops ops;
static const struct cluster_ops *embedded;
static struct cluster_call question;
static unsigned asked, cordons;
static enum cluster_result said; /* of a cordon; CLUSTER_DONE: the embedded one says it */
static const char *surprise;	 /* is out of service by the time a question is answered */
static struct world *world;

static void answer(enum cluster_result result)
{
	const struct cluster_call call = question;

	question = (struct cluster_call){ 0 };
	cluster_answer(&call, &(struct cluster_answer){ .result = result, .words = "so it is" });
}

static void show_out(const char *name)
{
	struct cluster_node node;

	world_look(world);
	node = *world_node(world, name); /* borrows */
	node.unschedulable = true;
	actor_watcher.node(world->act, &node);
}

static void confirm(struct cluster *c UNUSED, const struct cluster_call *call)
{
	asked++;
	question = *call;
	if (!surprise)
		return;
	show_out(surprise);
	answer(CLUSTER_DONE);
}

static void cordon(struct cluster *c, const struct cluster_change *change,
		   const struct cluster_mark *mark, const struct cluster_call *call)
{
	cordons++;
	if (said == CLUSTER_DONE)
		embedded->cordon(c, change, mark, call);
	else
		cluster_answer(call, &(struct cluster_answer){ .result = said, .words = "no" });
}

/* `by_others` hosts are out of service already; four may be. */
static void open_world(struct world *w, const char *name, bool confirms, unsigned by_others)
{
	static const char *const others[] = { "n10", "n11", "n12" };

	world_open(w, name);
	world = w;
	embedded = w->cluster->ops;
	ops = *embedded;
	ops.confirm = confirms ? confirm : NULL;
	ops.cordon = cordon;
	w->cluster->ops = &ops;
	asked = cordons = 0;
	said = CLUSTER_DONE;
	surprise = NULL;
	while (by_others-- > 0)
		CHECK_EQ(cluster_embedded_touch(w->cluster, others[by_others], true, NULL), 0);
	CHECK(world_run(w, 0));
}

static bool is_out(struct world *w, const char *node)
{
	world_look(w);
	return world_node(w, node)->unschedulable;
}

static void a_host_is_touched_only_after_the_cluster_was_asked(void)
{
	struct world w;

	open_world(&w, "asked.db", true, 0);
	world_report(&w, "n1", true);
	CHECK(world_run(&w, 0));
	CHECK_EQ(asked, 1);
	CHECK_EQ(cordons, 0);
	world_report(&w, "n2", true); /* comes too late for that question */
	CHECK(world_run(&w, 0));
	CHECK_EQ(asked, 1);
	answer(CLUSTER_DONE);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n1"));
	CHECK(!is_out(&w, "n2"));
	CHECK_EQ(asked, 2);
	answer(CLUSTER_DONE);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n2"));
	CHECK_EQ(cordons, 2);
	world_close(&w);
}

static void what_does_not_fit_any_more_is_dropped_the_last_first(void)
{
	struct world w;

	open_world(&w, "fits.db", true, 2);
	world_report(&w, "n1", true);
	world_report(&w, "n2", true);
	CHECK(world_run(&w, 0));
	CHECK_EQ(asked, 1);
	show_out("n13");
	answer(CLUSTER_DONE);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n1"));
	CHECK(!is_out(&w, "n2"));
	CHECK_EQ(cordons, 1);
	CHECK_EQ(actor_counts(w.act).cordons_dropped, 1);
	CHECK_EQ(actor_counts(w.act).cordons_refused, 1); /* decided anew, and told once */
	CHECK_EQ(actor_counts(w.act).rate_used, 1);
	world_wait(&w, USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	CHECK_EQ(actor_counts(w.act).cordons_refused, 1);
	world_close(&w);
}

static void an_order_of_a_person_is_counted_anew_too(void)
{
	struct actor_request ask = { .node = "n5", .who = "operator eve", .reason = "smoke" };
	struct world w;

	open_world(&w, "order.db", true, 3);
	surprise = "n13";
	CHECK_EQ(world_ask(&w, ACT_CORDON, &ask), 409);
	CHECK_EQ(asked, 1);
	CHECK_EQ(cordons, 0);
	ask.break_glass = true;
	CHECK_EQ(world_ask(&w, ACT_CORDON, &ask), 200);
	CHECK_EQ(asked, 1);
	CHECK(is_out(&w, "n5"));
	world_close(&w);
}

static void without_an_answer_nothing_is_touched(void)
{
	struct world w;

	open_world(&w, "answer.db", true, 0);
	world_report(&w, "n1", true);
	CHECK(world_run(&w, 0));
	answer(CLUSTER_AGAIN);
	world_wait(&w, USEC_PER_SEC);
	CHECK(world_run(&w, 0));
	CHECK_EQ(asked, 2);
	actor_watcher.stale(w.act, "the watch was cut");
	CHECK(world_run(&w, 0));
	CHECK_EQ(actor_counts(w.act).under_way, 0); /* what it was decided on may not be so */
	answer(CLUSTER_DONE);
	CHECK(world_run(&w, 0));
	CHECK_EQ(cordons, 0);
	actor_watcher.stale(w.act, NULL);
	CHECK(world_run(&w, 0));
	CHECK_EQ(asked, 3);
	answer(CLUSTER_DONE);
	CHECK(world_run(&w, 0));
	CHECK(is_out(&w, "n1"));
	CHECK_EQ(actor_counts(w.act).cordons_refused, 0);
	world_close(&w);
}

static void spend(struct world *w, unsigned seconds)
{
	while (seconds-- > 0) {
		world_wait(w, USEC_PER_SEC);
		(void)world_run(w, 0);
	}
}

/* Tries while the cluster says no, in the first half minute and in half an hour; then it says yes. */
static void check_tries(const char *name, enum cluster_result no, unsigned early_least,
			unsigned most)
{
	struct world w;

	open_world(&w, name, false, 0);
	said = no;
	world_report(&w, "n1", true);
	CHECK(world_run(&w, 0));
	spend(&w, 30);
	CHECK(cordons >= early_least);
	spend(&w, 30 * 60);
	CHECK(cordons <= most);
	said = CLUSTER_DONE;
	spend(&w, 6 * 60);
	CHECK(is_out(&w, "n1"));
	world_close(&w);
}

static void conflicts_and_refusals_are_tried_again_ever_more_rarely(void)
{
	check_tries("conflicts.db", CLUSTER_CONFLICT, 4, 250); /* 0.2 s to 30 s, on average half */
	check_tries("refusals.db", CLUSTER_REFUSED, 2, 60);    /* 4 s to 5 min */
}

static const struct test tests[] = {
	TEST(a_host_is_touched_only_after_the_cluster_was_asked),
	TEST(what_does_not_fit_any_more_is_dropped_the_last_first),
	TEST(an_order_of_a_person_is_counted_anew_too),
	TEST(without_an_answer_nothing_is_touched),
	TEST(conflicts_and_refusals_are_tried_again_ever_more_rarely),
};

TEST_SUITE(tests);
