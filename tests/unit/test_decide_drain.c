/* SPDX-License-Identifier: Apache-2.0 */
/* Which cordoned nodes are drained, and in which order. */
#include "lib/policy/decide.h"
#include "tests/unit/fleet_world.h"
#include "tests/unit/test.h"

#define DRAINED "{name: lost, match: {severity: fatal}, action: cordon+drain}"
#define RULES DRAINED ", " SLOW ", " REST

/* `n` nodes of which the first two may be out, and a drain of that mode. */
static void open_world(struct world *w, int mode)
{
	world_init(w, RULES, 40);
	w->policy.drain_mode = mode;
	w->policy.rate_cordons = 100;
	w->policy.storm_cordons = 100;
	w->policy.alike_nodes = 100;
	w->policy.per_job = 10;
}

static void run_job(struct world *w, unsigned i, const char *job)
{
	fleet_set_jobs(&w->fleet, world_node(w, i), &job, 1);
}

/* It is lost, and cordoned. */
static void cordon(struct world *w, unsigned i)
{
	note(w, i, "gpu.lost", SEVERITY_FATAL);
	decide_and_do(w);
	CHECK_EQ(world_node(w, i)->record.life.state, LIFE_CORDONED);
}

static void by_default_nothing_is_drained(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	cordon(&w, 3);
	later(&w, USEC_PER_DAY);
	decide(&w);
	CHECK_EQ(count_of(&w, DECIDE_DRAIN), 0);
}

static void only_what_the_rule_says_is_drained(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, FATAL ", " REST, 20);
	w.policy.drain_mode = DRAIN_NOW;
	cordon(&w, 3);
	decide(&w);
	CHECK_EQ(count_of(&w, DECIDE_DRAIN), 0);
}

static void who_is_told_is_told_once(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, DRAIN_ASK);
	cordon(&w, 3);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_DRAIN) && find(&w, 3, DECIDE_DRAIN)->only_ask);
	CHECK_HAS(find(&w, 3, DECIDE_DRAIN)->reason, "told to leave");
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_CORDONED);
	later(&w, USEC_PER_DAY);
	decide(&w);
	CHECK_EQ(count_of(&w, DECIDE_DRAIN), 0);
}

static void after_its_grace_it_is_evicted_once(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, DRAIN_AFTER_GRACE);
	cordon(&w, 3);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_DRAIN) && find(&w, 3, DECIDE_DRAIN)->only_ask);
	later(&w, w.policy.drain_grace_us - 1);
	decide(&w);
	CHECK_EQ(count_of(&w, DECIDE_DRAIN), 0);
	later(&w, 1);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_DRAIN) && !find(&w, 3, DECIDE_DRAIN)->only_ask);
	CHECK_STR(find(&w, 3, DECIDE_DRAIN)->rule, "lost");
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_DRAINED);
	later(&w, USEC_PER_DAY);
	decide(&w);
	CHECK_EQ(count_of(&w, DECIDE_DRAIN), 0);
}

static void a_drain_that_failed_is_not_begun_again(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, DRAIN_NOW);
	cordon(&w, 3);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_DRAIN));
	happens(&w, 3, EVENT_DRAIN_BEGUN);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_DRAIN)); /* whoever began it may be gone */
	happens(&w, 3, EVENT_DRAIN_FAILED);
	later(&w, USEC_PER_DAY);
	decide(&w);
	CHECK_EQ(count_of(&w, DECIDE_DRAIN), 0);
	/* Another cordon is another matter. */
	happens(&w, 3, EVENT_RELEASED);
	CHECK_EQ(world_node(&w, 3)->record.drain_us, 0);
	CHECK_EQ(world_node(&w, 3)->record.drained_us, 0);
}

static void what_people_said_holds_for_drains_too(void)
{
	static const int says[] = { EVENT_SILENCE, EVENT_REPAIR_BEGUN };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(says); i++) {
		CLEANUP(world_release) struct world w;
		const struct decision *one;

		open_world(&w, DRAIN_NOW);
		cordon(&w, 3);
		happens(&w, 3, says[i]);
		decide(&w);
		one = find(&w, 3, DECIDE_DRAIN);
		CHECK(!one || one->refused);
	}
}

static void what_a_person_cordoned_a_person_drains(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, DRAIN_NOW);
	happens(&w, 3, EVENT_CORDONED);
	note(&w, 3, "gpu.lost", SEVERITY_FATAL);
	decide(&w);
	CHECK_EQ(count_of(&w, DECIDE_DRAIN), 0);
}

static void one_that_opted_out_meanwhile_is_left_alone(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, DRAIN_NOW);
	cordon(&w, 3);
	world_node(&w, 3)->managed = false;
	decide(&w);
	CHECK(find(&w, 3, DECIDE_DRAIN));
	CHECK_EQ(find(&w, 3, DECIDE_DRAIN)->refused->by, REFUSED_BY_UNMANAGED);
}

static void an_open_breaker_refuses_drains(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, DRAIN_NOW);
	cordon(&w, 3);
	(void)breaker_open(&w.breaker, BREAKER_STORM, w.now_us, "too many");
	decide(&w);
	CHECK(find(&w, 3, DECIDE_DRAIN) && !find(&w, 3, DECIDE_DRAIN)->effect);
	CHECK_EQ(find(&w, 3, DECIDE_DRAIN)->refused->by, REFUSED_BY_BREAKER);
}

static void of_one_job_one_node_is_drained_at_a_time(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	open_world(&w, DRAIN_NOW);
	for (i = 1; i <= 3; i++) {
		run_job(&w, i, i < 3 ? "llama" : "bert");
		note(&w, i, "gpu.lost", SEVERITY_FATAL);
	}
	decide_and_do(&w);
	CHECK_EQ(count_of(&w, DECIDE_CORDON_DRAIN), 3);
	decide(&w);
	CHECK(find(&w, 1, DECIDE_DRAIN) && !find(&w, 2, DECIDE_DRAIN));
	CHECK(find(&w, 3, DECIDE_DRAIN)); /* of another job */
	happens(&w, 1, EVENT_DRAIN_BEGUN);
	later(&w, USEC_PER_HOUR);
	decide(&w);
	CHECK(find(&w, 1, DECIDE_DRAIN) && !find(&w, 2, DECIDE_DRAIN));
	happens(&w, 1, EVENT_DRAINED);
	decide(&w);
	CHECK(!find(&w, 2, DECIDE_DRAIN)); /* the gang has to find its place first */
	later(&w, 2 * USEC_PER_MIN);
	decide(&w);
	CHECK(find(&w, 2, DECIDE_DRAIN));
}

static void not_before_all_that_is_bad_of_its_job_is_cordoned(void)
{
	CLEANUP(world_release) struct world w;
	const struct decision *one;

	open_world(&w, DRAIN_NOW);
	w.policy.total_nodes = 1;
	run_job(&w, 1, "llama");
	run_job(&w, 2, "llama");
	cordon(&w, 1);
	note(&w, 2, "gpu.lost", SEVERITY_FATAL); /* and the budget is full */
	decide(&w);
	CHECK_EQ(find(&w, 2, DECIDE_CORDON_DRAIN)->refused->by, REFUSED_BY_TOTAL);
	one = find(&w, 1, DECIDE_DRAIN);
	CHECK(one && !one->effect);
	CHECK_EQ(one->refused->by, REFUSED_BY_SIBLING);
	CHECK_STR(refused_by_names[one->refused->by], "drain.job");
	CHECK_HAS(one->refused->sentence, "drain.job: n002");
	CHECK_HAS(one->refused->allow, "cordon of n002");
	run_job(&w, 2, "bert"); /* it was another job's after all */
	decide(&w);
	CHECK(find(&w, 1, DECIDE_DRAIN)->effect);
	run_job(&w, 2, "llama");
	w.policy.total_nodes = 2;
	decide_and_do(&w);
	CHECK(find(&w, 2, DECIDE_CORDON_DRAIN)->effect);
	CHECK(!find(&w, 1, DECIDE_DRAIN)->effect); /* it is not cordoned yet */
	decide(&w);
	CHECK(find(&w, 1, DECIDE_DRAIN)->effect);
}

/* A cordon that is on its way keeps no job off yet. */
static void nor_while_one_is_being_cordoned(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, DRAIN_NOW);
	run_job(&w, 1, "llama");
	run_job(&w, 2, "llama");
	cordon(&w, 1);
	note(&w, 2, "gpu.lost", SEVERITY_FATAL);
	world_node(&w, 2)->out = OUT_OTHERS | OUT_COMING;
	decide(&w);
	CHECK(!find(&w, 1, DECIDE_DRAIN)->effect);
	CHECK_EQ(find(&w, 1, DECIDE_DRAIN)->refused->by, REFUSED_BY_SIBLING);
	world_node(&w, 2)->out = OUT_OTHERS;
	decide(&w);
	CHECK(find(&w, 1, DECIDE_DRAIN)->effect);
}

/* What may not be evicted may be told all the same. */
static void being_told_waits_for_nobody(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, DRAIN_AFTER_GRACE);
	w.policy.total_nodes = 1;
	run_job(&w, 1, "llama");
	run_job(&w, 2, "llama");
	cordon(&w, 1);
	note(&w, 2, "gpu.lost", SEVERITY_FATAL);
	decide_and_do(&w);
	CHECK(find(&w, 1, DECIDE_DRAIN)->effect && find(&w, 1, DECIDE_DRAIN)->only_ask);
}

/* n<i> is told to be idle. */
static void is_idle(struct world *w, unsigned i)
{
	fleet_set_jobs(&w->fleet, world_node(w, i), NULL, 0);
	world_node(w, i)->reported_us = w->now_us;
}

static const struct refusal *why_not(struct world *w, unsigned i)
{
	decide(w);
	return find(w, i, DECIDE_DRAIN)->refused;
}

static void a_job_is_not_evicted_before_there_is_a_place_for_it(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, DRAIN_NOW);
	cordon(&w, 1);
	CHECK(!why_not(&w, 1)); /* who keeps the fleet cannot tell */
	w.fleet.tells_jobs = true;
	CHECK(why_not(&w, 1)); /* nor has told yet */
	fleet_set_jobs(&w.fleet, world_node(&w, 1), NULL, 0);
	CHECK(!why_not(&w, 1)); /* nothing runs there that would need one */
	run_job(&w, 1, "llama");
	CHECK_EQ(why_not(&w, 1)->by, REFUSED_BY_SPARES);
	CHECK_STR(refused_by_names[why_not(&w, 1)->by], "drain.spares");
	CHECK_HAS(why_not(&w, 1)->sentence, "0 idle hosts of its SKU are known, and 1 are needed");
	is_idle(&w, 5);
	CHECK(!why_not(&w, 1));
	fleet_forget_jobs(&w.fleet, world_node(&w, 5));
	CHECK(why_not(&w, 1));
	w.policy.drain_spares = 0;
	CHECK(!why_not(&w, 1));
}

static void only_who_would_take_it_is_a_place(void)
{
	CLEANUP(world_release) struct world w;
	struct fleet_node *n;

	open_world(&w, DRAIN_NOW);
	w.fleet.tells_jobs = true;
	run_job(&w, 1, "llama");
	cordon(&w, 1);
	is_idle(&w, 5);
	n = world_node(&w, 5);
	CHECK(!why_not(&w, 1));
	n->out = OUT_NOT_READY;
	CHECK(why_not(&w, 1));
	n->out = 0;
	fleet_set_sku(&w.fleet, n, "another");
	CHECK(why_not(&w, 1));
	fleet_set_sku(&w.fleet, n, names_text(&w.fleet.skus, world_node(&w, 1)->sku));
	fleet_set_hands_off(n, "another is at work on it");
	CHECK(why_not(&w, 1));
	fleet_set_hands_off(n, NULL);
	n->reported_us = w.now_us - w.policy.silent_after_us;
	CHECK(why_not(&w, 1));
	is_idle(&w, 5);
	run_job(&w, 5, "bert");
	CHECK(why_not(&w, 1));
	is_idle(&w, 5);
	CHECK(!why_not(&w, 1));
}

/* Whose jobs went first have the first claim. */
static void each_drain_wants_a_place_of_its_own(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, DRAIN_NOW);
	w.fleet.tells_jobs = true;
	run_job(&w, 1, "llama");
	run_job(&w, 2, "bert");
	cordon(&w, 1);
	cordon(&w, 2);
	is_idle(&w, 5);
	happens(&w, 1, EVENT_DRAIN_BEGUN);
	CHECK_HAS(why_not(&w, 2)->sentence, "1 idle hosts of its SKU are known, and 2 are needed");
	is_idle(&w, 6);
	CHECK(!why_not(&w, 2));
	fleet_forget_jobs(&w.fleet, world_node(&w, 6));
	happens(&w, 1, EVENT_DRAINED);
	CHECK(why_not(&w, 2));
	later(&w, 2 * USEC_PER_MIN); /* it has found its place: who is idle now is so still */
	is_idle(&w, 5);
	CHECK(!why_not(&w, 2));
}

static void a_sticky_node_stays_sticky_when_it_is_drained(void)
{
	CLEANUP(world_release) struct world w;

	open_world(&w, DRAIN_NOW);
	w.policy.sticky_after = 1;
	note(&w, 3, "gpu.lost", SEVERITY_FATAL);
	decide_and_do(&w);
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_STICKY);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_DRAIN));
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_STICKY);
	decide(&w);
	CHECK_EQ(count_of(&w, DECIDE_DRAIN), 0);
}

/* The eviction is known from its begin, and one that was begun before has its own time. */
static void a_drain_is_booked_when_it_begins_and_once(void)
{
	CLEANUP(world_release) struct world w;
	const struct decision *one;
	struct life_change change;

	open_world(&w, DRAIN_NOW);
	cordon(&w, 3);
	decide(&w);
	one = find(&w, 3, DECIDE_DRAIN);
	CHECK(one && one->effect && !one->only_ask);
	if (!one)
		return;
	CHECK_EQ(policy_begun(&w.fleet, one, w.now_us, &change, NULL), 0);
	CHECK_EQ(change.event, EVENT_DRAIN_BEGUN);
	CHECK_EQ(change.to, LIFE_CORDONED);
	CHECK_EQ(one->node->record.drain_us, w.now_us);
	CHECK_EQ(policy_begun(&w.fleet, one, w.now_us + 1, &change, NULL), 0);
	CHECK_EQ(change.event, -1);
	CHECK_EQ(one->node->record.drain_us, w.now_us);
}

static const struct test tests[] = {
	TEST(a_drain_is_booked_when_it_begins_and_once),
	TEST(by_default_nothing_is_drained),
	TEST(only_what_the_rule_says_is_drained),
	TEST(who_is_told_is_told_once),
	TEST(after_its_grace_it_is_evicted_once),
	TEST(a_drain_that_failed_is_not_begun_again),
	TEST(what_people_said_holds_for_drains_too),
	TEST(what_a_person_cordoned_a_person_drains),
	TEST(one_that_opted_out_meanwhile_is_left_alone),
	TEST(an_open_breaker_refuses_drains),
	TEST(of_one_job_one_node_is_drained_at_a_time),
	TEST(not_before_all_that_is_bad_of_its_job_is_cordoned),
	TEST(nor_while_one_is_being_cordoned),
	TEST(being_told_waits_for_nobody),
	TEST(a_job_is_not_evicted_before_there_is_a_place_for_it),
	TEST(only_who_would_take_it_is_a_place),
	TEST(each_drain_wants_a_place_of_its_own),
	TEST(a_sticky_node_stays_sticky_when_it_is_drained),
};

TEST_SUITE(tests);
