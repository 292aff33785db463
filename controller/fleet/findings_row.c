/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/fleet/findings_row.h"

#include <math.h>
#include <stdlib.h>

#include "controller/fleet/findings.h"
#include "controller/fleet/rules.h"
#include "controller/store/store.h"
#include "lib/base/xalloc.h"
#include "lib/judge/verdict_item.h"
#include "lib/policy/bad_run.h"
#include "lib/policy/rungs.h"
#include "lib/report/report.h"

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

struct incident_count findings_parts(const struct verdict *v, const struct verdict_item *item)
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

void findings_describe(const struct findings_run *note, const struct verdict *v,
		       const struct verdict_item *item, struct store_window *row)
{
	const struct sample *sample = sample_of(note->rules->report, item);
	const struct incident_count parts = findings_parts(v, item);

	row->severity = item->fatal ? SEVERITY_FATAL : SEVERITY_WARN;
	row->source = bad_run_blames(item);
	row->parts_bad = (unsigned)parts.bad;
	row->parts = (unsigned)parts.of;
	row->born = bad_run_is_born(item, row->born);
	/* What parts have in common is the finding of the whole host: of it none is told apart. */
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

int findings_make_room(struct findings_run *note, const char *node, struct err *err)
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

bool findings_first(struct store *store, const struct verdict *v)
{
	const char *profile = v->profile;

	/* The first rung of a host that runs for long is no first run of it. */
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
