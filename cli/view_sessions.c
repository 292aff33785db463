/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl session list: browser sessions, newest first. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/job_words.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"

enum { COL_STATE, COL_ID, COL_NAME, COL_ROLE, COL_FROM, COL_USED, COL_UNTIL, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_STATE] = { "STATE" },
	[COL_ID] = { "ID", .right = true },
	[COL_NAME] = { "NAME", .min = 8 },
	[COL_ROLE] = { "ROLE" },
	[COL_FROM] = { "FROM", .min = 8 },
	[COL_USED] = { "USED", .leave = 1 },
	[COL_UNTIL] = { "UNTIL", .leave = 2 },
};

static bool wanted(const json_t *session UNUSED, const struct settings *s UNUSED)
{
	return true;
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	const struct items_query query = { "/v1/sessions", wanted, NULL };

	return items_fetch(link, &query, &request->settings, ret, err);
}

static bool is_open(const json_t *session)
{
	return streq(raw_at(session, "state"), "open");
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const json_t *items = json_object_get(picture->document, "items");
	size_t n = json_array_size(items), open = 0, i;

	for (i = 0; i < n; i++)
		open += is_open(json_array_get(items, i));
	if (n == 0)
		return xstrdup("no sessions: nobody has the page open");
	return xasprintf("%zu session%s, %zu open", n, n == 1 ? "" : "s", open);
}

static void add(struct table *t, const json_t *session, const struct page *page)
{
	struct table_row *row = table_add(t);
	CLEANUP(freep) char *state = text_at(session, "state");
	CLEANUP(freep) char *id = job_words_count(session, "id");

	row->paint = is_open(session) ? PAINT_GOOD : PAINT_DIM;
	row->cells[COL_STATE] = marked(page, state, id);
	row->cells[COL_ID] = xstrdup(id);
	row->cells[COL_NAME] = text_at(session, "name");
	row->cells[COL_ROLE] = text_at(session, "role");
	row->cells[COL_FROM] = text_at(session, "origin");
	row->cells[COL_USED] = text_at(session, "used");
	row->cells[COL_UNTIL] = text_at(session, "until");
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

const struct view view_sessions = { fetch, summary, show, key };
