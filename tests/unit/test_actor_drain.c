/* SPDX-License-Identifier: Apache-2.0 */
/* Drains and jobs seen by the actor, on a cluster whose pods the test controls. */
#include <stdio.h>
#include <stdlib.h>

#include "controller/actions/actor_env.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/policy/fleet.h"
#include "tests/unit/act_world.h"
#include "tests/unit/test.h"

enum { NODES = WORLD_NODES };

/* Of the node "n<i>". */
static struct {
	const char *job;	       /* the job running there, or NULL */
	unsigned left;		       /* drain rounds until it is gone */
	unsigned evicted, told, asked; /* numbers of calls */
} pods[NODES];
static struct cluster_ops ops;
static struct cluster_call held; /* an unanswered query */
static bool hold_jobs, fail_jobs;
static const char *why_not; /* the reason why evictions fail */
static const struct cluster_ops *embedded;
static const char *slow_node; /* the test answers its cordon */
static struct cluster_mark *slow_mark;
static struct cluster_call slow_call;

static size_t number_of(const char *node)
{
	size_t i = strtoul(node + 1, NULL, 10);

	CHECK(i < NODES);
	return MIN(i, (size_t)NODES - 1);
}

static void evict(struct cluster *c UNUSED, const struct cluster_change *change,
		  const struct cluster_call *call)
{
	size_t i = number_of(change->node);
	bool done;

	CHECK(change->drain != NULL);
	if (change->drain->only_ask)
		pods[i].told++;
	else
		pods[i].evicted++;
	if (!change->drain->only_ask && !why_not && pods[i].left > 0)
		pods[i].left--;
	done = change->drain->only_ask || pods[i].left == 0;
	cluster_answer(call,
		       &(struct cluster_answer){ .result = done ? CLUSTER_DONE : CLUSTER_AGAIN,
						 .words = done	    ? ""
							  : why_not ? why_not
								    : "1 of its pods is leaving",
						 .retry_us = USEC_PER_SEC });
}

static void jobs(struct cluster *c UNUSED, const char *node, const struct cluster_call *call)
{
	size_t i = number_of(node);

	pods[i].asked++;
	if (hold_jobs) {
		held = *call;
		return;
	}
	cluster_answer(call,
		       &(struct cluster_answer){ .result = fail_jobs ? CLUSTER_AGAIN : CLUSTER_DONE,
						 .words = fail_jobs ? "the API server is slow" : "",
						 .jobs = pods[i].job ? &pods[i].job : NULL,
						 .n_jobs = pods[i].job != NULL });
}

static void cordon(struct cluster *c, const struct cluster_change *change,
		   const struct cluster_mark *mark, const struct cluster_call *call)
{
	if (!streq(slow_node, change->node)) {
		embedded->cordon(c, change, mark, call);
		return;
	}
	slow_call = *call;
	slow_mark = cluster_mark_copy(mark);
}

static void let_it_through(struct world *w)
{
	embedded->cordon(w->cluster, &(struct cluster_change){ .node = slow_node }, slow_mark,
			 &slow_call);
	cluster_mark_free(TAKE(slow_mark));
	slow_node = NULL;
}

/* The embedded cluster, with fake pods. */
static void put_pods(struct world *w)
{
	embedded = w->cluster->ops;
	ops = *embedded;
	ops.cordon = cordon;
	ops.evict = evict;
	ops.jobs = jobs;
	w->cluster->ops = &ops;
	actor_env(w->act)->fleet->tells_jobs = true;
}

static void open_world(struct world *w, const char *name, int mode)
{
	memset(pods, 0, sizeof(pods));
	hold_jobs = fail_jobs = false;
	why_not = NULL;
	world_open(w, name);
	put_pods(w);
	w->policy.rules[0].action = ACTION_CORDON_DRAIN;
	w->policy.drain_mode = mode;
	w->policy.per_job = 10;
}

/* Advances the time second by second, like the service's clock. */
static void pass(struct world *w, unsigned seconds)
{
	for (; seconds > 0; seconds--) {
		world_wait(w, USEC_PER_SEC);
		actor_tick(w->act);
		CHECK(world_run(w, 0));
	}
}

static bool is_out(struct world *w, const char *node)
{
	world_look(w);
	return world_node(w, node)->unschedulable;
}

static long long transitions(struct world *w, const char *event)
{
	CLEANUP(freep)
	char *sql = xasprintf("SELECT count(*) FROM transitions WHERE event = '%s'", event);

	return world_count(w, sql);
}

static long long evictions(struct world *w, int state)
{
	CLEANUP(freep)
	char *sql = xasprintf("SELECT count(*) FROM actions WHERE kind = %d AND state = %d",
			      ACT_EVICT, state);

	return world_count(w, sql);
}

/* --- drains --- */

static void a_drain_goes_on_until_nothing_is_there(void)
{
	struct world w;

	open_world(&w, "drain.db", DRAIN_NOW);
	pods[2].left = 20; /* more rounds than retries of other actions */
	world_report(&w, "n2", true);
	pass(&w, 5);
	CHECK(is_out(&w, "n2"));
	CHECK(pods[2].evicted > 0);
	CHECK_EQ(transitions(&w, "drain-begun"), 1);
	CHECK_EQ(transitions(&w, "drained"), 0);
	pass(&w, 30);
	CHECK_EQ(pods[2].evicted, 20);
	CHECK_EQ(transitions(&w, "drained"), 1);
	CHECK_EQ(evictions(&w, ACTION_DONE), 1);
	CHECK_EQ(world_count(&w,
			     "SELECT count(*) FROM transitions WHERE event = 'drained' AND who = "
			     "'automatic' AND undo LIKE 'nothing: pods were evicted%'"),
		 1);
	pass(&w, 30);
	CHECK_EQ(pods[2].evicted, 20); /* and never again */
	world_close(&w);
}

static void nothing_is_drained_by_default(void)
{
	struct world w;

	open_world(&w, "off.db", DRAIN_OFF);
	pods[2].left = 3;
	world_report(&w, "n2", true);
	pass(&w, 60);
	CHECK(is_out(&w, "n2"));
	CHECK_EQ(pods[2].evicted + pods[2].told, 0);
	world_close(&w);
}

static void jobs_are_told_and_evicted_after_their_grace(void)
{
	struct world w;

	open_world(&w, "grace.db", DRAIN_AFTER_GRACE);
	w.policy.drain_grace_us = 60 * USEC_PER_SEC;
	pods[2].left = 1;
	world_report(&w, "n2", true);
	pass(&w, 50);
	CHECK_EQ(pods[2].told, 1);
	CHECK_EQ(pods[2].evicted, 0);
	CHECK_EQ(transitions(&w, "drain-asked"), 1);
	pass(&w, 30);
	CHECK_EQ(pods[2].told, 1);
	CHECK_EQ(pods[2].evicted, 1);
	CHECK_EQ(transitions(&w, "drained"), 1);
	world_close(&w);
}

static void what_may_not_go_is_given_up_at_the_deadline(void)
{
	struct world w;

	open_world(&w, "late.db", DRAIN_NOW);
	w.policy.drain_timeout_us = 5 * USEC_PER_MIN;
	pods[2].left = 1;
	why_not = "1 may not be evicted yet: default/p0: its budget";
	world_report(&w, "n2", true);
	pass(&w, 60);
	CHECK_EQ(world_count(&w,
			     "SELECT count(*) FROM actions WHERE result LIKE '%default/p0%' AND "
			     "done_us IS NULL"),
		 1);
	pass(&w, 300);
	CHECK_EQ(evictions(&w, ACTION_FAILED), 1);
	CHECK_EQ(transitions(&w, "drain-failed"), 1);
	CHECK_EQ(
		world_count(
			&w,
			"SELECT count(*) FROM cluster_events WHERE reason = 'AssayDrainFailed' AND "
			"message LIKE '%default/p0%'"),
		1);
	CHECK(is_out(&w, "n2"));
	pods[2].evicted = 0;
	pass(&w, 600);
	CHECK_EQ(pods[2].evicted, 0); /* a person has to decide */
	world_close(&w);
}

static void a_person_gives_a_host_back_in_the_midst_of_its_drain(void)
{
	const struct actor_request ask = { .node = "n2",
					   .who = "operator ann",
					   .reason = "it is fine" };
	struct world w;
	unsigned rounds;

	open_world(&w, "back.db", DRAIN_NOW);
	pods[2].left = 1;
	why_not = "1 may not be evicted yet";
	world_report(&w, "n2", true);
	pass(&w, 10);
	CHECK(pods[2].evicted > 0);
	CHECK_EQ(world_ask(&w, ACT_UNCORDON, &ask), 200);
	CHECK(!is_out(&w, "n2"));
	rounds = pods[2].evicted;
	pass(&w, 60);
	CHECK_EQ(pods[2].evicted, rounds);
	CHECK_EQ(evictions(&w, ACTION_DROPPED), 1);
	CHECK_EQ(evictions(&w, ACTION_DECIDED), 0);
	world_close(&w);
}

static void a_drain_that_a_controller_left_goes_on_with_its_deadline(void)
{
	struct world w;

	open_world(&w, "killed.db", DRAIN_NOW);
	w.policy.drain_timeout_us = 5 * USEC_PER_MIN;
	pods[2].left = 1;
	why_not = "1 may not be evicted yet";
	world_report(&w, "n2", true);
	pass(&w, 200);
	world_kill(&w);
	put_pods(&w);
	pods[2].evicted = 0;
	pass(&w, 60);
	CHECK(pods[2].evicted > 0);
	CHECK_EQ(transitions(&w, "drain-begun"), 1);
	CHECK_EQ(transitions(&w, "drain-failed"), 0);
	pass(&w, 60);
	CHECK_EQ(transitions(&w, "drain-failed"), 1);
	world_close(&w);
}

static void in_a_rehearsal_nothing_is_evicted(void)
{
	struct world w;

	open_world(&w, "rehearsed.db", DRAIN_NOW);
	world_report(&w, "n2", true);
	pods[2].left = 50;
	pass(&w, 5);
	w.policy.mode = MODE_DRY_RUN;
	pass(&w, 5);
	CHECK_EQ(evictions(&w, ACTION_DROPPED), 1); /* it stops at once */
	pods[2].evicted = 0;
	pass(&w, 60);
	CHECK_EQ(pods[2].evicted, 0);
	CHECK_EQ(evictions(&w, ACTION_DRY_RUN), 1);
	world_close(&w);
}

/* n1 and n2 run the same job; requests to n2's node are slow. */
static void nothing_is_evicted_while_a_bad_one_of_the_job_is_being_cordoned(void)
{
	struct world w;

	open_world(&w, "sibling.db", DRAIN_NOW);
	pods[1].job = pods[2].job = "default/llama (jobset)";
	pods[1].left = pods[2].left = 1;
	slow_node = "n2";
	world_report(&w, "n1", true);
	world_report(&w, "n2", true);
	pass(&w, 10);
	CHECK(is_out(&w, "n1"));
	CHECK(slow_mark && !is_out(&w, "n2"));
	CHECK_EQ(pods[1].evicted, 0);
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions WHERE node = 'n1' AND result LIKE "
				 "'drain.job: n2%'"),
		 1);
	let_it_through(&w);
	pass(&w, 10);
	CHECK(is_out(&w, "n2"));
	CHECK(pods[1].evicted + pods[2].evicted > 0);
	world_close(&w);
}

static void idle_hosts_are_asked_for_before_an_eviction(void)
{
	struct world w;
	size_t i;

	open_world(&w, "spares.db", DRAIN_NOW);
	for (i = 0; i < NODES; i++)
		pods[i].job = "default/bert (job)";
	pods[1].job = "default/llama (jobset)";
	pods[1].left = 1;
	world_report(&w, "n1", true);
	pass(&w, 10);
	CHECK(is_out(&w, "n1"));
	CHECK_EQ(pods[1].evicted, 0);
	CHECK(pods[3].asked > 0);
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions WHERE node = 'n1' AND result LIKE "
				 "'drain.spares: 0 idle%'"),
		 1);
	pods[3].job = NULL; /* noticed by the next query, in a minute */
	pass(&w, 90);
	CHECK_EQ(pods[1].evicted, 1);
	CHECK(pods[3].asked <= 4);
	world_close(&w);
}

/* --- jobs --- */

static void of_one_job_only_so_many_are_cordoned(void)
{
	struct world w;

	open_world(&w, "job.db", DRAIN_OFF);
	w.policy.per_job = 1;
	pods[1].job = pods[2].job = "default/llama (jobset)";
	pods[3].job = "default/bert (job)";
	world_report(&w, "n1", true);
	pass(&w, 2);
	CHECK(is_out(&w, "n1"));
	world_report(&w, "n2", true);
	world_report(&w, "n3", true);
	pass(&w, 5);
	CHECK(!is_out(&w, "n2"));
	CHECK(is_out(&w, "n3"));
	CHECK_EQ(world_count(&w,
			     "SELECT count(*) FROM cluster_events WHERE node = 'n2' AND reason = "
			     "'AssayRefused' AND message LIKE '%budget.per_job%llama%'"),
		 1);
	/* The job continues elsewhere: the state at the cordon of n1 is outdated. */
	pods[1].job = NULL;
	pass(&w, 120);
	CHECK(is_out(&w, "n2"));
	world_close(&w);
}

static void a_cordon_waits_for_the_jobs_but_not_for_long(void)
{
	struct world w;

	open_world(&w, "slow.db", DRAIN_OFF);
	hold_jobs = true;
	world_report(&w, "n1", true);
	pass(&w, 3);
	CHECK_EQ(pods[1].asked, 1);
	CHECK(!is_out(&w, "n1"));
	pass(&w, 5);
	CHECK(is_out(&w, "n1"));
	CHECK_EQ(world_count(&w, "SELECT count(*) FROM actions WHERE node = 'n1' AND reason LIKE "
				 "'%the jobs on it are unknown%'"),
		 1);
	cluster_answer(&held, &(struct cluster_answer){ .result = CLUSTER_AGAIN, .words = "late" });
	world_close(&w);
}

static void a_cluster_that_cannot_say_is_asked_now_and_then(void)
{
	struct world w;

	open_world(&w, "cannot.db", DRAIN_OFF);
	fail_jobs = true;
	world_report(&w, "n1", true);
	pass(&w, 10);
	CHECK(is_out(&w, "n1"));
	CHECK(pods[1].asked >= 2 && pods[1].asked <= 8);
	world_close(&w);
}

/* Returns in how many of the given seconds the jobs of n1 were known. */
static unsigned known_for(struct world *w, unsigned seconds)
{
	unsigned known = 0;

	while (seconds-- > 0) {
		actor_want_jobs(w->act, "n1");
		pass(w, 1);
		known += fleet_find(actor_fleet(w->act), "n1")->jobs_known;
	}
	return known;
}

static void jobs_that_somebody_wants_are_known_while_he_does(void)
{
	struct world w;

	open_world(&w, "wanted.db", DRAIN_OFF);
	pods[1].job = "default/llama (jobset)";
	CHECK(known_for(&w, 150) >= 148);
	CHECK_EQ(pods[1].asked, 10);
	CHECK_EQ(fleet_find(actor_fleet(w.act), "n1")->n_jobs, 1);
	pods[1].job = NULL;
	CHECK(known_for(&w, 60) == 60);
	CHECK_EQ(fleet_find(actor_fleet(w.act), "n1")->n_jobs, 0);
	/* The last result is valid for a while; a node that is no longer queried has none. */
	fail_jobs = true;
	CHECK(known_for(&w, 200) == 200);
	CHECK(known_for(&w, 200) < 150);
	fail_jobs = false;
	CHECK(known_for(&w, 60) >= 29);
	pass(&w, 150);
	CHECK(!fleet_find(actor_fleet(w.act), "n1")->jobs_known);
	world_close(&w);
}

/* The answer arrives after a restart of the actor. */
static void an_answer_for_an_earlier_start_is_nobodys(void)
{
	struct world w;

	open_world(&w, "stale.db", DRAIN_OFF);
	hold_jobs = true;
	world_report(&w, "n1", true);
	pass(&w, 2);
	CHECK_EQ(pods[1].asked, 1);
	actor_stop(w.act);
	cluster_answer(&held, &(struct cluster_answer){ .result = CLUSTER_DONE });
	world_close(&w);
}

static const struct test tests[] = {
	TEST(a_drain_goes_on_until_nothing_is_there),
	TEST(nothing_is_drained_by_default),
	TEST(jobs_are_told_and_evicted_after_their_grace),
	TEST(what_may_not_go_is_given_up_at_the_deadline),
	TEST(a_person_gives_a_host_back_in_the_midst_of_its_drain),
	TEST(a_drain_that_a_controller_left_goes_on_with_its_deadline),
	TEST(in_a_rehearsal_nothing_is_evicted),
	TEST(nothing_is_evicted_while_a_bad_one_of_the_job_is_being_cordoned),
	TEST(idle_hosts_are_asked_for_before_an_eviction),
	TEST(of_one_job_only_so_many_are_cordoned),
	TEST(a_cordon_waits_for_the_jobs_but_not_for_long),
	TEST(a_cluster_that_cannot_say_is_asked_now_and_then),
	TEST(jobs_that_somebody_wants_are_known_while_he_does),
	TEST(an_answer_for_an_earlier_start_is_nobodys),
};

TEST_SUITE(tests);
