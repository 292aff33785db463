/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/drain.h"

#include <stdlib.h>

#include "controller/actions/action.h"
#include "controller/actions/actor_env.h"
#include "controller/actions/node_life.h"
#include "controller/actions/node_views.h"
#include "controller/actions/reservation.h"
#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/policy/decide.h"

#define ROUND_LEAST_US USEC_PER_SEC	/* between two rounds */
#define PROGRESS_US (10 * USEC_PER_SEC) /* shortest interval of progress in the row */

bool drain_may_begin(const struct node_view *host)
{
	return host->c.mark && host->c.unschedulable;
}

const char *drain_overtaken(const struct actor_env *env, const struct action *a)
{
	const struct node_view *host = a->host;
	const struct fleet_node *node = fleet_find(env->fleet, a->node);
	const struct policy *policy = env_policy(env);
	int state = node ? node->record.life.state : LIFE_HEALTHY;

	if (!host->there || !node)
		return "the node is gone";
	if (!drain_may_begin(host))
		return "it is no longer cordoned by Assay";
	if (!host->c.managed)
		return "it has opted out";
	if (host->c.hands_off)
		return "another owner is working on it";
	if (env->fleet->stale)
		return "the state of the cluster may be out of date";
	if (state != LIFE_CORDONED && state != LIFE_STICKY)
		return "it is no longer bad, or is being repaired";
	if (node->record.silence_until_us > env_real_us(env))
		return "an operator silenced it";
	if (policy->mode != MODE_ENFORCE || policy->drain_mode == DRAIN_OFF)
		return "the policy no longer drains";
	if (env->places->ledger.breaker.open)
		return "the breaker is open";
	return NULL;
}

void drain_send(const struct actor_env *env, struct action *a, const struct cluster_call *call)
{
	const struct policy *policy = env_policy(env);
	const bool evicts = policy->drain_mode == DRAIN_AFTER_GRACE;
	const struct cluster_drain drain = {
		.only_ask = a->only_ask,
		.bare_pods = policy->drain_bare,
		.empty_dir = policy->drain_scratch,
		.reason = a->reason,
		.evict_us = evicts ? a->decided_us + policy->drain_grace_us : 0,
	};
	const struct cluster_change change = {
		.node = a->node,
		.drain = &drain,
	};

	env->cluster->ops->evict(env->cluster, &change, call);
}

static int happen(const struct actor_env *env, const struct action *a, int event, const char *why,
		  struct err *err)
{
	const struct fleet_cause cause = {
		.event = event, .who = a->who, .why = why, .evidence = a->evidence
	};

	return node_life_event(env, a->node, &cause, err);
}

static void publish(const struct actor_env *env, const struct action *a, const char *reason,
		    const char *words, bool warning)
{
	env->cluster->ops->event(env->cluster,
				 &(struct cluster_event){ a->node, reason, words, warning });
}

int drain_complete(const struct actor_env *env, struct action *a, struct err *err)
{
	if (a->only_ask) {
		log_info("evicting pods node=%s: %s", a->node, a->reason);
		return happen(env, a, EVENT_DRAIN_ASKED, a->reason, err);
	}
	publish(env, a, "AssayDrained", a->reason, false);
	log_warning("drained node=%s by=%s: %s", a->node, a->who, a->reason);
	return happen(env, a, EVENT_DRAINED, a->reason, err);
}

static bool is_late(const struct actor_env *env, const struct action *a)
{
	const struct fleet_node *node = fleet_find(env->fleet, a->node);
	const uint64_t timeout_us = env_policy(env)->drain_timeout_us;
	uint64_t begun_us = node && node->record.drain_us ? node->record.drain_us : a->decided_us;
	uint64_t now_us = env_real_us(env);

	return timeout_us > 0 && now_us >= begun_us && now_us - begun_us >= timeout_us;
}

static char *give_up(const struct actor_env *env, struct action *a, const char *words)
{
	char *why = xasprintf("it gave up: %s", words);

	if (!a->only_ask)
		(void)happen(env, a, EVENT_DRAIN_FAILED, why, NULL);
	publish(env, a, "AssayDrainFailed", why, true);
	log_error("not drained node=%s: %s", a->node, words);
	return why;
}

/* Write what it waits for to its row, for whoever looks at the action. */
static void show_progress(const struct actor_env *env, struct action *a, const char *words)
{
	uint64_t now_us = env_mono_us(env);

	if (streq(a->progress, words) || (a->progress_us && now_us - a->progress_us < PROGRESS_US))
		return;
	a->progress_us = now_us;
	free(a->progress);
	a->progress = xstrdup(words);
	(void)store_end_action(env->store, a->id, ACTION_DECIDED, words, 0, NULL);
	env_commit_wanted(env);
	log_info("not drained yet node=%s: %s", a->node, words);
}

char *drain_go_on(const struct actor_env *env, struct action *a)
{
	if (is_late(env, a))
		return give_up(env, a, a->said);
	a->again_us = MAX(a->again_us, env_mono_us(env) + ROUND_LEAST_US);
	show_progress(env, a, a->said);
	return NULL;
}
