/* SPDX-License-Identifier: Apache-2.0 */
/* A decision that is carried out, booked: as it begins, and when it is done. */
#include <errno.h>

#include "lib/base/err.h"
#include "lib/policy/decide.h"

/* What happens to the node; -1: nothing. */
static const int events[DECIDE_ACTIONS] = {
	[DECIDE_NOTHING] = -1,
	[DECIDE_ALERT] = -1,
	[DECIDE_RETEST] = EVENT_RETEST,
	[DECIDE_DEEP] = -1,
	[DECIDE_VERIFY] = EVENT_VERIFY,
	[DECIDE_HOLD] = EVENT_HOLD,
	[DECIDE_UNHOLD] = EVENT_UNHOLD,
	[DECIDE_CORDON] = EVENT_CORDONED,
	[DECIDE_CORDON_DRAIN] = EVENT_CORDONED,
	[DECIDE_RELEASE] = EVENT_RELEASED,
	[DECIDE_DRAIN] = EVENT_DRAINED,
};

static bool is_cordon(const struct decision *decision)
{
	return decision->action == DECIDE_CORDON || decision->action == DECIDE_CORDON_DRAIN;
}

/* An order that changes no state: a deep test, or one more of a node that is verifying. */
static bool is_order_only(const struct decision *decision)
{
	return decision->action == DECIDE_DEEP ||
	       (decision->action == DECIDE_VERIFY &&
		decision->node->record.life.state == LIFE_VERIFYING);
}

/* -1: nothing. A drain that was begun before goes on, with its deadline. */
static int begins_with(const struct decision *decision)
{
	switch (decision->action) {
	case DECIDE_RETEST:
	case DECIDE_VERIFY:
		return is_order_only(decision) ? -1 : events[decision->action];
	case DECIDE_DRAIN:
		return decision->only_ask || decision->node->record.drain_us > 0
			       ? -1
			       : EVENT_DRAIN_BEGUN;
	default:
		return -1;
	}
}

int policy_begun(struct fleet *fleet, const struct decision *decision, uint64_t now_us,
		 struct life_change *ret, struct err *err)
{
	const struct fleet_cause cause = { .event = begins_with(decision),
					   .who = WHO_AUTOMATIC,
					   .why = decision->reason,
					   .evidence = decision->evidence };

	if (is_order_only(decision))
		decision->node->record.ordered_us = now_us;
	if (decision->born)
		decision->node->record.born_us = now_us;
	if (cause.event >= 0)
		return fleet_event(fleet, decision->node, &cause, now_us, ret, err);
	ret->event = -1;
	return 0;
}

int policy_applied(const struct policy *policy UNUSED, struct fleet *fleet, struct breaker *breaker,
		   const struct decision *decision, uint64_t now_us, struct life_change *ret,
		   struct err *err)
{
	struct fleet_cause cause = { .event = events[decision->action],
				     .who = WHO_AUTOMATIC,
				     .why = decision->reason,
				     .evidence = decision->evidence,
				     .serial = decision->finding ? decision->finding->serial : NULL,
				     .until_us = decision->until_us,
				     .born = decision->born };
	int r;

	if (!decision->effect || decision->refused)
		return err_set(err, EINVAL, "%s: %s was refused, or is only reported",
			       decision->node->name, decision_action_names[decision->action]);
	if (is_order_only(decision)) {
		decision->node->record.ordered_us = now_us;
		cause.event = -1;
	}
	if (cause.event < 0) {
		if (ret)
			*ret = (struct life_change){ .from = decision->node->record.life.state,
						     .to = decision->node->record.life.state,
						     .event = -1,
						     .at_us = now_us,
						     .who = WHO_AUTOMATIC,
						     .why = decision->reason,
						     .evidence = decision->evidence,
						     .undo = "" };
		return 0;
	}
	if (decision->action == DECIDE_DRAIN && decision->only_ask)
		cause.event = EVENT_DRAIN_ASKED;
	if (is_cordon(decision) && decision->sticky)
		cause.event = EVENT_CORDONED_STICKY;
	r = fleet_event(fleet, decision->node, &cause, now_us, ret, err);
	if (r == 0 && is_cordon(decision))
		breaker_count(breaker, now_us);
	return r;
}
