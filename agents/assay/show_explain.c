/* SPDX-License-Identifier: Apache-2.0 */
/* An explanation as text: the maps, then the links by name, then the rest. */
#include <stdlib.h>

#include "agents/assay/explain.h"
#include "agents/assay/explain_input.h"
#include "agents/assay/show_heat.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/link_words.h"
#include "lib/report/host_parts_words.h"
#include "lib/report/report.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { CELLS_TOLD = 6, OTHERS_TOLD = 20, INDENT = 2 };

static const enum paint paints[] = {
	[VERDICT_PASS] = PAINT_GOOD,
	[VERDICT_INCONCLUSIVE] = PAINT_UNSURE,
	[VERDICT_WARN] = PAINT_WARN,
	[VERDICT_FAIL] = PAINT_BAD,
};

static void print_line(FILE *out, unsigned width, const char *label, const char *text)
{
	CLEANUP(freep) char *clean = utf8_clean(text);
	CLEANUP(freep) char *line = xasprintf("%s: %s", label, clean);

	text_wrap(line, out, INDENT, width);
}

/* A cell's name in the map. The caller frees it. */
static char *cell_name(const struct explanation *e, const char *subject)
{
	const struct sample_list *samples = &e->input->samples;
	size_t i;

	for (i = 0; i < samples->n; i++) {
		if (streq(samples->v[i].subject, subject))
			return localise_cell(&samples->v[i]);
	}
	return xstrdup(subject);
}

/* "10 cells: mlx5_2:1>numa:0, ...": a few names, and the number of others. The caller frees it. */
static char *list(const struct explanation *e, char *const *subjects)
{
	size_t n = subjects ? strv_len(subjects) : 0, i;
	char *text = xasprintf("%zu cell%s", n, n == 1 ? "" : "s");

	for (i = 0; i < MIN(n, (size_t)CELLS_TOLD); i++) {
		CLEANUP(freep) char *before = text;
		CLEANUP(freep) char *cell = cell_name(e, subjects[i]);
		CLEANUP(freep) char *name = host_parts_words(&e->input->parts, cell);

		text = xasprintf("%s%s%s", before, i ? ", " : ": ", name);
	}
	if (n > CELLS_TOLD) {
		CLEANUP(freep) char *before = text;

		text = xasprintf("%s and %zu more", before, n - CELLS_TOLD);
	}
	return text;
}

static void print_others_of(const struct explanation *e, const struct localised_link *l, FILE *out,
			    unsigned width)
{
	CLEANUP(freep) char *text = xstrdup("");
	size_t i;

	for (i = 0; l->ambiguous && l->ambiguous[i]; i++) {
		CLEANUP(freep) char *before = TAKE(text);
		CLEANUP(freep) char *link = link_name(l->ambiguous[i]);
		CLEANUP(freep) char *name = host_parts_words(&e->input->parts, link);

		text = xasprintf("%s%s%s", before, i ? "; " : "", name);
	}
	if (*text)
		print_line(out, width, "cannot be distinguished from", text);
}

static void print_link(const struct explanation *e, size_t nth, FILE *out, bool colour,
		       unsigned width)
{
	const struct localised_link *l = &e->found.links[nth];
	CLEANUP(freep) char *sentence = explain_link(e, nth);
	CLEANUP(freep) char *supporting = list(e, l->supporting);
	CLEANUP(freep) char *contradicting = list(e, l->contradicting);
	CLEANUP(freep) char *sure = xasprintf("%.2f, by %s", l->confidence, l->check);
	CLEANUP(freep)
	char *training = link_training(topology_find_link(&e->input->topology, l->link));
	const char *hint = link_hint(l->link, l->ratio);

	(void)fputs(paint_on(colour, PAINT_BAD), out);
	text_wrap(sentence, out, 0, width);
	(void)fputs(paint_off(colour), out);
	print_line(out, width, "link", l->link);
	if (*hint)
		print_line(out, width, "usual cause", hint);
	if (training)
		print_line(out, width, "trained at", training);
	print_others_of(e, l, out, width);
	print_line(out, width, "confidence", sure);
	print_line(out, width, "for", supporting);
	print_line(out, width, "against", l->contradicting ? contradicting : "none");
}

static void print_rest(const struct explanation *e, FILE *out, bool colour, unsigned width)
{
	const struct verdict_item *item;
	size_t at = 0, n = 0;

	while ((item = explain_next(e, &at))) {
		CLEANUP(freep) char *clean = NULL;
		CLEANUP(freep) char *line = NULL;

		if (n++ == 0)
			(void)fputs("\nand besides\n", out);
		if (n > OTHERS_TOLD)
			continue;
		clean = utf8_clean(item->sentence);
		line = xasprintf("%s%s%s: %s", paint_on(colour, paints[item->level]),
				 verdict_level_names[item->level], paint_off(colour), clean);
		text_wrap(line, out, INDENT, width);
	}
	if (n > OTHERS_TOLD)
		(void)fprintf(out, "  and %zu more\n", n - OTHERS_TOLD);
}

static void show_maps(const struct explanation *e, bool slow, FILE *out, bool colour, unsigned width)
{
	size_t i;

	for (i = 0; i < e->heats.n; i++) {
		if ((heat_slow(&e->heats.v[i]) > 0) != slow)
			continue;
		show_heat(&e->heats.v[i], &e->input->parts, out, colour, width);
		(void)fputc('\n', out);
	}
}

void explain_show(const struct explanation *e, FILE *out, bool colour, unsigned width)
{
	CLEANUP(freep) char *sentence = explain_sentence(e);
	size_t i;

	/* Slow maps last: next to their explanation. */
	show_maps(e, false, out, colour, width);
	show_maps(e, true, out, colour, width);
	if (e->heats.n > 0) {
		show_heat_legend(&e->heats, out, colour, width);
		(void)fputc('\n', out);
	}
	if (e->heats.left_out > 0)
		(void)fprintf(out, "%zu cells beyond %d rows, columns or %d matrices are left out\n",
			      e->heats.left_out, HEAT_SIDE_MAX, HEAT_MATRICES_MAX);
	if (e->found.n == 0)
		text_wrap(sentence, out, 0, width);
	for (i = 0; i < e->found.n; i++) {
		if (i > 0)
			(void)fputc('\n', out);
		print_link(e, i, out, colour, width);
	}
	if (e->found.without > 0)
		(void)fprintf(out, "%zu cells had nothing to compare with.\n", e->found.without);
	print_rest(e, out, colour, width);
}
