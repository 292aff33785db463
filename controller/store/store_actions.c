/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_actions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/policy/life.h"

const char *const action_kind_names[] = {
	[ACT_CORDON] = "cordon",
	[ACT_UNCORDON] = "uncordon",
	[ACT_HOLD] = "hold",
	[ACT_UNHOLD] = "unhold",
	[ACT_EVICT] = "evict",
	[ACT_RETEST] = "retest",
	[ACT_OVERRIDE] = "override",
	[ACT_SILENCE] = "silence",
	[ACT_REPAIR_DONE] = "repair-done",
	[ACT_BREAKER_OPEN] = "breaker-open",
	[ACT_BREAKER_RESET] = "breaker-reset",
	[ACT_ALERT] = "alert",
	[ACT_VERIFIED] = "verified",
	NULL,
};
const char *const action_state_names[] = {
	[ACTION_DECIDED] = "decided",
	[ACTION_DONE] = "done",
	[ACTION_FAILED] = "failed",
	[ACTION_DROPPED] = "dropped",
	[ACTION_DRY_RUN] = "dry-run",
	[ACTION_REFUSED] = "refused",
	NULL,
};

/* NULL for 0: no incident, no time. */
static void bind_some(sqlite3_stmt *st, int at, int64_t value)
{
	if (value)
		bind_int(st, at, value);
	else
		(void)sqlite3_bind_null(st, at);
}

/* The oldest go, in the transaction of the new one. */
static int drop_beyond(struct store *s, enum statement which, int max, struct err *err)
{
	sqlite3_stmt *st = store_statement(s, which);

	bind_int(st, 1, max);
	return store_step_done(s, st, "drop what is old", err);
}

int64_t store_add_action(struct store *s, const struct store_action *a, struct err *err)
{
	sqlite3_stmt *st;
	int64_t id;
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	st = store_statement(s, SQL_ACTION_ADD);
	bind_text(st, 1, a->node);
	bind_int(st, 2, a->kind);
	bind_int(st, 3, a->state);
	bind_text(st, 4, a->who);
	bind_text(st, 5, a->rule);
	bind_some(st, 6, a->incident);
	bind_text(st, 7, a->reason);
	bind_text(st, 8, a->evidence ? a->evidence : "{}");
	bind_text(st, 9, a->undo);
	bind_int(st, 10, a->break_glass);
	bind_int(st, 11, (int64_t)a->until_us);
	bind_int(st, 12, (int64_t)a->epoch);
	bind_int(st, 13, (int64_t)a->decided_us);
	r = store_step_done(s, st, "record action", err);
	if (r < 0)
		return r;
	id = sqlite3_last_insert_rowid(s->db);
	r = drop_beyond(s, SQL_ACTIONS_DROP, STORE_ACTIONS_MAX, err);
	return r < 0 ? r : id;
}

int store_end_action(struct store *s, int64_t id, int state, const char *result, uint64_t done_us,
		     struct err *err)
{
	sqlite3_stmt *st;
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	st = store_statement(s, SQL_ACTION_STATE);
	bind_int(st, 1, id);
	bind_int(st, 2, state);
	bind_text(st, 3, result);
	bind_some(st, 4, (int64_t)done_us);
	return store_step_done(s, st, "record action", err);
}

/* Columns of ACTION_COLUMNS. */
static struct store_action action_of_row(sqlite3_stmt *st)
{
	return (struct store_action){
		.id = sqlite3_column_int64(st, 0),
		.node = column_text(st, 1),
		.kind = sqlite3_column_int(st, 2),
		.state = sqlite3_column_int(st, 3),
		.who = column_text(st, 4),
		.rule = column_text(st, 5),
		.incident = sqlite3_column_int64(st, 6),
		.reason = column_text(st, 7),
		.evidence = column_text(st, 8),
		.undo = column_text(st, 9),
		.result = column_text(st, 10),
		.break_glass = sqlite3_column_int(st, 11) != 0,
		.until_us = (uint64_t)sqlite3_column_int64(st, 12),
		.epoch = (uint64_t)sqlite3_column_int64(st, 13),
		.decided_us = (uint64_t)sqlite3_column_int64(st, 14),
		.done_us = (uint64_t)sqlite3_column_int64(st, 15),
	};
}

int store_open_actions(struct store *s,
		       void (*each)(void *context, const struct store_action *action),
		       void *context, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_ACTIONS_OPEN);
	int r;

	while ((r = store_step_row(s, st, "read actions", err)) == 1) {
		const struct store_action action = action_of_row(st);

		each(context, &action);
	}
	return r;
}

static const char *name_of(const char *const *names, int n, int value)
{
	return value >= 0 && value < n ? names[value] : "unknown";
}

static json_t *stamp_of(uint64_t us)
{
	char text[CLOCK_STAMP_SIZE];

	clock_stamp(us, text);
	return us ? json_string(text) : json_null();
}

static json_t *number_text(int64_t id)
{
	return id ? json_sprintf("%" PRId64, id) : json_null();
}

static json_t *json_of_text(const char *text)
{
	json_t *value = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;

	return value ? value : json_null();
}

static json_t *action_json(sqlite3_stmt *st, uint64_t now_us UNUSED)
{
	const struct store_action a = action_of_row(st);

	return json_pack("{s:o, s:s, s:s, s:s, s:s, s:s?, s:o, s:s, s:o, s:s?, s:s?, s:b, s:o, s:I,"
			 " s:o, s:o}",
			 "id", number_text(a.id), "node", a.node, "action",
			 name_of(action_kind_names, ACT_KINDS_, a.kind), "state",
			 name_of(action_state_names, ACTION_REFUSED + 1, a.state), "by", a.who,
			 "rule", a.rule, "incident", number_text(a.incident), "reason", a.reason,
			 "evidence", json_of_text(a.evidence), "undo", a.undo, "result", a.result,
			 "break_glass", a.break_glass, "until", stamp_of(a.until_us), "epoch",
			 (json_int_t)a.epoch, "at", stamp_of(a.decided_us), "done",
			 stamp_of(a.done_us));
}

int store_actions(struct store *s, const char *node, const struct store_range *range,
		  struct store_page *ret, struct err *err)
{
	struct listing list = { s,
				store_statement(s, node ? SQL_ACTIONS_OF_NODE : SQL_ACTIONS),
				action_json,
				0,
				range->limit,
				0 };

	bind_int(list.st, 1, store_cursor_number(range));
	bind_int(list.st, 2, (int64_t)range->limit + 1);
	if (node)
		bind_text(list.st, 3, node);
	return store_read_page(&list, ret, err);
}

int store_action(struct store *s, int64_t id, json_t **ret_action, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_ACTION);
	int r;

	bind_int(st, 1, id);
	r = store_step_row(s, st, "read action", err);
	if (r == 0)
		return err_set(err, ENOENT, "there is no action %" PRId64, id);
	if (r == 1)
		*ret_action = action_json(st, 0);
	return r < 0 ? r : 0;
}

/* --- lives --- */

int store_put_life(struct store *s, const struct store_life *life, struct err *err)
{
	sqlite3_stmt *st;
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	st = store_statement(s, SQL_LIFE_PUT);
	bind_text(st, 1, life->node);
	bind_text(st, 2, life->record);
	bind_text(st, 3, life->findings);
	return store_step_done(s, st, "keep life", err);
}

int store_drop_life(struct store *s, const char *node, struct err *err)
{
	sqlite3_stmt *st;
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	st = store_statement(s, SQL_LIFE_DROP);
	bind_text(st, 1, node);
	return store_step_done(s, st, "drop life", err);
}

int store_lives(struct store *s, void (*each)(void *context, const struct store_life *life),
		void *context, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_LIVES);
	int r;

	while ((r = store_step_row(s, st, "read lives", err)) == 1) {
		const struct store_life life = { column_text(st, 0), column_text(st, 1),
						 column_text(st, 2) };

		each(context, &life);
	}
	return r;
}

int store_put_part(struct store *s, const char *serial, const char *cordons, struct err *err)
{
	sqlite3_stmt *st;
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	st = store_statement(s, SQL_PART_PUT);
	bind_text(st, 1, serial);
	bind_text(st, 2, cordons);
	return store_step_done(s, st, "keep part", err);
}

int store_parts(struct store *s,
		void (*each)(void *context, const char *serial, const char *cordons), void *context,
		struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_PARTS);
	int r;

	while ((r = store_step_row(s, st, "read parts", err)) == 1)
		each(context, column_text(st, 0), column_text(st, 1));
	return r;
}

int store_add_transition(struct store *s, const struct store_transition *t, struct err *err)
{
	sqlite3_stmt *st;
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	st = store_statement(s, SQL_TRANSITION_ADD);
	bind_text(st, 1, t->node);
	bind_int(st, 2, (int64_t)t->at_us);
	bind_int(st, 3, t->before);
	bind_int(st, 4, t->after);
	bind_text(st, 5, t->who);
	bind_text(st, 6, t->why);
	bind_text(st, 7, t->evidence);
	bind_text(st, 8, t->undo);
	bind_text(st, 9, t->event);
	r = store_step_done(s, st, "record transition", err);
	return r < 0 ? r : drop_beyond(s, SQL_TRANSITIONS_DROP, STORE_TRANSITIONS_MAX, err);
}

static const char *life_name(int state)
{
	return name_of(life_state_names, LIFE_STATES, state);
}

static json_t *transition_json(sqlite3_stmt *st, uint64_t now_us UNUSED)
{
	return json_pack("{s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "id",
			 number_text(sqlite3_column_int64(st, 0)), "node", column_json_text(st, 1),
			 "at", column_json_stamp(st, 2), "from",
			 life_name(sqlite3_column_int(st, 3)), "to",
			 life_name(sqlite3_column_int(st, 4)), "by", column_json_text(st, 5), "why",
			 column_json_text(st, 6), "evidence", json_of_text(column_text(st, 7)),
			 "undo", column_json_text(st, 8), "event", column_json_text(st, 9));
}

int store_transitions(struct store *s, const char *node, const struct store_range *range,
		      struct store_page *ret, struct err *err)
{
	struct listing list = {
		s, store_statement(s, SQL_TRANSITIONS), transition_json, 0, range->limit, 0
	};

	bind_int(list.st, 1, store_cursor_number(range));
	bind_int(list.st, 2, (int64_t)range->limit + 1);
	bind_text(list.st, 3, node);
	return store_read_page(&list, ret, err);
}

/* --- what is decided on --- */

uint64_t store_incident_changes(const struct store *s)
{
	return s->incident_changes;
}

int store_open_incident_ids(struct store *s,
			    void (*each)(void *context, int64_t id, const char *node,
					 const char *check),
			    void *context, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_FINDINGS_OPEN);
	int r;

	while ((r = store_step_row(s, st, "read incidents", err)) == 1)
		each(context, sqlite3_column_int64(st, 0), column_text(st, 1), column_text(st, 2));
	return r;
}

int store_briefs(struct store *s, void (*each)(void *context, const struct store_brief *brief),
		 void *context, struct err *err)
{
	CLEANUP(statement_resetp) sqlite3_stmt *st = store_statement(s, SQL_NODES_BRIEF);
	int r;

	while ((r = store_step_row(s, st, "read hosts", err)) == 1) {
		const struct store_brief brief = {
			.node = column_text(st, 0),
			.sku = column_text(st, 1),
			.seen_us = (uint64_t)sqlite3_column_int64(st, 2),
			.level = sqlite3_column_int(st, 3),
			.topology = column_text(st, 4),
			.first_us = (uint64_t)sqlite3_column_int64(st, 5),
			.deep_us = (uint64_t)sqlite3_column_int64(st, 6),
		};

		each(context, &brief);
	}
	return r;
}
