/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/startup.h"

#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/policy/policy.h"
#include "tests/unit/test.h"

enum { NODES = 10 }; /* budget.deny: 3 of them */

#define NOW_US (1000 * USEC_PER_HOUR)
#define AGO(us) (NOW_US - (us))

/* A host that joined ten minutes ago and passed five minutes ago. */
static const struct startup_facts passed = {
	.node = "n0",
	.joined_us = AGO(10 * USEC_PER_MIN),
	.boot = "b1",
	.profile = "quick",
	.tested_us = AGO(5 * USEC_PER_MIN),
	.level = VERDICT_PASS,
	.now = "b1",
};

static struct startup_decision ask(struct denials *d, const struct startup_facts *facts)
{
	struct policy policy = policy_init();
	struct startup_decision decision;

	startup_decide(&policy, d, NODES, facts, NOW_US, &decision);
	policy_release(&policy);
	return decision;
}

static void only_a_pass_since_it_joined_and_booted_lifts_it(void)
{
	struct startup_facts facts[] = { passed, passed, passed, passed, passed,
					 passed, passed, passed, passed };
	static const int answers[ARRAY_SIZE(facts)] = {
		STARTUP_PASSED, STARTUP_WAITS, STARTUP_WAITS, STARTUP_WAITS,  STARTUP_STAYS,
		STARTUP_STAYS,	STARTUP_STAYS, STARTUP_STAYS, STARTUP_PASSED,
	};
	size_t i;

	facts[1].boot = NULL;			     /* it was not tested */
	facts[2].boot = "b0";			     /* before it booted */
	facts[3].tested_us = facts[3].joined_us + 1; /* perhaps before it joined */
	facts[4].level = VERDICT_WARN;
	facts[4].worst = "gemm.rate sku";
	facts[5].level = VERDICT_INCONCLUSIVE;
	facts[6].bad = "gpu.xid 79";			/* it passed, and is bad all the same */
	facts[7].joined_us = AGO(2 * USEC_PER_DAY);	/* a person has set the taint again: */
	facts[7].tested_us = AGO(61 * USEC_PER_MIN);	/* that is too long ago */
	facts[8].tested_us = NOW_US + 5 * USEC_PER_SEC; /* clocks are not one */
	for (i = 0; i < ARRAY_SIZE(facts); i++) {
		CLEANUP(denials_release) struct denials d = { 0 };
		struct startup_decision decision = ask(&d, &facts[i]);

		CHECK_EQ(decision.answer, answers[i]);
		CHECK_EQ(decision.sentence[0] == '\0', answers[i] == STARTUP_WAITS);
		CHECK_EQ(d.n, answers[i] == STARTUP_STAYS);
	}
}

static void the_cluster_has_to_say_which_boot_it_sees(void)
{
	CLEANUP(denials_release) struct denials d = { 0 };
	struct startup_facts facts = passed;

	facts.now = NULL;
	CHECK_EQ(ask(&d, &facts).answer, STARTUP_WAITS);
	facts.joined_us = AGO(31 * USEC_PER_MIN);
	CHECK_EQ(ask(&d, &facts).answer, STARTUP_STAYS);
}

static void what_too_many_lack_is_let_in(void)
{
	static const char *const names[] = { "n0", "n1", "n2", "n3" };
	CLEANUP(denials_release) struct denials d = { 0 };
	struct startup_facts facts = passed;
	size_t i;

	facts.level = VERDICT_FAIL;
	facts.worst = "gemm.rate sku";
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct startup_decision decision;

		facts.node = names[i];
		decision = ask(&d, &facts);
		CHECK_EQ(decision.answer, i < 3 ? STARTUP_STAYS : STARTUP_LET_IN);
		CHECK_HAS(decision.sentence, "gemm.rate sku");
		if (i == 3)
			CHECK_HAS(decision.sentence, "budget.deny");
	}
	/* Nobody can be tested: that is one thing that they share, too. */
	facts.boot = NULL;
	facts.joined_us = 0;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		facts.node = names[i];
		CHECK_EQ(ask(&d, &facts).answer, i < 3 ? STARTUP_STAYS : STARTUP_LET_IN);
	}
}

static const struct test tests[] = {
	TEST(only_a_pass_since_it_joined_and_booted_lifts_it),
	TEST(the_cluster_has_to_say_which_boot_it_sees),
	TEST(what_too_many_lack_is_let_in),
};

TEST_SUITE(tests);
