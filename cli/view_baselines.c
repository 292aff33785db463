/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl baselines: the values that hosts of a SKU reach and are judged by. */
#include <math.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/items.h"
#include "cli/link.h"
#include "cli/view.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"

enum { COL_CHECK, COL_SKU, COL_CLASS, COL_HOSTS, COL_MEDIAN, COL_SPREAD, COL_PARAMS, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_CHECK] = { "CHECK", .min = 12 },
	[COL_SKU] = { "SKU", .min = 8 },
	[COL_CLASS] = { "CLASS", .leave = 2 },
	[COL_HOSTS] = { "HOSTS", .right = true },
	[COL_MEDIAN] = { "MEDIAN", .right = true },
	[COL_SPREAD] = { "SPREAD", .right = true },
	[COL_PARAMS] = { "WITH", .min = 12, .leave = 1 },
};

static bool wanted(const json_t *baseline, const struct settings *s)
{
	return !s->sku || streq(s->sku, raw_at(baseline, "sku"));
}

/* The caller frees it. */
static char *line_of(const json_t *value)
{
	return value ? json_line(value) : xstrdup("");
}

static char *key(const json_t *item)
{
	CLEANUP(freep) char *params = line_of(json_object_get(item, "params"));

	return xasprintf("%s %s %s %s %s", raw_at(item, "sku"), raw_at(item, "check"),
			 raw_at(item, "class"), raw_at(item, "unit"), params);
}

static int compare(const json_t *a, const json_t *b)
{
	CLEANUP(freep) char *x = key(a);
	CLEANUP(freep) char *y = key(b);

	return strcmp(x, y);
}

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	static const struct items_query query = { "/v1/baselines", wanted, compare };

	return items_fetch(link, &query, &request->settings, ret, err);
}

static char *summary(const struct picture *picture, const struct page *page UNUSED)
{
	size_t n = json_array_size(json_object_get(picture->document, "items"));

	if (picture->total == 0)
		return xstrdup("no baselines yet: no report so far has a value that hosts are "
			       "compared by");
	if (n < picture->total)
		return xasprintf("%zu of %zu baselines; SPREAD is the median deviation", n,
				 picture->total);
	return xasprintf("%zu baseline%s; SPREAD is the median deviation", n, n == 1 ? "" : "s");
}

/* "512 of f64, 4 threads": the members on one line. The caller frees it. */
static char *params_of(const json_t *baseline)
{
	json_t *params = json_object_get(baseline, "params"), *value;
	char *text = xstrdup("");
	const char *name;

	json_object_foreach(params, name, value)
	{
		CLEANUP(freep) char *before = text;
		CLEANUP(freep)
		char *one = json_is_string(value) ? xstrdup(json_string_value(value))
						  : json_line(value);

		text = xasprintf("%s%s%s=%s", before, *before ? " " : "", name, one);
	}
	return text;
}

static void add(struct table *t, const json_t *baseline, const struct page *page)
{
	struct table_row *row = table_add(t);
	CLEANUP(freep) char *check = text_at(baseline, "check");
	CLEANUP(freep) char *name = key(baseline);
	double median = number_at(baseline, "median");

	row->cells[COL_CHECK] = marked(page, check, name);
	row->cells[COL_SKU] = text_at(baseline, "sku");
	row->cells[COL_CLASS] = text_at(baseline, "class");
	row->cells[COL_HOSTS] = xasprintf("%.0f", number_at(baseline, "hosts"));
	row->cells[COL_MEDIAN] = quantity(median, raw_at(baseline, "unit"));
	row->cells[COL_SPREAD] = ratio(number_at(baseline, "mad"), fabs(median));
	row->cells[COL_PARAMS] = params_of(baseline);
}

static void show(const struct picture *picture, struct page *page)
{
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };

	items_show(json_object_get(picture->document, "items"), &t, add, page);
}

const struct view view_baselines = { fetch, summary, show, key };
