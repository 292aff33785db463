/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl investigations: what is done about the hosts that slow jobs, newest first. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/job_words.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"

enum { COL_STATE, COL_ID, COL_BEGAN, COL_ENDED, COL_JOB, COL_HOSTS, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_STATE] = { "STATE" },	  [COL_ID] = { "ID", .right = true },
	[COL_BEGAN] = { "BEGAN" },	  [COL_ENDED] = { "ENDED", .leave = 1 },
	[COL_JOB] = { "JOB", .min = 12 }, [COL_HOSTS] = { "HOSTS", .min = 8 },
};

static bool wanted(const json_t *investigation UNUSED, const struct settings *s UNUSED)
{
	return true;
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	const struct items_query query = { "/v1/investigations", wanted, NULL };

	return items_fetch(link, &query, &request->settings, ret, err);
}

static bool goes_on(const json_t *investigation)
{
	return !*raw_at(investigation, "ended");
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const json_t *items = json_object_get(picture->document, "items");
	size_t n = json_array_size(items), going = 0, i;

	for (i = 0; i < n; i++)
		going += goes_on(json_array_get(items, i));
	if (n == 0)
		return xstrdup("no investigations");
	return xasprintf("%zu investigation%s%s, %zu in progress", n, n == 1 ? "" : "s",
			 n < picture->total ? " of more" : "", going);
}

static int paint_of(const json_t *investigation)
{
	const char *state = raw_at(investigation, "state");

	if (streq(state, "evict") || streq(state, "cordoned") || streq(state, "excluded"))
		return PAINT_BAD;
	if (goes_on(investigation))
		return PAINT_UNSURE;
	return streq(state, "acquitted") || streq(state, "verified") ? (int)PAINT_GOOD
								     : (int)PAINT_DIM;
}

static char *hosts_of(const json_t *investigation)
{
	CLEANUP(json_freep) json_t *names = json_array();
	const json_t *hosts = json_object_get(investigation, "hosts");
	size_t i;

	for (i = 0; i < json_array_size(hosts); i++)
		(void)json_array_append(names, json_object_get(json_array_get(hosts, i), "node"));
	return job_words_hosts(names);
}

static void add(struct table *t, const json_t *investigation, const struct page *page)
{
	struct table_row *row = table_add(t);
	const char *sentence = raw_at(investigation, "sentence");
	CLEANUP(freep) char *state = text_at(investigation, "state");
	CLEANUP(freep) char *id = job_words_count(investigation, "id");

	row->paint = paint_of(investigation);
	row->cells[COL_STATE] = marked(page, state, id);
	row->cells[COL_ID] = xstrdup(id);
	row->cells[COL_BEGAN] = age_of_stamp(raw_at(investigation, "began"), page->now_us);
	row->cells[COL_ENDED] = age_of_stamp(raw_at(investigation, "ended"), page->now_us);
	row->cells[COL_JOB] = text_at(investigation, "job");
	row->cells[COL_HOSTS] = hosts_of(investigation);
	row->note = *sentence ? xstrdup(sentence) : NULL;
}

static void show(const struct picture *picture, struct page *page)
{
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };

	items_show(json_object_get(picture->document, "items"), &t, add, page);
}

static char *key(const json_t *item)
{
	return job_words_count(item, "id");
}

const struct view view_investigations = { fetch, summary, show, key };
