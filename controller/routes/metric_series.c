/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/metric_series.h"

#include <search.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"

struct metric_row {
	char *labels[METRIC_LABELS];
	double value;
	uint64_t rank;
};

static int compare_labels(const void *a, const void *b)
{
	const struct metric_row *x = a, *y = b;
	int i, order = 0;

	for (i = 0; i < METRIC_LABELS && order == 0; i++)
		order = strcmp(x->labels[i], y->labels[i]);
	return order;
}

static void row_free(struct metric_row *row)
{
	int i;

	for (i = 0; i < METRIC_LABELS; i++)
		free(row->labels[i]);
	free(row);
}

/* Find or create the row with these labels; NULL: no room. */
static struct metric_row *need(struct metric_series *s, const char *const labels[METRIC_LABELS])
{
	struct metric_row key = { .value = 0 }, *row;
	void *found;
	int i;

	for (i = 0; i < METRIC_LABELS; i++)
		key.labels[i] = (char *)(uintptr_t)(labels[i] ? labels[i] : ""); /* borrowed */
	found = tfind(&key, &s->tree, compare_labels);
	if (found)
		return *(struct metric_row **)found;
	if (s->n == METRIC_SERIES_HELD)
		return NULL;
	row = xcalloc(1, sizeof(*row));
	for (i = 0; i < METRIC_LABELS; i++)
		row->labels[i] = xstrdup(key.labels[i]);
	if (!tsearch(row, &s->tree, compare_labels))
		abort();
	s->n++;
	return row;
}

void metric_series_add(struct metric_series *s, const char *const labels[METRIC_LABELS],
		       double value, uint64_t rank)
{
	struct metric_row *row = need(s, labels);

	if (row) {
		row->value += value;
		row->rank += rank;
		return;
	}
	s->beyond++;
	s->beyond_sum += value;
}

void metric_series_put(struct metric_series *s, const char *const labels[METRIC_LABELS],
		       double value, uint64_t rank)
{
	struct metric_row *row = need(s, labels);

	if (!row) {
		s->beyond++;
		s->beyond_sum += value;
	} else if (rank > row->rank) {
		row->value = value;
		row->rank = rank;
	}
}

/* --- writing --- */

struct listing {
	const struct metric_row **rows;
	size_t n;
};

static void list(const void *node, VISIT visit, void *closure)
{
	struct listing *all = closure;

	if (visit == postorder || visit == leaf)
		all->rows[all->n++] = *(const struct metric_row *const *)node;
}

/* Highest rank first; ties by name, for a stable choice. */
static int by_rank(const void *a, const void *b)
{
	const struct metric_row *x = *(const struct metric_row *const *)a;
	const struct metric_row *y = *(const struct metric_row *const *)b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	return compare_labels(x, y);
}

static int by_labels(const void *a, const void *b)
{
	return compare_labels(*(const struct metric_row *const *)a,
			      *(const struct metric_row *const *)b);
}

void metric_series_escape(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			(void)fputc('\\', out);
		if (*text == '\n')
			(void)fputs("\\n", out);
		else
			(void)fputc(*text, out);
	}
}

static void write_line(const struct metric_series_form *form, const char *const *labels,
		       double value, FILE *out)
{
	int i;

	(void)fputs(form->name, out);
	for (i = 0; i < METRIC_LABELS && form->keys[i]; i++) {
		(void)fprintf(out, "%c%s=\"", i ? ',' : '{', form->keys[i]);
		metric_series_escape(labels[i], out);
		(void)fputc('"', out);
	}
	(void)fprintf(out, "} %.*g\n", form->digits, value);
}

void metric_series_write(const struct metric_series *s, const struct metric_series_form *form,
			 FILE *out)
{
	static const char *const others[METRIC_LABELS] = { METRIC_SERIES_OTHERS,
							   METRIC_SERIES_OTHERS,
							   METRIC_SERIES_OTHERS };
	CLEANUP(freep) const struct metric_row **rows = xcalloc(s->n + 1, sizeof(*rows));
	struct listing all = { rows, 0 };
	double rest = s->beyond_sum;
	size_t shown, i;

	twalk_r(s->tree, list, &all);
	shown = MIN(all.n, form->most);
	qsort(rows, all.n, sizeof(*rows), by_rank);
	qsort(rows, shown, sizeof(*rows), by_labels);
	for (i = 0; i < shown; i++)
		write_line(form, (const char *const *)rows[i]->labels, rows[i]->value, out);
	for (; i < all.n; i++)
		rest += rows[i]->value;
	if (form->sums)
		write_line(form, others, rest, out);
}

uint64_t metric_series_left_out(const struct metric_series *s, size_t most)
{
	return s->beyond + (s->n > most ? s->n - most : 0);
}

static void free_row(void *row)
{
	row_free(row);
}

void metric_series_release(struct metric_series *s)
{
	tdestroy(s->tree, free_row);
	*s = (struct metric_series){ 0 };
}
