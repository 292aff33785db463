/* SPDX-License-Identifier: Apache-2.0 */
/* What the cluster is told of how its nodes are: the condition "Healthy". */
#include <stdlib.h>

#include "controller/action_inside.h"
#include "lib/xalloc.h"

enum { HEALTHY_SILENT = -1, HEALTHY_NO, HEALTHY_YES };

static int healthy_of(const struct act *act, const struct fleet_node *n)
{
	const struct policy *policy = act->options.policy(act->options.context);
	const uint64_t now_us = act_real_us(act);

	if (life_holds(n->record.life.state))
		return HEALTHY_NO;
	/* Silence is not health. */
	return n->reported_us + policy->silent_after_us > now_us ? HEALTHY_YES : HEALTHY_SILENT;
}

/* Whoever looks at the node alone reads why. New memory. */
static char *message_of(const struct act_host *host, const struct fleet_node *n, int healthy)
{
	const struct cluster_mark *mark = host->c.mark;
	const char *state = life_state_names[n->record.life.state];
	const char *evidence = mark ? json_string_value(json_array_get(mark->evidence, 0)) : NULL;

	if (healthy == HEALTHY_SILENT)
		return xstrdup("its agent has not reported");
	if (healthy == HEALTHY_YES || !mark)
		return xstrdup(state);
	return xasprintf("%s: %s%s%s%s", state, mark->reason, evidence ? " (" : "",
			 evidence ? evidence : "", evidence ? ")" : "");
}

/* A host that is none of ours to touch is told nothing about either. */
static bool is_told(struct act *act, const struct act_host *host, int healthy)
{
	const struct policy *policy = act->options.policy(act->options.context);

	if (healthy == HEALTHY_NO || host->told)
		return true;
	return policy->mode == MODE_ENFORCE && host->c.managed && !host->c.hands_off;
}

static void tell(struct act *act, struct act_host *host)
{
	static const char *const reasons[] = { "AssaySilent", "AssayCordoned", "AssayHealthy" };
	const struct fleet_node *n = fleet_find(&act->fleet, host->name);
	const int healthy = n ? healthy_of(act, n) : 0;
	const int now = n ? 3 * n->record.life.state + healthy + 2 : 0;
	CLEANUP(freep) char *message = NULL;
	struct cluster_condition condition;

	if (!host->there || !n || host->told == now || !is_told(act, host, healthy))
		return;
	host->told = now;
	message = message_of(host, n, healthy);
	condition = (struct cluster_condition){ host->name, healthy, reasons[healthy + 1], message };
	act->options.cluster->ops->condition(act->options.cluster, &condition,
					     &(struct cluster_call){ 0 });
}

void act_tell_condition(struct act *act, const char *node)
{
	struct act_host *host = act_host(act, node);

	if (host)
		tell(act, host);
}

static void tell_one(void *context, struct act_host *host)
{
	tell(context, host);
}

void act_tell_all(struct act *act)
{
	if (act->stage == STAGE_ACTING && act->options.cluster->ops->conditions)
		act_each_host(act, tell_one, act);
}
