/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/ledger_sync.h"

#include <stdlib.h>

#include "controller/actions/action.h"
#include "controller/actions/actor_env.h"
#include "controller/actions/actor_queue.h"
#include "controller/actions/node_views.h"
#include "controller/actions/reservation.h"
#include "lib/base/xalloc.h"

/* --- nodes and actions in progress --- */

struct truth {
	uint64_t now_us; /* real time */
	struct ledger_holder *nodes, *own;
	size_t n_nodes, n_own;
};

static void add_node(struct truth *t, const struct ledger_holder *holder)
{
	if (t->n_nodes == LEDGER_HOLDERS_MAX)
		return;
	t->nodes = xrealloc(t->nodes, t->n_nodes + 1, sizeof(*t->nodes));
	t->nodes[t->n_nodes++] = *holder;
}

static void add_shown(void *context, struct node_view *view)
{
	struct truth *t = context;
	struct ledger_holder holder = { .node = view->name, .done = true };

	if (!view->there)
		return;
	if (view->c.mark) {
		holder.kind = LEDGER_CORDON;
		holder.action = view->c.mark->action;
		holder.at_us = view->c.mark->at_us;
		add_node(t, &holder);
	}
	if (view->c.hold_us) {
		holder.kind = LEDGER_HOLD;
		holder.action = NULL;
		holder.at_us = t->now_us;
		add_node(t, &holder);
	}
}

static void add_own(struct truth *t, const struct actions *actions)
{
	const struct action *a;

	t->own = xcalloc(actions->n + 1, sizeof(*t->own));
	for (a = actions->first; a; a = a->next) {
		if (action_has_place(a))
			t->own[t->n_own++] = (struct ledger_holder){ .node = a->node,
								     .kind = (int)action_place(a) };
	}
}

static struct reservation_truth as_told(const struct truth *t)
{
	return (struct reservation_truth){ t->nodes, t->n_nodes, t->own, t->n_own };
}

static void truth_release(struct truth *t)
{
	free(t->nodes);
	free(t->own);
}

static void reconcile(const struct actor_env *env)
{
	CLEANUP(truth_release) struct truth t = { .now_us = env_real_us(env) };
	struct reservation_truth told;

	node_views_each(env->views, add_shown, &t);
	add_own(&t, env->actions);
	told = as_told(&t);
	(void)reservation_reconcile(env->places, &told, env_mono_us(env));
}

bool ledger_sync_is_due(const struct actor_env *env)
{
	return env_mono_us(env) >= env->places->reconcile_us;
}

/* --- to the cluster --- */

static void ask(const struct actor_env *env, enum actor_event_kind kind)
{
	const struct cluster_call call =
		actor_queue_call(env->queue, kind, &(struct actor_about){ 0 });

	env->cluster->ops->ledger_read(env->cluster, &call);
}

void ledger_sync_take_over(const struct actor_env *env)
{
	ask(env, ACTOR_LEDGER_READ);
}

void ledger_sync_reread(const struct actor_env *env)
{
	ask(env, ACTOR_LEDGER_REREAD);
}

void ledger_sync_adopt(const struct actor_env *env, struct reservation_news *news)
{
	CLEANUP(truth_release) struct truth t = { 0 };
	struct reservation_truth told;

	actions_recall_counted(env->actions, &news->ledger);
	add_own(&t, env->actions);
	told = as_told(&t);
	reservation_adopt(env->places, news, &told, env->store, env_mono_us(env));
	env_news(env);
	reconcile(env);
	node_views_refresh_all(env);
}

void ledger_sync_flush(const struct actor_env *env)
{
	CLEANUP(freep) char *text = NULL;
	struct cluster_call call;

	if (env->stage != STAGE_ACTING && env->stage != STAGE_LEDGER)
		return;
	if (env->places->reconcile)
		reconcile(env);
	text = reservation_text(env->places, env_mono_us(env));
	if (!text)
		return;
	call = actor_queue_call(env->queue, ACTOR_LEDGER_WRITTEN, &(struct actor_about){ 0 });
	env->cluster->ops->ledger_write(env->cluster, env->places->version, text, &call);
}
