/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl silence list, override list: the orders in effect, in order of expiry. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/xalloc.h"
#include "lib/sys/table.h"

enum { COL_NODE, COL_UNTIL, COL_SINCE, COL_BY, COL_REASON, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_NODE] = { "NODE", .min = 12 },
	[COL_UNTIL] = { "UNTIL" },
	[COL_SINCE] = { "SINCE", .leave = 1 },
	[COL_BY] = { "BY", .min = 12 },
	[COL_REASON] = { "REASON", .min = 16, .wrap = true },
};

static bool wanted(const json_t *order, const struct settings *s)
{
	return !s->node || streq(s->node, raw_at(order, "node"));
}

static int compare(const json_t *a, const json_t *b)
{
	int r = strcmp(raw_at(a, "until"), raw_at(b, "until"));

	return r ? r : strcmp(raw_at(a, "node"), raw_at(b, "node"));
}

static int fetch_silences(struct link *link, const struct request *request, struct picture *ret,
			  struct err *err)
{
	static const struct items_query query = { "/v1/silences", wanted, compare };

	return items_fetch(link, &query, &request->settings, ret, err);
}

static int fetch_overrides(struct link *link, const struct request *request, struct picture *ret,
			   struct err *err)
{
	static const struct items_query query = { "/v1/overrides", wanted, compare };

	return items_fetch(link, &query, &request->settings, ret, err);
}

static char *summary_of(const struct picture *picture, const char *what)
{
	const size_t n = json_array_size(json_object_get(picture->document, "items"));

	if (picture->total == 0)
		return xasprintf("no %ss", what);
	if (n < picture->total)
		return xasprintf("%zu of %zu %ss", n, picture->total, what);
	return xasprintf("%zu %s%s", n, what, n == 1 ? "" : "s");
}

static char *summary_silences(const struct picture *picture, const struct page *page UNUSED)
{
	return summary_of(picture, "silence");
}

static char *summary_overrides(const struct picture *picture, const struct page *page UNUSED)
{
	return summary_of(picture, "override");
}

static void add(struct table *t, const json_t *order, const struct page *page)
{
	struct table_row *row = table_add(t);
	CLEANUP(freep) char *name = text_at(order, "node");

	row->paint = TABLE_NONE;
	row->cells[COL_NODE] = marked(page, name, raw_at(order, "node"));
	row->cells[COL_UNTIL] = view_moment(raw_at(order, "until"), page->now_us);
	row->cells[COL_SINCE] = age_of_stamp(raw_at(order, "since"), page->now_us);
	row->cells[COL_BY] = text_at(order, "by");
	row->cells[COL_REASON] = text_at(order, "reason");
}

static void show(const struct picture *picture, struct page *page)
{
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };

	items_show(json_object_get(picture->document, "items"), &t, add, page);
}

static char *key(const json_t *item)
{
	return xstrdup(raw_at(item, "node"));
}

const struct view view_silences = { fetch_silences, summary_silences, show, key };
const struct view view_overrides = { fetch_overrides, summary_overrides, show, key };
