/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/findings_fleet.h"

#include <stdlib.h>

#include "controller/fleet/baseline.h"
#include "controller/fleet/incident.h"
#include "controller/fleet/rules.h"
#include "controller/store/store.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/reference.h"
#include "lib/judge/verdict.h"
#include "lib/policy/bad_run.h"
#include "lib/policy/fleet.h"

/* Incidents of a fleet are stored under a name that no host can have. */
#define FLEET_PREFIX "sku:"

char *findings_fleet_name(const char *sku)
{
	return xasprintf(FLEET_PREFIX "%s", sku);
}

/* The counts for the fleet, or NULL if this report says nothing current about it. */
static struct anomalies *findings_anomalies(const struct findings_run *note)
{
	bool known = note->rules->baselines && note->rules->sku_name;

	/* Old reports say nothing current about the fleet. */
	return known && note->fresh ? &note->rules->baselines->anomalies : NULL;
}

/* The counts to add to, or NULL if the host of this report does not count. */
static struct anomalies *findings_counted(const struct findings_run *note)
{
	return note->rules->apart ? NULL : findings_anomalies(note);
}

void findings_count_host(const struct findings_run *note, const char *node)
{
	struct anomalies *anomalies = findings_counted(note);

	if (anomalies)
		anomalies_set(anomalies, ANOMALY_HOSTS, note->rules->sku_name, "", node, true);
}

/* Is half of what was measured in the check below the SKU file? Then all the fleet may be. */
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

/* Is more low than one part against its peers or the file? Good parts vary. */
static bool is_low(const struct verdict *v, const struct verdict_item *item)
{
	const unsigned others = item->low_by & ~(1U << SOURCE_SKU | 1U << SOURCE_PEERS);

	if (item->fatal || (item->level < VERDICT_WARN && !item->low_by))
		return false;
	if (item->low_by == 0 || others)
		return item->level >= VERDICT_WARN;
	return item->low_by & 1U << SOURCE_SKU && is_below_file(v, item->check);
}

void findings_count(const struct findings_run *note, const struct verdict *v,
		    const struct verdict_item *item, bool bad)
{
	struct anomalies *anomalies = findings_counted(note);
	const char *sku = note->rules->sku_name;

	if (!anomalies || !is_low(v, item))
		return;
	anomalies_set(anomalies, ANOMALY_LOW, sku, item->check, v->node, true);
	if (bad)
		anomalies_set(anomalies, ANOMALY_SUSPECT, sku, item->check, v->node, true);
}

static int tell_fleet(const struct findings_run *note, const char *node,
		      const struct verdict_item *item, struct err *err)
{
	struct anomalies *anomalies = findings_anomalies(note);
	const char *sku = note->rules->sku_name;
	CLEANUP(freep) char *name = findings_fleet_name(sku);
	CLEANUP(freep)
	char *sentence = incident_fleet_sentence(
		sku, node, item,
		&(struct incident_count){ anomalies_count(anomalies, ANOMALY_LOW, sku, item->check),
					  anomalies_count(anomalies, ANOMALY_HOSTS, sku, "") });
	const struct store_incident incident = {
		.node = name,
		.check = item->check,
		.subject = sku,
		.level = VERDICT_WARN,
		.action = policy_action_names[ACTION_ALERT],
		.sentence = sentence,
		.since_us = note->at_us,
	};

	anomalies_tell(anomalies, sku, item->check, true);
	return store_put_incident(note->store, &incident, note->at_us, err);
}

/* A check in which the host is or was low. */
struct settling {
	struct findings_run *note;
	const struct verdict *verdict;
	struct err *err;
	int r;
};

/* Is it an item of the check or, as only slow links have items, a cell of that link's family? */
static bool speaks_for(const struct verdict_item *item, const char *check)
{
	size_t family = strcspn(check, ".");

	return streq(item->check, check) ||
	       (streq(check + family, ".link") && strncmp(item->check, check, family + 1) == 0);
}

/* Low by the SKU file alone, and far below it. */
static bool is_far_below_file(const struct verdict_item *item)
{
	return bad_run_by_file_alone(item) && item->value < item->floor * REFERENCE_FAR;
}

static void settle_check(void *context, const char *check)
{
	struct settling *settling = context;
	const struct findings_run *note = settling->note;
	const struct verdict *v = settling->verdict;
	const struct verdict_item *low = NULL;
	struct anomalies *anomalies = findings_anomalies(note);
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
	anomalies_set(anomalies, ANOMALY_LOW, sku, check, v->node, low != NULL);
	anomalies_set(anomalies, ANOMALY_SUSPECT, sku, check, v->node, bad);
	anomalies_measured(anomalies, sku, check, v->node, file);
	if (settling->r < 0 || anomalies_count(anomalies, ANOMALY_HOSTS, sku, "") < REFERENCE_N_MIN)
		return;
	if (anomalies_wide(anomalies, ANOMALY_LOW, sku, check)) {
		settling->r = low ? tell_fleet(note, v->node, low, settling->err) : 0;
	} else if (anomalies_told(anomalies, sku, check) &&
		   anomalies_over(anomalies, ANOMALY_LOW, sku, check)) {
		anomalies_tell(anomalies, sku, check, false);
		settling->r =
			store_close_incident(note->store, name, check, note->at_us, settling->err);
	}
}

int findings_settle(struct findings_run *note, const struct verdict *v, struct err *err)
{
	struct anomalies *anomalies = findings_anomalies(note);
	struct settling settling = { note, v, err, 0 };

	if (!anomalies)
		return 0;
	anomalies_each(anomalies, note->rules->sku_name, v->node, settle_check, &settling);
	return settling.r;
}

bool findings_shared(const struct findings_run *note, const char *check)
{
	const struct anomalies *anomalies = findings_anomalies(note);
	const char *sku = note->rules->sku_name;

	if (!anomalies)
		return false;
	if (anomalies_count(anomalies, ANOMALY_HOSTS, sku, "") < REFERENCE_N_MIN)
		return anomalies_told(anomalies, sku, check);
	return anomalies_wide(anomalies, ANOMALY_SUSPECT, sku, check);
}

bool findings_noticed(const struct findings_run *note, const char *node, const char *check)
{
	const struct rules_view *rules = note->rules;

	return rules->baselines && rules->sku_name &&
	       anomalies_has(&rules->baselines->anomalies, ANOMALY_SHARED, rules->sku_name, check,
			     node);
}

/* If it is newly shared, close the incident of the host, which was blamed until now. */
static int share_finding(struct store *store, struct anomalies *anomalies, const char *sku,
			 const struct fleet_node *node, const struct finding *finding,
			 uint64_t now_us, struct err *err)
{ /* lint: allow parameters: the tables to update, and the finding */
	if (anomalies_has(anomalies, ANOMALY_SHARED, sku, finding->check, node->name))
		return 0;
	return store_close_incident(store, node->name, finding->check, now_us, err);
}

static bool is_told_as_shared(const struct finding *finding)
{
	return finding->shared && finding->severity != SEVERITY_FATAL;
}

int findings_share(struct store *store, struct anomalies *anomalies, const struct fleet *fleet,
		   uint64_t now_us, struct err *err)
{
	const struct finding *f;
	size_t i, pass;
	int r = 0;

	/* Close incidents first, of findings not in the sets yet. */
	for (pass = 0; pass < 2; pass++) {
		if (pass == 1)
			anomalies_clear(anomalies, ANOMALY_SHARED);
		for (i = 0; r == 0 && i < fleet->n; i++) {
			const struct fleet_node *node = fleet->nodes[i];
			const char *sku = names_text(&fleet->skus, node->sku);

			for (f = node->findings; r == 0 && sku && f; f = f->next) {
				if (is_told_as_shared(f) && pass == 0)
					r = share_finding(store, anomalies, sku, node, f, now_us,
							  err);
				else if (is_told_as_shared(f))
					anomalies_set(anomalies, ANOMALY_SHARED, sku, f->check,
						      node->name, true);
			}
		}
	}
	return r;
}

/* Does the host have only its fleet's finding in this check, and none of its own? */
static bool is_alike(const struct anomalies *anomalies, const char *sku, const char *check,
		     const char *node)
{
	if (!anomalies_told(anomalies, sku, check))
		return false;
	return !anomalies_has(anomalies, ANOMALY_SUSPECT, sku, check, node) ||
	       anomalies_wide(anomalies, ANOMALY_SUSPECT, sku, check);
}

/* The worst item that is the host's own; NULL: none. */
static const struct verdict_item *own_item(const struct verdict *v,
					   const struct anomalies *anomalies, const char *sku)
{
	size_t i;

	for (i = 0; i < v->n_items && v->items[i].level >= VERDICT_WARN; i++) {
		const struct verdict_item *item = &v->items[i];

		if (item->fatal || !is_alike(anomalies, sku, item->check, v->node))
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
	own = own_item(merged, &rules->baselines->anomalies, sku);
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
				anomalies_tell(&baselines->anomalies, name + strlen(FLEET_PREFIX),
					       check, true);
		}
		json_decref(page.items);
		free(cursor);
		cursor = page.next;
	} while (cursor);
	return 0;
}
