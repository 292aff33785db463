/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/startup.h"

#include <stdio.h>

#include "lib/base/duration.h"
#include "lib/judge/verdict.h"
#include "lib/policy/policy.h"

static const char untested[] = "start-up untested";

/* The cluster reports the join time in whole seconds. */
#define JOINED_STEP_US USEC_PER_SEC

/* Clocks differ: a time in the future is now. */
static uint64_t age_of(uint64_t at_us, uint64_t now_us)
{
	return now_us > at_us ? now_us - at_us : 0;
}

/* True if its newest run shows the current state of the host. */
static bool is_tested(const struct policy *policy, const struct startup_facts *f, uint64_t now_us)
{
	return f->boot && f->now && streq(f->boot, f->now) &&
	       f->tested_us >= f->joined_us + JOINED_STEP_US &&
	       age_of(f->tested_us, now_us) <= policy->startup_max_age_us;
}

/* What it lacks to pass, in words that are the same for all hosts that lack it. */
static const char *signature_of(const struct startup_facts *f, bool tested)
{
	if (!tested)
		return untested;
	if (f->bad)
		return f->bad;
	return f->worst ? f->worst : verdict_level_names[f->level];
}

void startup_decide(const struct policy *policy, struct denials *denials, size_t nodes,
		    const struct startup_facts *f, uint64_t now_us, struct startup_decision *ret)
{
	const bool tested = is_tested(policy, f, now_us);
	const char *signature = signature_of(f, tested);
	struct deny_answer deny;

	*ret = (struct startup_decision){ .answer = STARTUP_STAYS };
	if (!tested && age_of(f->joined_us, now_us) < policy->startup_wait_us) {
		ret->answer = STARTUP_WAITS;
		return;
	}
	if (tested && f->level == VERDICT_PASS && !f->bad) {
		ret->answer = STARTUP_PASSED;
		(void)snprintf(ret->sentence, sizeof(ret->sentence),
			       "its %.40s run has passed since it joined and booted", f->profile);
		return;
	}
	if (tested)
		(void)snprintf(ret->sentence, sizeof(ret->sentence),
			       "its %.40s run since it joined and booted was %s: %.200s",
			       f->profile, verdict_level_names[f->level], signature);
	else
		(void)snprintf(ret->sentence, sizeof(ret->sentence),
			       "no active run of this boot has been reported since it joined");
	deny_ask(denials, policy, nodes, &(struct deny_question){ f->node, signature }, now_us,
		 &deny);
	if (deny.denied)
		return;
	ret->answer = STARTUP_LET_IN;
	(void)snprintf(ret->sentence, sizeof(ret->sentence), "%s", deny.sentence);
}
