/* SPDX-License-Identifier: Apache-2.0 */
/* What must outlive a restart of each host: its record, its findings' tests, its parts. */
#include <errno.h>
#include <stdlib.h>

#include "controller/action_inside.h"
#include "controller/store.h"
#include "lib/clock.h"
#include "lib/err.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/report.h"
#include "lib/xalloc.h"

#define RECORD(m) offsetof(struct node_record, m)

/* Counts of the record, which are unsigned, through numbers that the tables know. */
struct counts {
	uint64_t passes, aborted;
};

static const struct jfield record_fields[] = {
	{ "state", J_ENUM, RECORD(life.state), J_REQUIRED, .names = life_state_names },
	{ "since", J_U64, RECORD(life.since_us), J_REQUIRED },
	{ "manual", J_BOOL, RECORD(life.manual), 0 },
	{ "override", J_U64, RECORD(override_us), 0 },
	{ "override_until", J_U64, RECORD(override_until_us), 0 },
	{ "silence_until", J_U64, RECORD(silence_until_us), 0 },
	{ "hold_until", J_U64, RECORD(hold_until_us), 0 },
	{ "ordered", J_U64, RECORD(ordered_us), 0 },
	{ "wanted", J_U64, RECORD(wanted_us), 0 },
	{ "tested", J_U64, RECORD(tested_us), 0 },
	{ "clear", J_U64, RECORD(clear_us), 0 },
	{ "asked", J_U64, RECORD(asked_us), 0 },
	{ "drain", J_U64, RECORD(drain_us), 0 },
	{ "drained", J_U64, RECORD(drained_us), 0 },
};

static const struct jfield count_fields[] = {
	{ "passes", J_U64, offsetof(struct counts, passes), 0 },
	{ "aborted", J_U64, offsetof(struct counts, aborted), 0 },
};

static json_t *record_encode(const struct node_record *record)
{
	const struct counts counts = { record->passes, record->aborted };
	json_t *value = jval_encode(record_fields, ARRAY_SIZE(record_fields), record);
	CLEANUP(json_freep)
	json_t *more = jval_encode(count_fields, ARRAY_SIZE(count_fields), &counts);

	(void)json_object_update(value, more);
	return value;
}

static int record_decode(const char *text, struct node_record *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct counts counts = { 0 };
	struct jval root;
	int r = json_parse(text, strlen(text), "record", &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "record");
	r = jval_decode(&root, record_fields, ARRAY_SIZE(record_fields), 0, ret, err);
	if (r == 0)
		r = jval_decode(&root, count_fields, ARRAY_SIZE(count_fields), 0, &counts, err);
	ret->passes = (unsigned)counts.passes;
	ret->aborted = (unsigned)counts.aborted;
	return r;
}

/* Nothing that a new host would not have; when it was clear is found out anew. */
static bool is_plain(const struct node_record *record)
{
	return record->life.state == LIFE_HEALTHY && !record->override_until_us &&
	       !record->silence_until_us && !record->hold_until_us && !record->ordered_us &&
	       !record->wanted_us && !record->passes && !record->aborted;
}

static bool node_is_plain(const struct fleet_node *node)
{
	return !node->findings && is_plain(&node->record);
}

/* --- findings --- */

static bool finding_is_plain(const struct finding *f)
{
	return !f->reached_us && !f->reproduced && !f->exonerated && !f->tested_us && !f->fatal_us;
}

static json_t *findings_encode(const struct fleet_node *node)
{
	json_t *list = json_array();
	const struct finding *f;

	for (f = node->findings; f; f = f->next) {
		if (finding_is_plain(f))
			continue;
		(void)json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:I, s:i, s:i, s:I, s:I, s:s*}", "check", f->check,
				  "subject", f->subject, "reached", (json_int_t)f->reached_us,
				  "reproduced", (int)f->reproduced, "exonerated",
				  (int)f->exonerated, "tested", (json_int_t)f->tested_us, "fatal",
				  (json_int_t)f->fatal_us, "partner", f->partner));
	}
	return list;
}

static uint64_t number_of(const json_t *value, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(value, key));
}

static const char *text_of(const json_t *value, const char *key)
{
	return json_string_value(json_object_get(value, key));
}

/* The finding that was kept; what had passed its test has no window, and is remembered all the same. */
static struct finding *finding_kept(struct fleet *fleet, struct fleet_node *node, const json_t *one)
{
	const char *check = text_of(one, "check"), *subject = text_of(one, "subject");
	const struct windows none = { 0 };
	const struct finding_news news = {
		.check = check, .subject = subject, .severity = SEVERITY_FAIL, .windows = &none
	};
	struct finding *f = check && subject ? fleet_finding(node, check, subject) : NULL;

	if (f || !check || !subject || number_of(one, "exonerated") == 0)
		return f;
	return fleet_note(fleet, node, &news);
}

static void findings_restore(struct fleet *fleet, struct fleet_node *node, const char *text)
{
	CLEANUP(json_freep) json_t *list = json_loads(text, 0, NULL);
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		struct finding *f = finding_kept(fleet, node, one);

		if (!f)
			continue;
		/* Its window may be older than that it is fatal: it was slow first. */
		if (f->fatal_us > 0)
			f->fatal_us = MAX(f->fatal_us, number_of(one, "fatal"));
		f->reached_us = number_of(one, "reached");
		f->reproduced = (unsigned)number_of(one, "reproduced");
		f->exonerated = (unsigned)number_of(one, "exonerated");
		f->tested_us = number_of(one, "tested");
		free(f->partner);
		f->partner = xstrdup(text_of(one, "partner"));
	}
}

/* --- keep --- */

/* The store has it from now on, or not any more. */
static void set_kept(struct act *act, struct act_host *host, char *kept)
{
	struct act_host **at = &act->kept;

	if (host->kept && !kept) {
		while (*at != host)
			at = &(*at)->next_kept;
		*at = host->next_kept;
	} else if (!host->kept && kept) {
		host->next_kept = act->kept;
		act->kept = host;
	}
	free(host->kept);
	host->kept = kept;
}

static int drop_record(struct act *act, struct act_host *host, struct err *err)
{
	set_kept(act, host, NULL);
	act->options.touch(act->options.context);
	return store_drop_life(act->options.store, host->name, err);
}

void act_drop_record(struct act *act, struct act_host *host)
{
	if (host->kept)
		(void)drop_record(act, host, NULL);
}

int act_keep_record(struct act *act, const struct fleet_node *node, struct err *err)
{
	struct act_host *host = act_need_host(act, node->name);
	CLEANUP(json_freep) json_t *record = NULL;
	CLEANUP(json_freep) json_t *findings = NULL;
	CLEANUP(freep) char *record_text = NULL;
	CLEANUP(freep) char *findings_text = NULL;
	CLEANUP(freep) char *all = NULL;

	if (node_is_plain(node))
		return host->kept ? drop_record(act, host, err) : 0;
	record = record_encode(&node->record);
	findings = findings_encode(node);
	record_text = json_line(record);
	findings_text = json_line(findings);
	all = xasprintf("%s\n%s", record_text, findings_text);
	if (streq(host->kept, all))
		return 0;
	set_kept(act, host, TAKE(all));
	act->options.touch(act->options.context);
	return store_put_life(act->options.store,
			      &(struct store_life){ .node = node->name,
						    .record = record_text,
						    .findings = findings_text },
			      err);
}

void act_keep_all(struct act *act)
{
	struct act_host *host, *next;
	struct err err = ERR_INIT;
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < act->fleet.n; i++) {
		if (!node_is_plain(act->fleet.nodes[i]))
			r = act_keep_record(act, act->fleet.nodes[i], &err);
	}
	for (host = act->kept; r == 0 && host; host = next) {
		const struct fleet_node *node = fleet_find(&act->fleet, host->name);

		next = host->next_kept;
		if (node && node_is_plain(node))
			r = drop_record(act, host, &err);
	}
	if (r < 0)
		log_warning("records are not kept: %s", err.msg);
}

static int keep_part(struct act *act, const char *serial, struct err *err)
{
	uint64_t stamps[PART_CORDONS_MAX];
	size_t n = part_stamps(fleet_part(&act->fleet, serial), stamps), i;
	CLEANUP(json_freep) json_t *list = json_array();
	CLEANUP(freep) char *text = NULL;

	for (i = 0; i < n; i++)
		(void)json_array_append_new(list, json_integer((json_int_t)stamps[i]));
	text = json_line(list);
	return store_put_part(act->options.store, serial, text, err);
}

/* --- events --- */

void act_note_change(struct act *act, const struct fleet_node *node,
		     const struct life_change *change)
{
	CLEANUP(json_freep) json_t *evidence = json_pack("s?", change->evidence);
	CLEANUP(freep) char *text = evidence ? json_dumps(evidence, JSON_ENCODE_ANY) : NULL;
	const struct store_transition row = {
		.node = node->name,
		.at_us = change->at_us,
		.before = change->from,
		.after = change->to,
		.event = life_event_names[change->event],
		.who = change->who,
		.why = change->why ? change->why : "",
		.evidence = text,
		.undo = change->undo,
	};
	struct err err = ERR_INIT;

	if (store_add_transition(act->options.store, &row, &err) < 0)
		log_warning("a transition is not recorded: %s", err.msg);
	act->options.touch(act->options.context);
}

int act_event(struct act *act, const char *node, const struct fleet_cause *cause, struct err *err)
{
	struct fleet_node *n = fleet_find(&act->fleet, node);
	CLEANUP(freep)
	char *serial = cause->serial ? xstrdup(cause->serial) : fleet_host_serial(node);
	struct life_change change;
	int r;

	if (!n)
		return err_set(err, ENOENT, "the cluster has no node '%.80s'", node);
	r = fleet_event(&act->fleet, n, cause, act_real_us(act), &change, err);
	if (r < 0)
		return r;
	act->dirty = true;
	act_note_change(act, n, &change);
	if (cause->event == EVENT_CORDONED || cause->event == EVENT_CORDONED_STICKY)
		r = keep_part(act, serial, err);
	act_facts(act, node);
	if (act->stage == STAGE_ACTING)
		act_tell_condition(act, node);
	return r < 0 ? r : act_keep_record(act, n, err);
}

/* --- load --- */

struct loading {
	struct act *act;
	int r;
	struct err *err;
};

static void load_part(void *context, const char *serial, const char *cordons)
{
	struct loading *l = context;
	CLEANUP(json_freep) json_t *list = json_loads(cordons, 0, NULL);
	size_t i;

	for (i = 0; i < json_array_size(list); i++)
		part_count(fleet_part(&l->act->fleet, serial),
			   (uint64_t)json_integer_value(json_array_get(list, i)));
}

static void load_life(void *context, const struct store_life *life)
{
	struct loading *l = context;
	struct act *act = l->act;
	struct fleet_node *node = fleet_need(&act->fleet, life->node, act_real_us(act));
	int r;

	if (!node)
		return;
	r = record_decode(life->record, &node->record, l->err);
	if (r < 0) {
		l->r = err_wrap(l->err, r, "life of %s", life->node);
		return;
	}
	if (life_holds(node->record.life.state))
		node->out |= OUT_OURS;
	if (node->record.hold_until_us)
		node->out |= OUT_HOLD;
	findings_restore(&act->fleet, node, life->findings);
	set_kept(act, act_need_host(act, life->node),
		 xasprintf("%s\n%s", life->record, life->findings));
}

static void load_brief(void *context, const struct store_brief *brief)
{
	struct loading *l = context;
	struct act *act = l->act;
	struct fleet_node *node = fleet_need(&act->fleet, brief->node, act_real_us(act));

	if (!node)
		return;
	fleet_set_sku(&act->fleet, node, brief->sku);
	node->reported_us = brief->seen_us;
	node->deep_us = brief->deep_us;
	node->known_us = brief->first_us;
}

/* Statements are not nested: findings are read after the list of hosts. */
static void load_all_findings(struct act *act)
{
	size_t i;

	for (i = 0; i < act->fleet.n; i++)
		act_load_findings(act, act->fleet.nodes[i]->name);
}

static void load_action(void *context, const struct store_action *row)
{
	struct loading *l = context;
	struct doing *d = doing_resume(l->act, row);

	/* What the policy wanted it will want again, if it still does; a person is not asked twice. */
	d->resumed = true;
	if (d->kind == ACT_RETEST)
		d->phase = PHASE_TEST;
}

/*
 * The cordons of people that still count, from the newest records: as many as are remembered. A
 * record that is too old for the policy counts for nothing.
 */
static int load_manual(struct act *act, struct err *err)
{
	const struct store_range range = { NULL, MANUAL_STAMPS_MAX };
	struct store_page page = { 0 };
	int r = store_actions(act->options.store, NULL, &range, &page, err);
	size_t i = r == 0 ? json_array_size(page.items) : 0;

	while (i-- > 0) { /* the oldest first */
		const json_t *row = json_array_get(page.items, i);
		const char *who = text_of(row, "by"), *state = text_of(row, "state");
		uint64_t at_us;

		if (streq(text_of(row, "action"), action_kind_names[ACT_CORDON]) &&
		    !streq(who, WHO_AUTOMATIC) &&
		    !streq(state, action_state_names[ACTION_DROPPED]) &&
		    !streq(state, action_state_names[ACTION_REFUSED]) &&
		    clock_parse_stamp(text_of(row, "at"), &at_us) == 0)
			manual_rate_count(&act->manual, act_account(who),
					  strtoll(text_of(row, "id"), NULL, 10), at_us);
	}
	json_decref(page.items);
	free(page.next);
	return r;
}

int act_load_records(struct act *act, struct err *err)
{
	struct loading l = { act, 0, err };
	int r = store_parts(act->options.store, load_part, &l, err);

	if (r == 0)
		r = store_briefs(act->options.store, load_brief, &l, err);
	if (r < 0)
		return r;
	load_all_findings(act);
	r = load_manual(act, err);
	if (r < 0)
		return r;
	r = store_lives(act->options.store, load_life, &l, err);
	if (r == 0)
		r = l.r;
	return r == 0 ? store_open_actions(act->options.store, load_action, &l, err) : r;
}
