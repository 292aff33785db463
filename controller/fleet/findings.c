/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/findings.h"

#include <math.h>
#include <stdlib.h>

#include "controller/fleet/findings_fleet.h"
#include "controller/fleet/incident.h"
#include "controller/fleet/report_clock.h"
#include "controller/fleet/rules.h"
#include "controller/store/store.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/reference.h"
#include "lib/judge/verdict.h"
#include "lib/judge/verdict_item.h"
#include "lib/policy/bad_run.h"
#include "lib/policy/rungs.h"
#include "lib/report/host_parts_words.h"
#include "lib/report/report.h"

/* --- the row of a bad run --- */

static const struct sample *sample_of(const struct report *report, const struct verdict_item *item)
{
	size_t i;

	for (i = 0; report && i < report->n_samples; i++) {
		if (streq(report->samples[i].check, item->check) &&
		    streq(report->samples[i].subject, item->subject))
			return &report->samples[i];
	}
	return NULL;
}

static void set_text(char **at, const char *text)
{
	free(*at);
	*at = xstrdup(text);
}

/*
 * Number of the host's bad parts in the check, out of all that the run measured; of links only the
 * bad ones are known.
 */
static struct incident_count parts_of(const struct verdict *v, const struct verdict_item *item)
{
	struct incident_count count = { 0 };
	size_t i;

	for (i = 0; i < v->n_items; i++) {
		if (!streq(v->items[i].check, item->check))
			continue;
		count.bad += v->items[i].level >= VERDICT_WARN;
		count.of += v->items[i].level != VERDICT_INCONCLUSIVE;
	}
	if (verdict_item_is_link(item))
		count.of = 0;
	return count;
}

/* Update the row with what the policy needs to know about a bad run. */
static void describe(const struct findings_run *note, const struct verdict *v,
		     const struct verdict_item *item, struct store_window *row)
{
	const struct sample *sample = sample_of(note->rules->report, item);
	const struct incident_count parts = parts_of(v, item);

	row->severity = item->fatal ? SEVERITY_FATAL : SEVERITY_WARN;
	row->source = bad_run_blames(item);
	row->parts_bad = (unsigned)parts.bad;
	row->parts = (unsigned)parts.of;
	row->born = bad_run_is_born(item, row->born);
	/* A loss common to all parts is a finding of the whole host; its parts are not counted
	 * separately. */
	if (streq(item->subject, v->node))
		row->parts_bad = row->parts;
	row->score = item->expected > 0 ? item->value / item->expected : NAN;
	set_text(&row->locality, sample ? sample->locality : NULL);
	set_text(&row->code, item->impossible ? FINDING_IMPOSSIBLE : sample ? sample->code : NULL);
	set_text(&row->sentence, item->sentence);
}

static bool has_row(const struct findings_run *note, const char *check)
{
	size_t i = 0;

	while (i < note->n_rows && !streq(note->rows[i].check, check))
		i++;
	return i < note->n_rows;
}

/*
 * Drop the row that is not fatal and was last bad the longest ago, and its incident if no row of
 * that check is left. If all are fatal, none is dropped.
 */
static int make_room(struct findings_run *note, const char *node, struct err *err)
{
	struct store_window *least = NULL, dropped;
	size_t i;
	int r;

	for (i = 0; i < note->n_rows; i++) {
		struct store_window *row = &note->rows[i];

		if (row->severity != SEVERITY_FATAL && (!least || row->last_us < least->last_us))
			least = row;
	}
	if (!least)
		return 0;
	dropped = *least;
	*least = note->rows[--note->n_rows];
	r = store_drop_window(note->store, node, &dropped, err);
	if (r == 0 && !has_row(note, dropped.check))
		r = store_close_incident(note->store, node, dropped.check, note->at_us, err);
	store_window_release(&dropped);
	return r;
}

static bool has_run(struct store *store, const char *node, const char *profile)
{
	return store_ran_before(store, node, profile, NULL) != 0;
}

/* Is this the host's first run of its profile? Then a bad value was never good before. */
static bool is_first(struct store *store, const struct verdict *v)
{
	const char *profile = v->profile;

	/* A first short rung on a host that has run for long is not its first run. */
	if (rungs_is_short(profile) &&
	    (has_run(store, v->node, "quick") || has_run(store, v->node, RUNGS_WHOLE)))
		return false;
	return !has_run(store, v->node, profile ? profile : "");
}

struct finding_news findings_news(const struct store_window *row)
{
	return (struct finding_news){
		.check = row->check,
		.subject = row->subject,
		.locality = row->locality,
		.code = row->code,
		.sentence = row->sentence,
		.severity = row->severity,
		.source = row->source,
		.windows = &row->windows,
		.since_us = row->since_us,
		.seen_us = row->last_us,
		.born = row->born,
		.parts_bad = row->parts_bad,
		.parts = row->parts,
		.score = row->score,
	};
}

/* --- one item --- */

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
 * Returns the row of an item in `ret_row`, created if the item is bad; NULL if there is none. Fatal
 * items always get one: the least of the others makes room.
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
		r = make_room(note, v->node, err);
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
				      .born = is_first(note->store, v) };
	return 0;
}

/* Does a worse item already report this check? Items are sorted worst first. */
static bool is_spoken_for(const struct findings_run *note, const struct verdict *v, size_t i)
{
	size_t j;

	for (j = 0; j < i; j++) {
		if (note->marks[j] & MARK_SPEAKS && streq(v->items[j].check, v->items[i].check))
			return true;
	}
	return false;
}

/* Current names of the parts of a subject as JSON text, NULL if unknown. New memory. */
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
	const struct incident_count parts = parts_of(v, item);
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

/* Events come and go: one is over after a quiet period. */
static bool is_over(const struct findings_run *note, const struct store_window *row)
{
	return windows_clear(&row->windows, row->n) &&
	       (!bad_run_is_event(row->check) ||
		note->at_us - MIN(row->last_us, note->at_us) >= BAD_RUN_QUIET_US);
}

/* Have all subjects of the check had their good runs? */
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

/* One more run. For events only the time of the last occurrence counts. */
static void touch(const struct findings_run *note, struct store_window *row, bool bad)
{
	if (bad || !bad_run_is_event(row->check))
		row->last_us = note->at_us;
	windows_push(&row->windows, bad);
}

/* Open an incident of the host, unless the finding is shared by the fleet. */
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
 * How many bad runs are proof, and how many good ones end it. If the host was low in half of its
 * parts before, a single part that is low again is no additional proof.
 */
static void set_proof(struct store_window *row, const struct verdict_item *item,
		      const struct policy_rule *rule)
{
	const uint64_t k = rule ? rule->k : 1, n = rule ? rule->n : 1;
	const struct bad_run_facts facts = {
		.check = row->check,
		/* An impossible value is reported at once. */
		.born = row->born && !item->impossible,
		.deep = item->deep,
		/* A drop in this run counts besides the level of the part itself. */
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

	/* Inconclusive is neither good nor bad; a subject measured in several ways counts as one
	 * run. */
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
	describe(note, v, item, row);
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

/* Did the run measure anything that uses the link? */
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

/* Did the run look at the whole host in a check that names parts only if something happened? */
static bool is_told_as_a_whole(const struct report *report, const char *check)
{
	const struct family *family = family_find(check, NULL);
	size_t i;

	/* The watchers of assayd report a good sample for each event that is over. */
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
	/* The host as a whole has an item only while it is low. */
	if (streq(row->subject, node))
		return is_measured(report, row->check);
	return is_told_as_a_whole(report, row->check);
}

/*
 * Slow links and events (kernel log lines) have items only while they are bad: a run that looked
 * and does not name them is good.
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

/* Is there an open incident of a link that explains the cell? */
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

/* Are all bad parts of the check explained by an incident of a link, `first` being the first of
 * them? */
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

/* Close the incident that was reported by its worst cell, now that the faulty link is known. */
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
	int r = 0;
	size_t i;

	findings_count_host(note, v->node);
	for (i = 0; i < v->n_items; i++)
		findings_count(note, v, &v->items[i], false);
	for (i = 0; r == 0 && i < v->n_items; i++) {
		/* The usual case: nothing was bad, nothing is. Items are sorted worst first. */
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

/* Was any part bad in its last run, and not together with half of the fleet? */
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
