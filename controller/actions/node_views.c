/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/node_views.h"

#include <stdlib.h>
#include <string.h>

#include "controller/actions/actor_env.h"
#include "controller/actions/actor_queue.h"
#include "controller/actions/node_view.h"
#include "controller/actions/reservation.h"
#include "lib/base/duration.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/policy/decide.h"
#include "lib/policy/fleet.h"
#include "lib/policy/policy.h"

/* A conflicting writer is either done soon or persists. */
#define CONFLICT_BASE_US (200 * USEC_PER_MSEC)
#define CONFLICT_CAP_US (30 * USEC_PER_SEC)

/* Missing rights take minutes to fix, but a freshly started API server may only lack its roles. */
#define REFUSED_LEAST_US USEC_PER_SEC
#define REFUSED_BASE_US (4 * USEC_PER_SEC)
#define REFUSED_CAP_US (5 * USEC_PER_MIN)

#define FRESH_US (60 * USEC_PER_SEC)  /* an answer is valid for */
#define WANTED_US (15 * USEC_PER_SEC) /* ... if somebody waits for the jobs to end */
#define RETURN_US (10 * USEC_PER_SEC) /* ... how long the pods of a restarting job may be gone */
#define STANDS_US (5 * USEC_PER_MIN)  /* ... if the next answer was requested and is late */
#define WAIT_US (5 * USEC_PER_SEC)    /* longest wait of a decision */
#define AGAIN_US USEC_PER_SEC	      /* after a failure */
#define WANTED_AGAIN_US (30 * USEC_PER_SEC) /* ... if no decision waits */

enum {
	QUESTIONS_MAX = 32,    /* in flight */
	SPARES_ASKED_MAX = 64, /* per FRESH_US */
};

/* --- views --- */

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
	views->jobs = (struct node_jobs){ 0 };
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

/* Reset to a host of which nothing is known. */
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

/* --- back-off --- */

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

/* --- jobs --- */

static bool is_wanted(const struct actor_env *env, const struct node_view *host)
{
	return host->jobs.wanted_us > 0 && env_mono_us(env) - host->jobs.wanted_us < FRESH_US;
}

/* Too soon to count the awaited jobs there as gone. */
static bool may_return(const struct actor_env *env, const struct node_view *host)
{
	return host->jobs.gone_us > 0 && env_mono_us(env) - host->jobs.gone_us < RETURN_US;
}

void node_views_put_jobs(const struct actor_env *env, const char *node,
			 const struct cluster_answer *answer)
{
	struct node_view *host = node_views_find(env->views, node);

	env->views->jobs.out--;
	env_news(env);
	env_commit_wanted(env);
	if (!host || !host->jobs.out || !host->node)
		return; /* the host is gone; another may have taken its name */
	host->jobs.out = false;
	if (answer->result != CLUSTER_DONE) {
		host->jobs.again_us = env_mono_us(env) + MAX(answer->retry_us, AGAIN_US);
		log_warning("cannot list the jobs of a host yet node=%s: %s", host->name,
			    answer->words);
		return;
	}
	if (answer->n_jobs > 0 || host->node->n_jobs == 0 || !is_wanted(env, host))
		host->jobs.gone_us = 0;
	else if (host->jobs.gone_us == 0)
		host->jobs.gone_us = env_mono_us(env);
	if (!may_return(env, host))
		fleet_set_jobs(env->fleet, host->node, answer->jobs, answer->n_jobs);
	host->jobs.known_us = env_mono_us(env);
}

static bool is_fresh(const struct actor_env *env, const struct node_view *host)
{
	return host->jobs.known_us > 0 && env_mono_us(env) - host->jobs.known_us < FRESH_US;
}

static void ask_jobs(const struct actor_env *env, struct node_view *host)
{
	struct cluster_call call;

	if (host->jobs.out || env->views->jobs.out >= QUESTIONS_MAX ||
	    host->jobs.again_us > env_mono_us(env))
		return;
	host->jobs.out = true;
	env->views->jobs.out++;
	call = actor_queue_call(env->queue, ACTOR_JOBS, &(struct actor_about){ .node = host->name });
	env->cluster->ops->jobs(env->cluster, host->name, &call);
}

void node_views_want_jobs(const struct actor_env *env, struct node_view *host)
{
	const uint64_t wait_us = host->jobs.gone_us ? RETURN_US : WANTED_US;

	if (!env->cluster->ops->jobs || !host->there)
		return;
	host->jobs.wanted_us = env_mono_us(env);
	if (!(host->jobs.known_us && env_mono_us(env) - host->jobs.known_us < wait_us) &&
	    (!host->jobs.again_us || env_mono_us(env) >= host->jobs.again_us + WANTED_AGAIN_US))
		ask_jobs(env, host);
}

static bool stands(const struct actor_env *env, const struct node_view *host)
{
	const uint64_t now_us = env_mono_us(env);

	return host->jobs.known_us > 0 && is_wanted(env, host) &&
	       now_us - host->jobs.known_us < STANDS_US;
}

/* Must this host, which is out of service, be asked first? */
static bool counts_for(const struct actor_env *env, const struct decision *one,
		       const struct fleet_node *node, const struct node_view *host)
{
	const bool refused = one->refused && one->refused->by == REFUSED_BY_JOB;

	if (host->jobs.known_us > 0 && !refused)
		return false;
	if (host->jobs.known_us > 0 && !fleet_share_job(node, one->node))
		return false;
	return !is_fresh(env, host);
}

/*
 * Jobs on other hosts out of service may refuse the decision. Such a job may have moved elsewhere
 * since its host went out, so a refusal needs a current answer.
 */
static bool others_known(const struct actor_env *env, const struct decision *one)
{
	bool known = true;
	size_t i;

	for (i = 0; one->node->n_jobs > 0 && i < env->fleet->n; i++) {
		const struct fleet_node *node = env->fleet->nodes[i];
		struct node_view *host = node->out && node != one->node
						 ? node_views_there(env->views, node->name)
						 : NULL;

		if (!host || !counts_for(env, one, node, host))
			continue;
		ask_jobs(env, host);
		known = false;
	}
	return known;
}

/* May one more host be asked whether it is idle? */
static bool may_ask_more(struct node_jobs *jobs, uint64_t now_us)
{
	if (jobs->spares_us == 0 || now_us - jobs->spares_us >= FRESH_US) {
		jobs->spares_us = now_us;
		jobs->spares_asked = 0;
	}
	return jobs->spares_asked < SPARES_ASKED_MAX && jobs->out < QUESTIONS_MAX;
}

/*
 * False while hosts that may be idle are being asked; different ones each time, if there are many.
 */
static bool spares_known(const struct actor_env *env, const struct decision *one)
{
	struct node_jobs *jobs = &env->views->jobs;
	const bool wanted = one->refused && one->refused->by == REFUSED_BY_SPARES;
	bool known = true;
	size_t i;

	for (i = 0; wanted && i < env->fleet->n && may_ask_more(jobs, env_mono_us(env)); i++) {
		const struct fleet_node *node = env->fleet->nodes[jobs->spare_at++ % env->fleet->n];
		struct node_view *host = node->sku == one->node->sku && !node->out
						 ? node_views_there(env->views, node->name)
						 : NULL;

		if (!host || is_fresh(env, host))
			continue;
		known = false;
		if (host->jobs.out)
			continue;
		ask_jobs(env, host);
		jobs->spares_asked++;
	}
	return known;
}

static bool needs_jobs(const struct decision *one)
{
	return one->action == DECIDE_CORDON || one->action == DECIDE_CORDON_DRAIN ||
	       (one->action == DECIDE_DRAIN && !one->only_ask);
}

bool node_views_jobs_known(const struct actor_env *env, struct node_view *host,
			   const struct decision *one)
{
	const uint64_t now_us = env_mono_us(env);
	bool known;

	if (!env->cluster->ops->jobs || !host->there || !needs_jobs(one))
		return true;
	known = is_fresh(env, host);
	if (!known)
		ask_jobs(env, host);
	known = known && others_known(env, one) && spares_known(env, one);
	if (known) {
		host->jobs.wait_us = 0;
		return true;
	}
	if (host->jobs.wait_us == 0)
		host->jobs.wait_us = now_us;
	return now_us - host->jobs.wait_us >= WAIT_US;
}

bool node_views_jobs_missing(const struct actor_env *env, const struct node_view *host)
{
	return env->cluster->ops->jobs && !is_fresh(env, host);
}

void node_views_forget_jobs(const struct actor_env *env)
{
	size_t i;

	for (i = 0; i < env->fleet->n; i++) {
		struct fleet_node *node = env->fleet->nodes[i];
		struct node_view *host;

		if (!node->jobs_known || (node->out & ~(unsigned)OUT_HOLD))
			continue;
		host = node_views_find(env->views, node->name);
		if (host && (is_fresh(env, host) || stands(env, host)))
			continue;
		fleet_forget_jobs(env->fleet, node);
		if (host)
			host->jobs.known_us = 0;
	}
}
