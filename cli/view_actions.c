/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl actions: what was done, by whom, what was refused and why; newest first. */
#include "cli/view_actions.h"

#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { COL_STATE, COL_ID, COL_WHEN, COL_NODE, COL_ACTION, COL_BY, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_STATE] = { "STATE" },   [COL_ID] = { "ID", .leave = 1 },
	[COL_WHEN] = { "WHEN" },     [COL_NODE] = { "NODE", .min = 12 },
	[COL_ACTION] = { "ACTION" }, [COL_BY] = { "BY", .min = 8, .leave = 2 },
};

/* In the order of attention needed. */
static const struct {
	const char *name, *shown;
	enum paint paint;
} states[] = {
	{ "failed", "failed", PAINT_BAD },	  { "refused", "refused", PAINT_WARN },
	{ "decided", "under way", PAINT_UNSURE }, { "dry-run", "dry-run", PAINT_DIM },
	{ "dropped", "dropped", PAINT_DIM },	  { "done", "done", PAINT_GOOD },
};

/* ARRAY_SIZE(states) for an unknown state of a newer controller. */
static size_t state_of(const json_t *action)
{
	const char *name = raw_at(action, "state");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(states) && !streq(states[i].name, name); i++)
		;
	return i;
}

static bool wanted(const json_t *action, const struct settings *s)
{
	return !s->node || streq(s->node, raw_at(action, "node"));
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	const char *node = request->settings.node;
	CLEANUP(freep) char *segment = link_segment(node ? node : "");
	CLEANUP(freep) char *path = xasprintf("/v1/actions%s%s", node ? "?node=" : "", segment);
	const struct items_query query = { path, wanted, NULL };

	return items_fetch(link, &query, &request->settings, ret, err);
}

/* "2 done, 1 refused", without zero counts. The caller frees it. */
static char *counts(const json_t *items)
{
	char *text = xstrdup("");
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(states); i++) {
		CLEANUP(freep) char *before = NULL;
		size_t n = 0;

		for (j = 0; j < json_array_size(items); j++)
			n += state_of(json_array_get(items, j)) == i;
		if (n == 0)
			continue;
		before = TAKE(text);
		text = xasprintf("%s%s%zu %s", before, *before ? ", " : "", n, states[i].shown);
	}
	return text;
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	const json_t *items = json_object_get(picture->document, "items");
	size_t n = json_array_size(items);
	CLEANUP(freep) char *words = counts(items);

	if (n == 0)
		return xstrdup(picture->total ? "none of them" : "nothing has been done yet");
	return xasprintf("%zu action%s%s: %s", n, n == 1 ? "" : "s",
			 n < picture->total ? " of more" : "", words);
}

static char *action_sentence(const json_t *action)
{
	const char *result = raw_at(action, "result"), *rule = raw_at(action, "rule");
	const char *incident = raw_at(action, "incident");
	bool glass = json_is_true(json_object_get(action, "break_glass"));
	const size_t named = strlen(rule);

	/* A refusal begins with the rule, which was just printed. */
	if (*rule && starts_with(result, rule) && starts_with(result + named, ": "))
		result += named + 2;
	return xasprintf("%s%s%s%s%s%s%s%s", glass ? "BREAK-GLASS: " : "", raw_at(action, "reason"),
			 *rule ? "; rule " : "", rule, *incident ? ", incident " : "", incident,
			 *result ? ": " : "", result);
}

/* Static for known states. */
static const char *shown_state(const json_t *action)
{
	size_t state = state_of(action);

	return state < ARRAY_SIZE(states) ? states[state].shown : raw_at(action, "state");
}

char *action_line(const json_t *action, const struct page *page)
{
	CLEANUP(freep) char *age = age_of_stamp(raw_at(action, "at"), page->now_us);
	CLEANUP(freep) char *sentence = action_sentence(action);

	return xasprintf("%s %s by %s, %s: %s", raw_at(action, "action"), shown_state(action),
			 raw_at(action, "by"), age, sentence);
}

static void add(struct table *t, const json_t *action, const struct page *page)
{
	struct table_row *row = table_add(t);
	size_t state = state_of(action);
	CLEANUP(freep) char *shown = utf8_clean(shown_state(action));

	row->paint = state < ARRAY_SIZE(states) ? (int)states[state].paint : (int)PAINT_UNSURE;
	row->cells[COL_STATE] = marked(page, shown, raw_at(action, "id"));
	row->cells[COL_ID] = text_at(action, "id");
	row->cells[COL_WHEN] = age_of_stamp(raw_at(action, "at"), page->now_us);
	row->cells[COL_NODE] = text_at(action, "node");
	row->cells[COL_ACTION] = text_at(action, "action");
	row->cells[COL_BY] = text_at(action, "by");
	row->note = action_sentence(action);
}

void actions_show(const json_t *items, struct page *page)
{
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };

	items_show(items, &t, add, page);
}

static void show(const struct picture *picture, struct page *page)
{
	actions_show(json_object_get(picture->document, "items"), page);
}

static char *key(const json_t *item)
{
	return xstrdup(raw_at(item, "id"));
}

const struct view view_actions = { fetch, summary, show, key };
