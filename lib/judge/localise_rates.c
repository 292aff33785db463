/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/localise_rates.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <strings.h>

#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "lib/judge/stats.h"
#include "lib/report/report.h"

/* A path with zero bytes per second is a rate too: the link may be dead. */
static bool speaks(const struct sample *s, bool times)
{
	return s->state == SAMPLE_MEASURED && isfinite(s->value) && s->value >= 0 && s->unit &&
	       (s->better == BETTER_HIGHER || (times && s->better == BETTER_LOWER)) && s->path &&
	       s->path[0];
}

static bool has_link(const struct sample *s, const char *link)
{
	size_t i;

	for (i = 0; s->path[i]; i++) {
		if (streq(s->path[i], link))
			return true;
	}
	return false;
}

static int compare_subjects(const void *a, const void *b)
{
	const struct sample *x = *(const struct sample *const *)a;
	const struct sample *y = *(const struct sample *const *)b;
	int by_check = strcmp(x->check, y->check);

	return by_check ? by_check : strcmp(x->subject, y->subject);
}

/* The samples of a list that have a path, whatever their result, sorted by check and subject. */
struct ways {
	const struct sample **v; /* samples are borrowed */
	size_t n;
};

static struct ways ways_of(const struct sample_list *list)
{
	struct ways w = { .v = xcalloc(list->n + 1, sizeof(*w.v)) };
	size_t i;

	for (i = 0; i < list->n; i++) {
		if (list->v[i].path && list->v[i].path[0])
			w.v[w.n++] = &list->v[i];
	}
	qsort(w.v, w.n, sizeof(*w.v), compare_subjects);
	return w;
}

/* The sample `subject` that was measured together with `s`, or NULL. */
static const struct sample *way_of(const struct ways *w, const struct sample *s, char *subject)
{
	const struct sample wanted = { .check = s->check, .subject = subject };
	const struct sample *key = &wanted;
	const struct sample **at = bsearch(&key, w->v, w->n, sizeof(*w->v), compare_subjects);

	return at ? *at : NULL;
}

/*
 * Adds one flow to each link that cells measured together with `r` also cross. They count even if
 * they gave no result, or if their sample is lost and only another host's gives the path.
 */
static void count_flows(struct rate *r, const struct ways *own, const struct ways *others)
{
	const struct sample *s = r->sample;
	size_t i, j;

	for (i = 0; s->path[i]; i++)
		r->flows[i] = 1;
	for (j = 0; s->with && s->with[j]; j++) {
		const struct sample *other = NULL;

		if (!streq(s->with[j], s->subject)) {
			other = way_of(own, s, s->with[j]);
			other = other ? other : way_of(others, s, s->with[j]);
		}
		for (i = 0; other && s->path[i]; i++)
			r->flows[i] += has_link(other, s->path[i]);
	}
}

const char *localise_end(const struct sample *s)
{
	const char *arrow = strchr(s->subject, '>');

	if (!arrow)
		return "";
	return s->to && starts_with(arrow, ">gpu:") && starts_with(s->to, "gpu:") ? s->to
										  : arrow + 1;
}

/* True if it starts at a GPU and the sample knows its slot. */
static bool starts_at_slot(const struct sample *s)
{
	return s->from && starts_with(s->subject, "gpu:") && starts_with(s->from, "gpu:");
}

char *localise_start(const struct sample *s)
{
	const size_t first = strcspn(s->subject, ">");

	if (!s->subject[first])
		return xstrdup("");
	return starts_at_slot(s) ? xstrdup(s->from) : xstrndup(s->subject, first);
}

char *localise_cell(const struct sample *s)
{
	int first = (int)strcspn(s->subject, ">");

	if (!s->subject[first])
		return xstrdup(s->subject);
	if (starts_at_slot(s))
		return xasprintf("%s>%s", s->from, localise_end(s));
	return xasprintf("%.*s>%s", first, s->subject, localise_end(s));
}

/*
 * The kind of an end of a link or path, from the first word of its name: "gpu:0000:1b:00.0",
 * "GPU-5f..", "gpu3". '?' if unknown, including "mlx5_0:1": the text before that colon is the name
 * of one device, not a kind.
 */
static char end_letter(const char *id)
{
	static const char *const words[] = { "gpu", "numa", "rnic", "root", "switch", "cpu", "mem" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		const size_t n = strlen(words[i]);

		if (strncasecmp(id, words[i], n) == 0 && !isalpha((unsigned char)id[n]))
			return (char)('a' + i);
	}
	return '?';
}

/*
 * The kinds of links on the path: a port below a switch and one at a root port are not built for
 * the same rate. If the sample has a class, it covers the links in the middle; if not, all links
 * count, if only by their number, so that paths across sockets are not compared with others. New
 * memory.
 */
static char *shape_of(const struct sample *s)
{
	size_t n = strv_len(s->path), length = 0, i;
	char *shape = xcalloc(2 * n + 1, 1);

	for (i = 0; i < n; i++) {
		const char *upper = strchr(s->path[i], '^');
		char lower = end_letter(s->path[i]);

		if (s->locality && (lower == '?' || (i > 0 && i + 1 < n)))
			continue;
		shape[length++] = lower;
		shape[length++] = upper ? end_letter(upper + 1) : '?';
	}
	return shape;
}

static void set_keys(struct rate *r)
{
	const struct sample *s = r->sample;
	CLEANUP(freep) char *params = params_key(s);
	CLEANUP(freep) char *cell = localise_cell(s);
	CLEANUP(freep) char *shape = shape_of(s);
	double most = 1;
	size_t i;

	for (i = 0; s->path[i]; i++)
		most = MAX(most, r->flows[i]);
	r->cell = xasprintf("%s %s %s %.0f", r->matrix, params, cell, most);
	r->kind = xasprintf("%s %s %s %s %c>%c %.0f", r->matrix, params,
			    s->locality ? s->locality : "", shape,
			    end_letter(s->from ? s->from : s->subject),
			    end_letter(s->to ? s->to : localise_end(s)), most);
}

static int compare_flows(const struct rate *x, const struct rate *y)
{
	size_t i;

	for (i = 0; x->sample->path[i] && y->sample->path[i]; i++) {
		int by_link = strcmp(x->sample->path[i], y->sample->path[i]);

		if (by_link)
			return by_link;
		if (x->flows[i] != y->flows[i])
			return x->flows[i] > y->flows[i] ? 1 : -1;
	}
	return !!x->sample->path[i] - !!y->sample->path[i];
}

/* The same cell, on the same path, together with as many others. */
static int compare_cells(const struct rate *x, const struct rate *y)
{
	int by_cell = strcmp(x->cell, y->cell);

	return by_cell ? by_cell : compare_flows(x, y);
}

static int compare_repeats(const void *a, const void *b)
{
	const struct rate *x = a, *y = b;
	int by_cell = compare_cells(x, y);

	return by_cell ? by_cell : (x->nth[0] > y->nth[0]) - (x->nth[0] < y->nth[0]);
}

static void rate_release(struct rate *r)
{
	free(r->nth);
	free(r->flows);
	free(r->matrix);
	free(r->cell);
	free(r->kind);
}

/* Merges `n` rates of one cell into the first. */
static void join(struct rate *first, size_t n)
{
	CLEANUP(freep) double *values = xcalloc(n, sizeof(double));
	size_t i;

	first->nth = xrealloc(first->nth, n, sizeof(*first->nth));
	for (i = 0; i < n; i++) {
		values[i] = first[i].value;
		first->nth[i] = first[i].nth[0];
		if (i > 0)
			rate_release(&first[i]);
	}
	stats_sort(values, n);
	first->value = stats_median(values, n);
	first->n = n;
}

static void join_repeats(struct rates *rates)
{
	size_t first, end, n = 0;

	if (rates->n > 0)
		qsort(rates->v, rates->n, sizeof(*rates->v), compare_repeats);
	for (first = 0; first < rates->n; first = end) {
		for (end = first + 1;
		     end < rates->n && compare_cells(&rates->v[first], &rates->v[end]) == 0; end++)
			;
		join(&rates->v[first], end - first);
		rates->v[n++] = rates->v[first];
	}
	rates->n = n;
}

void rates_gather(const struct sample_list *list, const struct sample_list *other, bool times,
		  struct rates *ret)
{
	struct ways own = ways_of(list), others = ways_of(other);
	size_t i;

	*ret = (struct rates){ .v = xcalloc(list->n + 1, sizeof(struct rate)) };
	for (i = 0; i < list->n; i++) {
		const struct sample *s = &list->v[i];
		struct rate *r = &ret->v[ret->n];

		if (!speaks(s, times))
			continue;
		r->sample = s;
		r->nth = xcalloc(1, sizeof(*r->nth));
		r->nth[0] = i;
		r->n = 1;
		r->value = s->value;
		r->matrix = xasprintf("%s %s", s->check, s->unit);
		r->flows = xcalloc(strv_len(s->path), sizeof(double));
		count_flows(r, &own, &others);
		set_keys(r);
		ret->n++;
	}
	free(own.v);
	free(others.v);
	join_repeats(ret);
}

void rates_release(struct rates *rates)
{
	size_t i;

	for (i = 0; i < rates->n; i++)
		rate_release(&rates->v[i]);
	free(rates->v);
	*rates = (struct rates){ .n = 0 };
}
