/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last look before a place of the budget is used. Since it was decided somebody else may
 * have taken hosts out of service, and a watch tells that late, or not at all when it hangs. So
 * the cluster is asked who is out of service, after our place stands in the ledger; what does
 * not fit any more is dropped, and decided again on what is known then. One question stands for all
 * that wait when it is asked.
 */
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "lib/base/xalloc.h"
#include "lib/policy/budget.h"

static bool is_asked(const struct doing *d)
{
	return kind_reserves(d->kind) && !d->break_glass;
}

static bool waits(const struct doing *d)
{
	return d->question > 0 && d->phase == PHASE_TOUCH && !d->out;
}

static void drop(struct doing *d)
{
	static const char words[] = "more hosts are out of service than when it was decided: the "
				    "budget is used up";

	if (d->decision != DECIDE_NOTHING) {
		doing_end(d, ACTION_DROPPED, 409, words);
		return;
	}
	doing_end(d, ACTION_REFUSED, 409, words);
	d->end_rule = xstrdup("budget");
	d->end_allows = xstrdup("asking again: it is counted anew, and says what is used up");
}

/* The last that was decided goes first, whichever question it waits for. */
static void drop_unfit(struct act *act)
{
	const struct policy *policy = act->options.policy(act->options.context);
	CLEANUP(budget_release) struct budget budget = { 0 };
	struct doing **waiting = xcalloc(act->n_doings + 1, sizeof(struct doing *)), *d;
	size_t n = 0;

	for (d = act->doings; d; d = d->next) {
		if (is_asked(d) && d->phase <= PHASE_TOUCH && !d->out)
			waiting[n++] = d;
	}
	budget_count(&budget, policy, &act->fleet, &act->places.ledger.breaker, act_real_us(act));
	while (n-- > 0) {
		const struct fleet_node *node = fleet_find(&act->fleet, waiting[n]->node);

		if (!node || act_out_without(act, node) || budget_holds(&budget, node))
			continue;
		drop(waiting[n]);
		budget_count(&budget, policy, &act->fleet, &act->places.ledger.breaker,
			     act_real_us(act));
	}
	free(waiting);
}

static void on_confirmed(void *context, const struct cluster_answer *answer)
{
	struct act *act = act_asked(context);
	struct doing *d;

	if (!act)
		return;
	reservation_answered(&act->places, answer->result == CLUSTER_DONE);
	if (answer->result == CLUSTER_DONE)
		drop_unfit(act);
	for (d = act->doings; d; d = d->next) {
		if (!waits(d))
			continue;
		if (answer->result != CLUSTER_DONE && d->question <= act->places.questions)
			doing_try_again(d, answer);
		else
			doing_advance(d);
	}
}

bool act_confirmed(struct doing *d)
{
	struct act *act = d->act;
	struct cluster *cluster = act->options.cluster;

	if (!cluster->ops->confirm || !is_asked(d))
		return true;
	if (reservation_confirmed(&act->places, &d->question))
		return true;
	if (reservation_ask(&act->places))
		cluster->ops->confirm(cluster,
				      &(struct cluster_call){ on_confirmed, act_asking(act) });
	return false;
}
