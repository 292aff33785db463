/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/store_actions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "controller/store/sql/statements.h"
#include "controller/store/store_sql.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
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
	[ACT_JOIN] = "join",
	[ACT_RESET_TOKEN] = "reset-token",
	[ACT_CREATE_JOIN_TOKEN] = "create-join-token",
	[ACT_REVOKE_JOIN_TOKEN] = "revoke-join-token",
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

int64_t store_add_action(struct store *s, const struct store_action *a, struct err *err)
{
	struct db_batch b = store_write(s, err);
	struct db_action_add_row added = { 0 };

	(void)db_one(&b, action_add, &added, .node = a->node, .kind = a->kind, .state = a->state,
		     .who = a->who, .rule = a->rule, .incident = a->incident, .reason = a->reason,
		     .evidence = a->evidence, .undo = a->undo, .break_glass = a->break_glass,
		     .until_us = a->until_us, .epoch = a->epoch, .decided_us = a->decided_us,
		     .finding_check = a->check, .finding_subject = a->subject,
		     .partner = a->partner, .sticky = a->sticky, .decision = a->decision,
		     .profile = a->profile, .request_key = a->key);
	db_add(&b, actions_drop, .kept = STORE_ACTIONS_MAX);
	return db_end(&b) < 0 ? db_end(&b) : added.id;
}

int store_end_action(struct store *s, int64_t id, int state, const char *result, uint64_t done_us,
		     struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, action_state, .id = id, .state = state, .result = result, .done_us = done_us);
	return db_end(&b);
}

int store_set_action_profile(struct store *s, int64_t id, const char *profile, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, action_profile, .id = id, .profile = profile);
	return db_end(&b);
}

static struct store_action action_of_row(const struct db_actions_row *row)
{
	return (struct store_action){
		.id = row->id,
		.node = row->node,
		.kind = (int)row->kind,
		.state = (int)row->state,
		.who = row->who,
		.rule = row->rule,
		.incident = row->incident,
		.reason = row->reason,
		.evidence = row->evidence,
		.undo = row->undo,
		.result = row->result,
		.break_glass = row->break_glass != 0,
		.until_us = row->until_us,
		.epoch = row->epoch,
		.decided_us = row->decided_us,
		.done_us = row->done_us,
		.check = row->finding_check,
		.subject = row->finding_subject,
		.partner = row->partner,
		.sticky = row->sticky != 0,
		.decision = (int)row->decision,
		.profile = row->profile,
	};
}

struct action_reader {
	void (*each)(void *context, const struct store_action *action);
	void *context;
};

static int read_action(void *context, const void *row)
{
	const struct action_reader *reader = context;
	const struct store_action action = action_of_row(row);

	reader->each(reader->context, &action);
	return 0;
}

int store_open_actions(struct store *s,
		       void (*each)(void *context, const struct store_action *action),
		       void *context, struct err *err)
{
	struct action_reader reader = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, actions_open, read_action, &reader);
	return db_end(&b);
}

static const char *name_of(const char *const *names, int n, int64_t value)
{
	return value >= 0 && value < n ? names[value] : "unknown";
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

/* The evidence as one object, without unknown members. */
static json_t *evidence_json(const struct db_actions_row *row)
{
	json_t *value = json_pack("{s:s*, s:s*, s:s*, s:s*, s:s*}", "text", row->evidence, "check",
				  row->finding_check, "subject", row->finding_subject, "partner",
				  row->partner, "profile", row->profile);

	if (row->sticky_known)
		(void)json_object_set_new(value, "sticky", json_boolean(row->sticky));
	if (row->decision_known)
		(void)json_object_set_new(value, "decision", json_integer(row->decision));
	return value;
}

static json_t *action_json(const void *row, uint64_t now_us UNUSED)
{
	const struct store_action a = action_of_row(row);

	return json_pack("{s:o, s:s, s:s, s:s, s:s, s:s?, s:o, s:s, s:o, s:s?, s:s?, s:b, s:o, s:I,"
			 " s:o, s:o}",
			 "id", number_text(a.id), "node", a.node, "action",
			 name_of(action_kind_names, ACT_KINDS_, a.kind), "state",
			 name_of(action_state_names, ACTION_REFUSED + 1, a.state), "by", a.who,
			 "rule", a.rule, "incident", number_text(a.incident), "reason", a.reason,
			 "evidence", evidence_json(row), "undo", a.undo, "result", a.result,
			 "break_glass", a.break_glass, "until", json_stamp(a.until_us), "epoch",
			 (json_int_t)a.epoch, "at", json_stamp(a.decided_us), "done",
			 json_stamp(a.done_us));
}

int store_actions(struct store *s, const char *node, const struct store_range *range,
		  struct store_page *ret, struct err *err)
{
	struct listing list = { .item = action_json, .limit = range->limit };
	const int64_t before = store_cursor_number(range);
	struct db_batch b = store_ask(s, err);

	if (node)
		db_each(&b, actions_of_node, listing_row, &list, .before = before,
			.limit = range->limit + 1, .node = node);
	else
		db_each(&b, actions, listing_row, &list, .before = before,
			.limit = range->limit + 1);
	return listing_end(&list, &b, ret);
}

static int take_action(void *context, const void *row)
{
	json_t **ret = context;

	*ret = action_json(row, 0);
	return 1;
}

int store_action(struct store *s, int64_t id, json_t **ret_action, struct err *err)
{
	struct db_batch b = store_ask(s, err);
	json_t *action = NULL;

	db_each(&b, action, take_action, &action, .id = id);
	if (db_end(&b) < 0)
		return db_end(&b);
	if (!action)
		return err_set(err, ENOENT, "no action %" PRId64, id);
	*ret_action = action;
	return 0;
}

int store_action_of_key(struct store *s, const char *node, const char *key, json_t **ret_action,
			struct err *err)
{
	struct db_batch b = store_ask(s, err);
	json_t *action = NULL;

	db_each(&b, action_of_key, take_action, &action, .node = node, .request_key = key);
	if (db_end(&b) < 0)
		return db_end(&b);
	if (!action)
		return err_set(err, ENOENT, "no request with this key is stored");
	*ret_action = action;
	return 0;
}

/* --- lives --- */

int store_put_life(struct store *s, const struct store_life *life, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, life_put, .node = life->node, .record = life->record, .findings = life->findings);
	return db_end(&b);
}

int store_drop_life(struct store *s, const char *node, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, life_drop, .node = node);
	return db_end(&b);
}

struct life_reader {
	void (*each)(void *context, const struct store_life *life);
	void *context;
};

static int read_life(void *context, const void *p)
{
	const struct life_reader *reader = context;
	const struct db_lives_row *row = p;
	const struct store_life life = { row->node, row->record, row->findings };

	reader->each(reader->context, &life);
	return 0;
}

int store_lives(struct store *s, void (*each)(void *context, const struct store_life *life),
		void *context, struct err *err)
{
	struct life_reader reader = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, lives, read_life, &reader);
	return db_end(&b);
}

int store_put_part(struct store *s, const char *serial, const char *cordons, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, part_put, .serial = serial, .cordons = cordons);
	return db_end(&b);
}

struct part_reader {
	void (*each)(void *context, const char *serial, const char *cordons);
	void *context;
};

static int read_part(void *context, const void *p)
{
	const struct part_reader *reader = context;
	const struct db_parts_row *row = p;

	reader->each(reader->context, row->serial, row->cordons);
	return 0;
}

int store_parts(struct store *s,
		void (*each)(void *context, const char *serial, const char *cordons), void *context,
		struct err *err)
{
	struct part_reader reader = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, parts, read_part, &reader);
	return db_end(&b);
}

int store_add_transition(struct store *s, const struct store_transition *t, struct err *err)
{
	struct db_batch b = store_write(s, err);

	db_add(&b, transition_add, .node = t->node, .at_us = t->at_us, .before = t->before,
	       .after = t->after, .who = t->who, .why = t->why, .evidence = t->evidence,
	       .undo = t->undo, .event = t->event);
	db_add(&b, transitions_drop, .kept = STORE_TRANSITIONS_MAX);
	return db_end(&b);
}

static const char *life_name(int64_t state)
{
	return name_of(life_state_names, LIFE_STATES, state);
}

static json_t *transition_json(const void *p, uint64_t now_us UNUSED)
{
	const struct db_transitions_row *row = p;

	return json_pack("{s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "id",
			 number_text(row->id), "node", store_json_text(row->node), "at",
			 json_stamp(row->at_us), "from", life_name(row->before), "to",
			 life_name(row->after), "by", store_json_text(row->who), "why",
			 store_json_text(row->why), "evidence", json_of_text(row->evidence), "undo",
			 store_json_text(row->undo), "event", store_json_text(row->event));
}

int store_transitions(struct store *s, const char *node, const struct store_range *range,
		      struct store_page *ret, struct err *err)
{
	struct listing list = { .item = transition_json, .limit = range->limit };
	struct db_batch b = store_ask(s, err);

	db_each(&b, transitions, listing_row, &list, .before = store_cursor_number(range),
		.limit = range->limit + 1, .node = node);
	return listing_end(&list, &b, ret);
}

static int take_order(void *context, const void *p)
{
	const struct db_transition_last_row *row = p;
	json_t *item = context;

	(void)json_object_set_new(item, "by", store_json_text(row->who));
	(void)json_object_set_new(item, "reason", store_json_text(row->why));
	(void)json_object_set_new(item, "since", json_stamp(row->at_us));
	return 1;
}

int store_add_order(struct store *s, const char *node, const char *const events[static 3],
		    json_t *item, struct err *err)
{
	static const char *const keys[] = { "by", "reason", "since" };
	struct db_batch b = store_ask(s, err);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		(void)json_object_set_new(item, keys[i], json_null());
	db_each(&b, transition_last, take_order, item, .node = node, .event = events[0],
		.other = events[1], .third = events[2]);
	return db_end(&b);
}

/* --- hosts in brief --- */

uint64_t store_incident_changes(const struct store *s)
{
	return s->incident_changes;
}

struct brief_reader {
	void (*each)(void *context, const struct store_brief *brief);
	void *context;
};

static int read_brief(void *context, const void *p)
{
	const struct brief_reader *reader = context;
	const struct db_nodes_brief_row *row = p;
	const struct store_brief brief = {
		.node = row->node,
		.sku = row->sku,
		.topology = row->topology,
		.seen_us = row->seen_us,
		.first_us = row->first_us,
		.deep_us = row->deep_us,
		.level = (int)row->verdict,
		.unverified = row->unverified != 0,
	};

	reader->each(reader->context, &brief);
	return 0;
}

int store_briefs(struct store *s, void (*each)(void *context, const struct store_brief *brief),
		 void *context, struct err *err)
{
	struct brief_reader reader = { each, context };
	struct db_batch b = store_ask(s, err);

	db_each(&b, nodes_brief, read_brief, &reader);
	return db_end(&b);
}
