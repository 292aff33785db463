/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/admissions.h"

#include <stdlib.h>

#include "controller/actions/action.h"
#include "controller/actions/actor_env.h"
#include "controller/actions/effect.h"
#include "controller/actions/node_life.h"
#include "controller/actions/node_views.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/policy/decide.h"
#include "lib/policy/startup.h"
#include "lib/report/report.h"

void admissions_drop(struct node_view *host)
{
	store_tested_release(&host->admission.tested);
	free(host->admission.let_in);
	free(host->admission.stays);
	host->admission = (struct admission){ 0 };
}

static void drop_one(void *context UNUSED, struct node_view *host)
{
	admissions_drop(host);
}

void admissions_release(struct admissions *all, struct node_views *views)
{
	node_views_each(views, drop_one, NULL);
	denials_release(&all->denials);
	all->denials = (struct denials){ 0 };
}

/* --- incidents --- */

/* Open or update the one incident for all hosts; `sentence` NULL: close it. */
static void put_incident(const struct actor_env *env, const char *name, const char *subject,
			 const char *sentence)
{
	static const char check[] = "admission";
	const struct store_incident incident = {
		.node = name,
		.check = check,
		.subject = subject,
		.level = VERDICT_WARN,
		.action = policy_action_names[ACTION_ALERT],
		.sentence = sentence,
		.since_us = env_real_us(env),
	};

	if (sentence)
		(void)store_put_incident(env->store, &incident, env_real_us(env), NULL);
	else
		(void)store_close_incident(env->store, name, check, env_real_us(env), NULL);
	env_commit_wanted(env);
}

/* --- admissions refused by hosts --- */

/* Returns why it must let jobs in (all its fatal signatures exceed the budget), new memory, or
 * NULL. */
static char *let_in(struct admissions *all, const struct actor_env *env,
		    const struct fleet_node *node)
{
	char *sentence = NULL;
	const struct finding *f;

	for (f = node->findings; f; f = f->next) {
		CLEANUP(freep) char *signature = node_life_signature(f);
		struct deny_answer answer;

		if (f->severity != SEVERITY_FATAL)
			continue;
		deny_ask(&all->denials, env_policy(env), env->fleet->n,
			 &(struct deny_question){ node->name, signature }, env_real_us(env),
			 &answer);
		free(TAKE(sentence));
		if (answer.denied)
			return NULL;
		sentence = xstrdup(answer.sentence);
	}
	return sentence;
}

/* Returns true if the answer to the host's admissions has changed. */
static bool set_let_in(struct admission *host, char *why)
{
	const bool changed = !host->let_in != !why;

	free(host->let_in);
	host->let_in = why;
	return changed;
}

/* One incident covers all of them. */
static void deny_alarm(struct admissions *all, const struct actor_env *env, bool before,
		       const char *sentence)
{
	/* After a start the store may still have one from before. */
	if (all->deny_told && before == (sentence != NULL))
		return;
	all->deny_told = true;
	if (sentence)
		log_error("admissions fail open: %s", sentence);
	put_incident(env, "fleet:admissions", "budget.deny", sentence);
}

void admissions_deny(struct admissions *all, const struct actor_env *env)
{
	const bool some = env->counts->let_in > 0;
	CLEANUP(freep) char *sentence = NULL;
	size_t i;

	env->counts->let_in = 0;
	for (i = 0; i < env->fleet->n; i++) {
		const struct fleet_node *node = env->fleet->nodes[i];
		struct node_view *host =
			node->findings || some ? node_views_find(env->views, node->name) : NULL;
		/* A host out of service does not count as refusing jobs. */
		char *why = host && !node->out ? let_in(all, env, node) : NULL;

		if (!host)
			continue;
		if (why) {
			env->counts->let_in++;
			free(sentence);
			sentence = xstrdup(why);
		}
		if (set_let_in(&host->admission, why))
			env_orders_changed(env, node->name);
	}
	deny_alarm(all, env, some, sentence);
}

/* --- start-up taints --- */

/* Its last test, read again after each report. */
static const struct store_tested *tested_of(struct admission *host, const struct actor_env *env,
					    const struct fleet_node *node)
{
	struct err err = ERR_INIT;

	if (host->read && host->read_us == node->reported_us)
		return &host->tested;
	store_tested_release(&host->tested);
	host->read = store_tested(env->store, node->name, &host->tested, &err) == 0;
	host->read_us = node->reported_us;
	if (!host->read)
		log_warning("cannot read the last test node=%s: %s", node->name, err.msg);
	return &host->tested;
}

static void decide(struct admissions *all, const struct actor_env *env, struct node_view *view,
		   const struct fleet_node *node, struct startup_decision *ret)
{
	const struct store_tested *tested = tested_of(&view->admission, env, node);
	CLEANUP(freep) char *bad = node->findings ? node_life_signature(node->findings) : NULL;
	const struct startup_facts facts = {
		.node = view->name,
		.joined_us = view->c.since_us,
		.boot = tested->boot,
		.profile = tested->profile,
		.tested_us = tested->at_us,
		.level = tested->level,
		.worst = tested->worst,
		.now = view->c.boot,
		.bad = bad,
	};

	startup_decide(env_policy(env), &all->denials, env->fleet->n, &facts, env_real_us(env), ret);
}

static struct action_start start_of(const char *node, const struct startup_decision *d)
{
	return (struct action_start){
		.node = node,
		.who = WHO_AUTOMATIC,
		.rule = d->answer == STARTUP_LET_IN ? STARTUP_RULE_OPEN : STARTUP_RULE,
		.reason = d->sentence,
		.decision = DECIDE_VERIFIED,
	};
}

/* Is it the decision recorded last? */
static bool is_told(struct admission *host, const struct startup_decision *d)
{
	if (streq(host->stays, d->sentence))
		return true;
	free(host->stays);
	host->stays = xstrdup(d->sentence);
	return false;
}

static void record_stays(const struct actor_env *env, const char *node,
			 const struct startup_decision *d)
{
	const struct action_start start = start_of(node, d);
	const struct cluster_event event = { node, "AssayRefused", d->sentence, true };

	(void)action_record(env, ACT_VERIFIED, ACTION_REFUSED, &start, "it accepts no jobs");
	env->cluster->ops->event(env->cluster, &event);
	log_info("the start-up taint stays node=%s: %s", node, d->sentence);
}

static void look_at(struct admissions *all, const struct actor_env *env, struct node_view *view,
		    const struct fleet_node *node)
{
	struct startup_decision d;
	struct action_start start;

	decide(all, env, view, node, &d);
	start = start_of(view->name, &d);
	if (d.answer == STARTUP_LET_IN)
		all->startup_open_us = env_mono_us(env);
	if (d.answer == STARTUP_WAITS)
		return;
	if (d.answer != STARTUP_STAYS && env_policy(env)->mode == MODE_ENFORCE)
		(void)action_begin(env, view, ACT_VERIFIED, &start);
	else if (is_told(&view->admission, &d))
		return;
	else if (d.answer == STARTUP_STAYS)
		record_stays(env, view->name, &d);
	else
		effect_try(env, view, ACT_VERIFIED, &start);
}

static void forget_startup(struct admission *host)
{
	store_tested_release(&host->tested);
	host->tested = (struct store_tested){ 0 };
	host->read = false;
	free(TAKE(host->stays));
}

static void look(struct admissions *all, const struct actor_env *env, struct node_view *view)
{
	const struct fleet_node *node = view->node;

	if (!node || !view->c.unverified) {
		forget_startup(&view->admission);
		return;
	}
	/* A host that we took out of service has its own way back and is counted there. */
	if (!view->c.managed || view->c.hands_off || view->c.outside ||
	    life_holds(node->record.life.state) || actions_of(view))
		return;
	look_at(all, env, view, node);
}

struct looking {
	struct admissions *all;
	const struct actor_env *env;
};

static void look_one(void *context, struct node_view *view)
{
	const struct looking *l = context;

	look(l->all, l->env, view);
}

static bool is_on(const struct actor_env *env)
{
	const struct policy *policy = env_policy(env);

	return env->cluster->ops->verified && policy->startup_lift &&
	       policy->mode != MODE_OBSERVE && !env->fleet->stale && env->stage == STAGE_ACTING;
}

/* The incident stays open for as long as the budget remembers. */
static void startup_alarm(struct admissions *all, const struct actor_env *env)
{
	static const char sentence[] =
		"more hosts keep their start-up taint for one reason than budget.deny allows: the "
		"others are let in without a pass; check what they have in common";
	const bool some = all->startup_open_us &&
			  env_mono_us(env) - all->startup_open_us < env_policy(env)->deny_per_us;

	if (all->startup_told && some == all->startup_alarm)
		return;
	/* After a start the store may still have one from before. */
	all->startup_told = true;
	all->startup_alarm = some;
	if (some)
		log_error("start-up taints fail open: %s", sentence);
	put_incident(env, "fleet:startup", STARTUP_RULE_OPEN, some ? sentence : NULL);
}

void admissions_reported(struct admissions *all, const struct actor_env *env, const char *node)
{
	struct node_view *view = node_views_find(env->views, node);

	if (!view || !view->c.unverified || !is_on(env) || cluster_stopped(env->cluster))
		return;
	look(all, env, view);
	startup_alarm(all, env);
}

void admissions_startup(struct admissions *all, const struct actor_env *env)
{
	struct looking l = { all, env };

	if (!env->cluster->ops->verified)
		return;
	if (is_on(env))
		node_views_each(env->views, look_one, &l);
	startup_alarm(all, env);
}
