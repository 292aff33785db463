/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl nodes: every host, the worst first. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/link.h"
#include "cli/parts.h"
#include "cli/view.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/sys/table.h"

enum { COL_VERDICT, COL_NODE, COL_SERVICE, COL_SKU, COL_SEEN, COL_AGENT, COL_WORDS, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_VERDICT] = { "VERDICT" },
	[COL_NODE] = { "NODE", .min = 12 },
	[COL_SERVICE] = { "SERVICE", .min = 10 },
	[COL_SKU] = { "SKU", .min = 8, .leave = 2 },
	[COL_SEEN] = { "SEEN" },
	[COL_AGENT] = { "AGENT", .leave = 1 },
	[COL_WORDS] = { "WHAT", .min = 24 },
};

static const json_t *service_of(const json_t *node)
{
	return json_object_get(node, "service");
}

static bool is_out(const json_t *node)
{
	const char *state = raw_at(service_of(node), "state");

	return *state && !streq(state, "in-service");
}

/* "cordoned by Assay"; "-" for what is no node of the cluster. New memory, as it came. */
static char *service_words(const json_t *service)
{
	const char *state = raw_at(service, "state"), *by = raw_at(service, "by");
	const char *silence = raw_at(service, "silence_until");
	const char *override = raw_at(service, "override_until");

	if (!*state)
		return xstrdup("-");
	if (streq(state, "cordoned") && !*by)
		return xstrdup("cordoned by somebody else");
	if (streq(state, "cordoned"))
		return xasprintf("cordoned by %s", streq(by, "assay") ? "Assay" : by);
	if (streq(state, "held"))
		return xasprintf("held until %s", raw_at(service, "hold_until"));
	if (!streq(state, "in-service"))
		return xstrdup("not ready");
	if (*silence)
		return xasprintf("silenced until %s", silence);
	return *override ? xasprintf("override until %s", override) : xstrdup("in service");
}

static bool wanted(const json_t *node, const struct settings *s)
{
	if (s->verdict && !streq(s->verdict, raw_at(node, "verdict")))
		return false;
	if (s->cordoned && !is_out(node))
		return false;
	if (s->sku && !streq(s->sku, raw_at(node, "sku")))
		return false;
	return !s->stale || json_is_true(json_object_get(node, "stale"));
}

static int compare(const json_t *a, const json_t *b)
{
	int x = rank_of_level(raw_at(a, "verdict")), y = rank_of_level(raw_at(b, "verdict"));

	return x != y ? x - y : strcmp(raw_at(a, "node"), raw_at(b, "node"));
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	static const struct items_query query = { "/v1/nodes", wanted, compare };

	return items_fetch(link, &query, &request->settings, ret, err);
}

/* "14 pass, 1 warn, 1 fail"; levels that nobody has are left out. New memory. */
static char *counts(const json_t *items)
{
	static const char *const levels[] = { "pass", "warn", "fail", "inconclusive" };
	char *text = xstrdup("");
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		CLEANUP(freep) char *before = text;
		size_t n = 0;

		for (j = 0; j < json_array_size(items); j++)
			n += streq(raw_at(json_array_get(items, j), "verdict"), levels[i]);
		text = n ? xasprintf("%s%s%zu %s", before, *before ? ", " : "", n, levels[i])
			 : xstrdup(before);
	}
	return text;
}

/* The words of the worst, which comes first; "" when it is good. New memory. */
static char *worst(const json_t *items)
{
	const json_t *first = json_array_get(items, 0);
	const char *level = raw_at(first, "verdict");
	CLEANUP(freep) char *name = text_at(first, "node");
	CLEANUP(freep) char *words = utf8_clean(sentence_of(first, level));

	if (!first || streq(level, "pass"))
		return xstrdup("");
	return xasprintf("; worst %s: %s", name, words);
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const json_t *items = json_object_get(picture->document, "items");
	size_t n = json_array_size(items);
	CLEANUP(freep) char *levels = counts(items);
	CLEANUP(freep) char *culprit = worst(items);

	if (picture->total == 0)
		return xstrdup("no host has reported to this controller yet");
	if (n == 0)
		return xasprintf("none of %zu host%s", picture->total,
				 picture->total == 1 ? "" : "s");
	if (n < picture->total)
		return xasprintf("%zu of %zu hosts: %s%s", n, picture->total, levels, culprit);
	return xasprintf("%zu host%s: %s%s", n, n == 1 ? "" : "s", levels, culprit);
}

static char *words_of(const json_t *node)
{
	const char *level = raw_at(node, "last_verdict");
	const char *words = sentence_of(node, level);
	const char *stranger = json_is_false(json_object_get(node, "in_cluster"))
				       ? "no node of the cluster; "
				       : "";

	if (!json_is_true(json_object_get(node, "stale")))
		return xasprintf("%s%s", stranger, words);
	return xasprintf("%sstopped reporting; was %s: %s", stranger, level, words);
}

static void add(struct table *t, const json_t *node, const struct page *page)
{
	struct table_row *row = table_add(t);
	const char *level = raw_at(node, "verdict");
	const char *agent = raw_at(node, "connection");
	CLEANUP(freep) char *clean = utf8_clean(level);
	CLEANUP(freep) char *service = service_words(service_of(node));

	row->paint = paint_of_level(level);
	row->cells[COL_VERDICT] = marked(page, clean, raw_at(node, "node"));
	row->cells[COL_NODE] = text_at(node, "node");
	row->cells[COL_SERVICE] = utf8_clean(service);
	row->cells[COL_SKU] = text_at(node, "sku");
	row->cells[COL_SEEN] = age_of_seconds(number_at(node, "age_s"));
	row->cells[COL_AGENT] = xstrdup(streq(agent, "none") ? "-" : agent);
	row->cells[COL_WORDS] = words_of(node);
	row->note = page->wide ? parts_line(json_object_get(node, "parts")) : NULL;
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

const struct view view_nodes = { fetch, summary, show, key };
