/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/localise_rates.h"

#include <math.h>
#include <stdlib.h>

#include "lib/judge/reference.h"
#include "lib/report.h"
#include "lib/xalloc.h"

/* A path of zero bytes per second is a rate too: the link may be dead. */
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
	const struct rate *const *x = a, *const *y = b;
	int by_matrix = strcmp((*x)->matrix, (*y)->matrix);

	return by_matrix ? by_matrix : strcmp((*x)->sample->subject, (*y)->sample->subject);
}

/* The rate of `subject` in the same matrix as `of`, or NULL. */
static const struct rate *find(const struct rate **sorted, size_t n, const struct rate *of,
			       char *subject)
{
	struct sample wanted = { .subject = subject };
	const struct rate key = { .matrix = of->matrix, .sample = &wanted };
	const struct rate *pointer = &key;
	const struct rate **at = bsearch(&pointer, sorted, n, sizeof(*sorted), compare_subjects);

	return at ? *at : NULL;
}

/* One more flow on each link that a rate measured together with `r` crosses too. */
static void count_flows(struct rate *r, const struct rate **sorted, size_t n)
{
	const struct sample *s = r->sample;
	size_t i, j;

	for (i = 0; s->path[i]; i++)
		r->flows[i] = 1;
	for (j = 0; s->with && s->with[j]; j++) {
		const struct rate *other =
			streq(s->with[j], s->subject) ? NULL : find(sorted, n, r, s->with[j]);

		for (i = 0; other && s->path[i]; i++)
			r->flows[i] += has_link(other->sample, s->path[i]);
	}
}

/* "gpu" of "gpu:0000:1b:00.0". */
static int type_length(const char *id)
{
	return id ? (int)strcspn(id, ":") : 0;
}

const char *localise_end(const struct sample *s)
{
	const char *arrow = strchr(s->subject, '>');

	if (!arrow)
		return "";
	return s->to && starts_with(arrow, ">gpu:") && starts_with(s->to, "gpu:") ? s->to
										  : arrow + 1;
}

/* A GPU by its slot, when the sample knows that. */
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

/* What an end of a link is; '?' for what we have no name for. */
static char end_letter(const char *id)
{
	static const char *const types[] = { "gpu:", "numa:", "rnic:", "root:", "switch:" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		if (starts_with(id, types[i]))
			return (char)('a' + i);
	}
	return '?';
}

/*
 * What kinds of links are on the way: a port below a switch and one at a root port are not made
 * for the same. The class tells of what is between; where there is none all links do, so that
 * what crosses sockets is not held against what does not. New memory.
 */
static char *shape_of(const struct sample *s)
{
	size_t n = strv_len(s->path), length = 0, i;
	char *shape = xcalloc(2 * n + 1, 1);

	for (i = 0; i < n; i++) {
		const char *upper = strchr(s->path[i], '^');
		char lower = end_letter(s->path[i]);

		if (lower == '?' || (s->locality && i > 0 && i + 1 < n))
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
	r->kind = xasprintf("%s %s %s %s %.*s>%.*s %.0f", r->matrix, params,
			    s->locality ? s->locality : "", shape, type_length(s->from),
			    s->from ? s->from : "", type_length(s->to), s->to ? s->to : "", most);
}

void rates_gather(const struct sample_list *list, bool times, struct rates *ret)
{
	CLEANUP(freep) const struct rate **sorted = NULL;
	size_t i;

	*ret = (struct rates){ .v = xcalloc(list->n + 1, sizeof(struct rate)) };
	for (i = 0; i < list->n; i++) {
		const struct sample *s = &list->v[i];
		struct rate *r = &ret->v[ret->n];

		if (!speaks(s, times))
			continue;
		r->sample = s;
		r->nth = i;
		r->matrix = xasprintf("%s %s", s->check, s->unit);
		r->flows = xcalloc(strv_len(s->path), sizeof(double));
		ret->n++;
	}
	sorted = xcalloc(ret->n + 1, sizeof(*sorted));
	for (i = 0; i < ret->n; i++)
		sorted[i] = &ret->v[i];
	qsort(sorted, ret->n, sizeof(*sorted), compare_subjects);
	for (i = 0; i < ret->n; i++)
		count_flows(&ret->v[i], sorted, ret->n);
	for (i = 0; i < ret->n; i++)
		set_keys(&ret->v[i]);
}

void rates_release(struct rates *rates)
{
	size_t i;

	for (i = 0; i < rates->n; i++) {
		free(rates->v[i].flows);
		free(rates->v[i].matrix);
		free(rates->v[i].cell);
		free(rates->v[i].kind);
	}
	free(rates->v);
	*rates = (struct rates){ .n = 0 };
}
