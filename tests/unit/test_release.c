/* SPDX-License-Identifier: Apache-2.0 */
/* The life cycle of one node: states, releases, and people's actions. */
#include "lib/policy/decide.h"

#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "tests/unit/fleet_world.h"
#include "tests/unit/test.h"

#define RULES FATAL ", " SLOW ", " REST

/* ---- the table ----------------------------------------------------------------- */

/* h healthy, s suspected, t retesting, c cordoned, d drained, i in-repair, v verifying, r released,
 * S sticky; a dot is refused. One column a state, in the order of the enum. */
static void every_event_leads_where_the_table_says(void)
{
	static const char letters[] = "hstcdivrS";
	static const char *const leads[LIFE_EVENTS] = {
		[EVENT_SUSPECTED] = "s......s.",       [EVENT_CLEARED] = ".hh......",
		[EVENT_RETEST] = "ttt....t.",	       [EVENT_CORDONED] = "ccc....c.",
		[EVENT_CORDONED_STICKY] = "SSSS..SS.", [EVENT_DRAIN_ASKED] = "...cdiv.S",
		[EVENT_DRAIN_BEGUN] = "...c....S",     [EVENT_DRAINED] = "...d....S",
		[EVENT_DRAIN_FAILED] = "...c....S",    [EVENT_REPAIR_BEGUN] = "...iiii.i",
		[EVENT_REPAIR_DONE] = "hh.vvvvhv",     [EVENT_VERIFY] = "...vv....",
		[EVENT_VERIFY_FAILED] = "......c..",   [EVENT_RELEASED] = "...rrrr.r",
		[EVENT_UNCORDONED] = "...rrrr.r",      [EVENT_REPLACED] = "hhhhhhhhh",
		[EVENT_SETTLED] = ".......h.",	       [EVENT_OVERRIDE] = "hstcdivrS",
		[EVENT_SILENCE] = "hstcdivrS",	       [EVENT_HOLD] = "hst....r.",
		[EVENT_UNHOLD] = "hstcdivrS",
	};
	int state, event;

	for (event = 0; event < LIFE_EVENTS; event++) {
		for (state = 0; state < LIFE_STATES; state++) {
			struct life life = { .state = state, .since_us = 5 };
			const struct life_change change = { .event = event,
							    .who = "operator ann",
							    .why = "because",
							    .evidence = "incident 7",
							    .at_us = 9 };
			struct life_change ret = { 0 };
			struct err err = ERR_INIT;
			char wanted = leads[event][state];
			int r = life_step(&life, &change, &ret, &err);

			CHECK_EQ(r == 0, wanted != '.');
			CHECK_EQ(letters[life.state], wanted == '.' ? letters[state] : wanted);
			CHECK_EQ(life.since_us, life.state == state ? 5 : 9);
			if (r < 0) {
				CHECK_HAS(err.msg, life_state_names[state]);
				continue;
			}
			CHECK_EQ(ret.from, state);
			CHECK_EQ(ret.to, life.state);
			CHECK_STR(ret.who, "operator ann");
			CHECK_STR(ret.evidence, "incident 7");
			CHECK(ret.undo && ret.undo[0] != '\0');
		}
	}
}

static void what_a_person_began_nothing_automatic_ends(void)
{
	static const int ends[] = { EVENT_RELEASED, EVENT_VERIFY, EVENT_REPAIR_DONE };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		struct life manual = { .state = LIFE_CORDONED, .manual = true };
		struct life sticky = { .state = LIFE_STICKY };
		struct life_change change = { .event = ends[i], .who = WHO_AUTOMATIC };
		struct err err = ERR_INIT;

		CHECK_EQ(life_step(&manual, &change, NULL, &err), -EINVAL);
		CHECK_HAS(err.msg, "an operator can release");
		CHECK_EQ(manual.state, LIFE_CORDONED);
		CHECK_EQ(life_step(&sticky, &change, NULL, NULL), -EINVAL);
		change.who = "operator ann";
		CHECK_EQ(life_step(&manual, &change, NULL, NULL), 0);
		CHECK(manual.state == LIFE_RELEASED || manual.state == LIFE_VERIFYING);
	}
}

/* ---- releases ------------------------------------------------------------------ */

static void cordon(struct world *w, unsigned i)
{
	note(w, i, "gpu.lost", SEVERITY_FATAL);
	decide_and_do(w);
	CHECK_EQ(world_node(w, i)->out & OUT_OURS, OUT_OURS);
}

static void clear_all(struct world *w, unsigned i)
{
	struct fleet_node *node = world_node(w, i);

	while (node->findings)
		fleet_clear(&w->fleet, node, node->findings);
}

static void a_node_is_given_back_after_its_delay_and_its_tests(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	w.policy.release_passes = 2;
	cordon(&w, 3);
	later(&w, USEC_PER_DAY);
	decide_and_do(&w);
	CHECK(!find(&w, 3, DECIDE_VERIFY)); /* it is bad still */
	clear_all(&w, 3);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_VERIFY));
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_VERIFYING);
	tested(&w, 3, NULL, TEST_PASSED);
	later(&w, 29 * USEC_PER_MIN);
	decide_and_do(&w);
	CHECK_EQ(w.out.n, 0); /* the next test is not due yet */
	later(&w, USEC_PER_MIN);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_VERIFY));
	CHECK(!find(&w, 3, DECIDE_RELEASE)); /* one pass of two */
	tested(&w, 3, NULL, TEST_PASSED);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_RELEASE));
	CHECK_HAS(find(&w, 3, DECIDE_RELEASE)->reason, "2 active tests passed");
	CHECK_EQ(world_node(&w, 3)->out, 0);
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_RELEASED);
	later(&w, 7 * USEC_PER_DAY);
	world_node(&w, 3)->deep_us = w.now_us;
	decide(&w);
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_HEALTHY);
}

static void passes_without_the_delay_are_not_enough(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	cordon(&w, 3);
	clear_all(&w, 3);
	decide_and_do(&w);
	tested(&w, 3, NULL, TEST_PASSED);
	later(&w, 30 * USEC_PER_MIN - 1);
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_RELEASE));
	later(&w, 1);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_RELEASE));
	note(&w, 3, "gpu.lost", SEVERITY_FATAL); /* bad again in the last moment */
	decide(&w);
	CHECK(!find(&w, 3, DECIDE_RELEASE));
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_CORDONED);
	CHECK_EQ(world_node(&w, 3)->record.passes, 0);
}

static void a_failed_verification_starts_over(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	w.policy.release_passes = 2;
	cordon(&w, 3);
	clear_all(&w, 3);
	decide_and_do(&w);
	tested(&w, 3, NULL, TEST_PASSED);
	later(&w, USEC_PER_HOUR);
	decide_and_do(&w);
	tested(&w, 3, NULL, TEST_FAILED);
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_CORDONED);
	CHECK_EQ(world_node(&w, 3)->record.passes, 0);
	later(&w, USEC_PER_HOUR);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_VERIFY));
	CHECK_EQ(world_node(&w, 3)->out, OUT_OURS);
}

static void an_open_breaker_gives_nodes_back(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	cordon(&w, 3);
	clear_all(&w, 3);
	(void)breaker_open(&w.breaker, BREAKER_HAND, w.now_us, "by hand");
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_VERIFY));
	tested(&w, 3, NULL, TEST_PASSED);
	later(&w, USEC_PER_HOUR);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_RELEASE));
	CHECK(w.breaker.open);
}

static void the_third_cordon_in_a_week_is_sticky(void)
{
	CLEANUP(world_release) struct world w;
	const struct decision *one;
	unsigned i;

	world_init(&w, RULES, 20);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(world_node(&w, 3)->out, 0);
		cordon(&w, 3);
		clear_all(&w, 3);
		CHECK_EQ(find(&w, 3, DECIDE_CORDON)->sticky, i == 2);
		decide_and_do(&w);
		tested(&w, 3, NULL, TEST_PASSED);
		later(&w, USEC_PER_HOUR);
		decide_and_do(&w);
	}
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_STICKY);
	later(&w, 30 * USEC_PER_DAY);
	decide_and_do(&w);
	one = find(&w, 3, DECIDE_RELEASE);
	CHECK(one && !one->effect && one->refused);
	if (one && one->refused) {
		CHECK_EQ(one->refused->by, REFUSED_BY_PERSON);
		CHECK_HAS(one->refused->allow, "assayctl repair-done n003");
	}
	happens(&w, 3, EVENT_REPAIR_DONE);
	decide_and_do(&w);
	tested(&w, 3, NULL, TEST_PASSED);
	later(&w, USEC_PER_HOUR);
	decide_and_do(&w);
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_RELEASED);
}

static void cordons_far_apart_are_not_sticky(void)
{
	CLEANUP(world_release) struct world w;
	unsigned i;

	world_init(&w, RULES, 20);
	for (i = 0; i < 5; i++) {
		cordon(&w, 3);
		CHECK(!find(&w, 3, DECIDE_CORDON)->sticky);
		happens(&w, 3, EVENT_UNCORDONED);
		clear_all(&w, 3);
		later(&w, 4 * USEC_PER_DAY);
	}
}

static void an_operators_cordon_waits_for_a_person(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	happens(&w, 3, EVENT_CORDONED);
	later(&w, USEC_PER_DAY);
	decide_and_do(&w);
	CHECK_EQ(find(&w, 3, DECIDE_RELEASE)->refused->by, REFUSED_BY_PERSON);
	CHECK_EQ(world_node(&w, 3)->out, OUT_OURS);
	happens(&w, 3, EVENT_RELEASED);
	CHECK_EQ(world_node(&w, 3)->out, 0);
}

static void anothers_cordon_stays_when_ours_goes(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	cordon(&w, 3);
	world_node(&w, 3)->out |= OUT_OTHERS;
	clear_all(&w, 3);
	decide_and_do(&w);
	tested(&w, 3, NULL, TEST_PASSED);
	later(&w, USEC_PER_HOUR);
	decide_and_do(&w);
	CHECK_EQ(world_node(&w, 3)->out, OUT_OTHERS);
}

/* Refused by `by` for as long as that is so, and done when it is over. */
static void check_waits(struct world *w, int by)
{
	const struct decision *one;

	decide_and_do(w);
	one = find(w, 3, DECIDE_RELEASE);
	CHECK(one && !one->effect && one->refused);
	CHECK_EQ(one && one->refused ? one->refused->by : REFUSED_BY_NONE, by);
	CHECK_EQ(world_node(w, 3)->out, OUT_OURS);
	fleet_set_hands_off(world_node(w, 3), NULL);
	free(TAKE(w->fleet.stale));
	decide_and_do(w);
	CHECK_EQ(world_node(w, 3)->out, 0);
}

static void nothing_is_given_back_under_anothers_hands_or_from_what_is_stale(void)
{
	bool stale;

	for (stale = false;; stale = true) {
		CLEANUP(world_release) struct world w;

		world_init(&w, RULES, 20);
		cordon(&w, 3);
		clear_all(&w, 3);
		decide_and_do(&w);
		tested(&w, 3, NULL, TEST_PASSED);
		later(&w, USEC_PER_HOUR);
		if (stale)
			w.fleet.stale = xstrdup("the API is down");
		else
			fleet_set_hands_off(world_node(&w, 3), "NVSentinel is working on it");
		check_waits(&w, stale ? REFUSED_BY_STALE : REFUSED_BY_HANDS_OFF);
		if (stale)
			break;
	}
}

static void no_test_is_ordered_under_anothers_hands(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	cordon(&w, 3);
	clear_all(&w, 3);
	fleet_set_hands_off(world_node(&w, 3), "NVSentinel is working on it");
	decide_and_do(&w);
	CHECK(!find(&w, 3, DECIDE_VERIFY));
	fleet_set_hands_off(world_node(&w, 3), NULL);
	decide_and_do(&w);
	CHECK(find(&w, 3, DECIDE_VERIFY));
}

/* ---- what people say ----------------------------------------------------------- */

static void an_uncordon_by_hand_holds_against_all_but_a_new_fatal_finding(void)
{
	static const int gives_back[] = { EVENT_UNCORDONED, EVENT_RELEASED };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(gives_back); i++) {
		CLEANUP(world_release) struct world w;

		world_init(&w, RULES, 20);
		cordon(&w, 3);
		later(&w, USEC_PER_MIN);
		happens(&w, 3, gives_back[i]);
		note(&w, 3, "gpu.lost", SEVERITY_FATAL); /* the same as before */
		reproduce(&w, 3, "gemm.rate");
		later(&w, USEC_PER_MIN);
		decide_and_do(&w);
		CHECK_EQ(find(&w, 3, DECIDE_CORDON)->refused->by, REFUSED_BY_OVERRIDE);
		CHECK_EQ(world_node(&w, 3)->out, 0);
		note(&w, 3, "gpu.xid", SEVERITY_FATAL);
		later(&w, 20 * USEC_PER_MIN);
		decide(&w);
		CHECK(find(&w, 3, DECIDE_CORDON)->effect);
		CHECK_STR(find(&w, 3, DECIDE_CORDON)->finding->check, "gpu.xid");
	}
}

static void an_override_ends(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	cordon(&w, 3);
	happens(&w, 3, EVENT_UNCORDONED);
	later(&w, USEC_PER_DAY - 1);
	note(&w, 3, "gpu.lost", SEVERITY_FATAL);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_CORDON)->refused);
	later(&w, 1);
	decide(&w);
	CHECK(find(&w, 3, DECIDE_CORDON)->effect);
}

static void a_silenced_node_is_left_alone(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	happens(&w, 3, EVENT_SILENCE);
	reproduce(&w, 3, "gemm.rate");
	note(&w, 3, "host.x", SEVERITY_WARN);
	decide(&w);
	CHECK_EQ(w.out.n, 1);
	CHECK_EQ(find(&w, 3, DECIDE_CORDON)->refused->by, REFUSED_BY_SILENCE);
	CHECK_EQ(world_node(&w, 3)->record.life.state, LIFE_HEALTHY);
}

static void a_replaced_machine_begins_anew(void)
{
	CLEANUP(world_release) struct world w;

	world_init(&w, RULES, 20);
	cordon(&w, 3);
	happens(&w, 3, EVENT_REPLACED);
	decide(&w);
	CHECK_EQ(w.out.n, 0);
	CHECK_EQ(world_node(&w, 3)->out, 0);
	CHECK_EQ(fleet_repeats(world_node(&w, 3), 0), 0);
}

static const struct test tests[] = {
	TEST(every_event_leads_where_the_table_says),
	TEST(what_a_person_began_nothing_automatic_ends),
	TEST(a_node_is_given_back_after_its_delay_and_its_tests),
	TEST(passes_without_the_delay_are_not_enough),
	TEST(a_failed_verification_starts_over),
	TEST(an_open_breaker_gives_nodes_back),
	TEST(the_third_cordon_in_a_week_is_sticky),
	TEST(cordons_far_apart_are_not_sticky),
	TEST(an_operators_cordon_waits_for_a_person),
	TEST(anothers_cordon_stays_when_ours_goes),
	TEST(nothing_is_given_back_under_anothers_hands_or_from_what_is_stale),
	TEST(no_test_is_ordered_under_anothers_hands),
	TEST(an_uncordon_by_hand_holds_against_all_but_a_new_fatal_finding),
	TEST(an_override_ends),
	TEST(a_silenced_node_is_left_alone),
	TEST(a_replaced_machine_begins_anew),
};

TEST_SUITE(tests);
