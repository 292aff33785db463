/* SPDX-License-Identifier: Apache-2.0 */
/* Manual changes of a node while a response about it is in flight, and the following requests to
 * the cluster. */
#include <stdio.h>
#include <stdlib.h>

#include "controller/cluster/embedded/cluster_embedded.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "tests/unit/act_world.h"
#include "tests/unit/test.h"

static const struct cluster_ops *embedded;
static struct cluster_ops ops;
static enum stop { HERE, ON_THE_WAY, ON_THE_WAY_BACK } stop; /* where a cordon is held */
static struct cluster_call waiting;			     /* the call waiting for its answer */
static bool in_trouble;					     /* all uncordons fail */
/* The last condition written for n5. */
static int healthy; /* 7: not yet */
static char message[64];

static void cordon(struct cluster *c, const struct cluster_change *change,
		   const struct cluster_mark *mark, const struct cluster_call *call)
{
	if (stop == HERE) {
		embedded->cordon(c, change, mark, call);
		return;
	}
	waiting = *call;
	if (stop == ON_THE_WAY_BACK)
		embedded->cordon(c, change, mark, &(struct cluster_call){ 0 });
}

static void uncordon(struct cluster *c, const struct cluster_change *change, uint64_t override_us,
		     const struct cluster_call *call)
{
	if (in_trouble)
		cluster_answer(call, &(struct cluster_answer){ .result = CLUSTER_AGAIN,
							       .words = "in trouble" });
	else
		embedded->uncordon(c, change, override_us, call);
}

static void condition(struct cluster *c UNUSED, const struct cluster_condition *told,
		      const struct cluster_call *call UNUSED)
{
	if (!streq(told->node, "n5"))
		return;
	healthy = told->healthy;
	(void)snprintf(message, sizeof(message), "%s", told->message);
}

static void put_hands_on(struct world *w)
{
	embedded = w->cluster->ops;
	ops = *embedded;
	ops.cordon = cordon;
	ops.uncordon = uncordon;
	ops.condition = condition;
	ops.conditions = true;
	w->cluster->ops = &ops;
}

static void open_world(struct world *w, const char *name)
{
	world_open(w, name);
	put_hands_on(w);
	stop = HERE;
	in_trouble = false;
	healthy = 7;
}

static long long held(struct world *w)
{
	return world_count(w, "SELECT json_array_length(text, '$.holders') FROM cluster_ledger");
}

/* n5 is found bad, and its cordon is held at a stop. */
static void stop_a_cordon(struct world *w, enum stop where)
{
	stop = where;
	waiting = (struct cluster_call){ 0 };
	world_report(w, "n5", true);
	CHECK(world_run(w, 0));
	CHECK(waiting.done != NULL);
	CHECK_EQ(held(w), 1);
	stop = HERE;
}

static void an_uncordon_before_the_answer_to_our_cordon_is_an_order(void)
{
	struct world w;

	open_world(&w, "before.db");
	stop_a_cordon(&w, ON_THE_WAY_BACK);
	CHECK_EQ(cluster_embedded_touch(w.cluster, "n5", false, NULL), 0);
	CHECK(world_run(&w, 0));
	cluster_answer(&waiting, &(struct cluster_answer){ .result = CLUSTER_DONE, .words = "" });
	CHECK(world_run(&w, 0));
	world_look(&w);
	CHECK(!world_node(&w, "n5")->mark);
	CHECK(world_node(&w, "n5")->override_us > w.now_us);
	CHECK_EQ(actor_counts(w.act).overrides_found, 1);
	CHECK_EQ(held(&w), 0);
	world_close(&w);
}

/* The node has our mark, but we did not get the response. */
static void what_the_node_shows_before_the_answer_is_in_the_ledger_once(void)
{
	struct world w;

	open_world(&w, "shown.db");
	stop_a_cordon(&w, ON_THE_WAY_BACK);
	world_wait(&w, 11 * USEC_PER_MIN); /* the ledger is compared with the nodes */
	actor_tick(w.act);
	CHECK(world_run(&w, 0));
	CHECK_EQ(held(&w), 1);
	CHECK_EQ(world_count(&w,
			     "SELECT json_extract(text, '$.holders[0].done') FROM cluster_ledger"),
		 1);
	cluster_answer(&waiting, &(struct cluster_answer){ .result = CLUSTER_DONE, .words = "" });
	CHECK(world_run(&w, 0));
	CHECK_EQ(actor_counts(w.act).cordons_done, 1);
	CHECK_EQ(held(&w), 1);
	world_close(&w);
}

/* The cordoned node is gone, and a new one of its name is unchanged. */
static void what_was_done_to_another_node_of_the_name_is_not_booked(void)
{
	struct cluster_node gone = { .uid = (char[]){ "another" } };
	struct world w;

	open_world(&w, "another.db");
	stop_a_cordon(&w, ON_THE_WAY);
	cluster_answer(&waiting, &(struct cluster_answer){
					 .result = CLUSTER_DONE, .words = "", .node = &gone });
	CHECK_EQ(actor_counts(w.act).cordons_done, 0);
	CHECK_EQ(actor_counts(w.act).cordons_dropped, 1);
	CHECK(world_run(&w, 0));
	CHECK_EQ(actor_counts(w.act).overrides_found, 0);
	CHECK_EQ(actor_counts(w.act).cordons_done, 1); /* decided again, because its host is bad */
	world_look(&w);
	CHECK(world_node(&w, "n5")->mark && world_node(&w, "n5")->unschedulable);
	CHECK_EQ(held(&w), 1);
	world_close(&w);
}

/* Wherever the controller is killed, its successor updates the cluster without waiting for a
 * timer. */
static void a_cordon_that_is_resumed_is_told_at_once(void)
{
	unsigned commits;

	for (commits = 1; commits <= 8; commits++) {
		CLEANUP(freep) char *name = xasprintf("resumed-%u.db", commits);
		struct world w;

		open_world(&w, name);
		world_report(&w, "n5", true);
		(void)world_run(&w, commits);
		world_kill(&w);
		put_hands_on(&w);
		healthy = 7;
		CHECK(world_run(&w, 0));
		world_look(&w);
		CHECK(world_node(&w, "n5")->unschedulable);
		CHECK_EQ(healthy, 0);
		world_close(&w);
	}
}

/* A decision has just been made; new input is not delayed until the next one. */
static void what_a_decision_left_out_is_looked_at_within_a_second(void)
{
	struct world w;

	open_world(&w, "left-out.db");
	w.policy.rules[0].action = ACTION_ALERT;
	world_wait(&w, USEC_PER_MIN);
	CHECK(world_run(&w, 0));
	CHECK_STR(message, "healthy");
	world_report(&w, "n5", true);
	CHECK(world_run(&w, 0)); /* it is suspected from the end of a decision on */
	world_wait(&w, USEC_PER_SEC);
	CHECK(world_run(&w, 0));
	CHECK_STR(message, "suspected");
	world_close(&w);
}

/* n5 is cordoned, and lifted by hand while our mark cannot be taken off. */
static void lift_in_trouble(struct world *w)
{
	world_report(w, "n5", true);
	CHECK(world_run(w, 0));
	in_trouble = true;
	CHECK_EQ(cluster_embedded_touch(w->cluster, "n5", false, NULL), 0);
	CHECK(world_run(w, 0));
	CHECK_EQ(actor_counts(w->act).overrides_found, 1);
	world_wait(w, USEC_PER_SEC);
}

static void trouble_ends(struct world *w)
{
	in_trouble = false;
	world_wait(w, USEC_PER_MIN);
	CHECK(world_run(w, 0));
	world_look(w);
}

static void a_cordon_that_a_person_sets_before_our_mark_is_off_stays(void)
{
	struct world w;

	open_world(&w, "theirs.db");
	lift_in_trouble(&w);
	CHECK_EQ(cluster_embedded_touch(w.cluster, "n5", true, NULL), 0);
	CHECK(world_run(&w, 0));
	trouble_ends(&w);
	CHECK(!world_node(&w, "n5")->mark);
	CHECK(world_node(&w, "n5")->unschedulable);
	CHECK(world_node(&w, "n5")->override_us > w.now_us);
	CHECK_EQ(held(&w), 0);
	world_close(&w);
}

static void a_cordon_that_another_controller_sets_meanwhile_is_not_lifted(void)
{
	static const struct cluster_change n5 = { .node = "n5" };
	char by[] = "assay", reason[] = "it is bad", action[] = "999";
	struct cluster_mark mark = { .by = by, .reason = reason, .action = action };
	struct world w;

	open_world(&w, "meanwhile.db");
	lift_in_trouble(&w);
	mark.at_us = w.now_us;
	embedded->uncordon(w.cluster, &n5, 0, &(struct cluster_call){ 0 });
	embedded->cordon(w.cluster, &n5, &mark, &(struct cluster_call){ 0 });
	CHECK(world_run(&w, 0));
	trouble_ends(&w);
	CHECK(world_node(&w, "n5")->unschedulable);
	CHECK_STR(world_node(&w, "n5")->mark->action, "999");
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions WHERE kind = 1 AND state = 3"), 1);
	world_close(&w);
}

static const struct test tests[] = {
	TEST(a_cordon_that_a_person_sets_before_our_mark_is_off_stays),
	TEST(a_cordon_that_another_controller_sets_meanwhile_is_not_lifted),
	TEST(an_uncordon_before_the_answer_to_our_cordon_is_an_order),
	TEST(what_the_node_shows_before_the_answer_is_in_the_ledger_once),
	TEST(what_was_done_to_another_node_of_the_name_is_not_booked),
	TEST(a_cordon_that_is_resumed_is_told_at_once),
	TEST(what_a_decision_left_out_is_looked_at_within_a_second),
};

TEST_SUITE(tests);
