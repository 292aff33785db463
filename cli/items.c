/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/items.h"

#include <stdlib.h>

#include "cli/link.h"
#include "cli/option.h"
#include "cli/view.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"

struct place {
	json_t *item;
	items_compare_fn *compare;
	size_t at;
};

/* A stable sort. */
static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int r = x->compare ? x->compare(x->item, y->item) : 0;

	return r ? r : (x->at > y->at) - (x->at < y->at);
}

static json_t *document(const json_t *all, const struct items_query *query,
			const struct settings *settings)
{
	size_t n = 0, i;
	CLEANUP(freep)
	struct place *places = xcalloc(json_array_size(all) + 1, sizeof(*places));
	json_t *items = json_array();

	for (i = 0; i < json_array_size(all); i++) {
		json_t *item = json_array_get(all, i);

		if (query->wanted(item, settings))
			places[n++] = (struct place){ item, query->compare, i };
	}
	qsort(places, n, sizeof(*places), compare_places);
	for (i = 0; i < n && (settings->limit == 0 || i < settings->limit); i++)
		(void)json_array_append(items, places[i].item);
	return json_pack("{s:o}", "items", items);
}

int items_fetch(struct link *link, const struct items_query *query, const struct settings *settings,
		struct picture *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *all = NULL;
	int r = link_list(link, query->path, &all, err);

	if (r == 0 && query->check)
		r = query->check(all, settings, err);
	if (r < 0)
		return r;
	ret->total = json_array_size(all);
	ret->document = document(all, query, settings);
	return 0;
}

void items_show(const json_t *items, struct table *t, items_add_fn *add, struct page *page)
{
	size_t i;

	for (i = 0; i < json_array_size(items); i++)
		add(t, json_array_get(items, i), page);
	if (t->n_rows > 0) {
		if (!table_print(t, page->out, page->colour, page->width))
			page->cut = true;
		(void)fputc('\n', page->out);
	}
	table_release(t);
}
