/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/findings.h"

#include <stdlib.h>

#include "controller/incident.h"
#include "controller/rules.h"
#include "controller/store.h"
#include "lib/judge/verdict.h"
#include "lib/xalloc.h"

struct note {
	struct store *store;
	const struct rules_view *rules;
	const struct verdict *verdict;
	uint64_t now_us;
	struct store_window *rows; /* FINDINGS_MAX */
	size_t n_rows;
};

static const struct policy_rule *rule_of(const struct note *note, const struct verdict_item *item)
{
	const struct policy_subject subject = {
		.check = item->check,
		.sku = note->rules->sku_name,
		.severity = item->fatal ? "fatal" : NULL,
	};

	return policy_match(&note->rules->rules->policy, &subject);
}

static struct store_window *row_of(struct note *note, const struct verdict_item *item, bool bad)
{
	struct store_window *row;
	size_t i;

	for (i = 0; i < note->n_rows; i++) {
		row = &note->rows[i];
		if (streq(row->check, item->check) && streq(row->subject, item->subject))
			return row;
	}
	if (!bad || note->n_rows == FINDINGS_MAX)
		return NULL;
	row = &note->rows[note->n_rows++];
	*row = (struct store_window){ .check = xstrdup(item->check),
				      .subject = xstrdup(item->subject),
				      .since_us = note->now_us };
	return row;
}

/* The worst item of a check speaks for it: items come worst first. */
static bool is_first(const struct verdict *v, size_t i)
{
	size_t j;

	for (j = 0; j < i; j++) {
		if (streq(v->items[j].check, v->items[i].check))
			return false;
	}
	return true;
}

static int open_incident(struct note *note, size_t i, const struct store_window *row,
			 const struct policy_rule *rule, struct err *err)
{
	const struct verdict_item *item = &note->verdict->items[i];
	CLEANUP(freep) char *sentence = incident_sentence(note->verdict->node, item, row);
	const struct store_incident incident = {
		.node = note->verdict->node,
		.check = item->check,
		.subject = item->subject,
		.level = item->level,
		.fatal = item->fatal,
		.rule = rule ? rule->name : NULL,
		.action = policy_action_names[rule ? rule->action : ACTION_OBSERVE],
		.sentence = sentence,
	};

	return store_put_incident(note->store, &incident, note->now_us, err);
}

/* Has every subject of the check had its good runs? */
static bool check_clear(const struct note *note, const char *check)
{
	size_t i;

	for (i = 0; i < note->n_rows; i++) {
		if (streq(note->rows[i].check, check) &&
		    !windows_clear(&note->rows[i].windows, note->rows[i].n))
			return false;
	}
	return true;
}

static int note_good(struct note *note, const struct store_window *row, struct err *err)
{
	int r;

	if (!windows_clear(&row->windows, row->n))
		return store_put_window(note->store, note->verdict->node, row, err);
	r = store_drop_window(note->store, note->verdict->node, row, err);
	if (r == 0 && check_clear(note, row->check))
		r = store_close_incident(note->store, note->verdict->node, row->check, note->now_us,
					 err);
	return r;
}

static int note_item(struct note *note, size_t i, struct err *err)
{
	const struct verdict_item *item = &note->verdict->items[i];
	const struct policy_rule *rule;
	bool bad = item->level >= VERDICT_WARN;
	struct store_window *row;
	int r;

	/* What could not be told is neither. */
	if (item->level == VERDICT_INCONCLUSIVE)
		return 0;
	row = row_of(note, item, bad);
	if (!row)
		return 0;
	rule = rule_of(note, item);
	row->k = rule ? (unsigned)MIN(rule->k, (uint64_t)WINDOWS_MAX) : 1;
	row->n = rule ? (unsigned)MIN(rule->n, (uint64_t)WINDOWS_MAX) : 1;
	row->last_us = note->now_us;
	windows_push(&row->windows, bad);
	if (!bad)
		return note_good(note, row, err);
	r = store_put_window(note->store, note->verdict->node, row, err);
	if (r == 0 && is_first(note->verdict, i) &&
	    (item->fatal || windows_reached(&row->windows, row->k, row->n)))
		r = open_incident(note, i, row, rule, err);
	return r;
}

int findings_note(struct store *store, const struct rules_view *rules,
		  const struct verdict *verdict, uint64_t now_us, struct err *err)
{
	struct note note = { store, rules, verdict, now_us, NULL, 0 };
	int r;
	size_t i;

	/* The usual host: nothing was bad, nothing is. */
	r = store_windows(store, verdict->node, &note.rows, FINDINGS_MAX, err);
	if (r < 0)
		return r;
	note.n_rows = (size_t)r;
	r = 0;
	for (i = 0; r == 0 && i < verdict->n_items; i++) {
		if (note.n_rows == 0 && verdict->items[i].level == VERDICT_PASS)
			break; /* worst first */
		r = note_item(&note, i, err);
	}
	for (i = 0; i < note.n_rows; i++) {
		free(note.rows[i].check);
		free(note.rows[i].subject);
	}
	free(note.rows);
	return r;
}
