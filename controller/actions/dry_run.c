/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/dry_run.h"

#include <stdlib.h>

#include "controller/actions/action.h"
#include "controller/actions/actor_env.h"
#include "controller/actions/actor_queue.h"
#include "controller/actions/effect.h"
#include "controller/actions/node_views.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

/* What its record says from now on. New memory. */
static char *words_of(const struct cluster_answer *answer)
{
	switch (answer->result) {
	case CLUSTER_DONE:
		return xstrdup("dry-run: would be done, and the cluster would accept it");
	case CLUSTER_REFUSED:
		return xasprintf("dry-run: the cluster would refuse it: %s", answer->words);
	case CLUSTER_NOT_OURS:
		return xasprintf("dry-run: would not be done: %s", answer->words);
	default:
		return xasprintf("dry-run: would be done; whether the cluster would accept it is "
				 "unknown: %s",
				 answer->words);
	}
}

void dry_run_answered(const struct actor_env *env, const struct actor_event *event)
{
	CLEANUP(freep) char *words = words_of(&event->answer);

	(void)store_end_action(env->store, event->about.action, ACTION_DRY_RUN, words,
			       env_real_us(env), NULL);
	env_commit_wanted(env);
	if (event->answer.result == CLUSTER_REFUSED)
		log_error("in mode enforce this would fail: %s node=%s: %s",
			  action_kind_names[event->about.action_kind], event->about.node,
			  event->answer.words);
}

/* What asks whoever runs there is no change of the node, and a test touches nothing. */
static bool can_be_asked(enum action_kind kind)
{
	return effect_is_outside((int)kind) && kind != ACT_EVICT;
}

static void ask(const struct actor_env *env, struct node_view *host, enum action_kind kind,
		const struct action_start *start, int64_t id)
{
	struct action a = {
		.id = id,
		.kind = (int)kind,
		.node = (char *)(uintptr_t)start->node,
		.who = (char *)(uintptr_t)start->who,
		.reason = (char *)(uintptr_t)start->reason,
		.evidence = (char *)(uintptr_t)start->evidence,
		.host = host,
		.version = host->c.version,
		.incident = start->incident,
		.until_us = start->until_us,
		.dry_run = true,
	};

	effect_apply(env, &a);
}

void dry_run(const struct actor_env *env, struct node_view *host, enum action_kind kind,
	     const struct action_start *start)
{
	CLEANUP(freep)
	char *words = xasprintf("would do: %s: %s", action_kind_names[kind], start->reason);
	const struct cluster_event event = { start->node, "AssayDryRun", words, false };
	int64_t id = action_record(env, kind, ACTION_DRY_RUN, start, "dry-run: would be done");

	env->cluster->ops->event(env->cluster, &event);
	if (id > 0 && can_be_asked(kind))
		ask(env, host, kind, start, id);
}
