/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was under way when a controller ended. The node says whether it happened: done and not
 * recorded is recorded, and what the policy had only decided it decides again,
 * or not. What a person ordered goes on.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "controller/action_inside.h"
#include "lib/xalloc.h"

char *doing_evidence(const struct doing_start *start)
{
	CLEANUP(json_freep)
	json_t *value = json_pack("{s:s*, s:s*, s:s*, s:s*, s:b, s:i}", "text", start->evidence,
				  "check", start->check, "subject", start->subject, "partner",
				  start->partner, "sticky", start->sticky, "decision",
				  start->decision);

	return json_dumps(value, JSON_COMPACT);
}

static char *text_of(const json_t *value, const char *key)
{
	return xstrdup(json_string_value(json_object_get(value, key)));
}

void doing_recall(struct doing *d, const char *evidence)
{
	CLEANUP(json_freep) json_t *value = evidence ? json_loads(evidence, 0, NULL) : NULL;

	d->evidence = text_of(value, "text");
	d->check = text_of(value, "check");
	d->subject = text_of(value, "subject");
	d->partner = text_of(value, "partner");
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
