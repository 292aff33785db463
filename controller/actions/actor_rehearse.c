/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mode dry-run. What would be done is recorded, and the cluster is asked for it with the word
 * that it is not meant: so rights that are missing, and admission that refuses, are known before it
 * counts. Nothing is booked: no place, no rate.
 */
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "controller/store/store.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

/* Its answer is on the way. */
struct rehearsal {
	struct act *act;
	char *node;
	int64_t id;
	int kind;
	unsigned round; /* of the actor: one that began anew has forgotten it */
};

static void rehearsal_free(struct rehearsal *r)
{
	free(r->node);
	free(r);
}

/* What its record says from now on. New memory. */
static char *words_of(const struct cluster_answer *answer)
{
	switch (answer->result) {
	case CLUSTER_DONE:
		return xstrdup("mode dry-run: it would be done, and the cluster would take it");
	case CLUSTER_REFUSED:
		return xasprintf("mode dry-run: the cluster would refuse it: %s", answer->words);
	case CLUSTER_NOT_OURS:
		return xasprintf("mode dry-run: it would not be done: %s", answer->words);
	default:
		return xasprintf("mode dry-run: it would be done; the cluster did not say whether "
				 "it would take it: %s",
				 answer->words);
	}
}

static void on_answer(void *context, const struct cluster_answer *answer)
{
	struct rehearsal *r = context;
	struct act *act = r->act;
	CLEANUP(freep) char *words = words_of(answer);

	if (r->round == act->round) {
		(void)store_end_action(act->options.store, r->id, ACTION_DRY_RUN, words,
				       act_real_us(act), NULL);
		act->options.touch(act->options.context);
	}
	if (answer->result == CLUSTER_REFUSED)
		log_error("it could not be done if the mode were enforce: %s node=%s: %s",
			  action_kind_names[r->kind], r->node, answer->words);
	rehearsal_free(r);
}

/* What asks whoever runs there is no change of the node, and a test touches nothing. */
static bool can_be_asked(int kind)
{
	return kind_touches(kind) && kind != ACT_EVICT;
}

static void ask(struct act *act, enum action_kind kind, const struct doing_start *start, int64_t id)
{
	const struct act_host *host = act_host(act, start->node);
	struct rehearsal *r = xcalloc(1, sizeof(*r));
	struct doing d = {
		.act = act,
		.id = id,
		.kind = (int)kind,
		.node = (char *)(uintptr_t)start->node,
		.who = (char *)(uintptr_t)start->who,
		.reason = (char *)(uintptr_t)start->reason,
		.evidence = (char *)(uintptr_t)start->evidence,
		.version = host ? host->c.version : NULL,
		.incident = start->incident,
		.until_us = start->until_us,
		.dry_run = true,
	};

	*r = (struct rehearsal){ act, xstrdup(start->node), id, (int)kind, act->round };
	doing_send(&d, &(struct cluster_call){ on_answer, r });
}

void act_rehearse(struct act *act, enum action_kind kind, const struct doing_start *start)
{
	CLEANUP(freep)
	char *words = xasprintf("would do: %s: %s", action_kind_names[kind], start->reason);
	const struct cluster_event event = { start->node, "AssayDryRun", words, false };
	int64_t id = act_record(act, kind, ACTION_DRY_RUN, start, "mode dry-run: it would be done");

	act->options.cluster->ops->event(act->options.cluster, &event);
	if (id > 0 && can_be_asked((int)kind))
		ask(act, kind, start, id);
}
