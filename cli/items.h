/* SPDX-License-Identifier: Apache-2.0 */
/* Lists: filter, sort, limit, and print as a table. */
#pragma once

#include <jansson.h>

#include "lib/base/macro.h"

struct err;
struct link;
struct page;
struct picture;
struct settings;
struct table;

typedef bool items_wanted_fn(const json_t *item, const struct settings *settings);
typedef int items_compare_fn(const json_t *a, const json_t *b);
typedef int items_check_fn(const json_t *items, const struct settings *settings, struct err *err);
typedef void items_add_fn(struct table *t, const json_t *item, const struct page *page);

/* What to fetch. */
struct items_query {
	const char *path; /* "/v1/nodes" */
	items_wanted_fn *wanted;
	items_compare_fn *compare; /* NULL: keep the order */
	items_check_fn *check;	   /* do items have the fields needed? NULL: no check */
};

/*
 * Fetch {"items": [...]}: the wanted ones, sorted, at most as many as the settings' limit. Errors
 * as link_list().
 */
int items_fetch(struct link *link, const struct items_query *query, const struct settings *settings,
		struct picture *ret, struct err *err);

/*
 * Add a row per item to the empty table `t` with `add`, and print the table and an empty line
 * unless it has no rows. Releases `t`.
 */
void items_show(const json_t *items, struct table *t, items_add_fn *add, struct page *page);
