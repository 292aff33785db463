/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/node_jobs.h"

#include <stdlib.h>

#include "controller/actions/actor_env.h"
#include "controller/actions/actor_queue.h"
#include "controller/actions/node_views.h"
#include "lib/base/duration.h"
#include "lib/base/log.h"
#include "lib/policy/decide.h"

#define FRESH_US (60 * USEC_PER_SEC)  /* for so long an answer is true */
#define WANTED_US (15 * USEC_PER_SEC) /* ... where somebody waits for them to end */
#define RETURN_US (10 * USEC_PER_SEC) /* ... and so long may pods be gone that start again */
#define STANDS_US (5 * USEC_PER_MIN)  /* ... where the next one is wanted, and does not come */
#define WAIT_US (5 * USEC_PER_SEC)    /* a decision waits at most */
#define AGAIN_US USEC_PER_SEC	      /* after a failure */
#define WANTED_AGAIN_US (30 * USEC_PER_SEC) /* ... where no decision waits for it */

enum {
	QUESTIONS_MAX = 32,    /* at once */
	SPARES_ASKED_MAX = 64, /* in FRESH_US */
};

static bool is_wanted(const struct actor_env *env, const struct node_view *host)
{
	return host->jobs.wanted_us > 0 && env_mono_us(env) - host->jobs.wanted_us < FRESH_US;
}

/* It is too soon to say that the jobs there, for whose end somebody waits, are gone. */
static bool may_return(const struct actor_env *env, const struct node_view *host)
{
	return host->jobs.gone_us > 0 && env_mono_us(env) - host->jobs.gone_us < RETURN_US;
}

void node_jobs_answered(struct node_jobs *jobs, const struct actor_env *env,
			const struct actor_event *event)
{
	const struct cluster_answer *answer = &event->answer;
	struct node_view *host = node_views_find(env->views, event->about.node);

	jobs->out--;
	env_news(env);
	env_commit_wanted(env);
	if (!host || !host->jobs.out || !host->node)
		return; /* whom it was asked of has gone; another may have come by its name */
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

static void ask(struct node_jobs *jobs, const struct actor_env *env, struct node_view *host)
{
	struct cluster_call call;

	if (host->jobs.out || jobs->out >= QUESTIONS_MAX || host->jobs.again_us > env_mono_us(env))
		return;
	host->jobs.out = true;
	jobs->out++;
	call = actor_queue_call(env->queue, ACTOR_JOBS, &(struct actor_about){ .node = host->name });
	env->cluster->ops->jobs(env->cluster, host->name, &call);
}

void node_jobs_want(struct node_jobs *jobs, const struct actor_env *env, struct node_view *host)
{
	const uint64_t wait_us = host->jobs.gone_us ? RETURN_US : WANTED_US;

	if (!env->cluster->ops->jobs || !host->there)
		return;
	host->jobs.wanted_us = env_mono_us(env);
	if (!(host->jobs.known_us && env_mono_us(env) - host->jobs.known_us < wait_us) &&
	    (!host->jobs.again_us || env_mono_us(env) >= host->jobs.again_us + WANTED_AGAIN_US))
		ask(jobs, env, host);
}

static bool stands(const struct actor_env *env, const struct node_view *host)
{
	const uint64_t now_us = env_mono_us(env);

	return host->jobs.known_us > 0 && is_wanted(env, host) &&
	       now_us - host->jobs.known_us < STANDS_US;
}

/* Must this one, which is out of service, be asked first? */
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
 * Those that are out of service count for their jobs. Since when they went out a job may have gone
 * elsewhere: what refuses for its sake has to be true.
 */
static bool others_known(struct node_jobs *jobs, const struct actor_env *env,
			 const struct decision *one)
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
		ask(jobs, env, host);
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

/* False: some are being asked that may be idle. Each time others, where there are many. */
static bool spares_known(struct node_jobs *jobs, const struct actor_env *env,
			 const struct decision *one)
{
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
		ask(jobs, env, host);
		jobs->spares_asked++;
	}
	return known;
}

static bool needs_jobs(const struct decision *one)
{
	return one->action == DECIDE_CORDON || one->action == DECIDE_CORDON_DRAIN ||
	       (one->action == DECIDE_DRAIN && !one->only_ask);
}

bool node_jobs_known(struct node_jobs *jobs, const struct actor_env *env, struct node_view *host,
		     const struct decision *one)
{
	const uint64_t now_us = env_mono_us(env);
	bool known;

	if (!env->cluster->ops->jobs || !host->there || !needs_jobs(one))
		return true;
	known = is_fresh(env, host);
	if (!known)
		ask(jobs, env, host);
	known = known && others_known(jobs, env, one) && spares_known(jobs, env, one);
	if (known) {
		host->jobs.wait_us = 0;
		return true;
	}
	if (host->jobs.wait_us == 0)
		host->jobs.wait_us = now_us;
	return now_us - host->jobs.wait_us >= WAIT_US;
}

bool node_jobs_missing(const struct actor_env *env, const struct node_view *host)
{
	return env->cluster->ops->jobs && !is_fresh(env, host);
}

void node_jobs_forget(const struct actor_env *env)
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
