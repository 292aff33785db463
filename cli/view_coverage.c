/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl coverage: hosts whose last full test is older than the policy allows, oldest first. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/xalloc.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { COL_NODE, COL_TESTED, COL_ORDERED, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_NODE] = { "NODE", .min = 12 },
	[COL_TESTED] = { "LAST TESTED" },
	[COL_ORDERED] = { "TEST ORDERED" },
};

static bool wanted(const json_t *host, const struct settings *s)
{
	return !s->node || streq(s->node, raw_at(host, "node"));
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	const struct items_query query = { "/v1/coverage", wanted, NULL };

	return items_fetch(link, &query, &request->settings, ret, err);
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	size_t n = json_array_size(json_object_get(picture->document, "items"));

	if (picture->total == 0)
		return xstrdup("every host was tested as recently as the policy requires");
	return xasprintf(
		"%zu of %zu host%s without a thorough test as recent as the policy requires", n,
		picture->total, picture->total == 1 ? "" : "s");
}

static void add(struct table *t, const json_t *host, const struct page *page)
{
	struct table_row *row = table_add(t);
	const char *tested = raw_at(host, "tested");
	CLEANUP(freep) char *name = text_at(host, "node");

	row->paint = (int)PAINT_UNSURE;
	row->cells[COL_NODE] = marked(page, name, raw_at(host, "node"));
	row->cells[COL_TESTED] = *tested ? age_of_stamp(tested, page->now_us) : xstrdup("never");
	row->cells[COL_ORDERED] = age_of_stamp(raw_at(host, "ordered"), page->now_us);
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

const struct view view_coverage = { fetch, summary, show, key };
