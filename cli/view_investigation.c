/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl investigation ID: its hosts, tests and decisions. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/job_words.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"

enum { HOSTS_MAX = 4096 }; /* bytes of the names */

/* "gpu-17,gpu-18". The caller frees it. */
static char *hosts_of(const json_t *inv)
{
	const json_t *hosts = json_object_get(inv, "hosts");
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(HOSTS_MAX);
	size_t i;

	for (i = 0; i < json_array_size(hosts); i++)
		(void)strbuf_printf(&text, "%s%s", i ? "," : "",
				    raw_at(json_array_get(hosts, i), "node"));
	return xstrdup(strbuf_text(&text));
}

/* Add a line on what would help its job, while the job runs; nothing if that is unavailable. */
static void add_plan(struct link *link, json_t *inv)
{
	CLEANUP(freep) char *job = link_segment(raw_at(inv, "job_id"));
	CLEANUP(freep) char *hosts = hosts_of(inv);
	CLEANUP(freep) char *without = link_segment(hosts);
	CLEANUP(freep) char *path = xasprintf("/v1/jobs/%s/plan?without=%s", job, without);
	struct err ignored = ERR_INIT;
	json_t *plan = NULL;

	if (*raw_at(inv, "ended") || !*job || !*hosts)
		return;
	if (link_get(link, path, &plan, &ignored) == 0)
		(void)json_object_set_new(inv, "plan", plan);
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	CLEANUP(freep) char *segment = link_segment(request->argument);
	CLEANUP(freep) char *path = xasprintf("/v1/investigations/%s", segment);

	int r = link_get(link, path, &ret->document, err);

	if (r == 0)
		add_plan(link, ret->document);
	return r;
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const json_t *inv = picture->document;
	CLEANUP(freep) char *id = job_words_count(inv, "id");
	CLEANUP(freep) char *job = text_at(inv, "job");
	CLEANUP(freep) char *job_id = text_at(inv, "job_id");
	CLEANUP(freep) char *run = job_words_count(inv, "run");
	CLEANUP(freep) char *state = text_at(inv, "state");

	return xasprintf("investigation %s of %s (%s), run %s: %s%s", id, job, job_id, run, state,
			 *raw_at(inv, "ended") ? ", over" : "");
}

/* "14m ago: 2 of 2 windows of research/llm-7 blame it". */
static void put_stamp(const struct page *page, const char *label, const json_t *inv,
		      const char *key, const char *words)
{
	CLEANUP(freep) char *age = age_of_stamp(raw_at(inv, key), page->now_us);
	CLEANUP(freep) char *text = xasprintf("%s%s%s", age, *words ? ": " : "", words);

	if (*raw_at(inv, key))
		job_words_put(page, label, text, TABLE_NONE);
}

static void put_hosts(const json_t *inv, const struct page *page)
{
	const json_t *hosts = json_object_get(inv, "hosts");
	size_t i;

	for (i = 0; i < json_array_size(hosts); i++) {
		const json_t *host = json_array_get(hosts, i);
		CLEANUP(freep)
		char *text = xasprintf("%s: %s (%s); %s", raw_at(host, "node"),
				       raw_at(host, "state"), raw_at(host, "class"),
				       raw_at(host, "sentence"));

		job_words_put(page, "host", text, TABLE_NONE);
	}
}

static void put_tests(const json_t *inv, const struct page *page)
{
	const json_t *tests = json_object_get(inv, "tests");
	const char *open = *raw_at(inv, "ended") ? "not waited for" : "under way";
	size_t i;

	for (i = 0; i < json_array_size(tests); i++) {
		CLEANUP(freep) char *text = job_words_test(json_array_get(tests, i), open, page);

		job_words_put(page, "tests", text, TABLE_NONE);
	}
}

static void put_timeline(const json_t *inv, const struct page *page)
{
	const json_t *lines = json_object_get(json_object_get(inv, "diagnosis"), "timeline");
	size_t i;

	for (i = 0; i < json_array_size(lines); i++) {
		const json_t *line = json_array_get(lines, i);

		put_stamp(page, "diagnosis", line, "at", raw_at(line, "text"));
	}
}

/* Each run of the pairs of a link, with its progress or result. */
static void put_pairs(const json_t *inv, const struct page *page)
{
	const json_t *pairs = json_object_get(inv, "pairs");
	size_t i, j;

	for (i = 0; i < json_array_size(pairs); i++) {
		const json_t *entry = json_array_get(pairs, i);
		const json_t *runs = json_object_get(entry, "runs");
		const char *last = "";

		for (j = 0; j < json_array_size(runs); j++) {
			const json_t *run = json_array_get(runs, j);

			last = raw_at(run, "text");
			put_stamp(page, "pairs", run, "done", last);
		}
		if (!streq(raw_at(entry, "text"), last))
			put_stamp(page, "pairs", entry, *raw_at(entry, "over") ? "over" : "since",
				  raw_at(entry, "text"));
	}
}

static void put_plan(const json_t *inv, const struct page *page)
{
	const json_t *plan = json_object_get(inv, "plan");
	const char *without = raw_at(json_object_get(plan, "without"), "sentence");

	if (*raw_at(plan, "sentence"))
		job_words_put(page, "would help", raw_at(plan, "sentence"), TABLE_NONE);
	if (*without)
		job_words_put(page, "would cost", without, TABLE_NONE);
}

static void show(const struct picture *picture, struct page *page)
{
	const json_t *inv = picture->document;

	put_stamp(page, "begun", inv, "began", raw_at(inv, "reason"));
	put_timeline(inv, page);
	put_stamp(page, "verified", json_object_get(json_object_get(inv, "diagnosis"), "next"), "at",
		  raw_at(json_object_get(json_object_get(inv, "diagnosis"), "next"), "sentence"));
	put_hosts(inv, page);
	put_tests(inv, page);
	put_pairs(inv, page);
	put_plan(inv, page);
	job_words_put(page, "decision", raw_at(inv, "sentence"), TABLE_NONE);
	put_stamp(page, "acted", inv, "acted", "");
	put_stamp(page, "ended", inv, "ended", raw_at(inv, "state"));
}

const struct view view_investigation = { fetch, summary, show, NULL };
