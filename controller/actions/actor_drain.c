/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drains: what runs on a host that we cordoned is asked to leave, again and again until nothing is
 * there or the deadline has come. Unlike other actions a drain takes its time, and does not keep
 * people from the host meanwhile: each round of it asks first whether the reason for it still
 * stands.
 */
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "controller/store/store.h"
#include "lib/base/duration.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"

#define ROUND_LEAST_US USEC_PER_SEC	/* between two rounds */
#define PROGRESS_US (10 * USEC_PER_SEC) /* the row says how far it is, not more often */

struct doing *doing_drain_of(const struct act *act, const char *node)
{
	struct doing *d;

	for (d = act->doings; d; d = d->next) {
		if (d->kind == ACT_EVICT && d->phase != PHASE_END && streq(d->node, node))
			return d;
	}
	return NULL;
}

bool act_drain_begins(struct act *act, const struct decision *one)
{
	const struct fleet_cause cause = { .event = EVENT_DRAIN_BEGUN,
					   .who = WHO_AUTOMATIC,
					   .why = one->reason,
					   .evidence = one->evidence };
	const struct act_host *host = act_host(act, one->node->name);

	/* What the cluster shows is what counts: it may not show our cordon yet. */
	if (!host || !host->c.mark || !host->c.unschedulable)
		return false;
	/* One that a controller left behind goes on, with its deadline. */
	if (one->only_ask || one->node->record.drain_us > 0)
		return true;
	return act_event(act, one->node->name, &cause, NULL) == 0;
}

static const struct policy *policy_of(const struct doing *d)
{
	return d->act->options.policy(d->act->options.context);
}

/* Why it is over before its end, or NULL. */
static const char *overtaken(const struct doing *d)
{
	const struct act_host *host = act_host(d->act, d->node);
	const struct fleet_node *node = fleet_find(&d->act->fleet, d->node);
	const struct policy *policy = policy_of(d);
	int state = node ? node->record.life.state : LIFE_HEALTHY;

	if (!host || !host->there || !node)
		return "the node is gone";
	if (!host->c.mark || !host->c.unschedulable)
		return "it is not out of service because of us any more";
	if (!host->c.managed)
		return "it has opted out";
	if (host->c.hands_off)
		return "another owner is at work on it";
	if (d->act->fleet.stale)
		return "what the cluster shows may no longer be so";
	if (state != LIFE_CORDONED && state != LIFE_STICKY)
		return "it is not bad any more, or is being repaired";
	if (node->record.silence_until_us > act_real_us(d->act))
		return "an operator asked for silence";
	if (policy->mode != MODE_ENFORCE || policy->drain_mode == DRAIN_OFF)
		return "the policy drains no more";
	if (d->act->places.ledger.breaker.open)
		return "the breaker is open";
	return NULL;
}

bool drain_stops(struct doing *d)
{
	const char *why = overtaken(d);

	if (why)
		doing_end(d, ACTION_DROPPED, 409, why);
	return why != NULL;
}

void drain_touch(struct doing *d, const struct cluster_call *call)
{
	const struct policy *policy = policy_of(d);
	const bool evicts = policy->drain_mode == DRAIN_AFTER_GRACE;
	const struct cluster_drain drain = {
		.only_ask = d->only_ask,
		.bare_pods = policy->drain_bare,
		.empty_dir = policy->drain_scratch,
		.reason = d->reason,
		.evict_us = evicts ? d->decided_us + policy->drain_grace_us : 0,
	};
	const struct cluster_change change = {
		.node = d->node,
		.drain = &drain,
	};

	d->act->options.cluster->ops->evict(d->act->options.cluster, &change, call);
}

static int happen(struct doing *d, int event, const char *why, struct err *err)
{
	const struct fleet_cause cause = {
		.event = event, .who = d->who, .why = why, .evidence = d->evidence
	};

	return act_event(d->act, d->node, &cause, err);
}

static void tell(struct doing *d, const char *reason, const char *words, bool warning)
{
	struct cluster *cluster = d->act->options.cluster;

	cluster->ops->event(cluster, &(struct cluster_event){ d->node, reason, words, warning });
}

int drain_book(struct doing *d, struct err *err)
{
	if (d->only_ask) {
		log_info("what runs there was told to leave node=%s: %s", d->node, d->reason);
		return happen(d, EVENT_DRAIN_ASKED, d->reason, err);
	}
	tell(d, "AssayDrained", d->reason, false);
	log_warning("drained node=%s by=%s: %s", d->node, d->who, d->reason);
	return happen(d, EVENT_DRAINED, d->reason, err);
}

static bool is_late(const struct doing *d)
{
	const struct fleet_node *node = fleet_find(&d->act->fleet, d->node);
	const uint64_t timeout_us = policy_of(d)->drain_timeout_us;
	uint64_t begun_us = node && node->record.drain_us ? node->record.drain_us : d->decided_us;
	uint64_t now_us = act_real_us(d->act);

	return timeout_us > 0 && now_us >= begun_us && now_us - begun_us >= timeout_us;
}

static void give_up(struct doing *d, const char *words)
{
	CLEANUP(freep) char *why = xasprintf("it gave up: %s", words);

	if (!d->only_ask)
		(void)happen(d, EVENT_DRAIN_FAILED, why, NULL);
	tell(d, "AssayDrainFailed", why, true);
	log_error("not drained node=%s: %s", d->node, words);
	doing_end(d, ACTION_FAILED, 503, why);
}

/* Whoever looks at the action sees what it waits for. */
static void show_progress(struct doing *d, const char *words)
{
	uint64_t now_us = act_mono_us(d->act);

	if (streq(d->end_words, words) || (d->progress_us && now_us - d->progress_us < PROGRESS_US))
		return;
	d->progress_us = now_us;
	free(d->end_words);
	d->end_words = xstrdup(words);
	(void)store_end_action(d->act->options.store, d->id, ACTION_DECIDED, words, 0, NULL);
	d->act->options.touch(d->act->options.context);
	log_info("not drained yet node=%s: %s", d->node, words);
}

void drain_again(struct doing *d, const struct cluster_answer *answer)
{
	uint64_t wait_us = answer->result == CLUSTER_REFUSED
				   ? doing_refused_us(d)
				   : MAX(answer->retry_us, ROUND_LEAST_US);

	if (is_late(d)) {
		give_up(d, answer->words);
		return;
	}
	d->again_us = act_mono_us(d->act) + wait_us;
	show_progress(d, answer->words);
}
