/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/out_of_band.h"

#include "controller/actions/action.h"
#include "controller/actions/actor_env.h"
#include "controller/actions/node_life.h"
#include "controller/actions/node_view.h"
#include "controller/actions/node_views.h"
#include "controller/actions/reservation.h"
#include "lib/base/log.h"
#include "lib/policy/fleet.h"
#include "lib/policy/policy.h"

/* Our cordon was lifted by hand, an order: remove our marks by the usual way into service. */
static void find_uncordon(const struct actor_env *env, struct node_view *view)
{
	const struct policy *policy = env_policy(env);
	const struct action_start start = {
		.node = view->name,
		.who = WHO_AT_CLUSTER,
		.reason = "it was made schedulable by hand",
		.until_us = env_real_us(env) + policy->override_us,
	};

	env->counts->overrides_found++;
	(void)action_begin(env, view, ACT_UNCORDON, &start);
}

/* Our mark is gone, with or without the cordon: it is no longer ours. */
static void find_unmarked(const struct actor_env *env, struct node_view *view)
{
	const struct policy *policy = env_policy(env);
	const struct fleet_cause cause = {
		.event = EVENT_UNCORDONED,
		.who = WHO_AT_CLUSTER,
		.why = "Assay's mark was removed by hand",
		.until_us = env_real_us(env) + policy->override_us,
	};
	const struct action_start start = { .node = view->name,
					    .who = WHO_AT_CLUSTER,
					    .reason = cause.why,
					    .until_us = cause.until_us };

	env->counts->overrides_found++;
	(void)node_life_event(env, view->name, &cause, NULL);
	(void)action_record(env, ACT_UNCORDON, ACTION_DONE, &start, "found that way");
	reservation_want_reconcile(env->places);
}

/* Done but not recorded: whoever did it was killed in between, or is a twin. */
static void adopt(const struct actor_env *env, struct node_view *view)
{
	const struct cluster_mark *mark = view->c.mark;
	const struct fleet_cause cause = {
		.event = mark->sticky ? EVENT_CORDONED_STICKY : EVENT_CORDONED,
		.who = streq(mark->by, "assay") ? WHO_AUTOMATIC : mark->by,
		.why = mark->reason,
		.evidence = json_string_value(json_array_get(mark->evidence, 0)),
		.marked_us = mark->at_us,
		.born = mark->born,
	};

	log_info("recorded a cordon by Assay that was missing from the store node=%s", view->name);
	(void)node_life_event(env, view->name, &cause, NULL);
	reservation_want_reconcile(env->places);
}

/* The passed tests belonged to the previous cordon; the new one starts from scratch. */
static void adopt_anew(const struct actor_env *env, struct node_view *view)
{
	const struct fleet_cause ended = {
		.event = EVENT_RELEASED,
		.who = WHO_AUTOMATIC,
		.why = "another controller released it and cordoned it again",
	};

	if (node_life_event(env, view->name, &ended, NULL) == 0)
		adopt(env, view);
}

/* Record which cordon the record belongs to, once the cluster shows its mark. */
static void note_mark(const struct actor_env *env, struct node_view *view, struct fleet_node *node)
{
	if (!view->c.mark || node->record.marked_us || !life_holds(node->record.life.state))
		return;
	node->record.marked_us = view->c.mark->at_us;
	(void)node_life_keep(env, node, NULL);
}

/* The hold is still set, but its test has ended. */
static void find_hold(const struct actor_env *env, struct node_view *view)
{
	const struct action_start start = { .node = view->name,
					    .who = WHO_AUTOMATIC,
					    .reason = "the test it was held for has ended" };

	(void)action_begin(env, view, ACT_UNHOLD, &start);
}

static void find_unhold(const struct actor_env *env, struct node_view *view)
{
	const struct fleet_cause cause = { .event = EVENT_UNHOLD,
					   .who = WHO_AT_CLUSTER,
					   .why = "the hold was removed" };

	(void)node_life_event(env, view->name, &cause, NULL);
	reservation_want_reconcile(env->places);
}

static void find_override(const struct actor_env *env, struct node_view *view)
{
	const struct fleet_cause cause = { .event = EVENT_OVERRIDE,
					   .who = WHO_AT_CLUSTER,
					   .why = "override-until was set by hand",
					   .until_us = view->c.override_us };

	(void)node_life_event(env, view->name, &cause, NULL);
}

static void look(const struct actor_env *env, struct node_view *view)
{
	static void (*const find[])(const struct actor_env *env, struct node_view *view) = {
		[OBSERVED_UNCORDON] = find_uncordon, [OBSERVED_CORDON] = adopt,
		[OBSERVED_ANEW] = adopt_anew,	     [OBSERVED_UNMARKED] = find_unmarked,
		[OBSERVED_HOLD_OVER] = find_hold,    [OBSERVED_UNHOLD] = find_unhold,
	};
	struct fleet_node *node = view->node;
	enum observed observed;

	if (!node || actions_of(view))
		return;
	observed = node_view_observe(&view->c, &node->record, env_real_us(env));
	if (observed != OBSERVED_NOTHING)
		find[observed](env, view);
	note_mark(env, view, node);
	if (node_view_is_overridden(&view->c, &node->record, env_real_us(env)))
		find_override(env, view);
}

void out_of_band_look(const struct actor_env *env, struct node_view *view)
{
	if (env->stage == STAGE_ACTING)
		look(env, view);
}

static void look_one(void *context, struct node_view *view)
{
	look(context, view);
}

void out_of_band_look_all(const struct actor_env *env)
{
	if (env->stage == STAGE_ACTING)
		node_views_each(env->views, look_one, (void *)(uintptr_t)env);
}
