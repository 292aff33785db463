/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl campaign list: tests of hosts with each other, newest first. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"

enum { COL_STATE, COL_ID, COL_WHEN, COL_DOMAIN, COL_HOSTS, COL_ROUNDS, COL_KIND, COL_WHO, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_STATE] = { "STATE" },
	[COL_ID] = { "ID" },
	[COL_WHEN] = { "STARTED" },
	[COL_DOMAIN] = { "DOMAIN", .min = 8 },
	[COL_HOSTS] = { "HOSTS", .right = true },
	[COL_ROUNDS] = { "ROUNDS", .right = true },
	[COL_KIND] = { "KIND", .leave = 2 },
	[COL_WHO] = { "BY", .min = 8, .leave = 1 },
};

static bool wanted(const json_t *campaign UNUSED, const struct settings *s UNUSED)
{
	return true;
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	const struct items_query query = { "/v1/campaigns", wanted, NULL };

	return items_fetch(link, &query, &request->settings, ret, err);
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const json_t *items = json_object_get(picture->document, "items");
	size_t n = json_array_size(items), running = 0, i;

	for (i = 0; i < n; i++)
		running += streq(raw_at(json_array_get(items, i), "state"), "running");
	if (n == 0)
		return xstrdup("no campaigns");
	return xasprintf("%zu campaign%s%s, %zu under way", n, n == 1 ? "" : "s",
			 n < picture->total ? " of more" : "", running);
}

static char *whole(const json_t *campaign, const char *key)
{
	return xasprintf("%" JSON_INTEGER_FORMAT,
			 json_integer_value(json_object_get(campaign, key)));
}

static int paint_of(const char *state, bool blames)
{
	if (streq(state, "running"))
		return PAINT_UNSURE;
	if (streq(state, "done"))
		return blames ? PAINT_BAD : PAINT_GOOD;
	return PAINT_DIM;
}

static void add(struct table *t, const json_t *campaign, const struct page *page)
{
	struct table_row *row = table_add(t);
	const char *state = raw_at(campaign, "state");
	const char *sentence = raw_at(campaign, "sentence");
	CLEANUP(freep) char *clean = utf8_clean(state);

	row->paint = paint_of(state, json_array_size(json_object_get(campaign, "blames")) > 0);
	row->cells[COL_STATE] = marked(page, clean, raw_at(campaign, "id"));
	row->cells[COL_ID] = text_at(campaign, "id");
	row->cells[COL_WHEN] = age_of_stamp(raw_at(campaign, "started"), page->now_us);
	row->cells[COL_DOMAIN] = text_at(campaign, "domain");
	row->cells[COL_HOSTS] = whole(campaign, "nodes");
	row->cells[COL_ROUNDS] = whole(campaign, "rounds_made");
	row->cells[COL_KIND] = text_at(campaign, "kind");
	row->cells[COL_WHO] = text_at(campaign, "who");
	row->note = xasprintf("%s%s%s", raw_at(campaign, "reason"), *sentence ? ": " : "", sentence);
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

const struct view view_campaigns = { fetch, summary, show, key };
