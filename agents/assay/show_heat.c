/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assay/show_heat.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/heat.h"
#include "lib/report/host_parts_words.h"
#include "lib/report/report.h"
#include "lib/sys/table.h"
#include "lib/sys/term.h"

enum { CELL_SIZE = 16, ROW_NAME_MAX = 20, COLUMN_NAME_MAX = 12, NUMBER_DIGITS = 3 };

/*
 * Shades from good to bad: the first whose `from` is reached. At 0.93 the localiser begins to
 * name links, at 0.85 a single reference suffices for a fail.
 */
static const struct shade {
	double from;
	char mark;
	const char *paint; /* black on green, yellow, orange, red; white on dark red */
	const char *words;
} shades[] = {
	{ HEAT_SLOW, ' ', "\033[38;5;16;48;5;114m", "93 % and more" },
	{ 0.85, '-', "\033[38;5;16;48;5;186m", "85 to 93 %" },
	{ 0.60, '=', "\033[38;5;16;48;5;215m", "60 to 85 %" },
	{ 0.30, '#', "\033[38;5;16;48;5;203m", "30 to 60 %" },
	{ 0, '@', "\033[38;5;231;48;5;124m", "below 30 %" },
};

/* Text of cells without a measurement, and in the legend. */
static const struct {
	const char *word, *meaning;
} states[] = {
	[SAMPLE_MEASURED] = { "-", "no value" },
	[SAMPLE_BUSY] = { "busy", "in use by others" },
	[SAMPLE_FOREIGN_TRAFFIC] = { "traff", "others' traffic" },
	[SAMPLE_SET_UP] = { "setup", "could not be set up" },
	[SAMPLE_TIMEOUT] = { "time", "did not end in time" },
	[SAMPLE_ABORTED] = { "abort", "gave way to a job" },
};

static const char none_word[] = ".";
static const char unknown_mark = '?';

static const struct shade *shade_of(double ratio)
{
	size_t i = 0;

	if (isnan(ratio))
		return NULL;
	while (i + 1 < ARRAY_SIZE(shades) && ratio < shades[i].from)
		i++;
	return &shades[i];
}

/* --- names --- */

/* Length of the common prefix of names `from` to `end`, up to the last separator. */
static size_t common_start(char *const *names, size_t from, size_t end)
{
	size_t n = 0, cut = 0, i;

	for (; names[from][n]; n++) {
		for (i = from; i < end && names[i][n] == names[from][n]; i++)
			;
		if (i < end)
			break;
		if (names[from][n] == ':')
			cut = n + 1;
	}
	return cut;
}

static bool all_end_so(char *const *names, size_t from, size_t end, const char *suffix)
{
	size_t i, n = strlen(suffix);

	for (i = from; i < end; i++) {
		size_t length = strlen(names[i]);

		if (length <= n || !streq(names[i] + length - n, suffix))
			return false;
	}
	return true;
}

/* 3 for the "gpu" of "gpu:0000:1b:00.0", 0 for "mlx5_0:1": a port has no kind. */
static size_t kind_length(const char *name)
{
	static const char *const kinds[] = { "gpu:", "numa:", "rnic:", "cpu:" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (starts_with(name, kinds[i]))
			return strlen(kinds[i]) - 1;
	}
	return 0;
}

static bool same_kind(const char *a, const char *b)
{
	size_t n = kind_length(a);

	return n == kind_length(b) && strncmp(a, b, n) == 0;
}

/*
 * Names of one kind without their common parts: "1b" for "gpu:0000:1b:00.0" if only the bus
 * differs. `ret` has room for the names `from` to `end`.
 */
static void shorten(char *const *names, size_t from, size_t end, char **ret)
{
	static const char *const tails[] = { ":00.0", ".0", ":1" };
	size_t kind = kind_length(names[from]), tail = 0, i;
	size_t start = end - from > 1 ? common_start(names, from, end) : kind ? kind + 1 : 0;

	for (i = 0; i < ARRAY_SIZE(tails) && !tail; i++) {
		if (all_end_so(names, from, end, tails[i]))
			tail = strlen(tails[i]);
	}
	for (i = from; i < end; i++) {
		size_t length = strlen(names[i]);
		CLEANUP(freep)
		char *part = length > start + tail
				     ? xstrndup(names[i] + start, length - start - tail)
				     : xstrdup(names[i]);

		ret[i] = utf8_clean(part);
	}
}

/* "3" for "gpu 3": the kind is printed above. False unless all of them have such a name. */
static bool number(char *const *names, size_t from, size_t end, const struct host_parts *parts,
		   char **ret)
{
	size_t i, n = 0;

	for (i = from; i < end; i++) {
		CLEANUP(freep) char *name = host_parts_words(parts, names[i]);

		ret[i] = starts_with(name, "gpu ") ? xstrdup(name + strlen("gpu ")) : NULL;
		n += ret[i] && strlen(ret[i]) <= NUMBER_DIGITS;
	}
	if (n == end - from)
		return true;
	for (i = from; i < end; i++) {
		free(ret[i]);
		ret[i] = NULL;
	}
	return false;
}

/* Names of the rows, new vector. */
static char **row_names(const struct heat *h, const struct host_parts *parts)
{
	char **names = xcalloc(h->n_rows + 1, sizeof(*names));
	size_t i;

	for (i = 0; i < h->n_rows; i++) {
		CLEANUP(freep) char *name = host_parts_words(parts, h->rows[i]);

		names[i] = utf8_clean(name);
	}
	return names;
}

/* Short names of all columns, new vector. */
static char **short_names(const struct heat *h, const struct host_parts *parts)
{
	char **names = xcalloc(h->n_columns + 1, sizeof(*names));
	size_t from, end;

	for (from = 0; from < h->n_columns; from = end) {
		for (end = from + 1;
		     end < h->n_columns && same_kind(h->columns[from], h->columns[end]); end++)
			;
		if (!number(h->columns, from, end, parts, names))
			shorten(h->columns, from, end, names);
	}
	return names;
}

/* --- cells --- */

struct map {
	const struct heat *heat;
	char *const *rows; /* their names */
	FILE *out;
	bool colour;
	double scale;
	int decimals;
	size_t row_width, cell_width; /* without the mark and the space */
};

static double largest(const struct heat *h)
{
	double most = 0;
	size_t i;

	for (i = 0; i < h->n_rows * h->n_columns; i++) {
		const struct sample *s = h->cells[i].sample;

		if (s && s->state == SAMPLE_MEASURED && isfinite(s->value))
			most = MAX(most, fabs(s->value));
	}
	return most;
}

/* Boolean rather than numeric: whether they could connect, whether the data was correct. */
static bool is_answer(const struct sample *s)
{
	return s->state == SAMPLE_MEASURED && s->ok != TRI_UNKNOWN && streq(s->unit, "1");
}

static void cell_text(const struct map *map, const struct heat_cell *cell,
		      char ret[static CELL_SIZE])
{
	const struct sample *s = cell->sample;

	if (!s)
		(void)snprintf(ret, CELL_SIZE, "%s", none_word);
	else if (is_answer(s))
		(void)snprintf(ret, CELL_SIZE, "%s", s->ok == TRI_YES ? "ok" : "bad");
	else if (s->state != SAMPLE_MEASURED || !isfinite(s->value))
		(void)snprintf(ret, CELL_SIZE, "%s", states[s->state].word);
	else
		(void)snprintf(ret, CELL_SIZE, "%.*f", map->decimals, s->value / map->scale);
}

static char mark_of(const struct heat_cell *cell, const struct shade *shade)
{
	if (shade)
		return shade->mark;
	return cell->sample && cell->sample->state == SAMPLE_MEASURED ? unknown_mark : ' ';
}

static void print_cell(const struct map *map, const struct heat_cell *cell)
{
	const struct shade *shade = shade_of(cell->ratio);
	const char *paint = shade ? shade->paint : paint_on(true, PAINT_DIM);
	char text[CELL_SIZE];

	cell_text(map, cell, text);
	(void)fprintf(map->out, " %s%*s%c%s", map->colour ? paint : "", (int)map->cell_width, text,
		      mark_of(cell, shade), paint_off(map->colour));
}

/*
 * Enough digits for three significant ones in the largest value, and columns for the widest cell.
 */
static void measure(struct map *map, char *const *names)
{
	const struct heat *h = map->heat;
	double most = largest(h) / map->scale;
	char text[CELL_SIZE];
	size_t i;

	map->decimals = most >= 99.95 ? 0 : most >= 9.995 ? 1 : 2;
	for (i = 0; i < h->n_rows * h->n_columns; i++) {
		cell_text(map, &h->cells[i], text);
		map->cell_width = MAX(map->cell_width, strlen(text));
	}
	for (i = 0; i < h->n_columns; i++) {
		size_t name = MAX(text_columns(names[i]), kind_length(h->columns[i]));

		map->cell_width = MAX(map->cell_width, MIN(name, (size_t)COLUMN_NAME_MAX));
	}
	for (i = 0; i < h->n_rows; i++)
		map->row_width =
			MAX(map->row_width, MIN(text_columns(map->rows[i]), (size_t)ROW_NAME_MAX));
}

/* --- the map --- */

/* The end of a name says more than its beginning. */
static const char *tail_of(const char *name, size_t max)
{
	size_t length = strlen(name);

	return length > max ? name + length - max : name;
}

/* Print the kinds, each above the first of its columns. */
static void print_kinds(const struct map *map, size_t from, size_t end)
{
	char *const *columns = map->heat->columns;
	bool any = false;
	size_t i;

	for (i = from; i < end; i++)
		any |= kind_length(columns[i]) > 0;
	if (!any)
		return;
	(void)fprintf(map->out, "%*s", (int)map->row_width, "");
	for (i = from; i < end; i++) {
		bool first = i == from || !same_kind(columns[i - 1], columns[i]);

		(void)fprintf(map->out, " %*.*s ", (int)map->cell_width,
			      first ? (int)kind_length(columns[i]) : 0, columns[i]);
	}
	(void)fputc('\n', map->out);
}

static void print_heads(const struct map *map, char *const *names, size_t from, size_t end)
{
	size_t i;

	print_kinds(map, from, end);
	(void)fprintf(map->out, "%*s", (int)map->row_width, "");
	for (i = from; i < end; i++)
		(void)fprintf(map->out, " %*s ", (int)map->cell_width,
			      tail_of(names[i], map->cell_width));
	(void)fputc('\n', map->out);
}

static void print_block(const struct map *map, char *const *names, size_t from, size_t end)
{
	const struct heat *h = map->heat;
	size_t i, j;

	print_heads(map, names, from, end);
	for (i = 0; i < h->n_rows; i++) {
		(void)fprintf(map->out, "%-*s", (int)map->row_width,
			      tail_of(map->rows[i], map->row_width));
		for (j = from; j < end; j++)
			print_cell(map, &h->cells[i * h->n_columns + j]);
		(void)fputc('\n', map->out);
	}
}

static size_t count_measured(const struct heat *h)
{
	size_t n = 0, i;

	for (i = 0; i < h->n_rows * h->n_columns; i++)
		n += h->cells[i].sample && h->cells[i].sample->state == SAMPLE_MEASURED;
	return n;
}

static void print_title(const struct map *map, const char *prefix, unsigned width)
{
	const struct heat *h = map->heat;
	CLEANUP(freep) char *check = utf8_clean(h->check);
	CLEANUP(freep) char *unit = utf8_clean(h->unit);
	CLEANUP(freep)
	char *in = *unit && !streq(unit, "1") ? xasprintf(", %s%s", prefix, unit) : xstrdup("");

	CLEANUP(freep)
	char *title = xasprintf("%s%s: %zu of %zu cells below %.0f %%", check, in, heat_slow(h),
				count_measured(h), HEAT_SLOW * 100);

	(void)fputs(paint_on(map->colour, PAINT_BOLD), map->out);
	text_wrap(title, map->out, 0, width);
	(void)fputs(paint_off(map->colour), map->out);
}

void show_heat(const struct heat *h, const struct host_parts *parts, FILE *out, bool colour,
	       unsigned width)
{
	CLEANUP(strv_freep) char **names = short_names(h, parts);
	CLEANUP(strv_freep) char **rows = row_names(h, parts);
	struct map map = { .heat = h, .rows = rows, .out = out, .colour = colour, .scale = 1 };
	const char *prefix = "";
	size_t fit, from;

	if (*h->unit && !streq(h->unit, "1"))
		map.scale = number_scale(largest(h), &prefix);
	measure(&map, names);
	fit = width > map.row_width ? (width - map.row_width) / (map.cell_width + 2) : 0;
	fit = MAX(fit, (size_t)1);
	print_title(&map, prefix, width);
	for (from = 0; from < h->n_columns; from += fit) {
		if (from > 0)
			(void)fputc('\n', out);
		print_block(&map, names, from, MIN(from + fit, h->n_columns));
	}
}

/* --- the legend --- */

struct seen {
	bool shades[ARRAY_SIZE(shades)], states[ARRAY_SIZE(states)], none, unknown, together;
};

/* "numa:0*3" */
static bool is_together(const char *column)
{
	const char *star = strrchr(column, '*');

	return star && star[1] && strspn(star + 1, "0123456789") == strlen(star + 1);
}

static void look(const struct heat *h, struct seen *seen)
{
	size_t i;

	for (i = 0; i < h->n_columns; i++)
		seen->together |= is_together(h->columns[i]);
	for (i = 0; i < h->n_rows * h->n_columns; i++) {
		const struct heat_cell *cell = &h->cells[i];
		const struct shade *shade = shade_of(cell->ratio);

		if (!cell->sample)
			seen->none = true;
		else if (shade)
			seen->shades[shade - shades] = true;
		else if (cell->sample->state != SAMPLE_MEASURED)
			seen->states[cell->sample->state] = true;
		else
			seen->unknown = true;
	}
}

static void print_shades(const struct seen *seen, FILE *out, bool colour, size_t width)
{
	static const char head[] = "of what it should reach:";
	size_t column = strlen(head), i;

	(void)fputs(head, out);
	for (i = 0; i < ARRAY_SIZE(shades); i++) {
		size_t length = strlen("  [x] ") + strlen(shades[i].words);

		if (!seen->shades[i])
			continue;
		if (column + length > width) {
			(void)fputs("\n ", out);
			column = 1;
		}
		(void)fprintf(out, "  %s[%c]%s %s", colour ? shades[i].paint : "", shades[i].mark,
			      paint_off(colour), shades[i].words);
		column += length;
	}
	(void)fputc('\n', out);
}

static char *join(char *before, const char *word, const char *meaning)
{
	CLEANUP(freep) char *old = before;

	return xasprintf("%s%s%s: %s", old, *old ? "; " : "", word, meaning);
}

void show_heat_legend(const struct heats *heats, FILE *out, bool colour, unsigned width)
{
	CLEANUP(freep) char *words = xstrdup("");
	struct seen seen = { .none = false };
	bool any = false;
	size_t i;

	for (i = 0; i < heats->n; i++)
		look(&heats->v[i], &seen);
	for (i = 0; i < ARRAY_SIZE(shades); i++)
		any |= seen.shades[i];
	if (any)
		print_shades(&seen, out, colour, width);
	for (i = 0; i < ARRAY_SIZE(states); i++) {
		if (seen.states[i])
			words = join(words, states[i].word, states[i].meaning);
	}
	if (seen.unknown)
		words = join(words, (const char[]){ unknown_mark, '\0' }, "nothing to compare with");
	if (seen.none)
		words = join(words, none_word, "not measured");
	if (seen.together)
		words = join(words, "*3", "3 measured at once");
	if (*words)
		text_wrap(words, out, 0, width);
}
