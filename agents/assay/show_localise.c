/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assay/show_localise.h"

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/localise.h"
#include "lib/judge/tomography.h"
#include "lib/judge/words.h"
#include "lib/report/host_parts_words.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { COL_LINK, COL_RATE, COL_OF, COL_RATIO, COL_SURE, COL_FOR, COL_AGAINST, COL_ALSO, N_COLS };

enum { TEXT_MAX = 160 };

static const struct table_column columns[N_COLS] = {
	[COL_LINK] = { "SLOW LINK", .min = 24 },
	[COL_RATE] = { "LETS THROUGH", .right = true },
	[COL_OF] = { "OF", .right = true },
	[COL_RATIO] = { "RATIO", .right = true },
	[COL_SURE] = { "CONFIDENCE", .right = true, .leave = 2 },
	[COL_FOR] = { "FOR", .right = true },
	[COL_AGAINST] = { "AGAINST", .right = true, .leave = 1 },
	[COL_ALSO] = { "OR", .min = 12 },
};

static size_t length(char *const *strv)
{
	return strv ? strv_len(strv) : 0;
}

static void add_row(struct table *t, const struct localised_link *l)
{
	struct table_row *row = table_add(t);
	char number[NUMBER_SIZE];

	row->cells[COL_LINK] = words_clean(l->link, TEXT_MAX);
	number_format(l->capacity, l->unit, number);
	row->cells[COL_RATE] = xstrdup(number);
	number_format(l->expected, l->unit, number);
	row->cells[COL_OF] = xstrdup(number);
	row->cells[COL_RATIO] = xasprintf("%.0f %%", l->ratio * 100);
	row->cells[COL_SURE] = xasprintf("%.2f", l->confidence);
	row->cells[COL_FOR] = xasprintf("%zu", length(l->supporting));
	row->cells[COL_AGAINST] = xasprintf("%zu", length(l->contradicting));
	if (length(l->ambiguous) > 0)
		row->cells[COL_ALSO] = words_clean(l->ambiguous[0], TEXT_MAX);
	row->paint = PAINT_BAD;
}

void show_localised(const struct localised *l, const struct host_parts *parts, FILE *out,
		    bool colour, unsigned width)
{
	struct table t = { .columns = columns, .n_columns = N_COLS };
	size_t i;

	if (l->cells == 0 && l->without > 0) {
		(void)fputs("Nothing to compare: the reference has no sample like these.\n", out);
	} else if (l->cells == 0) {
		(void)fputs("Nothing to compare: no sample was measured along a known path.\n", out);
	} else if (l->n == 0) {
		(void)fprintf(out, "No slow link%s: %zu cells with a path were compared.\n",
			      l->beyond > 0 ? " was found" : "", l->cells);
	} else {
		for (i = 0; i < l->n; i++)
			add_row(&t, &l->links[i]);
		table_print(&t, out, colour, width);
		(void)fputc('\n', out);
	}
	for (i = 0; i < l->n; i++) {
		CLEANUP(freep) char *sentence = localised_sentence(&l->links[i]);
		CLEANUP(freep) char *words = host_parts_words(parts, sentence);

		text_wrap(words, out, 0, width);
	}
	if (l->beyond > 0)
		(void)fprintf(out,
			      "%zu of them are in matrices too large to be explained: at most %d "
			      "cells and %d links each.\n",
			      l->beyond, TOMO_CELLS_MAX, TOMO_LINKS_MAX);
	if (l->without > 0)
		(void)fprintf(out, "%zu cells had nothing to compare with.\n", l->without);
	table_release(&t);
}
