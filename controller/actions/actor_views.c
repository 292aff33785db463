/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/actor_views.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/actions/action.h"
#include "controller/actions/actor_env.h"
#include "controller/actions/decider.h"
#include "controller/actions/node_views.h"
#include "controller/actions/reservation.h"
#include "controller/fleet/fleet_view.h"
#include "controller/store/store.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/fleet.h"
#include "lib/policy/policy.h"

enum { EVIDENCE_ROWS = 200 }; /* actions and transitions of a bundle, newest first */

/* Why it still has its start-up taint; NULL: it has none. */
static const char *unverified_of(const struct node_view *host)
{
	if (!host->c.unverified)
		return NULL;
	return host->admission.stays ? host->admission.stays
				     : "it has not passed a test since it joined the cluster";
}

json_t *actor_node_json(const struct actor *actor, const char *node)
{
	const struct actor_env *env = actor_env(actor);
	const struct node_view *host = node_views_there(env->views, node);
	const struct fleet_node *n = fleet_find(env->fleet, node);
	const struct node_record *r = n ? &n->record : NULL;
	const struct action *test = actions_test_of(host);

	if (!host || !n)
		return NULL;
	return json_pack(
		"{s:s, s:o, s:b, s:o, s:b, s:b, s:s?, s:s?, s:o, s:o, s:o, s:i, s:o, s:o, s:o}",
		"state", life_state_names[r->life.state], "since", json_stamp(r->life.since_us),
		"manual", r->life.manual, "cordon",
		host->c.mark ? cluster_mark_encode(host->c.mark) : json_null(), "schedulable",
		!host->c.unschedulable, "managed", host->c.managed, "hands_off", host->c.hands_off,
		"unverified", unverified_of(host), "override_until",
		json_stamp(r->override_until_us), "silence_until", json_stamp(r->silence_until_us),
		"hold_until", json_stamp(host->c.hold_us), "passes", (int)r->passes, "tested",
		json_stamp(n->deep_us), "test_ordered", json_stamp(test ? test->decided_us : 0),
		"labels", host->c.labels ? json_incref(host->c.labels) : json_object());
}

static enum fleet_service service_of(const struct node_view *host, const struct fleet_node *n)
{
	if (host->c.mark || host->c.unschedulable)
		return FLEET_SERVICE_CORDONED;
	if (host->c.hold_us)
		return FLEET_SERVICE_HELD;
	return n->out & OUT_NOT_READY ? FLEET_SERVICE_NOT_READY : FLEET_SERVICE_IN;
}

void actor_view_host(const struct actor *actor, const char *node, struct fleet_view_state *ret)
{
	const struct actor_env *env = actor_env(actor);
	const struct node_view *host = node_views_there(env->views, node);
	const struct fleet_node *n = host ? fleet_find(env->fleet, node) : NULL;

	ret->life = n ? n->record.life.state : FLEET_UNKNOWN;
	ret->service = n ? (int)service_of(host, n) : FLEET_UNKNOWN;
	ret->domain = n ? names_text(&env->fleet->domains, n->domain) : NULL;
}

uint64_t actor_view_epoch(const struct actor *actor)
{
	return actor_env(actor)->places->ledger.epoch;
}

json_t *actor_service_json(const struct actor *actor, const char *node)
{
	const struct actor_env *env = actor_env(actor);
	const struct node_view *host = node_views_there(env->views, node);
	const struct fleet_node *n = fleet_find(env->fleet, node);
	const uint64_t now_us = env_real_us(env);
	const struct cluster_mark *mark;

	if (!host || !n)
		return NULL;
	mark = host->c.mark;
	return json_pack(
		"{s:s, s:s?, s:s?, s:o, s:o, s:o, s:o, s:s?}", "state",
		fleet_service_names[service_of(host, n)], "by", mark ? mark->by : NULL, "reason",
		mark ? mark->reason : NULL, "since", json_stamp(mark ? mark->at_us : 0),
		"hold_until", json_stamp(host->c.hold_us), "silence_until",
		json_stamp(n->record.silence_until_us > now_us ? n->record.silence_until_us : 0),
		"override_until",
		json_stamp(n->record.override_until_us > now_us ? n->record.override_until_us : 0),
		"unverified", unverified_of(host));
}

json_t *actor_orders_json(const struct actor *actor, bool silences)
{
	const struct actor_env *env = actor_env(actor);
	const uint64_t now_us = env_real_us(env);
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < env->fleet->n; i++) {
		const struct fleet_node *n = env->fleet->nodes[i];
		const uint64_t until_us = silences ? n->record.silence_until_us
						   : n->record.override_until_us;

		if (until_us > now_us)
			(void)json_array_append_new(list, json_pack("{s:s, s:o}", "node", n->name,
								    "until", json_stamp(until_us)));
	}
	return list;
}

int actor_in_cluster(const struct actor *actor, const char *node)
{
	const struct actor_env *env = actor_env(actor);
	const struct node_view *host = node_views_there(env->views, node);

	if (host)
		return 1;
	return env->views->listed ? 0 : -1;
}

json_t *actor_breaker_json(const struct actor *actor)
{
	const struct actor_env *env = actor_env(actor);
	const struct policy *policy = env_policy(env);
	const char *account = NULL;
	struct actor_counts c;
	json_t *value = breaker_encode(&env->places->ledger.breaker);

	(void)json_object_set_new(value, "mode", json_string(policy_mode_names[policy->mode]));
	(void)json_object_set_new(value, "epoch",
				  json_integer((json_int_t)env->places->ledger.epoch));
	(void)json_object_set_new(value, "fenced", json_boolean(env->stage == STAGE_FENCED));
	(void)json_object_set_new(value, "stale",
				  env->fleet->stale ? json_string(env->fleet->stale) : json_null());
	(void)json_object_set_new(value, "stopped", json_pack("s?", cluster_stopped(env->cluster)));
	decider_count_budgets(env, &c);
	(void)manual_rate_most(&env->actions->manual, policy, env_real_us(env), &account);
	(void)json_object_set_new(
		value, "budget",
		json_pack("[{s:s, s:I, s:I}, {s:s, s:I, s:I}, {s:s, s:I, s:I, s:s?}]", "rule",
			  "budget.total", "used", (json_int_t)c.budget_used, "limit",
			  (json_int_t)c.budget_limit, "rule", "budget.rate", "used",
			  (json_int_t)c.rate_used, "limit", (json_int_t)c.rate_limit, "rule",
			  "budget.rate.manual", "used", (json_int_t)c.manual_used, "limit",
			  (json_int_t)c.manual_limit, "account", account));
	return value;
}

json_t *actor_coverage_json(const struct actor *actor)
{
	const struct actor_env *env = actor_env(actor);
	const struct policy *policy = env_policy(env);
	json_t *list = json_array();
	struct coverage coverage;
	size_t i;

	coverage_list(policy, env->fleet, env_real_us(env), &coverage);
	for (i = 0; i < coverage.n; i++)
		(void)json_array_append_new(
			list, json_pack("{s:s, s:o, s:o}", "node", coverage.due[i]->name, "tested",
					json_stamp(coverage.due[i]->deep_us), "ordered",
					json_stamp(coverage.due[i]->record.ordered_us)));
	coverage_release(&coverage);
	return list;
}

int actor_evidence(const struct actor *actor, const char *node, json_t **ret_bundle, struct err *err)
{
	const struct actor_env *env = actor_env(actor);
	const struct store_range range = { NULL, EVIDENCE_ROWS };
	struct store_page actions = { 0 }, transitions = { 0 };
	CLEANUP(json_freep) json_t *life = actor_node_json(actor, node);
	int r = store_actions(env->store, node, &range, &actions, err);

	if (r == 0)
		r = store_transitions(env->store, node, &range, &transitions, err);
	if (r == 0 && !life && json_array_size(actions.items) == 0 &&
	    json_array_size(transitions.items) == 0)
		r = err_set(err, ENOENT, "unknown host '%.80s'", node);
	if (r == 0)
		*ret_bundle = json_pack("{s:O?, s:O, s:O}", "life", life, "transitions",
					transitions.items, "actions", actions.items);
	json_decref(actions.items);
	json_decref(transitions.items);
	free(actions.next);
	free(transitions.next);
	return r;
}
