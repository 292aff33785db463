/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl policy replay FILE: what this policy would have done with the controller's history. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	char since[CLOCK_DURATION_SIZE];
	CLEANUP(freep) char *path = NULL;
	CLEANUP(json_freep) json_t *policy = NULL;
	int r = yaml_read_file(request->argument, &policy, err);

	if (r < 0)
		return -EINVAL;
	duration_format(request->settings.since_us, since);
	path = xasprintf("/v1/policy/replay?since=%s", since);
	return link_post(link, path, policy, &ret->document, err);
}

/* --- three tables --- */

enum { RULE_NAME, RULE_ACTION, RULE_DONE, RULE_REFUSED, RULE_NODES, RULE_COLS };

static const struct table_column rule_columns[RULE_COLS] = {
	[RULE_NAME] = { "RULE", .min = 12 },	   [RULE_ACTION] = { "ACTION" },
	[RULE_DONE] = { "DONE", .right = true },   [RULE_REFUSED] = { "REFUSED", .right = true },
	[RULE_NODES] = { "NODES", .right = true },
};

enum { NODE_NAME, NODE_CORDONS, NODE_RELEASES, NODE_REFUSED, NODE_FIRST, NODE_OUT, NODE_COLS };

static const struct table_column node_columns[NODE_COLS] = {
	[NODE_NAME] = { "NODE", .min = 12 },
	[NODE_CORDONS] = { "CORDONS", .right = true },
	[NODE_RELEASES] = { "RELEASES", .right = true },
	[NODE_REFUSED] = { "REFUSED", .right = true },
	[NODE_FIRST] = { "FIRST" },
	[NODE_OUT] = { "OUT OF SERVICE", .right = true },
};

enum { REFUSAL_BUDGET, REFUSAL_COUNT, REFUSAL_NODES, REFUSAL_ALLOWS, REFUSAL_COLS };

static const struct table_column refusal_columns[REFUSAL_COLS] = {
	[REFUSAL_BUDGET] = { "REFUSED BY", .min = 8 },
	[REFUSAL_COUNT] = { "TIMES", .right = true },
	[REFUSAL_NODES] = { "NODES", .right = true },
	[REFUSAL_ALLOWS] = { "WHAT WOULD ALLOW IT", .min = 24, .wrap = true },
};

static char *count_at(const json_t *object, const char *key)
{
	double n = number_at(object, key);

	return isnan(n) ? xstrdup("-") : xasprintf("%.0f", n);
}

static void add_rule(struct table *t, const json_t *rule, const struct page *page UNUSED)
{
	struct table_row *row = table_add(t);

	row->paint = TABLE_NONE;
	row->cells[RULE_NAME] = text_at(rule, "rule");
	row->cells[RULE_ACTION] = text_at(rule, "action");
	row->cells[RULE_DONE] = count_at(rule, "done");
	row->cells[RULE_REFUSED] = count_at(rule, "refused");
	row->cells[RULE_NODES] = count_at(rule, "nodes");
}

static void add_node(struct table *t, const json_t *node, const struct page *page)
{
	struct table_row *row = table_add(t);
	double out_s = number_at(node, "out_s");

	row->paint = TABLE_NONE;
	row->cells[NODE_NAME] = text_at(node, "node");
	row->cells[NODE_CORDONS] = count_at(node, "cordons");
	row->cells[NODE_RELEASES] = count_at(node, "releases");
	row->cells[NODE_REFUSED] = count_at(node, "refused");
	row->cells[NODE_FIRST] = age_of_stamp(raw_at(node, "first"), page->now_us);
	row->cells[NODE_OUT] = isnan(out_s) ? xstrdup("-") : xasprintf("%.1f h", out_s / 3600);
}

static void add_refusal(struct table *t, const json_t *refusal, const struct page *page UNUSED)
{
	struct table_row *row = table_add(t);

	row->paint = (int)PAINT_WARN;
	row->cells[REFUSAL_BUDGET] = text_at(refusal, "budget");
	row->cells[REFUSAL_COUNT] = count_at(refusal, "times");
	row->cells[REFUSAL_NODES] = count_at(refusal, "nodes");
	row->cells[REFUSAL_ALLOWS] = text_at(refusal, "allows");
}

static const struct {
	const char *key;
	const struct table_column *columns;
	size_t n_columns;
	items_add_fn *add;
} tables[] = {
	{ "rules", rule_columns, RULE_COLS, add_rule },
	{ "nodes", node_columns, NODE_COLS, add_node },
	{ "refusals", refusal_columns, REFUSAL_COLS, add_refusal },
};

static void show(const struct picture *picture, struct page *page)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		struct table t = { .columns = tables[i].columns, .n_columns = tables[i].n_columns };

		items_show(json_object_get(picture->document, tables[i].key), &t, tables[i].add,
			   page);
	}
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	return text_at(picture->document, "sentence");
}

const struct view view_replay = { fetch, summary, show, NULL };
