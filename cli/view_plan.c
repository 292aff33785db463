/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assayctl plan JOB: what would help it, cost and gain of each remedy, and the job without some
 * hosts.
 */
#include <math.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/job_name.h"
#include "cli/job_words.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/strbuf.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { COL_REMEDY, COL_STEP, COL_GAIN, COL_COST, COL_PAYS, COL_SURE, COL_NEEDS, N_COLS };

enum { NEEDS_MAX = 1024 };

static const struct table_column columns[N_COLS] = {
	[COL_REMEDY] = { "REMEDY", .min = 12 }, [COL_STEP] = { "STEP", .right = true },
	[COL_GAIN] = { "GAIN A STEP" },		[COL_COST] = { "COST", .right = true },
	[COL_PAYS] = { "PAYS AFTER" },		[COL_SURE] = { "SURE", .leave = 2 },
	[COL_NEEDS] = { "NEEDS", .leave = 1 },
};

/* --- fetching --- */

static char *path_of(const char *id, const struct settings *s)
{
	CLEANUP(freep) char *segment = link_segment(id);
	CLEANUP(freep) char *without = s->without ? link_segment(s->without) : NULL;
	CLEANUP(freep) char *hosts = without ? xasprintf("without=%s", without) : xstrdup("");
	CLEANUP(freep)
	char *steps = s->steps ? xasprintf("%ssteps=%llu", *hosts ? "&" : "",
					   (unsigned long long)s->steps)
			       : xstrdup("");

	return xasprintf("/v1/jobs/%s/plan%s%s%s", segment, *hosts || *steps ? "?" : "", hosts,
			 steps);
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	CLEANUP(freep) char *id = NULL;
	CLEANUP(freep) char *path = NULL;
	int r = job_name_resolve(link, request->argument, &id, err);

	if (r < 0)
		return r;
	path = path_of(id, &request->settings);
	return job_name_explain(link_get(link, path, &ret->document, err), err);
}

/* --- formatting --- */

static char *seconds(double value)
{
	return isnan(value) ? xstrdup("-") : xasprintf("%.3g s", value);
}

/* "10 min", or "5 s". */
static char *cost(double value)
{
	return value >= 60 ? xasprintf("%.0f min", value / 60) : seconds(value);
}

static char *gain_of(const json_t *remedy)
{
	const json_t *gain = json_object_get(remedy, "gain_s");
	const double value = number_at(gain, "value"), low = number_at(gain, "low"),
		     high = number_at(gain, "high");

	if (isnan(value) || value <= 0)
		return xstrdup("-");
	if (streq(raw_at(remedy, "sure"), "bound"))
		return xasprintf("up to %.3g s", value);
	return isnan(low) || isnan(high) ? xasprintf("%.3g s", value)
					 : xasprintf("%.3g s [%.3g, %.3g]", value, low, high);
}

static char *pays_of(const json_t *remedy)
{
	const double steps = number_at(json_object_get(remedy, "pays_steps"), "value");
	const double low = number_at(json_object_get(remedy, "pays_hours"), "low");
	const double high = number_at(json_object_get(remedy, "pays_hours"), "high");
	const double hours = number_at(json_object_get(remedy, "pays_hours"), "value");

	if (isnan(steps) || isnan(hours))
		return xstrdup("-");
	if (isnan(low) || isnan(high))
		return xasprintf("%.0f steps, %.1f h", ceil(steps), hours);
	return xasprintf("%.0f steps, %.1f h [%.1f, %.1f]", ceil(steps), hours, low, high);
}

static char *needs_of(const json_t *remedy)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(NEEDS_MAX);
	const json_t *needs = json_object_get(remedy, "needs");
	const double missing = number_at(remedy, "spares_missing");
	size_t i;

	for (i = 0; i < json_array_size(needs); i++) {
		CLEANUP(freep)
		char *one = utf8_clean(json_string_value(json_array_get(needs, i)) ?: "");

		(void)strbuf_printf(&text, "%s%s", i ? ", " : "", one);
	}
	if (missing >= 1)
		(void)strbuf_printf(&text, " (%.0f missing)", missing);
	return xstrdup(*strbuf_text(&text) ? strbuf_text(&text) : "-");
}

static char *name_of(const json_t *remedy)
{
	const json_t *hosts = json_object_get(remedy, "hosts");
	CLEANUP(freep) char *kind = text_at(remedy, "kind");
	CLEANUP(freep) char *names = job_words_hosts(hosts);

	return json_array_size(hosts) == 0 ? xstrdup(kind) : xasprintf("%s %s", kind, names);
}

/* --- output --- */

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const char *reason = raw_at(picture->document, "reason");
	CLEANUP(freep) char *sentence = text_at(picture->document, "sentence");
	CLEANUP(freep) char *clean = utf8_clean(reason);

	return *reason ? xasprintf("no plan: %s", clean) : xasprintf("now: %s", sentence);
}

static void add(struct table *t, const json_t *remedy, bool advised)
{
	struct table_row *row = table_add(t);
	const char *note = raw_at(remedy, "note");

	row->paint = advised ? (int)PAINT_GOOD
			     : (json_is_false(json_object_get(remedy, "possible")) ? (int)PAINT_DIM
										   : TABLE_NONE);
	row->cells[COL_REMEDY] = name_of(remedy);
	row->cells[COL_STEP] = seconds(number_at(remedy, "after_s"));
	row->cells[COL_GAIN] = gain_of(remedy);
	row->cells[COL_COST] = cost(number_at(remedy, "cost_s"));
	row->cells[COL_PAYS] = pays_of(remedy);
	row->cells[COL_SURE] = text_at(remedy, "sure");
	row->cells[COL_NEEDS] = needs_of(remedy);
	row->note = *note ? xstrdup(note) : NULL;
}

/* The results of remedies in the previous run, a line each. */
static void show_checked(const json_t *checked, struct page *page)
{
	static const char *const words[][2] = { { "held", "as promised" },
						{ "failed", "not as promised" },
						{ NULL, "too few steps yet" } };
	size_t i, w;

	for (i = 0; i < json_array_size(checked); i++) {
		const json_t *one = json_array_get(checked, i);
		CLEANUP(freep) char *deed = text_at(one, "deed");
		CLEANUP(freep) char *promised = seconds(number_at(one, "promised_s"));
		CLEANUP(freep) char *measured = seconds(number_at(one, "measured_s"));
		CLEANUP(freep) char *text = NULL;

		for (w = 0; words[w][0] && !streq(words[w][0], raw_at(one, "state")); w++)
			;
		text = xasprintf("checked: %s: promised %s a step in run %.0f; run %.0f takes %s "
				 "over %.0f steps: %s",
				 deed, promised, number_at(one, "run"), number_at(one, "by_run"),
				 measured, number_at(one, "steps"), words[w][1]);
		text_wrap(text, page->out, 0, page->width);
		(void)fputc('\n', page->out);
	}
}

static void show(const struct picture *picture, struct page *page)
{
	const json_t *remedies = json_object_get(picture->document, "remedies");
	const json_t *without = json_object_get(picture->document, "without");
	const double advised = number_at(picture->document, "advised");
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };
	CLEANUP(freep) char *sentence = text_at(without, "sentence");
	size_t i;

	for (i = 0; i < json_array_size(remedies); i++)
		add(&t, json_array_get(remedies, i), (double)i == advised);
	if (t.n_rows > 0) {
		page->cut |= !table_print(&t, page->out, page->colour, page->width);
		(void)fputc('\n', page->out);
	}
	table_release(&t);
	show_checked(json_object_get(picture->document, "checked"), page);
	if (!json_is_object(without))
		return;
	text_wrap(sentence, page->out, 0, page->width);
	(void)fputc('\n', page->out);
}

const struct view view_plan = { fetch, summary, show, NULL };
