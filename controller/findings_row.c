/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a bad run besides that it was bad: the policy decides on it. */
#include <math.h>
#include <stdlib.h>

#include "controller/findings.h"
#include "controller/findings_inside.h"
#include "controller/rules.h"
#include "controller/store.h"
#include "lib/judge/bad_run.h"
#include "lib/judge/verdict.h"
#include "lib/report.h"
#include "lib/xalloc.h"

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

void findings_describe(const struct note *note, const struct verdict_item *item,
		       struct store_window *row)
{
	const struct sample *sample = sample_of(note->rules->report, item);
	const struct incident_count parts = findings_parts(note, item);

	row->severity = item->fatal ? SEVERITY_FATAL : SEVERITY_WARN;
	row->source = bad_run_blames(item);
	row->parts_bad = (unsigned)parts.bad;
	row->parts = (unsigned)parts.of;
	row->born = bad_run_is_born(item, row->born);
	/* What parts have in common is the finding of the whole host: of it none is told apart. */
	if (streq(item->subject, note->verdict->node))
		row->parts_bad = row->parts;
	row->score = item->expected > 0 ? item->value / item->expected : NAN;
	set_text(&row->locality, sample ? sample->locality : NULL);
	set_text(&row->code, item->impossible ? FINDING_IMPOSSIBLE : sample ? sample->code : NULL);
	set_text(&row->sentence, item->sentence);
}

static bool has_row(const struct note *note, const char *check)
{
	size_t i = 0;

	while (i < note->n_rows && !streq(note->rows[i].check, check))
		i++;
	return i < note->n_rows;
}

int findings_make_room(struct note *note, struct err *err)
{
	const char *node = note->verdict->node;
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

bool findings_first(const struct note *note)
{
	const char *profile = note->verdict->profile;

	return store_ran_before(note->store, note->verdict->node, profile ? profile : "", NULL) == 0;
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
