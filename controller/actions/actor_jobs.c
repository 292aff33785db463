/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which jobs run on a host. Nobody watches all pods: the cluster is asked when a cordon or an
 * eviction is decided, for that host and for those that are out of service already; the decision
 * waits for the answer, but not for long. An eviction that wants idle hosts has some more asked,
 * so many a minute.
 */
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "lib/base/duration.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

#define FRESH_US (60 * USEC_PER_SEC) /* for so long an answer is true */
#define WAIT_US (5 * USEC_PER_SEC)   /* a decision waits at most */
#define AGAIN_US USEC_PER_SEC	     /* after a failure */

enum {
	QUESTIONS_MAX = 32,    /* at once */
	SPARES_ASKED_MAX = 64, /* in FRESH_US */
};

struct question {
	struct act *act;
	unsigned round;
	char *node;
};

static void on_jobs(void *context, const struct cluster_answer *answer)
{
	struct question *q = context;
	struct act *act = q->round == q->act->round ? q->act : NULL;
	struct act_host *host = act ? act_host(act, q->node) : NULL;
	struct fleet_node *node = act ? fleet_find(&act->fleet, q->node) : NULL;

	free(q->node);
	free(q);
	if (!act)
		return;
	act->jobs_out--;
	act->dirty = true;
	act->options.touch(act->options.context);
	if (!host || !node)
		return;
	host->jobs_out = false;
	if (answer->result != CLUSTER_DONE) {
		host->jobs_again_us = act_mono_us(act) + MAX(answer->retry_us, AGAIN_US);
		log_warning("the jobs of a host are not known yet node=%s: %s", host->name,
			    answer->words);
		return;
	}
	fleet_set_jobs(&act->fleet, node, answer->jobs, answer->n_jobs);
	host->jobs_us = act_mono_us(act);
}

static bool is_fresh(const struct act *act, const struct act_host *host)
{
	return host->jobs_us > 0 && act_mono_us(act) - host->jobs_us < FRESH_US;
}

static void ask(struct act *act, struct act_host *host)
{
	struct cluster *cluster = act->options.cluster;
	struct question *q;

	if (host->jobs_out || act->jobs_out >= QUESTIONS_MAX ||
	    host->jobs_again_us > act_mono_us(act))
		return;
	q = xcalloc(1, sizeof(*q));
	*q = (struct question){ act, act->round, xstrdup(host->name) };
	host->jobs_out = true;
	act->jobs_out++;
	cluster->ops->jobs(cluster, host->name, &(struct cluster_call){ on_jobs, q });
}

/*
 * Those that are out of service count for their jobs. Since when they went out a job may have gone
 * elsewhere: what refuses for its sake has to be true.
 */
static bool others_known(struct act *act, const struct decision *one)
{
	const bool refused = one->refused && one->refused->by == REFUSED_BY_JOB;
	bool known = true;
	size_t i;

	for (i = 0; one->node->n_jobs > 0 && i < act->fleet.n; i++) {
		const struct fleet_node *node = act->fleet.nodes[i];
		struct act_host *host = node->out && node != one->node ? act_host(act, node->name)
								       : NULL;

		if (!host || !host->there || (host->jobs_us > 0 && !refused) ||
		    (host->jobs_us > 0 && !fleet_share_job(node, one->node)) || is_fresh(act, host))
			continue;
		ask(act, host);
		known = false;
	}
	return known;
}

/* May one more host be asked whether it is idle? */
static bool may_ask_more(struct act *act)
{
	const uint64_t now_us = act_mono_us(act);

	if (act->spares_us == 0 || now_us - act->spares_us >= FRESH_US) {
		act->spares_us = now_us;
		act->spares_asked = 0;
	}
	return act->spares_asked < SPARES_ASKED_MAX && act->jobs_out < QUESTIONS_MAX;
}

/* False: some are being asked that may be idle. Each time others, where there are many. */
static bool spares_known(struct act *act, const struct decision *one)
{
	const bool wanted = one->refused && one->refused->by == REFUSED_BY_SPARES;
	bool known = true;
	size_t i;

	for (i = 0; wanted && i < act->fleet.n && may_ask_more(act); i++) {
		const struct fleet_node *node = act->fleet.nodes[act->spare_at++ % act->fleet.n];
		struct act_host *host = act_host(act, node->name);

		if (node->sku != one->node->sku || node->out || !host || !host->there ||
		    is_fresh(act, host))
			continue;
		known = false;
		if (host->jobs_out)
			continue;
		ask(act, host);
		act->spares_asked++;
	}
	return known;
}

static bool needs_jobs(const struct decision *one)
{
	return one->action == DECIDE_CORDON || one->action == DECIDE_CORDON_DRAIN ||
	       (one->action == DECIDE_DRAIN && !one->only_ask);
}

bool act_jobs_known(struct act *act, const struct decision *one)
{
	struct act_host *host = act_host(act, one->node->name);
	uint64_t now_us = act_mono_us(act);
	bool known;

	if (!act->options.cluster->ops->jobs || !needs_jobs(one) || !host)
		return true;
	known = is_fresh(act, host);
	if (!known)
		ask(act, host);
	known = known && others_known(act, one) && spares_known(act, one);
	if (known) {
		host->jobs_wait_us = 0;
		return true;
	}
	if (host->jobs_wait_us == 0)
		host->jobs_wait_us = now_us;
	act->dirty = true; /* it is decided again, soon enough for the deadline */
	return now_us - host->jobs_wait_us >= WAIT_US;
}

bool act_jobs_missing(const struct act *act, const char *node)
{
	const struct act_host *host = act_host(act, node);

	return act->options.cluster->ops->jobs && host && !is_fresh(act, host);
}

static void forget_of(struct act *act, struct fleet_node *node)
{
	struct act_host *host = act_host(act, node->name);

	if (host && is_fresh(act, host))
		return;
	fleet_forget_jobs(&act->fleet, node);
	if (host)
		host->jobs_us = 0;
}

void act_jobs_forget(struct act *act)
{
	size_t i;

	for (i = 0; i < act->fleet.n; i++) {
		struct fleet_node *node = act->fleet.nodes[i];

		if (node->jobs_known && !(node->out & ~(unsigned)OUT_HOLD))
			forget_of(act, node);
	}
}
