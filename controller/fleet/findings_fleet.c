/* SPDX-License-Identifier: Apache-2.0 */
/* Findings of one host among those of its fleet, and what is told of the fleet itself. */
#include <stdlib.h>

#include "controller/fleet/baseline.h"
#include "controller/fleet/findings.h"
#include "controller/fleet/findings_inside.h"
#include "controller/fleet/incident.h"
#include "controller/fleet/rules.h"
#include "controller/store/store.h"
#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "lib/judge/verdict.h"
#include "lib/policy/bad_run.h"
#include "lib/policy/fleet.h"
#include "lib/report/report.h"

/* Incidents of a fleet stand under a name that no host can have. */
#define FLEET_PREFIX "sku:"

char *findings_fleet_name(const char *sku)
{
	return xasprintf(FLEET_PREFIX "%s", sku);
}

struct shifts *findings_shifts(const struct note *note)
{
	bool known = note->rules->baselines && note->rules->sku_name;

	/* Yesterday's report is no news of the fleet either. */
	return known && note->fresh ? &note->rules->baselines->shifts : NULL;
}

/* Is half of what was measured in the check below the SKU file? All the fleet may be. */
static bool is_below_file(const struct verdict *v, const char *check)
{
	size_t low = 0, of = 0, i;

	for (i = 0; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];

		if (item->level == VERDICT_INCONCLUSIVE || !streq(item->check, check))
			continue;
		of++;
		low += (item->low_by & 1U << SOURCE_SKU) != 0;
	}
	return low * 2 >= of;
}

/* Is it more than that one part of the host is below the others, or the file? Good parts spread. */
static bool is_low(const struct verdict *v, const struct verdict_item *item)
{
	const unsigned others = item->low_by & ~(1U << SOURCE_SKU | 1U << SOURCE_PEERS);

	if (item->fatal || (item->level < VERDICT_WARN && !item->low_by))
		return false;
	if (item->low_by == 0 || others)
		return item->level >= VERDICT_WARN;
	return item->low_by & 1U << SOURCE_SKU && is_below_file(v, item->check);
}

void findings_count(const struct note *note, const struct verdict_item *item, bool bad)
{
	struct shifts *shifts = findings_shifts(note);
	const char *sku = note->rules->sku_name, *node = note->verdict->node;

	if (!shifts || !is_low(note->verdict, item))
		return;
	shifts_set(shifts, SHIFT_LOW, sku, item->check, node, true);
	if (bad)
		shifts_set(shifts, SHIFT_SUSPECT, sku, item->check, node, true);
}

static int tell_fleet(const struct note *note, const struct verdict_item *item, struct err *err)
{
	struct shifts *shifts = findings_shifts(note);
	const char *sku = note->rules->sku_name;
	CLEANUP(freep) char *name = findings_fleet_name(sku);
	CLEANUP(freep)
	char *sentence = incident_fleet_sentence(
		sku, note->verdict->node, item,
		&(struct incident_count){ shifts_count(shifts, SHIFT_LOW, sku, item->check),
					  shifts_count(shifts, SHIFT_HOSTS, sku, "") });
	const struct store_incident incident = {
		.node = name,
		.check = item->check,
		.subject = sku,
		.level = VERDICT_WARN,
		.action = policy_action_names[ACTION_ALERT],
		.sentence = sentence,
		.since_us = note->at_us,
	};

	shifts_tell(shifts, sku, item->check, true);
	return store_put_incident(note->store, &incident, note->at_us, err);
}

/* One check in which the host was low, now or before. */
struct settling {
	struct note *note;
	struct err *err;
	int r;
};

/* Is it of the check, or, since only slow links have items, a cell of that family? */
static bool speaks_for(const struct verdict_item *item, const char *check)
{
	size_t family = strcspn(check, ".");

	return streq(item->check, check) ||
	       (streq(check + family, ".link") && strncmp(item->check, check, family + 1) == 0);
}

/* The file says so, and nothing else does. */
static bool is_far_below_file(const struct verdict_item *item)
{
	return bad_run_by_file_alone(item) && item->value < item->floor * REFERENCE_FAR;
}

static void settle_check(void *context, const char *check)
{
	struct settling *settling = context;
	const struct note *note = settling->note;
	const struct verdict *v = note->verdict;
	const struct verdict_item *low = NULL;
	struct shifts *shifts = findings_shifts(note);
	const char *sku = note->rules->sku_name;
	CLEANUP(freep) char *name = findings_fleet_name(sku);
	bool bad = false, measured = false, file = false;
	size_t i;

	for (i = 0; i < v->n_items; i++) {
		const struct verdict_item *item = &v->items[i];

		measured |= item->level != VERDICT_INCONCLUSIVE && speaks_for(item, check);
		if (!streq(item->check, check))
			continue;
		bad |= (note->marks[i] & MARK_BAD) && !item->fatal;
		file |= is_far_below_file(item);
		if (!low && is_low(v, item))
			low = item;
	}
	if (!measured)
		return;
	shifts_set(shifts, SHIFT_LOW, sku, check, v->node, low != NULL);
	shifts_set(shifts, SHIFT_SUSPECT, sku, check, v->node, bad);
	shifts_measured(shifts, sku, check, v->node, file);
	if (settling->r < 0 || shifts_count(shifts, SHIFT_HOSTS, sku, "") < REFERENCE_N_MIN)
		return;
	if (shifts_wide(shifts, SHIFT_LOW, sku, check)) {
		settling->r = low ? tell_fleet(note, low, settling->err) : 0;
	} else if (shifts_told(shifts, sku, check) && shifts_over(shifts, SHIFT_LOW, sku, check)) {
		shifts_tell(shifts, sku, check, false);
		settling->r =
			store_close_incident(note->store, name, check, note->at_us, settling->err);
	}
}

int findings_settle(struct note *note, struct err *err)
{
	struct shifts *shifts = findings_shifts(note);
	struct settling settling = { note, err, 0 };

	if (!shifts)
		return 0;
	shifts_each(shifts, note->rules->sku_name, note->verdict->node, settle_check, &settling);
	return settling.r;
}

bool findings_shared(const struct note *note, const char *check)
{
	const struct shifts *shifts = findings_shifts(note);
	const char *sku = note->rules->sku_name;

	if (!shifts)
		return false;
	if (shifts_count(shifts, SHIFT_HOSTS, sku, "") < REFERENCE_N_MIN)
		return shifts_told(shifts, sku, check);
	return shifts_wide(shifts, SHIFT_SUSPECT, sku, check);
}

bool findings_noticed(const struct note *note, const char *check)
{
	const struct rules_view *rules = note->rules;

	return rules->baselines && rules->sku_name &&
	       shifts_has(&rules->baselines->shifts, SHIFT_SHARED, rules->sku_name, check,
			  note->verdict->node);
}

/* What is not known of it yet is closed: the host was blamed for it by itself until now. */
static int share_finding(struct store *store, struct shifts *shifts, const char *sku,
			 const struct fleet_node *node, const struct finding *finding,
			 uint64_t now_us, struct err *err)
{ /* lint: allow parameters: where it is told, and what */
	if (shifts_has(shifts, SHIFT_SHARED, sku, finding->check, node->name))
		return 0;
	return store_close_incident(store, node->name, finding->check, now_us, err);
}

static bool is_told_as_shared(const struct finding *finding)
{
	return finding->shared && finding->severity != SEVERITY_FATAL;
}

int findings_share(struct store *store, struct shifts *shifts, const struct fleet *fleet,
		   uint64_t now_us, struct err *err)
{
	const struct finding *f;
	size_t i, pass;
	int r = 0;

	/* Close first: what is told already is closed already. */
	for (pass = 0; pass < 2; pass++) {
		if (pass == 1)
			shifts_clear(shifts, SHIFT_SHARED);
		for (i = 0; r == 0 && i < fleet->n; i++) {
			const struct fleet_node *node = fleet->nodes[i];
			const char *sku = names_text(&fleet->skus, node->sku);

			for (f = node->findings; r == 0 && sku && f; f = f->next) {
				if (is_told_as_shared(f) && pass == 0)
					r = share_finding(store, shifts, sku, node, f, now_us, err);
				else if (is_told_as_shared(f))
					shifts_set(shifts, SHIFT_SHARED, sku, f->check, node->name,
						   true);
			}
		}
	}
	return r;
}

/* Has the host in this check what its fleet is told to have, and nothing of its own? */
static bool is_alike(const struct shifts *shifts, const char *sku, const char *check,
		     const char *node)
{
	if (!shifts_told(shifts, sku, check))
		return false;
	return !shifts_has(shifts, SHIFT_SUSPECT, sku, check, node) ||
	       shifts_wide(shifts, SHIFT_SUSPECT, sku, check);
}

/* The worst that is the host's own; NULL: none is. */
static const struct verdict_item *own_item(const struct verdict *v, const struct shifts *shifts,
					   const char *sku)
{
	size_t i;

	for (i = 0; i < v->n_items && v->items[i].level >= VERDICT_WARN; i++) {
		const struct verdict_item *item = &v->items[i];

		if (item->fatal || !is_alike(shifts, sku, item->check, v->node))
			return item;
	}
	return NULL;
}

int findings_restate(struct store *store, const struct rules_view *rules,
		     const struct verdict *merged, struct err *err)
{
	const struct verdict_item *own;
	CLEANUP(freep) char *sentence = NULL;
	const char *sku = rules->sku_name;
	int level = VERDICT_WARN;

	if (merged->level < VERDICT_WARN || !sku || !rules->baselines)
		return 0;
	own = own_item(merged, &rules->baselines->shifts, sku);
	if (own == &merged->items[0])
		return 0;
	if (own) {
		level = own->level;
		sentence = xasprintf("%s: %s", verdict_level_names[level], own->sentence);
	} else {
		sentence = incident_alike_sentence(sku, merged->items[0].check);
	}
	return store_restate(store, merged->node, level, sentence, err);
}

int findings_begin(struct store *store, struct baselines *baselines, struct err *err)
{
	CLEANUP(freep) char *cursor = NULL;
	size_t i;

	do {
		struct store_page page = { 0 };
		struct store_range range = { cursor, STORE_PAGE_MAX };
		int r = store_incidents(store, &range, true, &page, err);

		if (r < 0)
			return r;
		for (i = 0; i < json_array_size(page.items); i++) {
			const json_t *one = json_array_get(page.items, i);
			const char *name = json_string_value(json_object_get(one, "node"));
			const char *check = json_string_value(json_object_get(one, "check"));

			if (name && check && starts_with(name, FLEET_PREFIX))
				shifts_tell(&baselines->shifts, name + strlen(FLEET_PREFIX), check,
					    true);
		}
		json_decref(page.items);
		free(cursor);
		cursor = page.next;
	} while (cursor);
	return 0;
}
