/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/node_jobs.h"

#include <stdlib.h>

#include "controller/actions/actor_env.h"
#include "controller/actions/actor_queue.h"
#include "controller/actions/node_views.h"
#include "lib/base/duration.h"
#include "lib/base/log.h"
#include "lib/policy/decide.h"

#define FRESH_US (60 * USEC_PER_SEC) /* for so long an answer is true */
#define WAIT_US (5 * USEC_PER_SEC)   /* a decision waits at most */
#define AGAIN_US USEC_PER_SEC	     /* after a failure */

enum {
	QUESTIONS_MAX = 32,    /* at once */
	SPARES_ASKED_MAX = 64, /* in FRESH_US */
};

/* Times are monotonic. */
struct host_jobs {
	char *name;
	uint64_t known_us; /* it was told; 0: it is not known */
	uint64_t again_us; /* it is not asked before */
	uint64_t wait_us;  /* a decision waits for it since; 0: none does */
	bool out;	   /* an answer is on its way */
};

void node_jobs_release(struct node_jobs *jobs)
{
	map_release(&jobs->hosts, NULL);
	*jobs = (struct node_jobs){ 0 };
}

void node_jobs_drop(struct node_jobs *jobs, const char *node)
{
	map_drop(&jobs->hosts, node, NULL);
}

/* NULL: the cluster does not have it. */
static struct host_jobs *host_of(struct node_jobs *jobs, const struct actor_env *env,
				 const char *node)
{
	return node_views_there(env->views, node)
		       ? map_need(&jobs->hosts, node, sizeof(struct host_jobs))
		       : NULL;
}

void node_jobs_answered(struct node_jobs *jobs, const struct actor_env *env,
			const struct actor_event *event)
{
	const struct cluster_answer *answer = &event->answer;
	struct host_jobs *host = map_find(&jobs->hosts, event->about.node);
	struct fleet_node *node = fleet_find(env->fleet, event->about.node);

	jobs->out--;
	env_news(env);
	env_commit_wanted(env);
	if (!host || !node)
		return;
	host->out = false;
	if (answer->result != CLUSTER_DONE) {
		host->again_us = env_mono_us(env) + MAX(answer->retry_us, AGAIN_US);
		log_warning("the jobs of a host are not known yet node=%s: %s", host->name,
			    answer->words);
		return;
	}
	fleet_set_jobs(env->fleet, node, answer->jobs, answer->n_jobs);
	host->known_us = env_mono_us(env);
}

static bool is_fresh(const struct actor_env *env, const struct host_jobs *host)
{
	return host->known_us > 0 && env_mono_us(env) - host->known_us < FRESH_US;
}

static void ask(struct node_jobs *jobs, const struct actor_env *env, struct host_jobs *host)
{
	struct cluster_call call;

	if (host->out || jobs->out >= QUESTIONS_MAX || host->again_us > env_mono_us(env))
		return;
	host->out = true;
	jobs->out++;
	call = actor_queue_call(env->queue, ACTOR_JOBS, &(struct actor_about){ .node = host->name });
	env->cluster->ops->jobs(env->cluster, host->name, &call);
}

/* Must this one, which is out of service, be asked first? */
static bool counts_for(const struct actor_env *env, const struct decision *one,
		       const struct fleet_node *node, const struct host_jobs *host)
{
	const bool refused = one->refused && one->refused->by == REFUSED_BY_JOB;

	if (host->known_us > 0 && !refused)
		return false;
	if (host->known_us > 0 && !fleet_share_job(node, one->node))
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
		struct host_jobs *host =
			node->out && node != one->node ? host_of(jobs, env, node->name) : NULL;

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
		struct host_jobs *host = node->sku == one->node->sku && !node->out
						 ? host_of(jobs, env, node->name)
						 : NULL;

		if (!host || is_fresh(env, host))
			continue;
		known = false;
		if (host->out)
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

bool node_jobs_known(struct node_jobs *jobs, const struct actor_env *env, const struct decision *one)
{
	struct host_jobs *host = env->cluster->ops->jobs && needs_jobs(one)
					 ? host_of(jobs, env, one->node->name)
					 : NULL;
	const uint64_t now_us = env_mono_us(env);
	bool known;

	if (!host)
		return true;
	known = is_fresh(env, host);
	if (!known)
		ask(jobs, env, host);
	known = known && others_known(jobs, env, one) && spares_known(jobs, env, one);
	if (known) {
		host->wait_us = 0;
		return true;
	}
	if (host->wait_us == 0)
		host->wait_us = now_us;
	env_news(env); /* it is decided again, soon enough for the deadline */
	return now_us - host->wait_us >= WAIT_US;
}

bool node_jobs_missing(const struct node_jobs *jobs, const struct actor_env *env, const char *node)
{
	const struct host_jobs *host = map_find(&jobs->hosts, node);

	return env->cluster->ops->jobs && !(host && is_fresh(env, host));
}

void node_jobs_forget(struct node_jobs *jobs, const struct actor_env *env)
{
	size_t i;

	for (i = 0; i < env->fleet->n; i++) {
		struct fleet_node *node = env->fleet->nodes[i];
		struct host_jobs *host;

		if (!node->jobs_known || (node->out & ~(unsigned)OUT_HOLD))
			continue;
		host = map_find(&jobs->hosts, node->name);
		if (host && is_fresh(env, host))
			continue;
		fleet_forget_jobs(env->fleet, node);
		if (host)
			host->known_us = 0;
	}
}
