/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/hang_table.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_facts.h"
#include "lib/hang/hang_rows.h"
#include "lib/hang/hang_verdict.h"
#include "lib/hang/hang_words.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { SENTENCE_MAX = 4096, INDENT = 2, WAITS_MAX = 256 };

static const struct table_column columns[] = {
	{ .head = "RANK", .right = true }, { .head = "HOST", .min = 8, .leave = 1 },
	{ .head = "PROCESS", .leave = 2 }, { .head = "GROUP", .min = 12 },
	{ .head = "SEQ", .right = true },  { .head = "OPERATION", .min = 10 },
	{ .head = "WAITS FOR", .min = 8 },
};

static char *write_waits(const struct hang_row *row)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(WAITS_MAX);
	size_t i, n = MIN(row->n_waits_for, (size_t)HANG_ROW_WAITS_MAX);

	for (i = 0; i < n; i++)
		(void)strbuf_printf(&text, "%s%u", i ? ", " : "", row->waits_for[i]);
	if (row->n_waits_for > n)
		(void)strbuf_printf(&text, " and %zu more", row->n_waits_for - n);
	if (row->waits && n == 0)
		(void)strbuf_puts(&text, "not known");
	return xstrdup(strbuf_text(&text));
}

static void add_row(struct table *table, const struct hang_case *c, const struct hang_row *row,
		    bool named)
{
	const struct hang_rank *rank = &c->ranks[row->rank];
	struct table_row *out = table_add(table);
	size_t i = 0;

	out->paint = named ? PAINT_BAD : TABLE_NONE;
	out->cells[i++] = xasprintf("%u", row->rank);
	out->cells[i++] = xstrdup(rank->node);
	out->cells[i++] = xstrdup(
		rank->process == HANG_PROCESS_UNKNOWN ? "" : hang_process_names[rank->process]);
	out->cells[i++] = xstrdup(row->group < 0 ? (rank->sources ? "" : "nothing is known")
						 : hang_facts_group(c, (uint32_t)row->group));
	out->cells[i++] = row->seq >= 0 ? xasprintf("%" PRId64, row->seq) : NULL;
	out->cells[i++] = xstrdup(row->op);
	out->cells[i] = write_waits(row);
}

static bool is_named(const struct hang_verdict *verdict, uint32_t rank)
{
	size_t i;

	for (i = 0; i < verdict->n_suspects; i++)
		if (verdict->suspects[i] == rank)
			return true;
	return hang_verdict_blames(verdict, rank);
}

static void write_ranks(const struct hang_case *c, const struct hang_verdict *verdict, FILE *out)
{
	CLEANUP(freep) struct hang_row *rows = hang_rows_new(c);
	struct table table = { .columns = columns, .n_columns = ARRAY_SIZE(columns) };
	size_t i, shown = 0;
	int pass;

	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < c->n_ranks && shown < HANG_TABLE_ROWS_MAX; i++) {
			if (is_named(verdict, (uint32_t)i) != (pass == 0))
				continue;
			add_row(&table, c, &rows[i], pass == 0);
			shown++;
		}
	(void)fputc('\n', out);
	(void)table_print(&table, out, term_wants_colour(out), term_width(out));
	if (shown < c->n_ranks)
		(void)fprintf(out, "and %zu more ranks\n", c->n_ranks - shown);
	table_release(&table);
}

static void write_sentences(const char *head, const struct hang_sentences *sentences, FILE *out)
{
	size_t i;

	if (sentences->n == 0)
		return;
	(void)fprintf(out, "\n%s\n", head);
	for (i = 0; i < sentences->n; i++)
		text_wrap(sentences->text[i], out, INDENT, term_width(out));
	if (sentences->left_out > 0)
		(void)fprintf(out, "  and %zu more\n", sentences->left_out);
}

void hang_table_write(const struct hang_case *c, const struct hang_verdict *verdict, FILE *out)
{
	CLEANUP(strbuf_release) struct strbuf text = STRBUF_INIT(SENTENCE_MAX);

	hang_words_sentence(c, verdict, &text);
	text_wrap(strbuf_text(&text), out, 0, term_width(out));
	text_wrap(hang_words_act(verdict), out, 0, term_width(out));
	write_sentences("Evidence:", &verdict->evidence, out);
	write_sentences("Missing:", &verdict->missing, out);
	write_sentences("What would tell:", &verdict->tell, out);
	write_ranks(c, verdict, out);
}
