/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/node_views.h"

#include <stdlib.h>
#include <string.h>

#include "controller/actions/actor_env.h"
#include "controller/actions/node_view.h"
#include "controller/actions/reservation.h"
#include "lib/base/duration.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/policy/fleet.h"
#include "lib/policy/policy.h"

/* Who changes a node just when we do is soon done with it, or never is. */
#define CONFLICT_BASE_US (200 * USEC_PER_MSEC)
#define CONFLICT_CAP_US (30 * USEC_PER_SEC)

/* What a person has to mend takes minutes; but a server that has just started knows no roles yet. */
#define REFUSED_LEAST_US USEC_PER_SEC
#define REFUSED_BASE_US (4 * USEC_PER_SEC)
#define REFUSED_CAP_US (5 * USEC_PER_MIN)

/* --- all of them --- */

static void view_release(void *item)
{
	struct node_view *view = item;

	cluster_node_release(&view->c);
}

void node_views_release(struct node_views *views)
{
	map_release(&views->map, view_release);
	free(TAKE(views->label));
	views->listed = false;
}

struct node_view *node_views_find(const struct node_views *views, const char *node)
{
	return map_find(&views->map, node);
}

struct node_view *node_views_there(const struct node_views *views, const char *node)
{
	struct node_view *view = map_find(&views->map, node);

	return view && view->there ? view : NULL;
}

/* As one is of which nothing is known. */
static void begin(struct node_view *view)
{
	*view = (struct node_view){
		.name = view->name,
		.actions = view->actions,
		.conflicts = { .base_us = CONFLICT_BASE_US, .cap_us = CONFLICT_CAP_US },
		.refusals = { .base_us = REFUSED_BASE_US, .cap_us = REFUSED_CAP_US },
	};
}

struct node_view *node_views_hold(struct node_views *views, const char *node)
{
	struct node_view *view = map_find(&views->map, node);

	if (view)
		return view;
	view = map_need(&views->map, node, sizeof(*view));
	begin(view);
	return view;
}

struct node_view *node_views_need(struct node_views *views, const char *node)
{
	struct node_view *view = node_views_hold(views, node);

	view->known = true;
	return view;
}

bool node_views_left(struct node_views *views, struct node_view *view)
{
	if (view->known)
		return true;
	map_drop(&views->map, view->name, view_release);
	return false;
}

void node_views_drop(struct node_views *views, struct node_view *view)
{
	if (!view->actions) {
		map_drop(&views->map, view->name, view_release);
		return;
	}
	view_release(view);
	begin(view);
}

struct walk {
	void (*each)(void *context, struct node_view *view);
	void *context;
};

static void walk_one(void *context, void *item)
{
	const struct walk *walk = context;
	struct node_view *view = item;

	if (view->known)
		walk->each(walk->context, view);
}

void node_views_each(const struct node_views *views,
		     void (*each)(void *context, struct node_view *view), void *context)
{
	struct walk walk = { each, context };

	map_each(&views->map, walk_one, &walk);
}

struct node_views_change node_views_put(const struct actor_env *env, struct cluster_node *node)
{
	struct node_view *view = node_views_need(env->views, node->name);
	const struct node_views_change change = {
		.view = view,
		.news = !view->there || !cluster_node_same(&view->c, node),
		.was_ours = view->there && view->c.mark,
	};

	cluster_node_release(&view->c);
	view->c = *node;
	*node = (struct cluster_node){ 0 };
	view->there = true;
	view->node = fleet_need(env->fleet, view->name, env_real_us(env));
	view->listed = env->views->listing;
	return change;
}

struct unlisted {
	unsigned listing;
	struct node_view *first;
};

static void find_unlisted(void *context, struct node_view *view)
{
	struct unlisted *u = context;

	if (!u->first && (!view->there || view->listed != u->listing))
		u->first = view;
}

struct node_view *node_views_unlisted(const struct node_views *views)
{
	struct unlisted u = { views->listing, NULL };

	node_views_each(views, find_unlisted, &u);
	return u.first;
}

void node_views_synced(struct node_views *views)
{
	views->listing++;
	views->listed = true;
}

/* --- facts --- */

/* Another controller may be about to take it out of service. */
static bool is_kept(const struct actor_env *env, const struct node_view *view)
{
	const uint64_t now_us = env_mono_us(env);

	return (!view->c.mark && reservation_kept(env->places, view->name, LEDGER_CORDON, now_us)) ||
	       (!view->c.hold_us && reservation_kept(env->places, view->name, LEDGER_HOLD, now_us));
}

static void refresh_out(const struct actor_env *env, const struct node_view *view)
{
	if (view->node)
		node_view_out(view->node, &view->c, is_kept(env, view), view->coming);
}

void node_views_refresh(const struct actor_env *env, const struct node_view *view)
{
	refresh_out(env, view);
	if (view->node)
		node_view_facts(env->fleet, view->node, &view->c, env_policy(env)->domain_label);
}

static void refresh_one(void *context, struct node_view *view)
{
	node_views_refresh(context, view);
}

void node_views_refresh_all(const struct actor_env *env)
{
	node_views_each(env->views, refresh_one, (void *)(uintptr_t)env);
}

void node_views_follow_policy(const struct actor_env *env)
{
	const char *label = env_policy(env)->domain_label;

	if (streq(env->views->label, label))
		return;
	free(env->views->label);
	env->views->label = xstrdup(label);
	node_views_refresh_all(env);
}

void node_views_set_coming(const struct actor_env *env, struct node_view *view, bool coming)
{
	if (coming)
		view->known = true;
	view->coming = coming;
	refresh_out(env, view);
}

bool node_views_is_out_without(const struct actor_env *env, const struct fleet_node *node)
{
	const struct node_view *view = node_views_find(env->views, node->name);

	return (node->out & ~(unsigned)(OUT_OTHERS | OUT_COMING)) || node->outside ||
	       (view && (node_view_is_by_others(&view->c) || is_kept(env, view)));
}

/* --- the condition --- */

static void publish(const struct actor_env *env, struct node_view *view)
{
	struct node_view_condition told;

	if (!view->node || !node_view_tell(&view->c, view->node, env_policy(env), env_real_us(env),
					   &view->told, &told))
		return;
	env->cluster->ops->condition(
		env->cluster,
		&(struct cluster_condition){ view->name, told.healthy, told.reason, told.message },
		&(struct cluster_call){ 0 });
	free(told.message);
}

void node_views_publish(const struct actor_env *env, struct node_view *view)
{
	if (env->stage == STAGE_ACTING)
		publish(env, view);
}

static void publish_one(void *context, struct node_view *view)
{
	publish(context, view);
}

void node_views_publish_all(const struct actor_env *env)
{
	if (env->stage == STAGE_ACTING && env->cluster->ops->conditions)
		node_views_each(env->views, publish_one, (void *)(uintptr_t)env);
}

/* --- patience --- */

void node_views_conflict(const struct actor_env *env, struct node_view *view)
{
	view->again_us = env_mono_us(env) + backoff_fail(&view->conflicts, 0, random_u64());
}

uint64_t node_views_refused_us(struct node_view *view)
{
	return backoff_fail(&view->refusals, REFUSED_LEAST_US, random_u64());
}

void node_views_forgive(struct node_view *view)
{
	view->again_us = 0;
	backoff_reset(&view->conflicts);
	backoff_reset(&view->refusals);
	memset(view->recorded.refused, 0, sizeof(view->recorded.refused));
}
