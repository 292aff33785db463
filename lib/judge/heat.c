/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/heat.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/stats.h"
#include "lib/report/report.h"

/* A sample with its position. */
struct spot {
	const struct sample *sample;
	double expected;
	char *row, *column;
};

struct spots {
	struct spot *v;
	size_t n;
};

static void spots_release(struct spots *s)
{
	size_t i;

	for (i = 0; i < s->n; i++) {
		free(s->v[i].row);
		free(s->v[i].column);
	}
	free(s->v);
}

static void gather(const struct localise_input *input, struct spots *ret)
{
	CLEANUP(freep)
	double *expected = xcalloc(input->samples.n + 1, sizeof(*expected));
	size_t i;

	localise_expected(input, expected);
	ret->v = xcalloc(input->samples.n + 1, sizeof(*ret->v));
	for (i = 0; i < input->samples.n; i++) {
		const struct sample *s = &input->samples.v[i];
		const char *arrow = strchr(s->subject, '>');

		if (!arrow || arrow == s->subject || !arrow[1])
			continue;
		ret->v[ret->n++] = (struct spot){
			.sample = s,
			.expected = expected[i],
			.row = localise_start(s),
			.column = xstrdup(localise_end(s)),
		};
	}
}

static const char *unit_of(const struct sample *s)
{
	return s->unit ? s->unit : "";
}

static int compare_matrices(const void *a, const void *b)
{
	const struct sample *x = ((const struct spot *)a)->sample;
	const struct sample *y = ((const struct spot *)b)->sample;
	int r = strcmp(x->check, y->check);

	return r ? r : strcmp(unit_of(x), unit_of(y));
}

/* Natural order, but GPUs by their slots, which are hexadecimal. */
static int compare_names(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;

	return starts_with(x, "gpu:") && starts_with(y, "gpu:") && strlen(x) == strlen(y)
		       ? strcmp(x, y)
		       : strverscmp(x, y);
}

/* The distinct names among `n` spots, sorted; at most HEAT_SIDE_MAX. */
static char **side(const struct spot *spots, size_t n, bool rows, size_t *ret_n)
{
	CLEANUP(freep) char **all = xcalloc(n + 1, sizeof(*all));
	char **names = xcalloc(HEAT_SIDE_MAX + 1, sizeof(*names));
	size_t count = 0, i;

	for (i = 0; i < n; i++)
		all[i] = rows ? spots[i].row : spots[i].column;
	qsort(all, n, sizeof(*all), compare_names);
	for (i = 0; i < n && count < HEAT_SIDE_MAX; i++) {
		if (i == 0 || !streq(all[i], all[i - 1]))
			names[count++] = xstrdup(all[i]);
	}
	*ret_n = count;
	return names;
}

static struct heat_cell *find(const struct heat *h, const struct spot *spot)
{
	char *const *row = bsearch(&spot->row, h->rows, h->n_rows, sizeof(*h->rows), compare_names);
	char *const *column = bsearch(&spot->column, h->columns, h->n_columns, sizeof(*h->columns),
				      compare_names);

	if (!row || !column)
		return NULL;
	return &h->cells[(size_t)(row - h->rows) * h->n_columns + (size_t)(column - h->columns)];
}

static double ratio_of(const struct sample *s, double expected)
{
	if (s->state != SAMPLE_MEASURED)
		return NAN;
	if (s->ok == TRI_NO)
		return 0;
	if (s->better == BETTER_NONE || !(expected > 0) || !(s->value >= 0))
		return s->ok == TRI_YES ? 1 : NAN;
	if (s->better == BETTER_LOWER)
		return s->value > 0 ? expected / s->value : 1;
	return s->value / expected;
}

/* Cells measured together share links, so a sample measured alone is preferred. */
static bool is_preferred(const struct heat_cell *now, const struct heat_cell *other)
{
	if (!other->sample)
		return true;
	if (!now->sample->with != !other->sample->with)
		return !now->sample->with;
	return isnan(other->ratio) || now->ratio < other->ratio;
}

/* Medians of cells without a path: one per class, measured alone or together. */
struct typical {
	const char *locality;
	bool together;
	double value;
};

enum { TYPICALS_MAX = 16 };

static double median_of(const struct spot *spots, size_t n, const struct typical *of)
{
	CLEANUP(freep) double *values = xcalloc(n + 1, sizeof(*values));
	size_t count = 0, i;

	for (i = 0; i < n; i++) {
		const struct sample *s = spots[i].sample;

		if (s->state == SAMPLE_MEASURED && isfinite(s->value) &&
		    (s->with != NULL) == of->together && streq(s->locality, of->locality))
			values[count++] = s->value;
	}
	stats_sort(values, count);
	return count ? stats_median(values, count) : NAN;
}

struct typicals {
	struct typical v[TYPICALS_MAX];
	size_t n;
};

/* The median of cells like `s`; NAN beyond the limit of kinds. */
static double typical_of(struct typicals *known, const struct spot *spots, size_t n,
			 const struct sample *s)
{
	struct typical *fresh = &known->v[known->n];
	size_t i;

	for (i = 0; i < known->n; i++) {
		if (streq(known->v[i].locality, s->locality) &&
		    known->v[i].together == (s->with != NULL))
			return known->v[i].value;
	}
	if (known->n == TYPICALS_MAX)
		return NAN;
	*fresh = (struct typical){ .locality = s->locality, .together = s->with != NULL };
	fresh->value = median_of(spots, n, fresh);
	known->n++;
	return fresh->value;
}

static void fill(struct heat *h, const struct spot *spots, size_t n, size_t *left_out)
{
	struct typicals typicals = { .n = 0 };
	size_t i;

	h->cells = xcalloc(h->n_rows * h->n_columns + 1, sizeof(*h->cells));
	for (i = 0; i < h->n_rows * h->n_columns; i++)
		h->cells[i] = (struct heat_cell){ .expected = NAN, .ratio = NAN };
	for (i = 0; i < n; i++) {
		const struct sample *s = spots[i].sample;
		struct heat_cell now = { .sample = s, .expected = spots[i].expected };
		struct heat_cell *cell = find(h, &spots[i]);

		if (!cell) {
			(*left_out)++;
			continue;
		}
		if (isnan(now.expected) && s->better != BETTER_NONE && !s->path)
			now.expected = typical_of(&typicals, spots, n, s);
		now.ratio = ratio_of(s, now.expected);
		if (is_preferred(&now, cell))
			*cell = now;
	}
}

void heats_build(const struct localise_input *input, struct heats *ret)
{
	CLEANUP(spots_release) struct spots spots = { .n = 0 };
	size_t first, end;

	*ret = (struct heats){ .n = 0 };
	gather(input, &spots);
	qsort(spots.v, spots.n, sizeof(*spots.v), compare_matrices);
	for (first = 0; first < spots.n; first = end) {
		const struct spot *v = &spots.v[first];
		struct heat *h;

		for (end = first + 1; end < spots.n && compare_matrices(&spots.v[end], v) == 0;
		     end++)
			;
		if (ret->n == HEAT_MATRICES_MAX) {
			ret->left_out += end - first;
			continue;
		}
		ret->v = xrealloc(ret->v, ret->n + 1, sizeof(*ret->v));
		h = &ret->v[ret->n++];
		*h = (struct heat){ .check = v->sample->check, .unit = unit_of(v->sample) };
		h->rows = side(v, end - first, true, &h->n_rows);
		h->columns = side(v, end - first, false, &h->n_columns);
		fill(h, v, end - first, &ret->left_out);
	}
}

void heats_release(struct heats *heats)
{
	size_t i;

	for (i = 0; i < heats->n; i++) {
		strv_free(heats->v[i].rows);
		strv_free(heats->v[i].columns);
		free(heats->v[i].cells);
	}
	free(heats->v);
	*heats = (struct heats){ .n = 0 };
}

size_t heat_slow(const struct heat *h)
{
	size_t n = 0, i;

	for (i = 0; i < h->n_rows * h->n_columns; i++)
		n += h->cells[i].ratio < HEAT_SLOW;
	return n;
}

size_t heats_measured(const struct heats *heats)
{
	size_t n = 0, i, j;

	for (i = 0; i < heats->n; i++) {
		const struct heat *h = &heats->v[i];

		for (j = 0; j < h->n_rows * h->n_columns; j++)
			n += h->cells[j].sample && h->cells[j].sample->state == SAMPLE_MEASURED;
	}
	return n;
}

static json_t *encode_one(const struct heat *h)
{
	json_t *rows = json_array(), *columns = json_array(), *cells = json_array();
	size_t i;

	for (i = 0; i < h->n_rows; i++)
		(void)json_array_append_new(rows, json_string(h->rows[i]));
	for (i = 0; i < h->n_columns; i++)
		(void)json_array_append_new(columns, json_string(h->columns[i]));
	for (i = 0; i < h->n_rows * h->n_columns; i++) {
		const struct heat_cell *cell = &h->cells[i];
		const struct sample *s = cell->sample;
		bool measured = s && s->state == SAMPLE_MEASURED;

		if (!s)
			continue;
		(void)json_array_append_new(
			cells,
			json_pack("{s:I, s:I, s:s, s:s, s:o, s:o, s:o}", "row",
				  (json_int_t)(i / h->n_columns), "column",
				  (json_int_t)(i % h->n_columns), "subject", s->subject, "state",
				  sample_state_names[s->state], "value",
				  json_number(measured ? s->value : NAN), "expected",
				  json_number(cell->expected), "ratio", json_number(cell->ratio)));
	}
	return json_pack("{s:s, s:s, s:o, s:o, s:o}", "check", h->check, "unit", h->unit, "rows",
			 rows, "columns", columns, "cells", cells);
}

json_t *heats_encode(const struct heats *heats)
{
	json_t *all = json_array();
	size_t i;

	for (i = 0; i < heats->n; i++)
		(void)json_array_append_new(all, encode_one(&heats->v[i]));
	return all;
}
