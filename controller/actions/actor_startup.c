/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start-up taints: a host that has joined takes no jobs until it was tested. What is decided about
 * each is lib/policy/startup.h; here is what is known of it, and what is recorded: one action when
 * the taint goes, one for each reason why it stays.
 */
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/policy/startup.h"

void startup_free(struct startup *startup)
{
	if (!startup)
		return;
	store_tested_release(&startup->tested);
	free(startup->told);
	free(startup);
}

/* Its last test, read again when a report has come. */
static struct startup *startup_of(struct act *act, struct act_host *host,
				  const struct fleet_node *node)
{
	struct startup *s = host->startup;
	struct err err = ERR_INIT;

	if (!s)
		s = host->startup = xcalloc(1, sizeof(*s));
	if (s->read && s->read_us == node->reported_us)
		return s;
	store_tested_release(&s->tested);
	s->read = store_tested(act->options.store, host->name, &s->tested, &err) == 0;
	s->read_us = node->reported_us;
	if (!s->read)
		log_warning("the last test is not known node=%s: %s", host->name, err.msg);
	return s;
}

static void decide(struct act *act, const struct policy *policy, struct act_host *host,
		   const struct fleet_node *node, struct startup_decision *ret)
{
	const struct store_tested *tested = &startup_of(act, host, node)->tested;
	CLEANUP(freep) char *bad = node->findings ? act_signature(node->findings) : NULL;
	const struct startup_facts facts = {
		.node = host->name,
		.joined_us = host->c.since_us,
		.boot = tested->boot,
		.profile = tested->profile,
		.tested_us = tested->at_us,
		.level = tested->level,
		.worst = tested->worst,
		.now = host->c.boot,
		.bad = bad,
	};

	startup_decide(policy, &act->denials, act->fleet.n, &facts, act_real_us(act), ret);
}

static struct doing_start start_of(const struct act_host *host, const struct startup_decision *d)
{
	return (struct doing_start){
		.node = host->name,
		.who = WHO_AUTOMATIC,
		.rule = d->answer == STARTUP_LET_IN ? STARTUP_RULE_OPEN : STARTUP_RULE,
		.reason = d->sentence,
		.decision = DECIDE_VERIFIED,
	};
}

/* Is it the same as was told the last time? */
static bool is_told(struct act_host *host, const struct startup_decision *d)
{
	if (streq(host->startup->told, d->sentence))
		return true;
	free(host->startup->told);
	host->startup->told = xstrdup(d->sentence);
	return false;
}

static void record_stays(struct act *act, const struct act_host *host,
			 const struct startup_decision *d)
{
	const struct doing_start start = start_of(host, d);
	const struct cluster_event event = { host->name, "AssayRefused", d->sentence, true };

	(void)act_record(act, ACT_VERIFIED, ACTION_REFUSED, &start, "it takes no jobs");
	act->options.cluster->ops->event(act->options.cluster, &event);
	log_info("the start-up taint stays node=%s: %s", host->name, d->sentence);
}

static void look_at(struct act *act, const struct policy *policy, struct act_host *host,
		    const struct fleet_node *node)
{
	struct startup_decision d;
	struct doing_start start;

	decide(act, policy, host, node, &d);
	start = start_of(host, &d);
	if (d.answer == STARTUP_LET_IN)
		act->startup_open_us = act_mono_us(act);
	if (d.answer == STARTUP_WAITS)
		return;
	if (d.answer != STARTUP_STAYS && policy->mode == MODE_ENFORCE)
		(void)doing_begin(act, ACT_VERIFIED, &start);
	else if (is_told(host, &d))
		return;
	else if (d.answer == STARTUP_STAYS)
		record_stays(act, host, &d);
	else
		act_rehearse(act, ACT_VERIFIED, &start);
}

static void look(struct act *act, struct act_host *host)
{
	const struct policy *policy = act->options.policy(act->options.context);
	const struct fleet_node *node = fleet_find(&act->fleet, host->name);

	if (!host->there || !host->c.unverified || !node) {
		startup_free(TAKE(host->startup));
		return;
	}
	/* What is out of service because of us has a way back of its own, and is counted there. */
	if (!host->c.managed || host->c.hands_off || host->c.outside ||
	    life_holds(node->record.life.state) || doing_of(act, host->name))
		return;
	look_at(act, policy, host, node);
}

static void each(void *context, struct act_host *host)
{
	look(context, host);
}

static bool is_on(const struct act *act)
{
	const struct policy *policy = act->options.policy(act->options.context);

	return act->options.cluster->ops->verified && policy->startup_lift &&
	       policy->mode != MODE_OBSERVE && !act->fleet.stale && act->stage == STAGE_ACTING;
}

/* One incident for all of them, for as long as the budget remembers. */
static void alarm(struct act *act, const struct policy *policy)
{
	static const char name[] = "fleet:startup", check[] = "admission";
	static const char sentence[] =
		"more hosts keep their start-up taint for one reason than budget.deny allows: the "
		"others are let in without a pass; look at what they share";
	const bool some = act->startup_open_us &&
			  act_mono_us(act) - act->startup_open_us < policy->deny_per_us;
	const struct store_incident incident = {
		.node = name,
		.check = check,
		.subject = STARTUP_RULE_OPEN,
		.level = VERDICT_WARN,
		.action = policy_action_names[ACTION_ALERT],
		.sentence = sentence,
		.since_us = act_real_us(act),
	};

	if (act->startup_told && some == act->startup_alarm)
		return;
	/* At the start the store may still have one of before it. */
	act->startup_told = true;
	act->startup_alarm = some;
	if (some)
		log_error("start-up taints fail open: %s", sentence);
	if (some)
		(void)store_put_incident(act->options.store, &incident, act_real_us(act), NULL);
	else
		(void)store_close_incident(act->options.store, name, check, act_real_us(act), NULL);
	act->options.touch(act->options.context);
}

void act_startup_reported(struct act *act, const char *node)
{
	struct act_host *host = act_host(act, node);

	if (!host || !host->c.unverified || !is_on(act) || cluster_stopped(act->options.cluster))
		return;
	look(act, host);
	alarm(act, act->options.policy(act->options.context));
}

void act_startup(struct act *act, const struct policy *policy)
{
	if (!act->options.cluster->ops->verified)
		return;
	if (is_on(act))
		act_each_host(act, each, act);
	alarm(act, policy);
}
