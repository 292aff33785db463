/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/twins.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "lib/report/report.h"

struct row {
	const struct sample *sample;
	struct kind kind; /* set only if other rows have its check and subject */
	char *memory;	  /* of the kind */
	size_t at;	  /* number in the report */
};

static int compare_names(const void *a, const void *b)
{
	const struct sample *x = ((const struct row *)a)->sample;
	const struct sample *y = ((const struct row *)b)->sample;
	/* Reports are ordered by check, and texts of one report often share memory. */
	int r = x->check == y->check ? 0 : strcmp(x->check, y->check);

	return r ? r : strcmp(x->subject, y->subject);
}

static int compare_kinds(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int r = kind_compare(&x->kind, &y->kind);

	return r ? r : (x->at > y->at) - (x->at < y->at);
}

/* All `n` rows are of one thing, in the order of the report. */
static void mark(const struct row *rows, size_t n, struct twins *ret)
{
	CLEANUP(freep) double *values = xcalloc(n, sizeof(*values));
	size_t i;

	for (i = 0; i < n; i++)
		values[i] = rows[i].sample->value;
	stats_sort(values, n);
	for (i = 0; i < n; i++) {
		ret->first[rows[i].at] = rows[0].at;
		ret->value[rows[i].at] = stats_median(values, n);
	}
}

/* All `n` rows have the same check and subject; many of them differ in their params. */
static void split(struct row *rows, size_t n, struct twins *ret)
{
	size_t i, end;

	for (i = 0; i < n; i++)
		rows[i].kind = kind_of(rows[i].sample, &rows[i].memory);
	qsort(rows, n, sizeof(*rows), compare_kinds);
	for (i = 0; i < n; i = end) {
		end = i + 1;
		while (end < n && kind_compare(&rows[end].kind, &rows[i].kind) == 0)
			end++;
		if (end - i > 1)
			mark(&rows[i], end - i, ret);
	}
	for (i = 0; i < n; i++)
		free(rows[i].memory);
}

void twins_find(const struct report *report, struct twins *ret)
{
	CLEANUP(freep) struct row *rows = xcalloc(report->n_samples + 1, sizeof(*rows));
	size_t n = 0, i, end;

	ret->measure = xcalloc(report->n_samples + 1, sizeof(*ret->measure));
	ret->first = xcalloc(report->n_samples + 1, sizeof(*ret->first));
	ret->value = xcalloc(report->n_samples + 1, sizeof(*ret->value));
	for (i = 0; i < report->n_samples; i++) {
		const struct sample *s = &report->samples[i];

		ret->first[i] = i;
		ret->value[i] = s->value;
		if (measure_of(s, &ret->measure[i]))
			rows[n++] = (struct row){ .sample = s, .at = i };
	}
	qsort(rows, n, sizeof(*rows), compare_names);
	for (i = 0; i < n; i = end) {
		end = i + 1;
		while (end < n && compare_names(&rows[end], &rows[i]) == 0)
			end++;
		if (end - i > 1)
			split(&rows[i], end - i, ret);
	}
}

void twins_release(struct twins *t)
{
	free(t->measure);
	free(t->first);
	free(t->value);
	*t = (struct twins){ 0 };
}
