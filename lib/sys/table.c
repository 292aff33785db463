/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sys/table.h"

#include <stdlib.h>

#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"

enum { GAP = 2, NOTE_INDENT = 4 };

/* Column widths for one print of a table; 0: omitted. */
struct layout {
	size_t widths[TABLE_COLUMNS_MAX];
	size_t last; /* column that ends a line */
};

struct table_row *table_add(struct table *t)
{
	if ((t->n_rows & (t->n_rows - 1)) == 0)
		t->rows = xrealloc(t->rows, t->n_rows ? 2 * t->n_rows : 1, sizeof(*t->rows));
	t->rows[t->n_rows] = (struct table_row){ .paint = TABLE_NONE };
	return &t->rows[t->n_rows++];
}

void table_release(struct table *t)
{
	size_t i, j;

	for (i = 0; i < t->n_rows; i++) {
		for (j = 0; j < TABLE_COLUMNS_MAX; j++)
			free(t->rows[i].cells[j]);
		free(t->rows[i].note);
	}
	free(t->rows);
	t->rows = NULL;
	t->n_rows = 0;
}

size_t text_columns(const char *text)
{
	size_t sum = 0;
	unsigned columns;
	bool shown;

	while (*text) {
		text += utf8_next(text, &columns, &shown);
		sum += columns;
	}
	return sum;
}

/* Prints the part of `text` that fits into `columns`; returns its width. */
static size_t put_points(const char *text, size_t columns, FILE *out)
{
	size_t taken = 0;
	unsigned wide;
	bool shown;

	while (*text) {
		size_t n = utf8_next(text, &wide, &shown);

		if (taken + wide > columns)
			break;
		if (shown)
			(void)fwrite(text, 1, n, out);
		else
			(void)fputc('?', out);
		taken += wide;
		text += n;
	}
	return taken;
}

static void put_spaces(size_t n, FILE *out)
{
	(void)fprintf(out, "%*s", (int)n, "");
}

/* Bytes of `text` for a line of `columns`, up to a blank, at least one character. */
static size_t line_bytes(const char *text, size_t columns)
{
	size_t at = 0, blank = 0, taken = 0;
	unsigned wide;
	bool shown;

	while (text[at] && text[at] != '\n') {
		size_t n = utf8_next(text + at, &wide, &shown);

		if (at && taken + wide > columns)
			break;
		if (text[at] == ' ')
			blank = at;
		taken += wide;
		at += n;
	}
	if (text[at] == '\0' || text[at] == '\n' || text[at] == ' ')
		return at;
	return blank ? blank : at;
}

/* The last cell of a line has no trailing blanks. */
static void put_cell(const char *text, const struct table_column *column, size_t width, bool last,
		     FILE *out)
{
	size_t have = text_columns(text);

	if (have > width && column->wrap && last) {
		CLEANUP(freep) char *line = xstrndup(text, line_bytes(text, width));

		(void)put_points(line, width, out);
		return;
	}
	if (have > width) {
		size_t taken = put_points(text, width - MIN(width, (size_t)2), out);

		(void)fputs("..", out);
		put_spaces(last ? 0 : width - MIN(width, taken + 2), out);
		return;
	}
	if (column->right)
		put_spaces(width - have, out);
	(void)put_points(text, have, out);
	if (!column->right && !last)
		put_spaces(width - have, out);
}

static size_t total(const struct table *t, const struct layout *l)
{
	size_t sum = 0, i;

	for (i = 0; i < t->n_columns; i++)
		sum += l->widths[i] ? l->widths[i] + GAP : 0;
	return sum ? sum - GAP : 0;
}

static void cut(const struct table *t, struct layout *l, size_t width)
{
	size_t i, over;

	for (i = t->n_columns; i-- > 0 && total(t, l) > width;) {
		const unsigned min = t->columns[i].min;

		over = total(t, l) - width;
		if (min && l->widths[i] > min)
			l->widths[i] = l->widths[i] - MIN(over, l->widths[i] - min);
	}
}

/* Each omitted column gives its room to truncated ones. */
static void leave_out(const struct table *t, struct layout *l, const struct layout *natural,
		      size_t width)
{
	unsigned order;
	size_t i, j;

	for (order = 1; order <= TABLE_COLUMNS_MAX; order++) {
		for (i = 0; i < t->n_columns && total(t, l) > width; i++) {
			if (t->columns[i].leave != order)
				continue;
			l->widths[i] = 0;
			for (j = 0; j < t->n_columns; j++)
				l->widths[j] = l->widths[j] ? natural->widths[j] : 0;
			cut(t, l, width);
		}
	}
}

/* True if nothing is lost. */
static bool fit(const struct table *t, struct layout *l, size_t width)
{
	struct layout natural;
	bool whole;
	size_t i, j;

	for (i = 0; i < t->n_columns; i++) {
		l->widths[i] = text_columns(t->columns[i].head);
		for (j = 0; j < t->n_rows; j++) {
			const char *cell = t->rows[j].cells[i];

			l->widths[i] = MAX(l->widths[i], cell ? text_columns(cell) : 0);
		}
	}
	whole = total(t, l) <= width;
	natural = *l;
	cut(t, l, width);
	leave_out(t, l, &natural, width);
	for (i = 0; i < t->n_columns; i++)
		l->last = l->widths[i] ? i : l->last;
	return whole;
}

/* Prints what does not fit into the last cell of a line below it. */
static void print_below(const char *text, const struct table *t, const struct layout *l, FILE *out)
{
	size_t width = l->widths[l->last], n = line_bytes(text, width);
	size_t before = total(t, l) - width;

	text_wrap(text + n + (text[n] == ' '), out, (unsigned)before, (unsigned)(before + width));
}

static void print_cells(const struct table *t, const struct layout *l, char *const *cells,
			FILE *out, const char *paint[2])
{
	const char *end = cells[l->last] ? cells[l->last] : "";
	size_t last = l->last, i;

	while (last > 0 && (l->widths[last] == 0 || !cells[last] || !*cells[last]))
		last--;
	for (i = 0; i <= last; i++) {
		const char *text = cells[i] ? cells[i] : "";

		if (l->widths[i] == 0)
			continue;
		if (i)
			put_spaces(GAP, out);
		(void)fputs(i ? "" : paint[0], out);
		put_cell(text, &t->columns[i], l->widths[i],
			 i == last && (i == l->last || !t->columns[i].wrap), out);
		(void)fputs(i ? "" : paint[1], out);
	}
	(void)fputc('\n', out);
	if (t->columns[l->last].wrap && last == l->last)
		print_below(end, t, l, out);
}

static void print_heads(const struct table *t, const struct layout *l, FILE *out, bool colour)
{
	size_t i;

	(void)fputs(paint_on(colour, PAINT_DIM), out);
	for (i = 0; i < t->n_columns; i++) {
		if (l->widths[i] == 0)
			continue;
		if (i)
			put_spaces(GAP, out);
		put_cell(t->columns[i].head, &t->columns[i], l->widths[i], i == l->last, out);
	}
	(void)fprintf(out, "%s\n", paint_off(colour));
}

bool table_print(const struct table *t, FILE *out, bool colour, unsigned width)
{
	struct layout l = { 0 };
	bool whole = fit(t, &l, width);
	size_t i;

	print_heads(t, &l, out, colour);
	for (i = 0; i < t->n_rows; i++) {
		const struct table_row *row = &t->rows[i];
		bool painted = colour && row->paint != TABLE_NONE;
		const char *paint[2] = {
			painted ? paint_on(true, (enum paint)row->paint) : "",
			paint_off(painted),
		};

		print_cells(t, &l, row->cells, out, paint);
		if (row->note)
			text_wrap(row->note, out, NOTE_INDENT, width);
	}
	return whole;
}

void text_wrap(const char *text, FILE *out, unsigned indent, unsigned width)
{
	size_t columns = width > indent + 20 ? width - indent : 20;

	while (*text) {
		size_t n = line_bytes(text, columns);
		CLEANUP(freep) char *line = xstrndup(text, n);

		put_spaces(indent, out);
		(void)put_points(line, MAX(columns, (size_t)2), out);
		(void)fputc('\n', out);
		text += n;
		text += *text == ' ' || *text == '\n';
	}
}
