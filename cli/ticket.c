/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ticket.h"

#include <math.h>
#include <stdlib.h>

#include "cli/parts.h"
#include "cli/view.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/report/host_parts.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { LABEL = 2, INDENT = 13, LABEL_MAX = INDENT - LABEL - 1 };

void ticket_head(const struct page *page, const char *text)
{
	(void)fprintf(page->out, "\n%s%s%s\n", paint_on(page->colour, PAINT_BOLD), text,
		      paint_off(page->colour));
}

void ticket_line(const struct page *page, const char *label, const char *text)
{
	CLEANUP(freep) char *clean = utf8_clean(text);
	CLEANUP(freep) char *lines = NULL;
	size_t size = 0;
	FILE *memory = open_memstream(&lines, &size);

	if (!memory)
		return;
	text_wrap(clean, memory, INDENT, page->width);
	if (fclose(memory) != 0 || size < INDENT)
		return;
	memcpy(lines + LABEL, label, strnlen(label, LABEL_MAX));
	(void)fputs(lines, page->out);
}

void ticket_parts(const struct page *page, const char *label, const json_t *list)
{
	CLEANUP(host_parts_release) struct host_parts parts = { 0 };
	size_t i;

	host_parts_decode(list, &parts);
	for (i = 0; i < parts.n; i++) {
		CLEANUP(freep) char *line = host_part_line(&parts.all[i]);

		ticket_line(page, i ? "" : label, line);
	}
}

/* --- one finding --- */

/*
 * "; 39.8 GFLOP/s to 40.2 GFLOP/s in 8 parts of 4 s" from the sample, or "". The caller frees it.
 */
static char *spread(const json_t *sample, const char *unit)
{
	const json_t *w = json_object_get(sample, "w");
	double low = NAN, high = NAN, seconds = number_at(sample, "seconds");
	size_t i;

	for (i = 0; i < json_array_size(w); i++) {
		const json_t *value = json_array_get(w, i);

		low = fmin(low, json_is_number(value) ? json_number_value(value) : NAN);
		high = fmax(high, json_is_number(value) ? json_number_value(value) : NAN);
	}
	if (isnan(low)) {
		low = number_at(sample, "min");
		high = number_at(sample, "max");
	}
	if (isnan(low) || isnan(high))
		return xstrdup("");
	{
		CLEANUP(freep) char *from = quantity(low, unit);
		CLEANUP(freep) char *to = quantity(high, unit);

		if (json_array_size(w) == 0)
			return xasprintf("; %s to %s", from, to);
		if (isnan(seconds))
			return xasprintf("; %s to %s over %zu parts", from, to, json_array_size(w));
		return xasprintf("; %s to %s over %zu parts of %.3g s", from, to,
				 json_array_size(w), seconds);
	}
}

static void line_seen(const struct page *page, const json_t *item)
{
	const char *unit = raw_at(item, "unit");
	double value = number_at(item, "value"), expected = number_at(item, "expected");
	CLEANUP(freep) char *seen = quantity(value, unit);
	CLEANUP(freep) char *part = ratio(value, expected);
	CLEANUP(freep) char *over = spread(json_object_get(item, "sample"), unit);
	CLEANUP(freep) char *text = NULL;

	if (isnan(value))
		return;
	text = streq(part, "-") ? xasprintf("%s%s", seen, over)
				: xasprintf("%s, %s of what is expected%s", seen, part, over);
	ticket_line(page, "seen", text);
}

/* The basis of an expectation. The caller frees it. */
static char *source_of(const json_t *item)
{
	static const struct {
		const char *name, *before, *after;
	} sources[] = {
		{ "fleet", "the median of ", " other hosts of its SKU" },
		{ "history", "the last ", " runs of its own" },
		{ "peers", "the median of its ", " peers on this host" },
		{ "sku", "the SKU file", NULL },
		{ "self-evident", "bad in itself", NULL },
	};
	const char *name = raw_at(item, "source");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(sources) && !streq(sources[i].name, name); i++)
		;
	if (i == ARRAY_SIZE(sources))
		return utf8_clean(name);
	if (!sources[i].after)
		return xstrdup(sources[i].before);
	return xasprintf("%s%.0f%s", sources[i].before, number_at(item, "n"), sources[i].after);
}

static void line_against(const struct page *page, const json_t *item)
{
	const char *unit = raw_at(item, "unit");
	double expected = number_at(item, "expected"), floor_ = number_at(item, "floor");
	CLEANUP(freep) char *source = source_of(item);
	CLEANUP(freep) char *want = quantity(expected, unit);
	CLEANUP(freep) char *least = quantity(floor_, unit);
	CLEANUP(freep) char *part = ratio(floor_, expected);
	CLEANUP(freep) char *text = NULL;

	if (isnan(expected))
		text = xstrdup(source);
	else if (isnan(floor_))
		text = xasprintf("%s expected: %s", want, source);
	else
		text = xasprintf("%s expected, floor %s (%s): %s", want, least, part, source);
	ticket_line(page, "against", text);
}

static void line_often(const struct page *page, const json_t *windows)
{
	const char *clears = raw_at(windows, "clears");
	double bad = number_at(windows, "bad"), of = number_at(windows, "of");
	CLEANUP(freep) char *age = age_of_stamp(raw_at(windows, "since"), page->now_us);
	CLEANUP(freep) char *text = NULL;

	if (isnan(bad) || isnan(of)) {
		ticket_line(page, "how often", "the first time, or not known");
		return;
	}
	text = xasprintf("bad in %.0f of the last %.0f run%s, since %s (%s); %.0f of %.0f make an "
			 "incident",
			 bad, of, of == 1 ? "" : "s", raw_at(windows, "since"), age,
			 number_at(windows, "k"), number_at(windows, "n"));
	ticket_line(page, "how often", text);
	clears += starts_with(clears, "clears ") ? strlen("clears ") : 0;
	ticket_line(page, "clears", clears);
}

/* Parts whose names have changed since the incident was opened: a GPU that was moved. */
static void line_moved(const struct page *page, const json_t *incident)
{
	const char *moved = raw_at(incident, "moved");

	if (*moved)
		ticket_line(page, "moved", moved);
}

static void line_incident(const struct page *page, const json_t *item, const json_t *incidents)
{
	size_t i;

	for (i = 0; i < json_array_size(incidents); i++) {
		const json_t *incident = json_array_get(incidents, i);
		CLEANUP(freep)
		char *age = age_of_stamp(raw_at(incident, "opened"), page->now_us);
		CLEANUP(freep)
		char *text = xasprintf("%s, open since %s (%s); rule %s of the policy asks for %s",
				       raw_at(incident, "id"), raw_at(incident, "opened"), age,
				       raw_at(incident, "rule"), raw_at(incident, "action"));

		if (!streq(raw_at(incident, "check"), raw_at(item, "check")))
			continue;
		ticket_line(page, "incident", text);
		line_moved(page, incident);
	}
}

/* The reports with the evidence. */
static void lines_proof(const struct page *page, const json_t *item)
{
	const json_t *reports = json_object_get(item, "reports");
	size_t i;

	for (i = 0; i < json_array_size(reports); i++) {
		const json_t *report = json_array_get(reports, i);
		CLEANUP(freep)
		char *value = quantity(number_at(report, "value"), raw_at(item, "unit"));
		CLEANUP(freep)
		char *text = xasprintf("%s in the %s run of %s: boot %s, report %.0f", value,
				       raw_at(report, "profile"), raw_at(report, "time"),
				       raw_at(report, "boot_id"), number_at(report, "seq"));

		ticket_line(page, i ? "" : "proof", text);
	}
}

void ticket_finding(const struct page *page, size_t number, const json_t *item,
		    const json_t *incidents)
{
	const char *level = raw_at(item, "verdict");
	CLEANUP(freep) char *check = text_at(item, "check");
	CLEANUP(freep) char *subject = parts_subject(item);
	CLEANUP(freep) char *shown = utf8_clean(level);
	int paint = paint_of_level(level);

	(void)fprintf(page->out, "\n%zu. %s%s%s  %s of %s\n", number,
		      paint_on(page->colour, (enum paint)paint), shown, paint_off(page->colour),
		      check, subject);
	ticket_line(page, "what", raw_at(item, "sentence"));
	ticket_parts(page, "part", json_object_get(item, "parts"));
	line_seen(page, item);
	line_against(page, item);
	line_often(page, json_object_get(item, "windows"));
	line_incident(page, item, incidents);
	lines_proof(page, item);
}
