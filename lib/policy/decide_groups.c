/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/decide_groups.h"

/* True if it belongs to a group whose tests go on. */
static bool is_of_group(const struct deciding *d, const struct fleet_node *node)
{
	return node->blame.group && blame_holds(&node->blame, d->now_us) &&
	       (node->blame.reach == BLAME_TO_TEST || node->blame.reach == BLAME_TO_HOLD);
}

/* A job numbers its groups; two jobs may use the same number. */
static bool is_same(const struct blame *a, const struct blame *b)
{
	return a->group == b->group && streq(a->job, b->job);
}

static bool may_be_held(const struct deciding *d, const struct fleet_node *node)
{
	struct refusal refusal;

	return node_allows(node, &refusal) && facts_allow(d->fleet, &refusal) && is_ours(node) &&
	       !(node->out & ~(unsigned)OUT_HOLD) && node->n_jobs == 0 &&
	       !life_holds(node->record.life.state) && !(node->scratch & HAS_CORDON) &&
	       deciding_reached(d, node->record.silence_until_us, 0);
}

/* Number of nodes of a group that are not held yet, and a reason against holding them. */
struct group {
	size_t to_hold;
	bool barred;
};

static struct group look_at(const struct deciding *d, const struct fleet_node *first)
{
	struct group ret = { 0 };
	size_t i;

	for (i = 0; i < d->fleet->n; i++) {
		const struct fleet_node *node = d->fleet->nodes[i];

		if (!is_of_group(d, node) || !is_same(&node->blame, &first->blame))
			continue;
		ret.to_hold += !(node->out & OUT_HOLD);
		ret.barred |= !may_be_held(d, node);
	}
	return ret;
}

/* True if all of them fit, tried on a separate budget. */
static bool fits(const struct deciding *d, const struct fleet_node *first)
{
	CLEANUP(budget_release) struct budget trial = { 0 };
	struct refusal refusal;
	bool ret = true;
	size_t i;

	budget_count(&trial, d->policy, d->fleet, d->breaker, d->now_us);
	for (i = 0; i < d->fleet->n; i++) {
		const struct fleet_node *node = d->fleet->nodes[i];

		/* Earlier decisions take their room too. */
		if (!node->out && node->scratch & (HAS_CORDON | HAS_HOLD))
			budget_take(&trial, node, false);
	}
	for (i = 0; ret && i < d->fleet->n; i++) {
		const struct fleet_node *node = d->fleet->nodes[i];

		if (node->out || !is_of_group(d, node) || !is_same(&node->blame, &first->blame))
			continue;
		ret = budget_allows(&trial, node, false, &refusal);
		budget_take(&trial, node, false);
	}
	return ret;
}

static void hold(struct deciding *d, const struct fleet_node *first)
{
	size_t i;

	for (i = 0; i < d->fleet->n; i++) {
		struct fleet_node *node = d->fleet->nodes[i];
		struct decision *one;

		if (!is_of_group(d, node) || !is_same(&node->blame, &first->blame) ||
		    node->out & OUT_HOLD)
			continue;
		one = deciding_add(d, node, DECIDE_HOLD);
		one->rule = DECIDE_BLAMED_RULE;
		one->until_us = d->now_us + d->policy->hold_ttl_us;
		one->reason =
			deciding_text(d,
				      "%s: its group slowed %s, and tests will show which of its "
				      "hosts did",
				      node->name, node->blame.job ? node->blame.job : "a job");
		node->scratch |= HAS_TEST | HAS_HOLD;
		budget_take(&d->out->budget, node, false);
	}
}

bool decide_groups_holds(const struct deciding *d, const struct fleet_node *node)
{
	return node->out & OUT_HOLD && is_of_group(d, node) && look_at(d, node).to_hold == 0;
}

void decide_groups(struct deciding *d)
{
	size_t held = 0, i;

	for (i = 0; i < d->fleet->n; i++)
		held += d->fleet->nodes[i]->out & OUT_HOLD && is_of_group(d, d->fleet->nodes[i]);
	for (i = 0; !d->breaker->open && i < d->fleet->n; i++) {
		const struct fleet_node *node = d->fleet->nodes[i];
		struct group group;

		if (!is_of_group(d, node) || node->out || node->scratch & HAS_TEST)
			continue;
		group = look_at(d, node);
		if (group.barred || held + group.to_hold > d->policy->jobs.over_evict_hosts ||
		    !fits(d, node))
			continue;
		hold(d, node);
		held += group.to_hold;
	}
}
