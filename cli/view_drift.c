/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl drift: hosts that are set up differently from most of their SKU. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/sys/table.h"

/* Hosts listed per setting; the rest is only counted. */
enum { NAMES_SHOWN = 20 };

enum { COL_KEY, COL_SKU, COL_AGREE, COL_MAJORITY, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_KEY] = { "SETTING", .min = 12 },
	[COL_SKU] = { "SKU", .min = 8 },
	[COL_AGREE] = { "AGREE", .right = true },
	[COL_MAJORITY] = { "MOST HAVE", .min = 16 },
};

static bool is_named(const json_t *item, const char *name)
{
	const json_t *nodes = json_object_get(item, "nodes");
	size_t i;

	for (i = 0; i < json_array_size(nodes); i++) {
		if (streq(raw_at(json_array_get(nodes, i), "node"), name))
			return true;
	}
	return false;
}

static bool wanted(const json_t *item, const struct settings *s)
{
	if (s->sku && !streq(s->sku, raw_at(item, "sku")))
		return false;
	return !s->node || is_named(item, s->node);
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	static const struct items_query query = { "/v1/drift", wanted, NULL };

	return items_fetch(link, &query, &request->settings, ret, err);
}

/* Number of items in which it differs from the majority. */
static size_t count_of(const json_t *items, const char *name)
{
	size_t n = 0, i;

	for (i = 0; i < json_array_size(items); i++)
		n += is_named(json_array_get(items, i), name);
	return n;
}

/* The host that differs in most items, among the first NAMES_SHOWN of each. The caller frees it. */
static char *worst(const json_t *items)
{
	const char *name = NULL;
	size_t most = 0, i, j;

	for (i = 0; i < json_array_size(items); i++) {
		const json_t *nodes = json_object_get(json_array_get(items, i), "nodes");

		for (j = 0; j < MIN(json_array_size(nodes), (size_t)NAMES_SHOWN); j++) {
			const char *one = raw_at(json_array_get(nodes, j), "node");
			size_t n = count_of(items, one);

			name = n > most ? one : name;
			most = MAX(n, most);
		}
	}
	return name ? xasprintf("; %s differs in %zu", name, most) : xstrdup("");
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const json_t *items = json_object_get(picture->document, "items");
	size_t n = json_array_size(items);
	CLEANUP(freep) char *culprit = worst(items);
	CLEANUP(freep) char *clean = utf8_clean(culprit);

	if (picture->total == 0)
		return xstrdup("no drift: every host is set up like the others of its SKU");
	if (n == 0)
		return xstrdup("none of them");
	return xasprintf("%zu setting%s on which hosts of a SKU differ%s", n, n == 1 ? "" : "s",
			 clean);
}

/* "5.15.0: gpu-07, gpu-09; 6.2.0: gpu-11 and 3 more". The caller frees it. */
static char *names_of(const json_t *item)
{
	const json_t *nodes = json_object_get(item, "nodes");
	size_t n = json_array_size(nodes), i;
	const char *last = "";
	char *text = xstrdup("");

	for (i = 0; i < MIN(n, (size_t)NAMES_SHOWN); i++) {
		const json_t *one = json_array_get(nodes, i);
		CLEANUP(freep) char *before = text;
		CLEANUP(freep) char *value = text_at(one, "value");
		CLEANUP(freep) char *name = text_at(one, "node");
		bool same = i && streq(raw_at(one, "value"), last);

		if (same)
			text = xasprintf("%s, %s", before, name);
		else
			text = xasprintf("%s%s%s: %s", before, i ? "; " : "", value, name);
		last = raw_at(one, "value");
	}
	if (n > NAMES_SHOWN) {
		CLEANUP(freep) char *before = text;

		text = xasprintf("%s and %zu more", before, n - NAMES_SHOWN);
	}
	return text;
}

static char *key(const json_t *item)
{
	return xasprintf("%s %s", raw_at(item, "sku"), raw_at(item, "key"));
}

static void add(struct table *t, const json_t *item, const struct page *page)
{
	struct table_row *row = table_add(t);
	const char *majority = raw_at(item, "majority");
	CLEANUP(freep) char *setting = text_at(item, "key");
	CLEANUP(freep) char *name = key(item);

	row->paint = PAINT_WARN;
	row->cells[COL_KEY] = marked(page, setting, name);
	row->cells[COL_SKU] = text_at(item, "sku");
	row->cells[COL_AGREE] =
		xasprintf("%.0f of %.0f", number_at(item, "agree"), number_at(item, "hosts"));
	row->cells[COL_MAJORITY] = xstrdup(*majority ? majority : "no majority");
	row->note = names_of(item);
}

static void show(const struct picture *picture, struct page *page)
{
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };

	items_show(json_object_get(picture->document, "items"), &t, add, page);
}

const struct view view_drift = { fetch, summary, show, key };
