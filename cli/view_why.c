/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl why NODE: the text for a ticket. */
#include <errno.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/host.h"
#include "cli/job_words.h"
#include "cli/life.h"
#include "cli/link.h"
#include "cli/parts.h"
#include "cli/ticket.h"
#include "cli/view.h"
#include "cli/why.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* Cells listed per slow link. */
enum { CELLS_TOLD = 6 };

/* --- fetching --- */

static bool same_part(const json_t *a, const json_t *b)
{
	return streq(raw_at(a, "check"), raw_at(b, "check")) &&
	       streq(raw_at(a, "subject"), raw_at(b, "subject"));
}

/* Add the sample of each item, for its sub-windows. */
static void add_samples(json_t *items, const json_t *samples)
{
	size_t i, j;

	for (i = 0; i < json_array_size(items); i++) {
		json_t *item = json_array_get(items, i);

		for (j = 0; j < json_array_size(samples); j++) {
			if (same_part(item, json_array_get(samples, j)))
				(void)json_object_set(item, "sample", json_array_get(samples, j));
		}
	}
}

int why_fetch(struct link *link, const char *node, json_t **ret, struct err *err)
{
	CLEANUP(freep) char *name = link_segment(node);
	CLEANUP(freep) char *path = xasprintf("/v1/nodes/%s/why", name);
	CLEANUP(freep) char *samples_path = xasprintf("/v1/nodes/%s/samples", name);
	CLEANUP(json_freep) json_t *why = NULL;
	CLEANUP(json_freep) json_t *samples = NULL;
	int r = host_get(link, node, path, &why, err);

	if (r == 0 && json_array_size(json_object_get(why, "items")))
		r = link_list(link, samples_path, &samples, err);
	if (r < 0)
		return r;
	add_samples(json_object_get(why, "items"), samples);
	parts_add(json_object_get(why, "items"), json_object_get(why, "parts"));
	parts_add_moved(json_object_get(why, "incidents"), json_object_get(why, "parts"));
	r = host_add_drift(link, why, err);
	if (r < 0)
		return r;
	*ret = TAKE(why);
	return 0;
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	int r = why_fetch(link, request->argument, &ret->document, err);

	if (r == 0 && request->settings.subject)
		r = parts_only(ret->document, request->settings.subject, err);
	return r;
}

/* --- output --- */

/* Does the finding at `item` name the link that makes `cell` slow? */
static bool explains(const json_t *item, const json_t *cell)
{
	const char *link = json_string_value(json_object_get(cell, "link"));

	return link && item != cell && streq(raw_at(item, "subject"), link);
}

/* Cells that a link explains are listed with it, not separately. */
static bool is_explained(const json_t *items, const json_t *cell)
{
	size_t i;

	for (i = 0; json_object_get(cell, "link") && i < json_array_size(items); i++) {
		if (explains(json_array_get(items, i), cell))
			return true;
	}
	return false;
}

static bool is_told(const json_t *items, const json_t *item)
{
	return !streq(raw_at(item, "verdict"), "inconclusive") && !is_explained(items, item);
}

/* "write_bw" from "loopback.write_bw". */
static const char *short_check(const json_t *item)
{
	const char *check = raw_at(item, "check");
	const char *dot = strchr(check, '.');

	return dot ? dot + 1 : check;
}

/* "28 measurements: mlx5_2:1>numa:0 write_bw 24.9 GB/s, ...". */
static void show_cells(const json_t *why, const json_t *item, const struct page *page)
{
	const json_t *items = json_object_get(why, "items");
	CLEANUP(freep) char *text = xstrdup("");
	CLEANUP(freep) char *whole = NULL;
	size_t n = 0, i;

	for (i = 0; i < json_array_size(items); i++) {
		const json_t *cell = json_array_get(items, i);
		CLEANUP(freep) char *before = NULL;
		CLEANUP(freep) char *value = NULL;
		CLEANUP(freep) char *subject = parts_subject(cell);

		/* Findings about the host as a whole are not cells. */
		if (!explains(item, cell) || streq(raw_at(cell, "subject"), raw_at(why, "node")) ||
		    n++ >= CELLS_TOLD)
			continue;
		before = TAKE(text);
		value = quantity(number_at(cell, "value"), raw_at(cell, "unit"));
		text = xasprintf("%s%s%s %s %s", before, n > 1 ? ", " : "", subject,
				 short_check(cell), value);
	}
	if (n == 0)
		return;
	whole = n > CELLS_TOLD ? xasprintf("%zu measurements: %s, ...", n, text)
			       : xasprintf("%zu measurement%s: %s", n, n == 1 ? "" : "s", text);
	ticket_line(page, "explains", whole);
}

static size_t show_findings(const json_t *why, const struct page *page)
{
	const json_t *items = json_object_get(why, "items");
	size_t n = 0, i;

	for (i = 0; i < json_array_size(items); i++) {
		const json_t *item = json_array_get(items, i);

		if (!is_told(items, item))
			continue;
		ticket_finding(page, ++n, item, json_object_get(why, "incidents"));
		show_cells(why, item, page);
	}
	return n;
}

/* Inconclusive items: neither good nor bad. */
static void show_untold(const json_t *why, const struct page *page)
{
	const json_t *items = json_object_get(why, "items");
	bool any = false;
	size_t i;

	for (i = 0; i < json_array_size(items); i++) {
		const json_t *item = json_array_get(items, i);

		if (!streq(raw_at(item, "verdict"), "inconclusive") || is_explained(items, item))
			continue;
		if (!any)
			ticket_head(page, "could not be determined");
		any = true;
		ticket_line(page, "unknown", raw_at(item, "sentence"));
	}
}

/* "research/llm-7 run 1: compute, share 0.94 [0.88, 0.99]; windows 9, 7 (2 of 3)". */
static char *job_line(const json_t *job)
{
	CLEANUP(freep) char *share = job_words_range(json_object_get(job, "share"), 2);
	CLEANUP(freep) char *speed = job_words_speed(job);
	const json_t *ids = json_object_get(job, "windows");
	CLEANUP(freep) char *windows = xstrdup("");
	size_t i;

	for (i = 0; i < json_array_size(ids); i++) {
		CLEANUP(freep) char *before = windows;

		windows = xasprintf("%s%s%" JSON_INTEGER_FORMAT, before, i ? ", " : "",
				    json_integer_value(json_array_get(ids, i)));
	}
	return xasprintf("%s run %.0f: %s, share %s; windows %s (%.0f of %.0f)%s",
			 raw_at(job, "job"), number_at(job, "run"), raw_at(job, "class"), share,
			 *windows ? windows : "-", number_at(job, "hits"), number_at(job, "of"),
			 speed);
}

/* Windows, suspects, and what would be done. */
static void show_jobs(const json_t *why, const struct page *page)
{
	const json_t *jobs = json_object_get(why, "jobs");
	size_t i;

	for (i = 0; i < json_array_size(jobs); i++) {
		const json_t *job = json_array_get(jobs, i);
		CLEANUP(freep) char *line = job_line(job);
		CLEANUP(freep) char *last = age_of_stamp(raw_at(job, "last"), page->now_us);
		CLEANUP(freep)
		char *then = xasprintf("%s: %s", raw_at(job, "action"), raw_at(job, "reason"));

		CLEANUP(freep)
		char *looked = xasprintf("investigation %.0f", number_at(job, "investigation"));

		CLEANUP(freep)
		char *plan = xasprintf("assayctl plan %s --without %s", raw_at(job, "job"),
				       raw_at(why, "node"));

		if (i == 0)
			ticket_head(page, "blamed by jobs");
		ticket_line(page, "job", line);
		ticket_line(page, "heard of", last);
		ticket_line(page, "then", then);
		if (json_is_integer(json_object_get(job, "investigation")))
			ticket_line(page, "tested in", looked);
		ticket_line(page, "would help", plan);
	}
}

/* Hung jobs in which a rank of this host is said to have stopped. */
static void show_hangs(const json_t *why, const struct page *page)
{
	const json_t *hangs = json_object_get(why, "hangs");
	size_t i;

	for (i = 0; i < json_array_size(hangs); i++) {
		const json_t *one = json_array_get(hangs, i);
		CLEANUP(freep) char *when = view_moment(raw_at(one, "since"), page->now_us);
		CLEANUP(freep)
		char *line = xasprintf("%s run %.0f, since %s", raw_at(one, "job"),
				       number_at(one, "run"), when);

		if (i == 0)
			ticket_head(page, "named by jobs that hang");
		ticket_line(page, "job", line);
		ticket_line(page, "stopped", raw_at(one, "sentence"));
	}
}

/* Acquittals by tests of jobs that accused it, even if they no longer do. */
static void show_acquitted(const json_t *why, const struct page *page)
{
	const json_t *all = json_object_get(why, "acquitted");
	size_t i;

	for (i = 0; i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i);
		CLEANUP(freep) char *when = age_of_stamp(raw_at(one, "acquitted"), page->now_us);
		CLEANUP(freep)
		char *line =
			xasprintf("%s: of %s, %s", raw_at(one, "job"), raw_at(one, "class"), when);

		if (i == 0)
			ticket_head(page, "acquitted by its tests");
		ticket_line(page, "job", line);
	}
}

/* Restarts of jobs that ran well until this host joined them. */
static void show_restarts(const json_t *why, const struct page *page)
{
	const json_t *restarts = json_object_get(why, "restarts");

	if (!json_is_object(restarts))
		return;
	ticket_head(page, "restarts of its jobs");
	ticket_line(page, "seen", raw_at(restarts, "sentence"));
	ticket_line(
		page, "then",
		json_is_true(json_object_get(restarts, "named"))
			? "a suspect: test it before the next job; by itself this cordons nothing"
			: "not enough to suspect it");
}

static void show_count(const json_t *why, const struct page *page, size_t n_findings)
{
	double measured = number_at(why, "measured");
	double bad = (double)json_array_size(json_object_get(why, "items"));
	const char *about = raw_at(why, "about");

	if (*about) {
		ticket_head(page, "about");
		ticket_line(page, "part", about);
		(void)fprintf(page->out, "\n%zu finding%s about it.\n", n_findings,
			      n_findings == 1 ? "" : "s");
		return;
	}
	(void)fprintf(page->out, "\n%zu finding%s in %.0f checked parts; %.0f of them pass.\n",
		      n_findings, n_findings == 1 ? "" : "s", measured, measured - bad);
}

void why_show(const json_t *why, struct page *page)
{
	size_t n;

	host_head(why, page);
	life_show(why, page);
	n = show_findings(why, page);
	show_untold(why, page);
	show_jobs(why, page);
	show_hangs(why, page);
	show_acquitted(why, page);
	show_restarts(why, page);
	ticket_head(page, "host");
	host_facts(why, page);
	show_count(why, page, n);
}

static void show(const struct picture *picture, struct page *page)
{
	why_show(picture->document, page);
}

const struct view view_why = { fetch, NULL, show, NULL };
