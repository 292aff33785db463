/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/findings.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "controller/fleet/baseline.h"
#include "controller/fleet/findings_row.h"
#include "controller/fleet/incident.h"
#include "controller/fleet/report_clock.h"
#include "controller/fleet/rules.h"
#include "controller/store/store.h"
#include "lib/base/macro.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/reference.h"
#include "lib/judge/verdict.h"
#include "lib/judge/verdict_item.h"
#include "lib/policy/bad_run.h"
#include "lib/policy/fleet.h"
#include "lib/report/host_parts_words.h"
#include "lib/report/report.h"

/* Findings of one host among those of its fleet, and what is told of the fleet itself. */

/* Incidents of a fleet stand under a name that no host can have. */
#define FLEET_PREFIX "sku:"

char *findings_fleet_name(const char *sku)
{
	return xasprintf(FLEET_PREFIX "%s", sku);
}

/* What is counted over the fleet, or NULL when this report is no news of it. */
static struct anomalies *findings_anomalies(const struct findings_run *note)
{
	bool known = note->rules->baselines && note->rules->sku_name;

	/* Yesterday's report is no news of the fleet either. */
	return known && note->fresh ? &note->rules->baselines->anomalies : NULL;
}

/* The same to be added to, or NULL when the host of this report counts for nothing there. */
static struct anomalies *findings_counted(const struct findings_run *note)
{
	return note->rules->apart ? NULL : findings_anomalies(note);
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

/* One item among those of the fleet. */
static void findings_count(const struct findings_run *note, const struct verdict *v,
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

/* One check in which the host was low, now or before. */
struct settling {
	struct findings_run *note;
	const struct verdict *verdict;
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

/* After the last item: where is the host low now, and is the whole fleet? */
static int findings_settle(struct findings_run *note, const struct verdict *v, struct err *err)
{
	struct anomalies *anomalies = findings_anomalies(note);
	struct settling settling = { note, v, err, 0 };

	if (!anomalies)
		return 0;
	anomalies_each(anomalies, note->rules->sku_name, v->node, settle_check, &settling);
	return settling.r;
}

/* Has half of the fleet it? So it was before a restart, until enough have reported again. */
static bool findings_shared(const struct findings_run *note, const char *check)
{
	const struct anomalies *anomalies = findings_anomalies(note);
	const char *sku = note->rules->sku_name;

	if (!anomalies)
		return false;
	if (anomalies_count(anomalies, ANOMALY_HOSTS, sku, "") < REFERENCE_N_MIN)
		return anomalies_told(anomalies, sku, check);
	return anomalies_wide(anomalies, ANOMALY_SUSPECT, sku, check);
}

/* Has the policy told it as one thing of many hosts? */
static bool findings_noticed(const struct findings_run *note, const char *node, const char *check)
{
	const struct rules_view *rules = note->rules;

	return rules->baselines && rules->sku_name &&
	       anomalies_has(&rules->baselines->anomalies, ANOMALY_SHARED, rules->sku_name, check,
			     node);
}

/* What is not known of it yet is closed: the host was blamed for it by itself until now. */
static int share_finding(struct store *store, struct anomalies *anomalies, const char *sku,
			 const struct fleet_node *node, const struct finding *finding,
			 uint64_t now_us, struct err *err)
{ /* lint: allow parameters: where it is told, and what */
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

	/* Close first: what is told already is closed already. */
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

/* Has the host in this check what its fleet is told to have, and nothing of its own? */
static bool is_alike(const struct anomalies *anomalies, const char *sku, const char *check,
		     const char *node)
{
	if (!anomalies_told(anomalies, sku, check))
		return false;
	return !anomalies_has(anomalies, ANOMALY_SUSPECT, sku, check, node) ||
	       anomalies_wide(anomalies, ANOMALY_SUSPECT, sku, check);
}

/* The worst that is the host's own; NULL: none is. */
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

static const struct policy_rule *rule_of(const struct findings_run *note,
					 const struct verdict_item *item)
{
	const struct policy_subject subject = {
		.check = item->check,
		.sku = note->rules->sku_name,
		.severity = item->fatal ? "fatal" : NULL,
	};

	return policy_match(&note->rules->rules->policy, &subject);
}

static struct store_window *find_row(const struct findings_run *note,
				     const struct verdict_item *item)
{
	size_t i;

	for (i = 0; i < note->n_rows; i++) {
		if (streq(note->rows[i].check, item->check) &&
		    streq(note->rows[i].subject, item->subject))
			return &note->rows[i];
	}
	return NULL;
}

/*
 * The row of an item in `ret_row`, new when it is bad; NULL when there is none. What is fatal
 * has one always: the least of the others makes room for it.
 */
static int row_of(struct findings_run *note, const struct verdict *v,
		  const struct verdict_item *item, bool bad, struct store_window **ret_row,
		  struct err *err)
{
	struct store_window *row = find_row(note, item);
	int r;

	*ret_row = row;
	if (row)
		return 0;
	if (!bad)
		return 0;
	if (note->n_rows == FINDINGS_MAX && item->fatal) {
		r = findings_make_room(note, v->node, err);
		if (r < 0)
			return r;
	}
	if (note->n_rows == FINDINGS_MAX)
		return 0;
	row = *ret_row = &note->rows[note->n_rows++];
	*row = (struct store_window){ .check = xstrdup(item->check),
				      .subject = xstrdup(item->subject),
				      .since_us = note->at_us,
				      .score = NAN,
				      .born = findings_first(note->store, v) };
	return 0;
}

/* The worst item of a check that is proved speaks for it: items come worst first. */
static bool is_spoken_for(const struct findings_run *note, const struct verdict *v, size_t i)
{
	size_t j;

	for (j = 0; j < i; j++) {
		if (note->marks[j] & MARK_SPEAKS && streq(v->items[j].check, v->items[i].check))
			return true;
	}
	return false;
}

/* What the parts of a subject are called now: text of JSON, NULL when none is known. New memory. */
static char *names_of(const struct findings_run *note, const char *subject)
{
	const struct rules_view *rules = note->rules;
	const struct host_parts *parts = rules->parts ? rules->parts(rules->parts_context) : NULL;
	CLEANUP(json_freep)
	json_t *list = parts ? host_parts_named(parts, subject) : NULL;

	return list ? json_line(list) : NULL;
}

static int open_incident(const struct findings_run *note, const struct verdict *v,
			 const struct verdict_item *item, const struct store_window *row,
			 const struct policy_rule *rule, struct err *err)
{
	const struct incident_count parts = findings_parts(v, item);
	CLEANUP(freep) char *sentence = incident_sentence(v->node, item, row, &parts);
	CLEANUP(freep) char *names = names_of(note, item->subject);
	const struct store_incident incident = {
		.node = v->node,
		.check = item->check,
		.subject = item->subject,
		.level = item->level,
		.fatal = item->fatal,
		.rule = rule ? rule->name : NULL,
		.action = policy_action_names[rule ? rule->action : ACTION_OBSERVE],
		.sentence = sentence,
		.since_us = row->since_us,
		.parts = names,
	};

	return store_put_incident(note->store, &incident, note->at_us, err);
}

/* An event comes and goes: it is over when it has not been for a while. */
static bool is_over(const struct findings_run *note, const struct store_window *row)
{
	return windows_clear(&row->windows, row->n) &&
	       (!bad_run_is_event(row->check) ||
		note->at_us - MIN(row->last_us, note->at_us) >= BAD_RUN_QUIET_US);
}

/* Has every subject of the check had its good runs? */
static bool check_clear(const struct findings_run *note, const char *check)
{
	size_t i;

	for (i = 0; i < note->n_rows; i++) {
		if (streq(note->rows[i].check, check) && !is_over(note, &note->rows[i]))
			return false;
	}
	return true;
}

static int note_good(const struct findings_run *note, const char *node,
		     const struct store_window *row, struct err *err)
{
	int r;

	if (!note->fresh || !is_over(note, row))
		return store_put_window(note->store, node, row, err);
	r = store_drop_window(note->store, node, row, err);
	if (r == 0 && check_clear(note, row->check))
		r = store_close_incident(note->store, node, row->check, note->at_us, err);
	return r;
}

/* One more run of it. Of an event the last time that counts is when it was. */
static void touch(const struct findings_run *note, struct store_window *row, bool bad)
{
	if (bad || !bad_run_is_event(row->check))
		row->last_us = note->at_us;
	windows_push(&row->windows, bad);
}

/* An incident of the host, unless others share what it has: then nobody is named. */
static int speak(const struct findings_run *note, const struct verdict *v,
		 const struct verdict_item *item, const struct store_window *row,
		 const struct policy_rule *rule, struct err *err)
{
	if (!item->fatal &&
	    (findings_shared(note, item->check) || findings_noticed(note, v->node, item->check)))
		return store_close_incident(note->store, v->node, item->check, note->at_us, err);
	return open_incident(note, v, item, row, rule, err);
}

/*
 * How many bad runs are proof, and how many good ones end it. Once the host was low in half of its
 * parts, one of them that is low again proves no more than that it was.
 */
static void set_proof(struct store_window *row, const struct verdict_item *item,
		      const struct policy_rule *rule)
{
	const uint64_t k = rule ? rule->k : 1, n = rule ? rule->n : 1;
	const struct bad_run_facts facts = {
		.check = row->check,
		/* What cannot be is told at once. */
		.born = row->born && !item->impossible,
		.deep = item->deep,
		/* What a run loses shows beside what the part is itself. */
		.score = item->usual == USUAL_DROPPED && item->kept > 0 ? item->kept : row->score,
		.parts = row->parts,
		.parts_bad = row->parts_bad,
	};
	const struct bad_run_proof proof = bad_run_proof(&facts, k, n);

	row->k = MAX(proof.k, row->k == k + 1 ? row->k : 0);
	row->n = MAX(proof.n, row->n == n + 1 ? row->n : 0);
}

static int note_item(struct findings_run *note, const struct verdict *v, size_t i, struct err *err)
{
	const struct verdict_item *item = &v->items[i];
	const struct policy_rule *rule;
	bool bad = bad_run(v, i);
	struct store_window *row;
	int r;

	/* What could not be told is neither; what was measured in several ways is one run. */
	if ((item->level == VERDICT_PASS && !find_row(note, item)) || !bad_run_speaks(v, i))
		return 0;
	findings_count(note, v, item, bad);
	note->marks[i] = bad ? MARK_BAD : 0;
	r = row_of(note, v, item, bad, &row, err);
	if (r < 0 || !row)
		return r;
	rule = rule_of(note, item);
	touch(note, row, bad);
	if (!bad)
		return note_good(note, v->node, row, err);
	findings_describe(note, v, item, row);
	set_proof(row, item, rule);
	r = store_put_window(note->store, v->node, row, err);
	if (r == 0 && note->fresh && !is_spoken_for(note, v, i) && !verdict_explained(v, item) &&
	    (item->fatal || windows_reached(&row->windows, row->k, row->n))) {
		note->marks[i] |= MARK_SPEAKS;
		r = speak(note, v, item, row, rule, err);
	}
	return r;
}

static bool is_named(const struct verdict *v, const struct store_window *row)
{
	size_t i;

	for (i = 0; i < v->n_items; i++) {
		if (streq(v->items[i].check, row->check) && streq(v->items[i].subject, row->subject))
			return true;
	}
	return false;
}

/* Did the run measure anything that goes over the link? */
static bool is_crossed(const struct report *report, const char *link)
{
	size_t i, j;

	for (i = 0; i < report->n_samples; i++) {
		const struct sample *s = &report->samples[i];

		if (s->state != SAMPLE_MEASURED || s->better != BETTER_HIGHER)
			continue;
		for (j = 0; s->path && s->path[j]; j++) {
			if (streq(s->path[j], link))
				return true;
		}
	}
	return false;
}

/* Did the run look at the whole host in a check that only names the parts where something was? */
static bool is_told_as_a_whole(const struct report *report, const char *check)
{
	const struct family *family = family_find(check, NULL);
	size_t i;

	/* What assayd watches has a good sample of each thing that is over. */
	if (family->compared || family->count || streq(report->profile, PROFILE_WATCH))
		return false;
	for (i = 0; i < report->n_samples; i++) {
		const struct sample *s = &report->samples[i];

		if (s->state == SAMPLE_MEASURED && streq(s->check, check) &&
		    (streq(s->subject, "host") || streq(s->subject, report->node)))
			return true;
	}
	return false;
}

static bool is_measured(const struct report *report, const char *check)
{
	size_t i = 0;

	while (i < report->n_samples && !(report->samples[i].state == SAMPLE_MEASURED &&
					  streq(report->samples[i].check, check)))
		i++;
	return i < report->n_samples;
}

static bool is_looked_at(const struct report *report, const char *node,
			 const struct store_window *row)
{
	const struct verdict_item like = { .check = row->check, .subject = row->subject };

	if (verdict_item_is_link(&like))
		return is_crossed(report, row->subject);
	/* A host as a whole has an item only while it is low. */
	if (streq(row->subject, node))
		return is_measured(report, row->check);
	return is_told_as_a_whole(report, row->check);
}

/*
 * A slow link and an event (lines in the kernel log) have items only while
 * they are bad: a run that looked and does not name them is a good one.
 */
static int note_silent(struct findings_run *note, const struct verdict *v, struct err *err)
{
	int r = 0;
	size_t i;

	for (i = 0; r == 0 && i < note->n_rows; i++) {
		struct store_window *row = &note->rows[i];

		if (is_named(v, row) || !is_looked_at(note->rules->report, v->node, row))
			continue;
		touch(note, row, false);
		r = note_good(note, v->node, row, err);
	}
	return r;
}

/* Is an incident of this link open that speaks for the cell? */
static bool is_told_by_link(const struct findings_run *note, const struct verdict *v,
			    const struct verdict_item *cell)
{
	size_t i;

	for (i = 0; cell->link && i < v->n_items; i++) {
		if (note->marks[i] & MARK_SPEAKS && verdict_item_is_link(&v->items[i]) &&
		    streq(v->items[i].subject, cell->link))
			return true;
	}
	return false;
}

/* Are all bad parts of the check told by the incident of a link, and is `first` the first? */
static bool is_retired(const struct findings_run *note, const struct verdict *v, size_t first)
{
	size_t i;

	for (i = 0; i < v->n_items; i++) {
		if (!streq(v->items[i].check, v->items[first].check) || !(note->marks[i] & MARK_BAD))
			continue;
		if (i < first || !is_told_by_link(note, v, &v->items[i]))
			return false;
	}
	return true;
}

/* What was told by its worst cell until a link was found is told by the link from then on. */
static int retire(const struct findings_run *note, const struct verdict *v, struct err *err)
{
	int r = 0;
	size_t i;

	for (i = 0; r == 0 && i < v->n_items && v->items[i].level >= VERDICT_WARN; i++) {
		if (v->items[i].link && is_retired(note, v, i))
			r = store_close_incident(note->store, v->node, v->items[i].check,
						 note->at_us, err);
	}
	return r;
}

static int note_items(struct findings_run *note, const struct verdict *v, struct err *err)
{
	struct anomalies *anomalies = findings_counted(note);
	int r = 0;
	size_t i;

	if (anomalies)
		anomalies_set(anomalies, ANOMALY_HOSTS, note->rules->sku_name, "", v->node, true);
	for (i = 0; i < v->n_items; i++)
		findings_count(note, v, &v->items[i], false);
	for (i = 0; r == 0 && i < v->n_items; i++) {
		/* The usual host: nothing was bad, nothing is. Items come worst first. */
		if (note->n_rows == 0 && v->items[i].level == VERDICT_PASS)
			break;
		r = note_item(note, v, i, err);
	}
	if (r == 0)
		r = note_silent(note, v, err);
	if (r == 0)
		r = retire(note, v, err);
	return r == 0 ? findings_settle(note, v, err) : r;
}

/* Was any part bad when it was last measured, and not with half of the fleet? */
static bool is_suspect(const struct findings_run *note)
{
	size_t i;

	for (i = 0; i < note->n_rows; i++) {
		const struct store_window *row = &note->rows[i];

		if (windows_bad(&row->windows, 1) > 0 && !findings_shared(note, row->check))
			return true;
	}
	return false;
}

int findings_note(struct store *store, struct rules_view *rules, const struct verdict *verdict,
		  const struct report_clock *arrival, struct err *err)
{
	CLEANUP(freep) unsigned char *marks = xcalloc(verdict->n_items + 1, sizeof(*marks));
	struct findings_run note = { .store = store,
				     .rules = rules,
				     .at_us = arrival->measured_us,
				     .fresh = arrival->fresh,
				     .marks = marks };
	int r = store_windows(store, verdict->node, &note.rows, FINDINGS_MAX, err);
	size_t i;

	if (r < 0)
		return r;
	note.n_rows = (size_t)r;
	r = note_items(&note, verdict, err);
	if (r == 0)
		r = is_suspect(&note);
	for (i = 0; i < note.n_rows; i++)
		store_window_release(&note.rows[i]);
	free(note.rows);
	return r;
}
