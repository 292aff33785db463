/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/actor_joins.h"

#include "controller/actions/action.h"
#include "controller/actions/actor_env.h"
#include "lib/policy/fleet.h"

static void record(struct actor *actor, enum action_kind kind, const struct actor_joined *joined,
		   const char *result)
{
	const struct action_start start = {
		.node = joined->node, .who = joined->who, .rule = "join", .reason = joined->reason
	};

	(void)action_record(actor_env(actor), kind, ACTION_DONE, &start, result);
}

void actor_joined(struct actor *actor, const struct actor_joined *joined)
{
	struct fleet_node *node = fleet_find(actor_env(actor)->fleet, joined->node);

	if (node)
		node->unverified = true; /* regardless of what used this name before */
	record(actor, ACT_JOIN, joined, "unverified");
}

void actor_token_reset(struct actor *actor, const struct actor_joined *reset)
{
	record(actor, ACT_RESET_TOKEN, reset, "its token was revoked, and it may join again");
}

void actor_join_token_created(struct actor *actor, const struct actor_joined *created)
{
	record(actor, ACT_CREATE_JOIN_TOKEN, created, "hosts may join with it");
}

void actor_join_token_revoked(struct actor *actor, const struct actor_joined *revoked)
{
	record(actor, ACT_REVOKE_JOIN_TOKEN, revoked, "no more hosts may join with it");
}
