/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl incidents: repeated failures, newest first. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/link.h"
#include "cli/parts.h"
#include "cli/view.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/sys/table.h"

enum { COL_VERDICT, COL_ID, COL_NODE, COL_CHECK, COL_OPENED, COL_LAST, COL_ACTION, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_VERDICT] = { "VERDICT" },
	[COL_ID] = { "ID" },
	[COL_NODE] = { "NODE", .min = 12 },
	[COL_CHECK] = { "CHECK", .min = 12 },
	[COL_OPENED] = { "OPENED" },
	[COL_LAST] = { "LAST", .leave = 2 },
	[COL_ACTION] = { "ASKS FOR", .leave = 1 },
};

static bool wanted(const json_t *incident, const struct settings *s)
{
	return !s->node || streq(s->node, raw_at(incident, "node"));
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	const char *path = request->settings.all ? "/v1/incidents?state=all"
						 : "/v1/incidents?state=open";
	const struct items_query query = { path, wanted, NULL };

	return items_fetch(link, &query, &request->settings, ret, err);
}

static bool is_open(const json_t *incident)
{
	return streq(raw_at(incident, "state"), "open");
}

static size_t count_open(const json_t *items)
{
	size_t n = 0, i;

	for (i = 0; i < json_array_size(items); i++)
		n += is_open(json_array_get(items, i));
	return n;
}

/* The first open one of the worst level, or NULL. */
static const json_t *worst(const json_t *items)
{
	const json_t *found = NULL;
	size_t i;

	for (i = 0; i < json_array_size(items); i++) {
		const json_t *item = json_array_get(items, i);

		if (is_open(item) && (!found || rank_of_level(raw_at(item, "verdict")) <
							rank_of_level(raw_at(found, "verdict"))))
			found = item;
	}
	return found;
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const json_t *items = json_object_get(picture->document, "items");
	size_t n = json_array_size(items), n_open = count_open(items);
	const json_t *first = worst(items);
	CLEANUP(freep) char *words = first ? text_at(first, "sentence") : xstrdup("");

	if (n == 0)
		return xstrdup(picture->total ? "none of them" : "no incidents");
	return xasprintf("%zu incident%s%s, %zu open%s%s", n, n == 1 ? "" : "s",
			 n < picture->total ? " of more" : "", n_open, first ? "; worst: " : "",
			 words);
}

/* The sentence, and with -o wide its parts by the names they had when it was opened. */
static char *note_of(const json_t *incident, const struct page *page)
{
	CLEANUP(freep) char *sentence = text_at(incident, "sentence");
	CLEANUP(freep)
	char *line = page->wide ? parts_line(json_object_get(incident, "parts")) : NULL;

	return line ? xasprintf("%s (%s)", sentence, line) : TAKE(sentence);
}

static void add(struct table *t, const json_t *incident, const struct page *page)
{
	struct table_row *row = table_add(t);
	const char *level = raw_at(incident, "verdict");
	CLEANUP(freep) char *clean = utf8_clean(level);
	CLEANUP(freep) char *shown = xasprintf("%s%s", is_open(incident) ? "" : "was ", clean);

	row->paint = is_open(incident) ? paint_of_level(level) : (int)PAINT_DIM;
	row->cells[COL_VERDICT] = marked(page, shown, raw_at(incident, "id"));
	row->cells[COL_ID] = text_at(incident, "id");
	row->cells[COL_NODE] = text_at(incident, "node");
	row->cells[COL_CHECK] = text_at(incident, "check");
	row->cells[COL_OPENED] = age_of_stamp(raw_at(incident, "opened"), page->now_us);
	row->cells[COL_LAST] = age_of_stamp(raw_at(incident, "last"), page->now_us);
	row->cells[COL_ACTION] = text_at(incident, "action");
	row->note = note_of(incident, page);
}

static void show(const struct picture *picture, struct page *page)
{
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };

	items_show(json_object_get(picture->document, "items"), &t, add, page);
}

static char *key(const json_t *item)
{
	return xstrdup(raw_at(item, "id"));
}

const struct view view_incidents = { fetch, summary, show, key };
