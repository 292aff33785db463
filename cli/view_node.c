/* SPDX-License-Identifier: Apache-2.0 */
/* assayctl node NODE: everything about a host. */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/host.h"
#include "cli/items.h"
#include "cli/link.h"
#include "cli/ticket.h"
#include "cli/view.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"

enum { COL_VERDICT, COL_SEEN, COL_PROFILE, COL_BOOT, COL_SEQ, COL_WORDS, N_COLS };

static const struct table_column columns[N_COLS] = {
	[COL_VERDICT] = { "VERDICT" },
	[COL_SEEN] = { "SEEN" },
	[COL_PROFILE] = { "PROFILE", .min = 7 },
	[COL_BOOT] = { "BOOT", .min = 8, .leave = 1 },
	[COL_SEQ] = { "REPORT", .right = true, .leave = 2 },
	[COL_WORDS] = { "WHAT", .min = 24 },
};

enum { REPORTS_SHOWN = 10 };

static int fetch(struct link *link, const struct request *request, struct picture *ret,
		 struct err *err)
{
	CLEANUP(freep) char *name = link_segment(request->argument);
	CLEANUP(freep) char *path = xasprintf("/v1/nodes/%s", name);
	CLEANUP(freep) char *past = xasprintf("%s/verdicts?limit=%d", path, REPORTS_SHOWN);
	CLEANUP(json_freep) json_t *node = NULL;
	CLEANUP(json_freep) json_t *reports = NULL;
	int r = host_get(link, request->argument, path, &node, err);

	if (r == 0)
		r = link_get(link, past, &reports, err);
	if (r == 0)
		r = host_add_drift(link, node, err);
	if (r < 0)
		return r;
	(void)json_object_set(node, "reports", json_object_get(reports, "items"));
	*ret = (struct picture){ .document = TAKE(node) };
	return 0;
}

static void add(struct table *t, const json_t *report, const struct page *page)
{
	struct table_row *row = table_add(t);
	const char *level = raw_at(report, "verdict");
	double seq = number_at(report, "seq");

	row->paint = paint_of_level(level);
	row->cells[COL_VERDICT] = text_at(report, "verdict");
	row->cells[COL_SEEN] = age_of_stamp(raw_at(report, "seen"), page->now_us);
	row->cells[COL_PROFILE] = text_at(report, "profile");
	row->cells[COL_BOOT] = text_at(report, "boot_id");
	row->cells[COL_SEQ] = xasprintf("%.0f", seq);
	row->cells[COL_WORDS] = xstrdup(sentence_of(report, level));
}

static void show(const struct picture *picture, struct page *page)
{
	struct table t = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };

	host_head(picture->document, page);
	ticket_head(page, "host");
	host_facts(picture->document, page);
	if (json_array_size(json_object_get(picture->document, "parts"))) {
		ticket_head(page, "parts");
		ticket_parts(page, "part", json_object_get(picture->document, "parts"));
	}
	ticket_head(page, "last reports");
	items_show(json_object_get(picture->document, "reports"), &t, add, page);
}

const struct view view_node = { fetch, NULL, show, NULL };
