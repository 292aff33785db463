/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl jobs: all jobs that sent a trace, and the suspects. */
#include <math.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/job_name.h"
#include "cli/job_words.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"

enum {
	COL_JOB,
	COL_HOSTS,
	COL_RUN,
	COL_STEP,
	COL_SLOWDOWN,
	COL_CAUSE,
	COL_SUSPECT,
	COL_STATE,
	N_COLS
};

static const struct table_column columns[N_COLS] = {
	[COL_JOB] = { "JOB", .min = 12 },
	[COL_HOSTS] = { "HOSTS", .right = true, .leave = 2 },
	[COL_RUN] = { "RUN", .right = true, .leave = 1 },
	[COL_STEP] = { "STEP", .right = true },
	[COL_SLOWDOWN] = { "SLOWDOWN", .right = true },
	[COL_CAUSE] = { "CAUSE" },
	[COL_SUSPECT] = { "SUSPECT", .min = 8 },
	[COL_STATE] = { "STATE", .wrap = true },
};

static bool wanted(const json_t *job UNUSED, const struct settings *s UNUSED)
{
	return true;
}

/* By attention needed, then by slowdown. */
static int compare(const json_t *a, const json_t *b)
{
	int x = job_words_rank(raw_at(a, "state")), y = job_words_rank(raw_at(b, "state"));
	double m = fmax(number_at(a, "slowdown"), 0), n = fmax(number_at(b, "slowdown"), 0);

	if (x != y)
		return x - y;
	if (m > n || m < n)
		return m > n ? -1 : 1;
	return strcmp(raw_at(a, "job"), raw_at(b, "job"));
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	static const struct items_query query = { "/v1/jobs", wanted, compare };

	return job_name_explain(items_fetch(link, &query, &request->settings, ret, err), err);
}

/* "1 suspected, 2 healthy", in the order of the list. The caller frees it. */
static char *counts(const json_t *items)
{
	size_t n = json_array_size(items), i, j;
	char *text = xstrdup("");

	for (i = 0; i < n; i = j) {
		const char *state = raw_at(json_array_get(items, i), "state");
		CLEANUP(freep) char *before = text;

		for (j = i + 1; j < n && streq(raw_at(json_array_get(items, j), "state"), state);
		     j++)
			;
		text = xasprintf("%s%s%zu %s", before, i ? ", " : "", j - i, state);
	}
	return text;
}

/* The suspects of the first job; "" if none. The caller frees it. */
static char *worst(const json_t *items)
{
	const json_t *first = json_array_get(items, 0);
	CLEANUP(freep) char *job = text_at(first, "job");
	CLEANUP(freep) char *suspect = text_at(first, "suspect");
	CLEANUP(freep) char *slowdown = job_words_slowdown(first);

	if (!*raw_at(first, "suspect"))
		return xstrdup("");
	return xasprintf("; %s: %s, slowdown %s", job, suspect, slowdown);
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const json_t *items = json_object_get(picture->document, "items");
	size_t n = json_array_size(items);
	CLEANUP(freep) char *states = counts(items);
	CLEANUP(freep) char *suspect = worst(items);
	CLEANUP(freep) char *line = NULL;

	if (picture->total == 0)
		return xstrdup("no job has sent a trace to this controller yet; see `assayctl "
			       "job submit`");
	if (n < picture->total)
		line = xasprintf("%zu of %zu jobs: %s%s", n, picture->total, states, suspect);
	else
		line = xasprintf("%zu job%s: %s%s", n, n == 1 ? "" : "s", states, suspect);
	return utf8_clean(line);
}

static char *key(const json_t *job)
{
	return xstrdup(raw_at(job, "id"));
}

static void add(struct table *t, const json_t *job, const struct page *page)
{
	struct table_row *row = table_add(t);
	CLEANUP(freep) char *name = text_at(job, "job");
	double slowdown = number_at(job, "slowdown"), step_s = number_at(job, "step_s");
	const json_t *beats = json_object_get(job, "beats");

	row->paint = job_words_paint(raw_at(job, "state"));
	row->cells[COL_JOB] = marked(page, name, raw_at(job, "id"));
	row->cells[COL_HOSTS] = job_words_count(job, "hosts");
	row->cells[COL_RUN] = job_words_count(job, "run");
	row->cells[COL_STEP] = quantity(isnan(step_s) ? number_at(beats, "step_s") : step_s, "s");
	row->cells[COL_SLOWDOWN] = job_words_interval(slowdown, NAN, NAN);
	row->cells[COL_CAUSE] = text_at(job, "cause");
	row->cells[COL_SUSPECT] = text_at(job, "suspect");
	row->cells[COL_STATE] = text_at(job, "state");
}

static void show(const struct picture *picture, struct page *page)
{
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };

	items_show(json_object_get(picture->document, "items"), &t, add, page);
}

const struct view view_jobs = { fetch, summary, show, key };
