/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was under way when a controller ended. The node says whether it happened: done and not
 * recorded is recorded, and what the policy had only decided it decides again,
 * or not. What a person ordered goes on.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "controller/actions/action_inside.h"
#include "controller/store/store.h"
#include "lib/base/clock.h"
#include "lib/base/xalloc.h"

char *doing_evidence(const struct doing_start *start)
{
	CLEANUP(json_freep)
	json_t *value = json_pack("{s:s*, s:s*, s:s*, s:s*, s:b, s:i}", "text", start->evidence,
				  "check", start->check, "subject", start->subject, "partner",
				  start->partner, "sticky", start->sticky, "decision",
				  start->decision);

	return json_dumps(value, JSON_COMPACT);
}

static const char *text_of(const json_t *value, const char *key)
{
	return json_string_value(json_object_get(value, key));
}

void doing_recall(struct doing *d, const char *evidence)
{
	CLEANUP(json_freep) json_t *value = evidence ? json_loads(evidence, 0, NULL) : NULL;

	d->evidence = xstrdup(text_of(value, "text"));
	d->check = xstrdup(text_of(value, "check"));
	d->subject = xstrdup(text_of(value, "subject"));
	d->partner = xstrdup(text_of(value, "partner"));
	d->sticky = json_is_true(json_object_get(value, "sticky"));
	d->decision = (int)json_integer_value(json_object_get(value, "decision"));
}

void act_recall_counted(struct act *act, struct ledger *fresh)
{
	struct doing *d;

	for (d = act->doings; d; d = d->next) {
		const struct ledger_holder *h = ledger_find(fresh, d->node, LEDGER_CORDON);
		CLEANUP(freep) char *action = xasprintf("%" PRId64, d->id);

		if (d->resumed && d->kind == ACT_CORDON && h && streq(h->action, action) &&
		    breaker_has(&fresh->breaker, h->at_us))
			d->counted_us = h->at_us;
		else if (d->counted_us && !breaker_has(&fresh->breaker, d->counted_us))
			breaker_count(&fresh->breaker, d->counted_us);
	}
}

/* Does the node show that it was done? */
static bool is_done(const struct doing *d, const struct act_host *host)
{
	CLEANUP(freep) char *action = xasprintf("%" PRId64, d->id);

	switch (d->kind) {
	case ACT_CORDON:
		return host->c.mark && streq(host->c.mark->action, action);
	case ACT_UNCORDON:
		return !host->c.mark;
	case ACT_HOLD:
		return host->c.hold_us > 0;
	case ACT_UNHOLD:
		return host->c.hold_us == 0;
	case ACT_VERIFIED:
		return !host->c.unverified;
	default:
		return false;
	}
}

static void settle(struct doing *d)
{
	const struct act_host *host = act_host(d->act, d->node);
	const struct fleet_node *node = fleet_find(&d->act->fleet, d->node);

	d->resumed = false;
	if (d->kind == ACT_BREAKER_RESET)
		return; /* goes on */
	if (!host || !host->there || !node)
		doing_end(d, ACTION_DROPPED, 404, "the node is gone");
	else if (d->kind == ACT_RETEST && node->record.ordered_us == 0)
		doing_end(d, ACTION_DROPPED, 409, "its result had come, or it was over");
	else if (is_done(d, host))
		doing_book(d);
	else if (d->decision != DECIDE_NOTHING && d->kind != ACT_RETEST)
		doing_end(d, ACTION_DROPPED, 409, "the controller ended before it was done");
}

void act_settle_resumed(struct act *act)
{
	struct doing *d, *next;

	for (d = act->doings; d; d = next) {
		next = d->next;
		if (d->resumed)
			settle(d);
	}
}

/* --- what the store has --- */

/* Statements are not nested: findings are read after the list of hosts. */
static void load_findings(struct act *act)
{
	size_t i;

	for (i = 0; i < act->fleet.n; i++)
		act_load_findings(act, act->fleet.nodes[i]->name);
}

/* What the policy wanted it will want again, if it still does; a person is not asked twice. */
static void load_action(void *context, const struct store_action *row)
{
	struct doing *d = doing_resume(context, row);

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

static void need_hosts(struct act *act)
{
	const char *node;
	size_t i;

	for (i = 0; (node = node_records_at(&act->records, i)); i++)
		(void)act_need_host(act, node);
}

int act_load(struct act *act, struct err *err)
{
	int r = node_records_load_hosts(&act->records, &act->fleet, act_real_us(act), err);

	if (r < 0)
		return r;
	load_findings(act);
	r = load_manual(act, err);
	if (r == 0)
		r = node_records_load(&act->records, &act->fleet, act_real_us(act), err);
	if (r < 0)
		return r;
	need_hosts(act);
	return store_open_actions(act->options.store, load_action, act, err);
}
