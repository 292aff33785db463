/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl evidence NODE: a text or JSON document to attach to a vendor's ticket. */
#include <math.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/evidence.h"
#include "cli/items.h"
#include "cli/ticket.h"
#include "cli/view.h"
#include "cli/view_actions.h"
#include "cli/why.h"
#include "lib/base/xalloc.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	return evidence_fetch(link, request->argument, &ret->document, err);
}

/* --- sections: times are absolute, since they may be read much later --- */

enum { PART_KIND, PART_ID, PART_WHAT, PART_COLS };

static const struct table_column part_columns[PART_COLS] = {
	[PART_KIND] = { "PART" },
	[PART_ID] = { "ID" },
	[PART_WHAT] = { "WHAT", .wrap = true },
};

static void add_part(struct table *t, const json_t *part, const struct page *page UNUSED)
{
	struct table_row *row = table_add(t);

	row->paint = TABLE_NONE;
	row->cells[PART_KIND] = text_at(part, "part");
	row->cells[PART_ID] = text_at(part, "id");
	row->cells[PART_WHAT] = text_at(part, "what");
}

enum { LOG_TIME, LOG_SUBJECT, LOG_CODE, LOG_LINES, LOG_SEVERITY, LOG_COLS };

static const struct table_column log_columns[LOG_COLS] = {
	[LOG_TIME] = { "TIME" },	 [LOG_SUBJECT] = { "DEVICE" },
	[LOG_CODE] = { "CODE" },	 [LOG_LINES] = { "LINES", .right = true },
	[LOG_SEVERITY] = { "SEVERITY" },
};

static void add_log(struct table *t, const json_t *line, const struct page *page UNUSED)
{
	struct table_row *row = table_add(t);
	double n = number_at(line, "lines");

	row->paint = TABLE_NONE;
	row->cells[LOG_TIME] = text_at(line, "time");
	row->cells[LOG_SUBJECT] = text_at(line, "subject");
	row->cells[LOG_CODE] = text_at(line, "code");
	row->cells[LOG_LINES] = isnan(n) ? xstrdup("-") : xasprintf("%.0f", n);
	row->cells[LOG_SEVERITY] = text_at(line, "severity");
	row->note = text_at(line, "note");
}

enum {
	INCIDENT_VERDICT,
	INCIDENT_ID,
	INCIDENT_CHECK,
	INCIDENT_OPENED,
	INCIDENT_CLOSED,
	INCIDENT_COLS
};

static const struct table_column incident_columns[INCIDENT_COLS] = {
	[INCIDENT_VERDICT] = { "VERDICT" }, [INCIDENT_ID] = { "ID" },
	[INCIDENT_CHECK] = { "CHECK" },	    [INCIDENT_OPENED] = { "OPENED" },
	[INCIDENT_CLOSED] = { "CLOSED" },
};

static void add_incident(struct table *t, const json_t *incident, const struct page *page UNUSED)
{
	struct table_row *row = table_add(t);

	row->paint = paint_of_level(raw_at(incident, "verdict"));
	row->cells[INCIDENT_VERDICT] = text_at(incident, "verdict");
	row->cells[INCIDENT_ID] = text_at(incident, "id");
	row->cells[INCIDENT_CHECK] = text_at(incident, "check");
	row->cells[INCIDENT_OPENED] = text_at(incident, "opened");
	row->cells[INCIDENT_CLOSED] = text_at(incident, "closed");
	row->note = text_at(incident, "sentence");
}

enum {
	REPORT_VERDICT,
	REPORT_SEEN,
	REPORT_PROFILE,
	REPORT_BOOT,
	REPORT_SEQ,
	REPORT_WORDS,
	REPORT_COLS
};

static const struct table_column report_columns[REPORT_COLS] = {
	[REPORT_VERDICT] = { "VERDICT" },	    [REPORT_SEEN] = { "SEEN" },
	[REPORT_PROFILE] = { "PROFILE" },	    [REPORT_BOOT] = { "BOOT" },
	[REPORT_SEQ] = { "REPORT", .right = true }, [REPORT_WORDS] = { "WHAT", .wrap = true },
};

static void add_report(struct table *t, const json_t *report, const struct page *page UNUSED)
{
	struct table_row *row = table_add(t);

	row->paint = paint_of_level(raw_at(report, "verdict"));
	row->cells[REPORT_VERDICT] = text_at(report, "verdict");
	row->cells[REPORT_SEEN] = text_at(report, "seen");
	row->cells[REPORT_PROFILE] = text_at(report, "profile");
	row->cells[REPORT_BOOT] = text_at(report, "boot_id");
	row->cells[REPORT_SEQ] = xasprintf("%.0f", number_at(report, "seq"));
	row->cells[REPORT_WORDS] = text_at(report, "sentence");
}

enum {
	SAMPLE_CHECK,
	SAMPLE_SUBJECT,
	SAMPLE_VALUE,
	SAMPLE_STATE,
	SAMPLE_PROFILE,
	SAMPLE_TIME,
	SAMPLE_COLS
};

static const struct table_column sample_columns[SAMPLE_COLS] = {
	[SAMPLE_CHECK] = { "CHECK" },
	[SAMPLE_SUBJECT] = { "SUBJECT" },
	[SAMPLE_VALUE] = { "VALUE", .right = true },
	[SAMPLE_STATE] = { "STATE" },
	[SAMPLE_PROFILE] = { "PROFILE" },
	[SAMPLE_TIME] = { "RUN" },
};

static void add_sample(struct table *t, const json_t *sample, const struct page *page UNUSED)
{
	struct table_row *row = table_add(t);

	row->paint = json_is_false(json_object_get(sample, "ok")) ? (int)PAINT_BAD : TABLE_NONE;
	row->cells[SAMPLE_CHECK] = text_at(sample, "check");
	row->cells[SAMPLE_SUBJECT] = text_at(sample, "subject");
	row->cells[SAMPLE_VALUE] = quantity(number_at(sample, "value"), raw_at(sample, "unit"));
	row->cells[SAMPLE_STATE] = text_at(sample, "state");
	row->cells[SAMPLE_PROFILE] = text_at(sample, "profile");
	row->cells[SAMPLE_TIME] = text_at(sample, "time");
	row->note = *raw_at(sample, "note") ? text_at(sample, "note") : NULL;
}

enum { STEP_AT, STEP_FROM, STEP_TO, STEP_BY, STEP_COLS };

static const struct table_column step_columns[STEP_COLS] = {
	[STEP_AT] = { "TIME" },
	[STEP_FROM] = { "FROM" },
	[STEP_TO] = { "TO" },
	[STEP_BY] = { "BY" },
};

static void add_step(struct table *t, const json_t *step, const struct page *page UNUSED)
{
	struct table_row *row = table_add(t);

	row->paint = TABLE_NONE;
	row->cells[STEP_AT] = text_at(step, "at");
	row->cells[STEP_FROM] = text_at(step, "from");
	row->cells[STEP_TO] = text_at(step, "to");
	row->cells[STEP_BY] = text_at(step, "by");
	row->note = text_at(step, "why");
}

static const struct {
	const char *key, *head;
	const struct table_column *columns;
	size_t n_columns;
	items_add_fn *add;
} sections[] = {
	{ "parts", "parts", part_columns, PART_COLS, add_part },
	{ "incidents", "incidents", incident_columns, INCIDENT_COLS, add_incident },
	{ "kernel_log", "kernel log", log_columns, LOG_COLS, add_log },
	{ "verdicts", "last reports", report_columns, REPORT_COLS, add_report },
	{ "samples", "samples of the newest run of each profile", sample_columns, SAMPLE_COLS,
	  add_sample },
};

static void show_list(const json_t *items, struct table *t, items_add_fn *add, struct page *page)
{
	if (json_array_size(items) == 0)
		(void)fputs("none\n", page->out);
	items_show(items, t, add, page);
}

static void show(const struct picture *picture, struct page *page)
{
	const json_t *document = picture->document;
	struct table steps = { .columns = step_columns, .n_columns = STEP_COLS };
	size_t i;

	why_show(json_object_get(document, "why"), page);
	ticket_head(page, "its life");
	show_list(json_object_get(json_object_get(document, "acted"), "transitions"), &steps,
		  add_step, page);
	ticket_head(page, "what was done");
	actions_show(json_object_get(json_object_get(document, "acted"), "actions"), page);
	for (i = 0; i < ARRAY_SIZE(sections); i++) {
		struct table t = { .columns = sections[i].columns,
				   .n_columns = sections[i].n_columns };

		ticket_head(page, sections[i].head);
		show_list(json_object_get(document, sections[i].key), &t, sections[i].add, page);
	}
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	CLEANUP(freep) char *node = text_at(picture->document, "node");
	CLEANUP(freep) char *made = text_at(picture->document, "made");
	CLEANUP(freep) char *by = text_at(picture->document, "by");

	return xasprintf("evidence for %s, collected at %s by %s; -o json has every number", node,
			 made, by);
}

const struct view view_evidence = { fetch, summary, show, NULL };
