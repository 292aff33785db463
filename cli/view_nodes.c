/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl nodes: all hosts, worst first. */
#include <limits.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/link.h"
#include "cli/parts.h"
#include "cli/targets.h"
#include "cli/view.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/sys/table.h"

enum { COL_VERDICT, COL_NODE, COL_SERVICE, COL_SKU, COL_SEEN, COL_AGENT, COL_WORDS, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_VERDICT] = { "VERDICT" },
	[COL_NODE] = { "NODE", .min = 12 },
	[COL_SERVICE] = { "SERVICE", .min = 25 }, /* "silenced until 2026-11-28" */
	[COL_SKU] = { "SKU", .min = 8, .leave = 2 },
	[COL_SEEN] = { "SEEN", .leave = 3 },
	[COL_AGENT] = { "AGENT", .leave = 1 },
	[COL_WORDS] = { "WHAT", .min = 24 },
};

static const json_t *service_of(const json_t *node)
{
	return json_object_get(node, "service");
}

/* It has not passed since it joined, or its startup taint keeps jobs away until then. */
static bool is_unverified(const json_t *node)
{
	return *raw_at(service_of(node), "unverified") ||
	       json_is_true(json_object_get(node, "unverified"));
}

static bool is_out(const json_t *node)
{
	const char *state = raw_at(service_of(node), "state");

	return (*state && !streq(state, "in-service")) || is_unverified(node);
}

/* Who cordoned it, for a column: "Assay", "ann", "an operator". The caller frees it. */
static char *who(const char *by)
{
	static const char person[] = "operator ";

	if (!*by)
		return xstrdup("others");
	if (streq(by, "assay"))
		return xstrdup("Assay");
	if (!starts_with(by, person))
		return xstrdup(by);
	by += strlen(person);
	return *by == '(' ? xstrdup("an operator") : xstrndup(by, strcspn(by, ","));
}

/* Text of a service state, and the member that tells its end. */
static const struct {
	const char *state, *words, *until;
} states[] = {
	{ "held", "held until", "hold_until" },
	{ "not-ready", "not ready", NULL },
	{ "unverified", "unverified", NULL },
	{ "in-service", "silenced until", "silence_until" },
	{ "in-service", "override until", "override_until" },
	{ "in-service", "in service", NULL },
};

/* When it ends, for a column: only the date if beyond a day. The caller frees it. */
static char *end_of(const char *stamp, const struct page *page)
{
	CLEANUP(freep) char *moment = view_moment(stamp, page->now_us);

	return xstrndup(moment, strcspn(moment, " "));
}

/* "cordoned by Assay"; "-" if not a node of the cluster; not clean. The caller frees it. */
static char *service_words(const json_t *node, const struct page *page)
{
	const json_t *service = service_of(node);
	const char *state = raw_at(service, "state");
	size_t i;

	if (streq(state, "cordoned")) {
		CLEANUP(freep) char *name = who(raw_at(service, "by"));

		return xasprintf("cordoned by %s", name);
	}
	if ((!*state || streq(state, "in-service")) && is_unverified(node))
		state = "unverified";
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		const char *until = states[i].until ? raw_at(service, states[i].until) : NULL;
		CLEANUP(freep) char *moment = until ? end_of(until, page) : NULL;

		if (!streq(states[i].state, state) || (until && !*until))
			continue;
		return until ? xasprintf("%s %s", states[i].words, moment)
			     : xstrdup(states[i].words);
	}
	return xstrdup(*state ? state : "-");
}

static bool wanted(const json_t *node, const struct settings *s)
{
	if (s->verdict && !streq(s->verdict, raw_at(node, "verdict")))
		return false;
	if (s->cordoned && !is_out(node))
		return false;
	if (s->stale && !json_is_true(json_object_get(node, "stale")))
		return false;
	return targets_match(node, s);
}

static int compare(const json_t *a, const json_t *b)
{
	int x = rank_of_level(raw_at(a, "verdict")), y = rank_of_level(raw_at(b, "verdict"));

	return x != y ? x - y : strcmp(raw_at(a, "node"), raw_at(b, "node"));
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	const struct items_query query = { targets_path(&request->settings), wanted, compare,
					   targets_check };

	return items_fetch(link, &query, &request->settings, ret, err);
}

/* "14 pass, 1 warn, 1 fail", without zero counts. The caller frees it. */
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

/* The sentence of the worst host, which is first; "" if it is good. The caller frees it. */
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
		return xstrdup("no host has reported to this controller yet: `assay doctor` on a "
			       "host says why");
	if (n == 0)
		return xasprintf("none of %zu host%s", picture->total,
				 picture->total == 1 ? "" : "s");
	if (n < picture->total)
		return xasprintf("%zu of %zu hosts: %s%s", n, picture->total, levels, culprit);
	return xasprintf("%zu host%s: %s%s", n, n == 1 ? "" : "s", levels, culprit);
}

/* Shorten a UUID to "GPU-1cd89253", which is enough to tell a host's GPUs apart. In place. */
static char *shorten(char *text)
{
	enum { SHOWN = 12, WHOLE = 40 }; /* bytes of "GPU-1cd89253" and of the full UUID */
	static const char digits[] = "0123456789abcdef-";
	char *at = text;

	while ((at = strstr(at, "GPU-"))) {
		if (strspn(at + strlen("GPU-"), digits) == WHOLE - strlen("GPU-"))
			memmove(at + SHOWN, at + WHOLE, strlen(at + WHOLE) + 1);
		at += strlen("GPU-");
	}
	return text;
}

static char *words_of(const json_t *node)
{
	const char *level = raw_at(node, "last_verdict");
	const char *words = sentence_of(node, level);
	const char *stranger = json_is_false(json_object_get(node, "in_cluster"))
				       ? "not a node of the cluster; "
				       : "";

	if (!json_is_true(json_object_get(node, "stale")))
		return xasprintf("%s%s", stranger, words);
	return xasprintf("%sstopped reporting; was %s: %s", stranger, level, words);
}

/* With at least this many columns the sentences are beside the rest, else below. */
enum { ROOMY = 140 };

static bool is_bad(const char *level)
{
	return streq(level, "fail") || streq(level, "warn");
}

static void add(struct table *t, const json_t *node, const struct page *page)
{
	struct table_row *row = table_add(t);
	const char *level = raw_at(node, "verdict");
	const char *agent = raw_at(node, "connection");
	CLEANUP(freep) char *clean = utf8_clean(level);
	CLEANUP(freep) char *service = service_words(node, page);

	row->paint = paint_of_level(level);
	row->cells[COL_VERDICT] = marked(page, clean, raw_at(node, "node"));
	row->cells[COL_NODE] = text_at(node, "node");
	row->cells[COL_SERVICE] = utf8_clean(service);
	row->cells[COL_SKU] = text_at(node, "sku");
	row->cells[COL_SEEN] = age_of_seconds(number_at(node, "age_s"));
	row->cells[COL_AGENT] = xstrdup(streq(agent, "none") ? "-" : agent);
	if (is_bad(level) && !page->wide && page->width < ROOMY) {
		CLEANUP(freep) char *words = shorten(words_of(node));

		row->note = utf8_clean(words);
	} else {
		row->cells[COL_WORDS] = words_of(node);
		if (page->width != UINT_MAX)
			(void)shorten(row->cells[COL_WORDS]);
		row->note = page->wide ? parts_line(json_object_get(node, "parts")) : NULL;
	}
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
