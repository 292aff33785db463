/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hosts refuse jobs for by themselves counts too. A host that saw a fatal
 * signature answers "bad" to every admission, in every mode and whatever the controller
 * thinks. When one signature does that on more hosts than budget.deny allows, what
 * they share is wrong (a table, a driver, a switch): the others are told to let jobs in
 * as degraded, and people are told which signature it is.
 */
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "controller/store/store.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict.h"
#include "lib/report/report.h"

char *act_signature(const struct finding *finding)
{
	return finding->code ? xasprintf("%s %s", finding->check, finding->code)
			     : xstrdup(finding->check);
}

/* Why jobs are let in, when each of its fatal signatures is over the budget; new memory, or NULL. */
static char *let_in(struct act *act, const struct policy *policy, const struct fleet_node *node)
{
	char *sentence = NULL;
	const struct finding *f;

	for (f = node->findings; f; f = f->next) {
		CLEANUP(freep) char *signature = act_signature(f);
		struct deny_answer answer;

		if (f->severity != SEVERITY_FATAL)
			continue;
		deny_ask(&act->denials, policy, act->fleet.n,
			 &(struct deny_question){ node->name, signature }, act_real_us(act),
			 &answer);
		free(TAKE(sentence));
		if (answer.denied)
			return NULL;
		sentence = xstrdup(answer.sentence);
	}
	return sentence;
}

/* One incident for all of them, under "fleet:admissions". */
static void alarm(struct act *act, const char *sentence)
{
	static const char name[] = "fleet:admissions", check[] = "admission";
	const struct store_incident incident = {
		.node = name,
		.check = check,
		.subject = "budget.deny",
		.level = VERDICT_WARN,
		.action = policy_action_names[ACTION_ALERT],
		.sentence = sentence,
		.since_us = act_real_us(act),
	};

	if (sentence)
		log_error("admissions fail open: %s", sentence);
	if (sentence)
		(void)store_put_incident(act->options.store, &incident, act_real_us(act), NULL);
	else
		(void)store_close_incident(act->options.store, name, check, act_real_us(act), NULL);
	act->options.touch(act->options.context);
}

void act_deny(struct act *act, const struct policy *policy)
{
	const bool some = act->counts.let_in > 0;
	const char *sentence = NULL;
	size_t i;

	act->counts.let_in = 0;
	for (i = 0; i < act->fleet.n; i++) {
		const struct fleet_node *node = act->fleet.nodes[i];
		struct act_host *host = node->findings || some ? act_host(act, node->name) : NULL;
		/* One that is out of service refuses nobody anything more. */
		char *why = host && !node->out ? let_in(act, policy, node) : NULL;
		bool changed = host && !host->let_in != !why;

		if (why)
			act->counts.let_in++;
		if (!host)
			continue;
		free(host->let_in);
		host->let_in = why;
		sentence = why ? why : sentence;
		if (changed)
			act->options.look(act->options.context, node->name);
	}
	/* At the start the store may still have one of before it. */
	if (!act->deny_told || some != (sentence != NULL))
		alarm(act, sentence);
	act->deny_told = true;
}

char *act_let_in(const struct act *act, const char *node)
{
	const struct act_host *host = act_host(act, node);

	return host && host->let_in ? xstrdup(host->let_in) : NULL;
}
