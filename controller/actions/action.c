/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/actions/action.h"

#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/actor_env.h"
#include "controller/actions/node_views.h"
#include "controller/actions/reservation.h"
#include "controller/store/store.h"
#include "lib/base/clock.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/decide.h"

#define RETRY_BASE_US (500 * USEC_PER_MSEC)
#define RETRY_CAP_US (60 * USEC_PER_SEC)

enum { TRIES_MAX = 10 }; /* per effect, then the action has failed */

/* --- rows --- */

static const char *undo_of(const struct actor_env *env, enum action_kind kind)
{
	const char *const undo[ACT_KINDS_] = {
		[ACT_CORDON] = "assayctl uncordon NODE --reason REASON",
		[ACT_UNCORDON] = "assayctl cordon NODE --reason REASON",
		[ACT_HOLD] = "it ends on its own",
		[ACT_RETEST] = "the test ends on its own",
		[ACT_OVERRIDE] = "assayctl override NODE --for 0s",
		[ACT_SILENCE] = "assayctl silence NODE --for 0s --reason REASON",
		[ACT_REPAIR_DONE] = "assayctl cordon NODE --reason REASON",
		[ACT_VERIFIED] = env->cluster->names->undo_verified,
		[ACT_JOIN] = "assayctl token reset NODE",
		[ACT_BREAKER_OPEN] = "assayctl breaker reset --reason REASON",
		[ACT_CREATE_JOIN_TOKEN] = "assayctl token revoke ID",
	};

	return undo[kind];
}

static struct store_action row_of(const struct actor_env *env, enum action_kind kind,
				  enum action_state state, const struct action_start *start)
{
	return (struct store_action){
		.node = start->node,
		.kind = (int)kind,
		.state = (int)state,
		.who = start->who,
		.rule = start->rule,
		.reason = start->reason,
		.incident = start->incident,
		.evidence = start->evidence,
		.check = start->check,
		.subject = start->subject,
		.partner = start->partner,
		.sticky = start->sticky,
		.decision = start->decision,
		.profile = start->profile,
		.key = start->key,
		.undo = undo_of(env, kind),
		.break_glass = start->break_glass,
		.until_us = start->until_us,
		.epoch = env->places->ledger.epoch,
		.decided_us = env_real_us(env),
	};
}

int64_t action_record(const struct actor_env *env, enum action_kind kind, enum action_state state,
		      const struct action_start *start, const char *result)
{
	const struct store_action row = row_of(env, kind, state, start);
	int64_t id = store_add_action(env->store, &row, NULL);

	if (id > 0)
		(void)store_end_action(env->store, id, (int)state, result, row.decided_us, NULL);
	env_commit_wanted(env);
	return MAX(id, (int64_t)0);
}

/* --- the list --- */

static void action_free(struct action *a)
{
	char *owned[] = { a->node,  a->who,	 a->rule,      a->reason,   a->evidence,
			  a->check, a->subject,	 a->partner,   a->profile,  a->version,
			  a->said,  a->progress, a->end_words, a->end_rule, a->end_allows };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(owned); i++)
		free(owned[i]);
	free(a);
}

static struct action *action_new(struct node_view *host, const struct store_action *row)
{
	struct action *a = xcalloc(1, sizeof(*a));

	*a = (struct action){
		.host = host,
		.id = row->id,
		.node = xstrdup(row->node),
		.kind = row->kind,
		.who = xstrdup(row->who),
		.rule = xstrdup(row->rule),
		.reason = xstrdup(row->reason),
		.evidence = xstrdup(row->evidence),
		.check = xstrdup(row->check),
		.subject = xstrdup(row->subject),
		.partner = xstrdup(row->partner),
		.sticky = row->sticky,
		.decision = row->decision,
		.profile = xstrdup(row->profile),
		.incident = row->incident,
		.break_glass = row->break_glass,
		.until_us = row->until_us,
		.decided_us = row->decided_us,
		.backoff = { .base_us = RETRY_BASE_US, .cap_us = RETRY_CAP_US },
	};
	return a;
}

static struct action *enter(struct actions *actions, struct node_view *host,
			    const struct store_action *row)
{
	struct action *a = action_new(host, row), **at = &actions->first;

	while (*at)
		at = &(*at)->next;
	*at = a;
	for (at = host ? &host->actions : NULL; at && *at;)
		at = &(*at)->next_of_host;
	if (at)
		*at = a;
	actions->n++;
	return a;
}

static void reply(struct action *a, const struct actor_reply *said)
{
	if (a->reply)
		a->reply(a->reply_context, said);
	a->reply = NULL;
}

/* Returns its host if it is still known, or NULL. */
static struct node_view *leave_host(const struct actor_env *env, struct action *a)
{
	struct node_view *host = a->host;
	struct action **at;

	if (!host)
		return NULL;
	at = &host->actions;
	while (*at != a)
		at = &(*at)->next_of_host;
	*at = a->next_of_host;
	return host->actions || node_views_left(env->views, host) ? host : NULL;
}

struct node_view *action_leave(const struct actor_env *env, struct action *a)
{
	struct action **at = &env->actions->first;
	struct node_view *host;

	reply(a, &(struct actor_reply){ .status = a->end_status,
					.action = a->id,
					.rule = a->end_rule,
					.words = a->end_words,
					.allows = a->end_allows });
	while (*at != a)
		at = &(*at)->next;
	*at = a->next;
	env->actions->n--;
	host = leave_host(env, a);
	action_free(a);
	return host;
}

void actions_release(struct actions *actions)
{
	static const struct actor_reply lost = { .status = 503,
						 .words = "the store cannot be written" };
	struct action *a = actions->first, *next;

	for (; a; a = next) {
		next = a->next;
		reply(a, &lost);
		action_free(a);
	}
	for (a = actions->dry_runs; a; a = next) {
		next = a->next;
		action_free(a);
	}
	manual_rate_release(&actions->manual);
	*actions = (struct actions){ 0 };
}

void actions_note_recorded(struct actions *actions)
{
	struct action *a;

	for (a = actions->first; a; a = a->next)
		a->recorded = true;
}

void actions_forget_asker(struct actions *actions, const void *context)
{
	struct action *a;

	for (a = actions->first; a; a = a->next) {
		if (a->reply_context == context)
			a->reply = NULL;
	}
}

/* --- lookup --- */

struct action *actions_of(const struct node_view *host)
{
	struct action *a;

	for (a = host->actions; a; a = a->next_of_host) {
		if (a->phase != PHASE_TEST && a->phase != PHASE_END && a->kind != ACT_EVICT)
			return a;
	}
	return NULL;
}

struct action *actions_test_of(const struct node_view *host)
{
	struct action *a;

	for (a = host ? host->actions : NULL; a; a = a->next_of_host) {
		if (a->phase == PHASE_TEST)
			return a;
	}
	return NULL;
}

struct action *actions_drain_of(const struct node_view *host)
{
	struct action *a;

	for (a = host->actions; a; a = a->next_of_host) {
		if (a->kind == ACT_EVICT && a->phase != PHASE_END)
			return a;
	}
	return NULL;
}

struct action *actions_find(const struct actions *actions, int64_t id)
{
	struct action *a;

	for (a = actions->first; a; a = a->next) {
		if (a->id == id)
			return a;
	}
	return NULL;
}

enum ledger_kind action_place(const struct action *a)
{
	return a->kind == ACT_HOLD ? LEDGER_HOLD : LEDGER_CORDON;
}

bool action_is_born(const struct actor_env *env, const struct action *a)
{
	const struct fleet_node *node = a->kind == ACT_CORDON ? fleet_find(env->fleet, a->node)
							      : NULL;
	const uint64_t born_us = node ? node->record.born_us : 0;

	/* Both are set in one step, but the store rounds to milliseconds. */
	return streq(a->who, WHO_AUTOMATIC) && born_us > 0 &&
	       born_us < a->decided_us + USEC_PER_SEC && a->decided_us < born_us + USEC_PER_SEC;
}

bool action_is_by_policy(const struct action *a)
{
	return a->decision != DECIDE_NOTHING;
}

bool action_takes_time(int kind)
{
	return kind == ACT_EVICT;
}

bool action_reserves(int kind)
{
	return kind == ACT_CORDON || kind == ACT_HOLD;
}

bool action_has_place(const struct action *a)
{
	return action_reserves(a->kind) && (a->phase == PHASE_RESERVE || a->phase == PHASE_APPLY);
}

const char *action_account(const char *who)
{
	const char *role = strstr(who, "(role ");

	return role ? role : who;
}

/* --- begin --- */

/* Count it at once, so that the next decision sees it. */
static void count_for_rate(const struct actor_env *env, struct action *a)
{
	struct breaker *b = &env->places->ledger.breaker;
	/* Rounded as in the ledger, where the next controller looks the timestamp up. */
	uint64_t at_us = a->decided_us / USEC_PER_MSEC * USEC_PER_MSEC;

	if (a->kind != ACT_CORDON)
		return;
	if (!streq(a->who, WHO_AUTOMATIC)) {
		manual_rate_count(&env->actions->manual, action_account(a->who), a->id,
				  a->decided_us);
		return;
	}
	while (breaker_has(b, at_us))
		at_us += USEC_PER_MSEC; /* timestamps are keys and must be unique */
	a->counted_us = at_us;
	breaker_count(b, at_us);
}

struct action *action_begin(const struct actor_env *env, struct node_view *host,
			    enum action_kind kind, const struct action_start *start)
{
	struct store_action row = row_of(env, kind, ACTION_DECIDED, start);
	const struct cluster_node *c = host && host->there ? &host->c : NULL;
	struct err err = ERR_INIT;
	struct action *a;

	if (env->actions->n >= ACTIONS_MAX)
		return NULL;
	row.id = store_add_action(env->store, &row, &err);
	if (row.id < 0) {
		log_warning("not acted: %s", err.msg);
		return NULL;
	}
	a = enter(env->actions, host, &row);
	if (kind == ACT_UNCORDON && c && c->mark)
		a->lifts_us = c->mark->at_us;
	count_for_rate(env, a);
	if (c && start->decision != DECIDE_NOTHING)
		a->version = xstrdup(c->version);
	if (action_reserves(a->kind))
		node_views_set_coming(env, host, true);
	env_commit_wanted(env);
	return a;
}

/* --- end --- */

static void count_end(struct actor_counts *counts, const struct action *a, enum action_state state)
{
	uint64_t *const cordons[] = {
		[ACTION_DONE] = &counts->cordons_done,
		[ACTION_FAILED] = &counts->cordons_failed,
		[ACTION_DROPPED] = &counts->cordons_dropped,
		[ACTION_REFUSED] = &counts->cordons_refused,
	};

	if (a->kind == ACT_CORDON && state < ARRAY_SIZE(cordons) && cordons[state])
		++*cordons[state];
	else if (a->kind == ACT_UNCORDON && state == ACTION_DONE)
		counts->uncordons++;
}

static void uncount(const struct actor_env *env, struct action *a)
{
	if (a->kind == ACT_CORDON)
		manual_rate_uncount(&env->actions->manual, a->id);
	if (!a->counted_us)
		return;
	breaker_uncount(&env->places->ledger.breaker, a->counted_us);
	a->counted_us = 0;
	reservation_changed(env->places);
}

/* Its place now belongs to the node, or to nobody. */
static void give_back(const struct actor_env *env, struct action *a, enum action_state state)
{
	if (state != ACTION_DONE) {
		/* If an answer was lost the effect may have happened: the node will show it. */
		if (a->backoff.failures > 0)
			reservation_keep(env->places, a->node, action_place(a), env_mono_us(env));
		reservation_want_reconcile(env->places);
	}
	node_views_set_coming(env, a->host, false);
}

void action_end_told(const struct actor_env *env, struct action *a, enum action_state state,
		     const struct actor_reply *told)
{
	struct err err = ERR_INIT;

	count_end(env->counts, a, state);
	a->phase = PHASE_END;
	a->end_state = (int)state;
	/* The caller is answered later, in action_leave(). */
	free(a->end_words);
	a->end_status = told->status;
	a->end_words = xstrdup(told->words);
	a->end_rule = xstrdup(told->rule);
	a->end_allows = xstrdup(told->allows);
	if (store_end_action(env->store, a->id, a->end_state, a->end_words, env_real_us(env),
			     &err) < 0)
		log_warning("an action has ended but is not recorded yet: %s", err.msg);
	/* Nothing was set, as the node was replaced or is not ours, so the rate is not used up. */
	if (state == ACTION_DROPPED || state == ACTION_REFUSED)
		uncount(env, a);
	/* If it happened after all, the node's mark shows it. */
	if (state != ACTION_DONE && action_is_born(env, a))
		fleet_find(env->fleet, a->node)->record.born_us = 0;
	if (action_reserves(a->kind))
		give_back(env, a, state);
	env_news(env);
	env_commit_wanted(env);
}

void action_end(const struct actor_env *env, struct action *a, enum action_state state,
		unsigned status, const char *words)
{
	action_end_told(env, a, state, &(struct actor_reply){ .status = status, .words = words });
}

/* --- the cluster's answers --- */

/* While waiting for the answer the node may have been replaced by another of the same name. */
static bool is_of_the_node(const struct action *a, const struct cluster_answer *answer)
{
	return a->host->there && (!answer->node || streq(answer->node->uid, a->host->c.uid));
}

/* It failed: schedule a retry. Returns false if there were TRIES_MAX. */
static bool is_tried_again(const struct actor_env *env, struct action *a,
			   const struct cluster_answer *answer)
{
	uint64_t wait_us = backoff_fail(&a->backoff, answer->retry_us, random_u64());

	if (answer->result == CLUSTER_REFUSED)
		wait_us = node_views_refused_us(a->host);
	a->question = 0;
	if (a->backoff.failures > TRIES_MAX)
		return false;
	a->again_us = env_mono_us(env) + wait_us;
	log_warning("%s has not succeeded yet and will be retried node=%s tries=%u: %s",
		    action_kind_names[a->kind], a->node, a->backoff.failures, answer->words);
	return true;
}

/* End it, unless it is retried. */
static void on_not_done(const struct actor_env *env, struct action *a,
			const struct cluster_answer *answer)
{
	struct actor_reply told = { .status = 409, .words = a->said };
	enum action_state state = ACTION_DROPPED;

	if (answer->result == CLUSTER_GONE) {
		told.status = 404;
	} else if (answer->result == CLUSTER_NOT_OURS) {
		state = ACTION_REFUSED;
		told.rule = "not-ours";
		told.allows = "lift it where it was set: Assay never lifts another owner's cordon";
	} else if (answer->result == CLUSTER_CONFLICT && action_is_by_policy(a)) {
		/* The node has changed since the decision: decide again. */
		node_views_conflict(env, a->host);
	} else if (is_tried_again(env, a, answer)) {
		return;
	} else {
		state = ACTION_FAILED;
		told.status = 503;
	}
	action_end_told(env, a, state, &told);
}

enum action_answer action_answered(const struct actor_env *env, struct action *a,
				   const struct cluster_answer *answer)
{
	const bool later = answer->result == CLUSTER_REFUSED || answer->result == CLUSTER_AGAIN;

	a->out = false;
	free(a->said);
	a->said = xstrdup(answer->words);
	env->counts->conflicts += answer->result == CLUSTER_CONFLICT;
	if (later && action_takes_time(a->kind)) {
		a->again_us = env_mono_us(env) + (answer->result == CLUSTER_REFUSED
							  ? node_views_refused_us(a->host)
							  : answer->retry_us);
		return ACTION_ANSWER_WAITS;
	}
	if (answer->result != CLUSTER_DONE)
		on_not_done(env, a, answer);
	else if (is_of_the_node(a, answer))
		return ACTION_ANSWER_DONE;
	else
		action_end(env, a, ACTION_DROPPED, 404, "the node is gone");
	return ACTION_ANSWER_TAKEN;
}

void actions_not_confirmed(const struct actor_env *env, const struct cluster_answer *answer)
{
	struct action *a;

	for (a = env->actions->first; a; a = a->next) {
		if (a->question > 0 && a->question <= env->places->questions &&
		    a->phase == PHASE_APPLY && !a->out && !is_tried_again(env, a, answer))
			action_end(env, a, ACTION_FAILED, 503, answer->words);
	}
}

/* --- dry-run mode --- */

struct action *action_begin_dry_run(const struct actor_env *env, struct node_view *host,
				    enum action_kind kind, const struct action_start *start,
				    int64_t id)
{
	const struct store_action row = { .id = id,
					  .kind = (int)kind,
					  .node = start->node,
					  .who = start->who,
					  .reason = start->reason,
					  .evidence = start->evidence,
					  .incident = start->incident,
					  .until_us = start->until_us };
	struct action *a = action_new(host, &row);

	a->dry_run = true;
	a->version = xstrdup(host->c.version);
	a->next = env->actions->dry_runs;
	env->actions->dry_runs = a;
	return a;
}

/* Returns the result for its row, in new memory. */
static char *would_of(const struct cluster_answer *answer)
{
	switch (answer->result) {
	case CLUSTER_DONE:
		return xstrdup("dry-run: would be done, and the cluster would accept it");
	case CLUSTER_REFUSED:
		return xasprintf("dry-run: the cluster would refuse it: %s", answer->words);
	case CLUSTER_NOT_OURS:
		return xasprintf("dry-run: would not be done: %s", answer->words);
	default:
		return xasprintf("dry-run: would be done; whether the cluster would accept it is "
				 "unknown: %s",
				 answer->words);
	}
}

void action_dry_run_answered(const struct actor_env *env, int64_t id,
			     const struct cluster_answer *answer)
{
	struct action **at = &env->actions->dry_runs, *a;
	CLEANUP(freep) char *words = would_of(answer);

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	a = *at;
	if (!a)
		return;
	*at = a->next;
	(void)store_end_action(env->store, a->id, ACTION_DRY_RUN, words, env_real_us(env), NULL);
	env_commit_wanted(env);
	if (answer->result == CLUSTER_REFUSED)
		log_error("in mode enforce this would fail: %s node=%s: %s",
			  action_kind_names[a->kind], a->node, answer->words);
	action_free(a);
}

/* --- after a start --- */

void actions_recall_counted(struct actions *actions, struct ledger *fresh)
{
	struct action *a;

	for (a = actions->first; a; a = a->next) {
		const struct ledger_holder *h = ledger_find(fresh, a->node, LEDGER_CORDON);
		CLEANUP(freep) char *action = xasprintf("%" PRId64, a->id);

		if (a->resumed && a->kind == ACT_CORDON && h && streq(h->action, action) &&
		    breaker_has(&fresh->breaker, h->at_us))
			a->counted_us = h->at_us;
		else if (a->counted_us && !breaker_has(&fresh->breaker, a->counted_us))
			breaker_count(&fresh->breaker, a->counted_us);
	}
}

/* What the policy wanted it decides again if it still applies; people's orders are resumed. */
static void load_action(void *context, const struct store_action *row)
{
	const struct actor_env *env = context;
	struct node_view *host = row->node[0] ? node_views_hold(env->views, row->node) : NULL;
	struct action *a = enter(env->actions, host, row);

	a->recorded = a->resumed = true;
	if (a->kind == ACT_RETEST)
		a->phase = PHASE_TEST;
	if (action_reserves(a->kind))
		node_views_set_coming(env, host, true);
}

static const char *text_of(const json_t *value, const char *key)
{
	return json_string_value(json_object_get(value, key));
}

static bool counts_by_hand(const json_t *row)
{
	const char *state = text_of(row, "state");

	return streq(text_of(row, "action"), action_kind_names[ACT_CORDON]) &&
	       !streq(text_of(row, "by"), WHO_AUTOMATIC) &&
	       !streq(state, action_state_names[ACTION_DROPPED]) &&
	       !streq(state, action_state_names[ACTION_REFUSED]);
}

/*
 * Load the cordons by people that still count from the newest rows, as many as are remembered. Rows
 * too old for the policy's window do not count.
 */
static int load_manual(const struct actor_env *env, struct err *err)
{
	const struct store_range range = { NULL, MANUAL_STAMPS_MAX };
	struct store_page page = { 0 };
	int r = store_actions(env->store, NULL, &range, &page, err);
	size_t i = r == 0 ? json_array_size(page.items) : 0;

	while (i-- > 0) { /* oldest first */
		const json_t *row = json_array_get(page.items, i);
		uint64_t at_us;

		if (counts_by_hand(row) && clock_parse_stamp(text_of(row, "at"), &at_us) == 0)
			manual_rate_count(&env->actions->manual, action_account(text_of(row, "by")),
					  strtoll(text_of(row, "id"), NULL, 10), at_us);
	}
	json_decref(page.items);
	free(page.next);
	return r;
}

int actions_load(const struct actor_env *env, struct err *err)
{
	int r = load_manual(env, err);

	return r == 0 ? store_open_actions(env->store, load_action, (void *)(uintptr_t)env, err)
		      : r;
}
