/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/heat.h"

#include <math.h>
#include <stdlib.h>

#include "cli/job_words.h"
#include "cli/view.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { CELL_SIZE = 16, LABEL_SIZE = 32, NAME_MAX_COLUMNS = 12, CELL_LEAST = 4 };

/*
 * Shades from good to bad: the last whose `from` is reached. 1.03 is the least for which a host
 * is suspected (jobs.min_gain), 1.1 where assay-attribute names a cause. The last shade has no
 * upper limit.
 */
static const struct shade {
	double from;
	char mark;
	const char *paint; /* black on green, yellow, orange, red; white on dark red */
	const char *words;
} shades[] = {
	{ -INFINITY, ' ', "\033[38;5;16;48;5;114m", "below 1.03" },
	{ 1.03, '-', "\033[38;5;16;48;5;186m", "1.03 to 1.10" },
	{ 1.10, '=', "\033[38;5;16;48;5;215m", "1.10 to 1.25" },
	{ 1.25, '#', "\033[38;5;16;48;5;203m", "1.25 to 1.50" },
	{ 1.50, '@', "\033[38;5;231;48;5;124m", "1.50 and more" },
};

struct map {
	const json_t *values, *suspects;
	char *row, *column;   /* clean, owned: names of rows and columns */
	size_t rows, columns; /* of the values */
	size_t lines, cells;  /* that are shown */
	size_t label_width, cell_width;
	double low, high;
	bool seen[ARRAY_SIZE(shades)], unknown;
	const struct page *page;
};

/* --- values --- */

static double value_at(const struct map *map, size_t row, size_t column)
{
	const json_t *value = json_array_get(json_array_get(map->values, row), column);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

/* The first of `n` items at place i of `places`. */
static size_t first_of(size_t i, size_t n, size_t places)
{
	return i * n / places;
}

/* Most items at any of the places. */
static size_t most_in(size_t n, size_t places)
{
	return places ? (n + places - 1) / places : 0;
}

/* NAN if none is known. */
static double worst_in(const struct map *map, size_t line, size_t cell)
{
	size_t end_row = first_of(line + 1, map->rows, map->lines);
	size_t end_column = first_of(cell + 1, map->columns, map->cells);
	double worst = NAN;
	size_t i, j;

	for (i = first_of(line, map->rows, map->lines); i < end_row; i++) {
		for (j = first_of(cell, map->columns, map->cells); j < end_column; j++)
			worst = fmax(worst, value_at(map, i, j));
	}
	return worst;
}

static const struct shade *shade_of(double value)
{
	/* A value displayed as 1.10 is shaded as 1.10. */
	double shown = round(value * 100) / 100;
	size_t i = ARRAY_SIZE(shades) - 1;

	while (i > 0 && shown < shades[i].from)
		i--;
	return &shades[i];
}

/* --- one cell --- */

static void cell_text(double value, char ret[static CELL_SIZE])
{
	if (isnan(value))
		(void)snprintf(ret, CELL_SIZE, ".");
	else
		(void)snprintf(ret, CELL_SIZE, value < 100 ? "%.2f" : "%.3g", value);
}

static void label_text(size_t i, size_t n, size_t places, char ret[static LABEL_SIZE])
{
	size_t from = first_of(i, n, places), end = first_of(i + 1, n, places);

	if (end == from + 1)
		(void)snprintf(ret, LABEL_SIZE, "%zu", from);
	else
		(void)snprintf(ret, LABEL_SIZE, "%zu-%zu", from, end - 1);
}

static void print_cell(const struct map *map, size_t line, size_t cell)
{
	double value = worst_in(map, line, cell);
	const struct shade *shade = isnan(value) ? NULL : shade_of(value);
	const char *paint = shade ? shade->paint : paint_on(true, PAINT_DIM);
	char text[CELL_SIZE];

	cell_text(value, text);
	(void)fprintf(map->page->out, " %s%*s%c%s", map->page->colour ? paint : "",
		      (int)map->cell_width, text, shade ? shade->mark : ' ',
		      paint_off(map->page->colour));
}

/* --- its size --- */

static size_t longest_row(const json_t *values)
{
	size_t most = 0, i;

	for (i = 0; i < json_array_size(values); i++)
		most = MAX(most, json_array_size(json_array_get(values, i)));
	return most;
}

static void look(struct map *map)
{
	size_t i, j;

	for (i = 0; i < map->rows; i++) {
		for (j = 0; j < map->columns; j++) {
			double value = value_at(map, i, j);

			map->low = fmin(map->low, value);
			map->high = fmax(map->high, value);
		}
	}
}

static void see(struct map *map)
{
	size_t i, j;

	for (i = 0; i < map->lines; i++) {
		for (j = 0; j < map->cells; j++) {
			double value = worst_in(map, i, j);

			if (isnan(value))
				map->unknown = true;
			else
				map->seen[shade_of(value) - shades] = true;
		}
	}
}

/* Number of cells that fit, each with a space and its mark. */
static size_t room_for(const struct map *map)
{
	size_t width = map->page->width > map->label_width ? map->page->width - map->label_width
							   : 0;

	return MAX(width / (map->cell_width + 2), (size_t)1);
}

/* Use as many cells as fit; headings of several columns, like "29-31", are wider. */
static void fit(struct map *map)
{
	char text[LABEL_SIZE];
	size_t i;

	map->lines = MIN(map->rows, (size_t)HEAT_ROWS_MAX);
	map->cells = MIN(map->columns, (size_t)HEAT_COLUMNS_MAX);
	map->label_width = text_columns(map->row) + 1 + text_columns(map->column);
	for (i = 0; i < map->lines; i++) {
		label_text(i, map->rows, map->lines, text);
		map->label_width = MAX(map->label_width, strlen(text));
	}
	cell_text(map->high, text);
	map->cell_width = MAX(strlen(text), (size_t)CELL_LEAST);
	if (map->columns > MIN(map->cells, room_for(map))) {
		(void)snprintf(text, sizeof(text), "%zu-%zu", map->columns, map->columns);
		map->cell_width = MAX(map->cell_width, strlen(text));
	}
	map->cells = MIN(map->cells, room_for(map));
}

/* --- beside the cells --- */

/* Print the suspects in the rows of a line, like " stage 1: gpu-17". */
static void print_suspects(const struct map *map, size_t line)
{
	size_t from = first_of(line, map->rows, map->lines);
	size_t end = first_of(line + 1, map->rows, map->lines), i;
	const char *space = "  ";

	for (i = 0; i < json_array_size(map->suspects); i++) {
		const json_t *suspect = json_array_get(map->suspects, i);
		double dp = number_at(suspect, "dp"), stage = number_at(suspect, "stage");
		CLEANUP(freep) char *hosts = job_words_hosts(json_object_get(suspect, "hosts"));

		if (!job_words_is_suspected(suspect) || !(dp >= (double)from && dp < (double)end))
			continue;
		if (isnan(stage))
			(void)fprintf(map->page->out, "%s%s", space, hosts);
		else
			(void)fprintf(map->page->out, "%s%s %.0f: %s", space, map->column, stage,
				      hosts);
		space = ", ";
	}
}

static void print_title(const struct map *map)
{
	size_t most = most_in(map->rows, map->lines) * most_in(map->columns, map->cells);
	char low[CELL_SIZE], high[CELL_SIZE];
	CLEANUP(freep)
	char *several = most > 1 ? xasprintf("; a cell is the slowest of up to %zu of them", most)
				 : xstrdup("");
	CLEANUP(freep) char *title = NULL;

	cell_text(map->low, low);
	cell_text(map->high, high);
	title = xasprintf("slowdown of each worker, %s by %s: %s to %s%s", map->row, map->column,
			  low, high, several);
	(void)fputs(paint_on(map->page->colour, PAINT_BOLD), map->page->out);
	text_wrap(title, map->page->out, 0, map->page->width);
	(void)fputs(paint_off(map->page->colour), map->page->out);
}

static void print_heads(const struct map *map)
{
	CLEANUP(freep) char *corner = xasprintf("%s\\%s", map->row, map->column);
	char text[LABEL_SIZE];
	size_t i;

	(void)fprintf(map->page->out, "%s%s%*s", paint_on(map->page->colour, PAINT_DIM), corner,
		      (int)(map->label_width - text_columns(corner)), "");
	for (i = 0; i < map->cells; i++) {
		label_text(i, map->columns, map->cells, text);
		(void)fprintf(map->page->out, " %*s ", (int)map->cell_width, text);
	}
	(void)fprintf(map->page->out, "%s\n", paint_off(map->page->colour));
}

static void print_lines(const struct map *map)
{
	char text[LABEL_SIZE];
	size_t i, j;

	for (i = 0; i < map->lines; i++) {
		label_text(i, map->rows, map->lines, text);
		(void)fprintf(map->page->out, "%*s", (int)map->label_width, text);
		for (j = 0; j < map->cells; j++)
			print_cell(map, i, j);
		print_suspects(map, i);
		(void)fputc('\n', map->page->out);
	}
}

static void print_legend(const struct map *map)
{
	static const char head[] = "slowdown:";
	size_t column = strlen(head), i;

	(void)fputs(head, map->page->out);
	for (i = 0; i < ARRAY_SIZE(shades); i++) {
		size_t length = strlen("  [x] ") + strlen(shades[i].words);

		if (!map->seen[i])
			continue;
		if (column + length > map->page->width) {
			(void)fputs("\n ", map->page->out);
			column = 1;
		}
		(void)fprintf(map->page->out, "  %s[%c]%s %s",
			      map->page->colour ? shades[i].paint : "", shades[i].mark,
			      paint_off(map->page->colour), shades[i].words);
		column += length;
	}
	(void)fprintf(map->page->out, "%s\n\n", map->unknown ? "  . not known" : "");
}

/* Name of a row or column, clean and short. The caller frees it. */
static char *name_of(const json_t *heat, const char *key, const char *otherwise)
{
	CLEANUP(freep) char *clean = utf8_clean(raw_at(heat, key));

	return xstrdup(*clean && text_columns(clean) <= NAME_MAX_COLUMNS ? clean : otherwise);
}

void heat_show(const json_t *heat, const json_t *suspects, const struct page *page)
{
	struct map map = {
		.values = json_object_get(heat, "values"),
		.suspects = suspects,
		.low = NAN,
		.high = NAN,
		.page = page,
	};

	map.rows = json_array_size(map.values);
	map.columns = longest_row(map.values);
	look(&map);
	if (isnan(map.high))
		return;
	map.row = name_of(heat, "row", "dp");
	map.column = name_of(heat, "column", "stage");
	fit(&map);
	see(&map);
	print_title(&map);
	print_heads(&map);
	print_lines(&map);
	print_legend(&map);
	free(map.row);
	free(map.column);
}
