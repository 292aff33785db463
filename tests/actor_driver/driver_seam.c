/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/actor_driver/driver_seam.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "controller/actions/actor.h"
#include "controller/actions/actor_requests.h"
#include "controller/actions/actor_views.h"
#include "controller/store/store.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/actor_driver/driver.h"
#include "tests/actor_driver/life.h"
#include "tests/actor_driver/trace.h"

enum { ASKS_MAX = 256 }; /* requests of people per start of a controller */

struct asked {
	struct controller *controller;
	unsigned number;
};

enum query { QUERY_ACTIONS, QUERY_TRANSITIONS, QUERY_INCIDENTS, QUERIES };

struct seam {
	struct actor *act;
	struct asked asks[ASKS_MAX];
	unsigned n_asks;
	struct policy policy; /* of MUTANT_BUDGET */
	sqlite3_stmt *queries[QUERIES];
	uint64_t incident_changes; /* at the last read */
};

static void fail(const char *what, const struct err *err)
{
	(void)fprintf(stderr, "actor-driver: %s: %s\n", what, err->msg);
	abort();
}

/* --- callbacks of the actor --- */

static void touch(void *context)
{
	life_touch(context);
}

static void look(void *context, const char *node)
{
	life_look(context, node);
}

static const char *wrong_file(void *context)
{
	return ((const struct controller *)context)->driver->wrong_file ? "hgx" : NULL;
}

static void forgive_file(void *context)
{
	((const struct controller *)context)->driver->wrong_file = false;
}

static uint64_t real_us(void *context)
{
	return life_real_us(context);
}

static uint64_t mono_us(void *context)
{
	return life_mono_us(context);
}

static void fenced(void *context)
{
	struct controller *c = context;

	c->fenced = true;
	trace_line(c, "fenced");
}

static const struct policy *policy_of(void *context)
{
	struct controller *c = context;
	struct seam *s = c->seam;
	const struct policy *policy = life_policy(c);

	if (c->driver->mutant != MUTANT_BUDGET || !s)
		return policy;
	s->policy = *policy;
	s->policy.total_percent = 90;
	s->policy.total_nodes = 0;
	s->policy.domain_max = 100;
	return &s->policy;
}

/* --- start and stop --- */

static const char *const queries[QUERIES] = {
	[QUERY_ACTIONS] = "SELECT id, node, kind, state, who, rule, incident, reason,"
			  " evidence, result, break_glass, until_us, epoch,"
			  " decided_us, done_us FROM actions WHERE id >= ?1 ORDER BY id",
	[QUERY_TRANSITIONS] = "SELECT id, node, at_us, before, after, event, who, why"
			      " FROM transitions WHERE id > ?1 ORDER BY id",
	[QUERY_INCIDENTS] = "SELECT id, node, check_name, sentence, opened_us, closed_us"
			    " FROM incidents WHERE id > ?1 OR closed_us IS NULL"
			    " UNION SELECT id, node, check_name, sentence, opened_us, closed_us"
			    " FROM incidents WHERE closed_us >= ?2 ORDER BY id",
};

static void open_store(struct controller *c)
{
	struct err err = ERR_INIT;

	if (store_open(c->path, &c->store, &err) < 0)
		fail("store", &err);
	/* A killed process loses no data that the kernel has. */
	if (sqlite3_exec(c->store->file, "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY",
			 NULL, NULL, NULL) != SQLITE_OK)
		fail("store", &err);
	if (c->driver->mutant == MUTANT_FORGET)
		(void)sqlite3_exec(c->store->file, "DELETE FROM actions WHERE done_us IS NULL",
				   NULL, NULL, NULL);
}

void seam_open(struct controller *c)
{
	struct actor_options options = { .cluster = &c->cluster,
					 .commit_wanted = touch,
					 .orders_changed = look,
					 .wrong_file = wrong_file,
					 .forgive_file = forgive_file,
					 .real_us = real_us,
					 .mono_us = mono_us,
					 .keep_us = c->driver->kube ? USEC_PER_MIN : 0,
					 .fenced = fenced,
					 .policy = policy_of,
					 .context = c };
	struct err err = ERR_INIT;
	size_t i;

	open_store(c);
	c->seam = xcalloc(1, sizeof(*c->seam));
	for (i = 0; i < QUERIES; i++) {
		if (sqlite3_prepare_v2(c->store->file, queries[i], -1, &c->seam->queries[i],
				       NULL) != SQLITE_OK)
			fail(sqlite3_errmsg(c->store->file), &err);
	}
	options.store = c->store;
	if (actor_open(&options, &c->seam->act, &err) < 0)
		fail("actor", &err);
}

void seam_kill(struct controller *c)
{
	struct seam *s = c->seam;
	size_t i;

	store_take_back(c->store);
	actor_stop(s->act);
	cluster_close(&c->cluster);
	actor_close(TAKE(s->act));
	store_take_back(c->store);
	for (i = 0; i < QUERIES; i++)
		(void)sqlite3_finalize(s->queries[i]);
	store_close(TAKE(c->store));
	free(TAKE(c->seam));
}

void seam_commit(struct controller *c)
{
	struct err err = ERR_INIT;

	if (store_commit(c->store, &err) < 0)
		fail("commit", &err);
}

void seam_fail(struct controller *c)
{
	store_take_back(c->store);
	actor_failed(c->seam->act);
}

bool seam_dirty(const struct controller *c)
{
	return store_dirty(c->store);
}

void seam_committed(struct controller *c)
{
	if (c->driver->mutant == MUTANT_DEAF && c->driver->now_us % USEC_PER_SEC < 10000)
		return;
	actor_committed(c->seam->act);
}

void seam_tick(struct controller *c)
{
	actor_tick(c->seam->act);
}

/* --- reports and tests --- */

void seam_report(struct controller *c, const struct report *report, unsigned replaced)
{
	actor_report(c->seam->act, report, c->driver->now_us, replaced, true, false);
}

char *seam_order(struct controller *c, const char *node)
{
	CLEANUP(json_freep) json_t *order = actor_order(c->seam->act, node);

	return xstrdup(json_string_value(json_object_get(order, "id")));
}

bool seam_wants_others(struct controller *c, const char **ret_node, const char **ret_partner)
{
	struct actor_wanted wanted;

	if (!actor_wants_others(c->seam->act, &wanted))
		return false;
	*ret_node = wanted.node;
	*ret_partner = wanted.partner;
	return true;
}

void seam_tested_with_others(struct controller *c, const char *node, bool good)
{
	actor_tested_with_others(c->seam->act, node, good ? 0 : 1);
}

void seam_with_others(struct controller *c, const char *node, const char *partner, bool bad)
{
	const struct actor_pass pass = { .partner = partner, .partner_good = true };
	const struct actor_paired paired = {
		.node = node,
		.bad = bad,
		.check = "rnic_pair.write_bw",
		.subject = "mlx5_1",
		.words = "it reaches half of what others reach",
		.ratio = bad ? 0.5 : NAN,
		.passes = &pass,
		.n_passes = bad ? 1 : 0,
	};
	struct err err = ERR_INIT;

	if (actor_paired(c->seam->act, &paired, &err) < 0)
		fail("with others", &err);
}

/* --- orders of people --- */

static void on_said(void *context, const struct actor_reply *said)
{
	const struct asked *asked = context;

	trace_line(asked->controller, "told ask-%u status %u rule %s: %s%s%s", asked->number,
		   said->status, said->rule ? said->rule : "-", said->words,
		   said->allows ? "; " : "", said->allows ? said->allows : "");
}

void seam_ask(struct controller *c, enum seam_order order, const char *node, uint64_t until_us)
{
	static const enum action_kind kinds[] = {
		[SEAM_CORDON] = ACT_CORDON,	      [SEAM_GLASS] = ACT_CORDON,
		[SEAM_UNCORDON] = ACT_UNCORDON,	      [SEAM_HOLD] = ACT_HOLD,
		[SEAM_OVERRIDE] = ACT_OVERRIDE,	      [SEAM_SILENCE] = ACT_SILENCE,
		[SEAM_REPAIR_DONE] = ACT_REPAIR_DONE, [SEAM_RESET] = ACT_BREAKER_RESET,
	};
	const struct actor_request ask = { .node = order == SEAM_RESET ? NULL : node,
					   .who = c->asks % 2 ? "operator eve" : "operator bob",
					   .reason = "as the script says",
					   .break_glass = order == SEAM_GLASS,
					   .until_us = until_us };
	struct seam *s = c->seam;
	struct asked *asked = &s->asks[s->n_asks];

	if (s->n_asks == ASKS_MAX)
		return;
	s->n_asks++;
	*asked = (struct asked){ c, c->asks++ };
	actor_ask(s->act, kinds[order], &ask, on_said, asked);
}

void seam_leave(struct controller *c)
{
	if (c->seam->n_asks > 0)
		actor_leave(c->seam->act, &c->seam->asks[c->seam->n_asks - 1]);
}

/* --- observing the actor --- */

char *seam_budgets(const struct controller *c)
{
	const struct actor_counts n = actor_counts(c->seam->act);
	const char *stale = actor_stale(c->seam->act);

	return xasprintf("budgets total %" PRIu64 "/%" PRIu64 " rate %" PRIu64 "/%" PRIu64
			 " manual %" PRIu64 "/%" PRIu64 " held %" PRIu64 " cordoned %" PRIu64
			 " sticky %" PRIu64 " let-in %" PRIu64 "%s%s%s%s",
			 n.budget_used, n.budget_limit, n.rate_used, n.rate_limit, n.manual_used,
			 n.manual_limit, n.held, n.cordoned, n.sticky, n.let_in,
			 n.breaker_open ? " breaker" : "", n.fenced ? " fenced" : "",
			 stale ? " stale" : "", n.stopped ? " stopped" : "");
}

char *seam_counts(const struct controller *c)
{
	const struct actor_counts n = actor_counts(c->seam->act);

	return xasprintf("counts cordons done %" PRIu64 " failed %" PRIu64 " dropped %" PRIu64
			 " refused %" PRIu64 " rehearsed %" PRIu64 " uncordons %" PRIu64
			 " overrides-found %" PRIu64 " tests ordered %" PRIu64 " answered %" PRIu64
			 " lost %" PRIu64,
			 n.cordons_done, n.cordons_failed, n.cordons_dropped, n.cordons_refused,
			 n.cordons_rehearsed, n.uncordons, n.overrides_found, n.tests_ordered,
			 n.tests_answered, n.tests_lost);
}

char *seam_node(const struct controller *c, const char *node)
{
	CLEANUP(json_freep) json_t *shown = actor_node_json(c->seam->act, node);
	CLEANUP(freep) char *cordoned = actor_cordoned(c->seam->act, node);
	CLEANUP(freep) char *let_in = actor_let_in(c->seam->act, node);

	if (!shown)
		return NULL;
	/* Ids of the store. */
	(void)json_object_del(json_object_get(shown, "cordon"), "action");
	(void)json_object_del(json_object_get(shown, "cordon"), "incident");
	(void)json_object_set_new(shown, "cordoned", json_boolean(cordoned != NULL));
	(void)json_object_set_new(shown, "let_in", json_boolean(let_in != NULL));
	return json_dumps(shown, JSON_SORT_KEYS | JSON_COMPACT);
}

int seam_holds(const struct controller *c, const char *node)
{
	static const char *const held[] = { "cordoned", "drained", "in-repair", "verifying",
					    "sticky" };
	CLEANUP(json_freep) json_t *shown = actor_node_json(c->seam->act, node);
	const char *state = json_string_value(json_object_get(shown, "state"));
	size_t i;

	for (i = 0; state && i < ARRAY_SIZE(held); i++) {
		if (streq(state, held[i]))
			return 1;
	}
	return state ? 0 : -1;
}

/* --- observing the store --- */

static const char *text_at(sqlite3_stmt *st, int column)
{
	return (const char *)sqlite3_column_text(st, column);
}

static uint64_t number_at(sqlite3_stmt *st, int column)
{
	return (uint64_t)sqlite3_column_int64(st, column);
}

static sqlite3_stmt *ask_store(struct controller *c, enum query query, int64_t after)
{
	sqlite3_stmt *st = c->seam->queries[query];

	(void)sqlite3_reset(st);
	(void)sqlite3_bind_int64(st, 1, after);
	if (query == QUERY_INCIDENTS) /* those that were closed in the last commits */
		(void)sqlite3_bind_int64(st, 2, (int64_t)(c->driver->now_us - 2 * USEC_PER_SEC));
	return st;
}

void seam_actions(struct controller *c, int64_t from,
		  void (*each)(void *context, const struct seam_action *action), void *context)
{
	sqlite3_stmt *st = ask_store(c, QUERY_ACTIONS, from);

	while (sqlite3_step(st) == SQLITE_ROW) {
		const struct seam_action action = {
			.id = sqlite3_column_int64(st, 0),
			.node = text_at(st, 1),
			.kind = sqlite3_column_int(st, 2),
			.state = sqlite3_column_int(st, 3),
			.who = text_at(st, 4),
			.rule = text_at(st, 5),
			.incident = sqlite3_column_int64(st, 6),
			.reason = text_at(st, 7),
			.text = text_at(st, 8),
			.result = text_at(st, 9),
			.glass = sqlite3_column_int(st, 10),
			.until_us = number_at(st, 11),
			.epoch = number_at(st, 12),
			.decided_us = number_at(st, 13),
			.done_us = number_at(st, 14),
		};

		each(context, &action);
	}
	(void)sqlite3_reset(st);
}

void seam_transitions(struct controller *c, int64_t after,
		      void (*each)(void *context, const struct seam_transition *t), void *context)
{
	sqlite3_stmt *st = ask_store(c, QUERY_TRANSITIONS, after);

	while (sqlite3_step(st) == SQLITE_ROW) {
		const struct seam_transition t = { .id = sqlite3_column_int64(st, 0),
						   .node = text_at(st, 1),
						   .at_us = number_at(st, 2),
						   .before = sqlite3_column_int(st, 3),
						   .after = sqlite3_column_int(st, 4),
						   .event = text_at(st, 5),
						   .who = text_at(st, 6),
						   .why = text_at(st, 7) };

		each(context, &t);
	}
	(void)sqlite3_reset(st);
}

void seam_incidents(struct controller *c, int64_t after,
		    void (*each)(void *context, const struct seam_incident *incident), void *context)
{
	const uint64_t changes = store_incident_changes(c->store);
	sqlite3_stmt *st;

	if (changes == c->seam->incident_changes)
		return;
	c->seam->incident_changes = changes;
	st = ask_store(c, QUERY_INCIDENTS, after);
	while (sqlite3_step(st) == SQLITE_ROW) {
		const struct seam_incident i = { .id = sqlite3_column_int64(st, 0),
						 .node = text_at(st, 1),
						 .check = text_at(st, 2),
						 .sentence = text_at(st, 3),
						 .opened_us = number_at(st, 4),
						 .closed_us = number_at(st, 5) };

		each(context, &i);
	}
	(void)sqlite3_reset(st);
}

const char *seam_kind(int kind)
{
	return kind >= 0 && kind < ACT_KINDS_ ? action_kind_names[kind] : NULL;
}

const char *seam_state(int state)
{
	return state >= 0 && state <= ACTION_REFUSED ? action_state_names[state] : NULL;
}

int seam_kind_of(int op, bool sets)
{
	switch ((enum op)op) {
	case OP_CORDON:
		return ACT_CORDON;
	case OP_UNCORDON:
		return ACT_UNCORDON;
	case OP_ANNOTATE:
		return ACT_OVERRIDE;
	case OP_HOLD:
		return sets ? ACT_HOLD : ACT_UNHOLD;
	case OP_VERIFIED:
		return ACT_VERIFIED;
	case OP_EVICT:
		return ACT_EVICT;
	default:
		return -1;
	}
}

bool seam_is_test(int kind)
{
	return kind == ACT_RETEST;
}

bool seam_is_cordon(int kind)
{
	return kind == ACT_CORDON;
}

enum seam_progress seam_progress(int state)
{
	static const enum seam_progress progress[] = {
		[ACTION_DECIDED] = SEAM_UNDER_WAY, [ACTION_DONE] = SEAM_DONE,
		[ACTION_FAILED] = SEAM_FAILED,	   [ACTION_DROPPED] = SEAM_DROPPED,
		[ACTION_DRY_RUN] = SEAM_REHEARSED, [ACTION_REFUSED] = SEAM_REFUSED,
	};

	return progress[state];
}
