/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl token list: join tokens, newest first. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/job_words.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"

enum { COL_STATE, COL_ID, COL_NAMES, COL_HOSTS, COL_EXPIRES, COL_BY, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_STATE] = { "STATE" },
	[COL_ID] = { "ID", .right = true },
	[COL_NAMES] = { "NAMES", .min = 8 },
	[COL_HOSTS] = { "JOINED", .right = true },
	[COL_EXPIRES] = { "EXPIRES", .leave = 1 },
	[COL_BY] = { "MADE BY", .min = 8 },
};

static bool wanted(const json_t *token UNUSED, const struct settings *s UNUSED)
{
	return true;
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	const struct items_query query = { "/v1/join-tokens", wanted, NULL };

	return items_fetch(link, &query, &request->settings, ret, err);
}

static bool is_valid(const json_t *token)
{
	return streq(raw_at(token, "state"), "valid");
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const json_t *items = json_object_get(picture->document, "items");
	size_t n = json_array_size(items), valid = 0, i;

	for (i = 0; i < n; i++)
		valid += is_valid(json_array_get(items, i));
	if (n == 0)
		return xstrdup("no join tokens; see `assayctl token create`");
	return xasprintf("%zu join token%s, %zu valid", n, n == 1 ? "" : "s", valid);
}

static void add(struct table *t, const json_t *token, const struct page *page)
{
	struct table_row *row = table_add(t);
	CLEANUP(freep) char *state = text_at(token, "state");
	CLEANUP(freep) char *id = job_words_count(token, "id");
	CLEANUP(freep) char *used = job_words_count(token, "used");
	CLEANUP(freep) char *hosts = job_words_count(token, "hosts");

	row->paint = is_valid(token) ? PAINT_GOOD : PAINT_DIM;
	row->cells[COL_STATE] = marked(page, state, id);
	row->cells[COL_ID] = xstrdup(id);
	row->cells[COL_NAMES] = text_at(token, "names");
	row->cells[COL_HOSTS] = xasprintf("%s of %s", used, hosts);
	row->cells[COL_EXPIRES] = text_at(token, "expires");
	row->cells[COL_BY] = text_at(token, "made_by");
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

const struct view view_tokens = { fetch, summary, show, key };
