/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/localise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/judge/link_words.h"
#include "lib/judge/localise_cells.h"
#include "lib/judge/tomography.h"
#include "lib/report/report.h"
#include "lib/sys/term.h"

/* Appends a copy of `text` to a NULL-terminated vector. */
static void strv_add(char ***strv, const char *text)
{
	size_t n = *strv ? strv_len(*strv) : 0;

	*strv = xrealloc(*strv, n + 2, sizeof(char *));
	(*strv)[n] = xstrdup(text);
	(*strv)[n + 1] = NULL;
}

static void link_release(struct localised_link *l)
{
	free(l->link);
	free(l->check);
	free(l->unit);
	strv_free(l->supporting);
	strv_free(l->contradicting);
	strv_free(l->ambiguous);
	free(l->cells);
}

void localised_release(struct localised *l)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		link_release(&l->links[i]);
	free(l->links);
	*l = (struct localised){ .n = 0 };
}

static struct localised_link *find(const struct localised *l, const char *link)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		if (streq(l->links[i].link, link))
			return &l->links[i];
	}
	return NULL;
}

static void add_cell(struct localised_link *l, size_t sample)
{
	if ((l->n_cells & (l->n_cells - 1)) == 0)
		l->cells = xrealloc(l->cells, l->n_cells ? 2 * l->n_cells : 1, sizeof(*l->cells));
	l->cells[l->n_cells++] = sample;
}

/* Two matrices found the same link: adds the cells of both. */
static void add_cells_of(struct localised_link *to, const struct localised_link *from)
{
	size_t i;

	for (i = 0; i < from->n_cells; i++)
		add_cell(to, from->cells[i]);
}

/* Adds the cells of one matrix that speak for or against a link to its lists. */
static void hear_cells(const struct matrix *m, const struct tomo_answer *answer, size_t nth,
		       struct localised_link *ret)
{
	size_t i, j;

	for (i = 0; i < m->n; i++) {
		const struct tomo_cell *cell = &m->cells[i];
		enum tomo_voice voice = tomo_hear(cell, answer, nth);

		if (voice == TOMO_FOR) {
			strv_add(&ret->supporting, m->samples[i]->subject);
			for (j = 0; j < m->nth[i].n; j++)
				add_cell(ret, m->nth[i].v[j]);
		} else if (voice == TOMO_AGAINST) {
			strv_add(&ret->contradicting, m->samples[i]->subject);
		}
		for (j = 0; j < cell->n_uses; j++) {
			if (cell->uses[j].link == answer->links[nth].link)
				ret->expected =
					MAX(ret->expected, cell->expected * cell->uses[j].flows);
		}
	}
}

static bool has(char *const *strv, const char *text)
{
	while (strv && *strv && !streq(*strv, text))
		strv++;
	return strv && *strv;
}

/* Keeps only the ambiguous links that explain the cells of both matrices. */
static void keep_common(struct localised_link *l, const struct localised_link *other)
{
	size_t n = 0, i;

	for (i = 0; l->ambiguous && l->ambiguous[i]; i++) {
		if (has(other->ambiguous, l->ambiguous[i]))
			l->ambiguous[n++] = l->ambiguous[i];
		else
			free(l->ambiguous[i]);
	}
	if (l->ambiguous)
		l->ambiguous[n] = NULL;
	if (n == 0) {
		free(l->ambiguous);
		l->ambiguous = NULL;
	}
}

/*
 * Where one matrix cannot tell two links apart and another leaves only one of them, that one
 * explains the cells of both: fewer slow links.
 */
static void settle(struct localised *l)
{
	size_t n = 0, i, j;

	for (i = 0; i < l->n; i++) {
		struct localised_link *open = &l->links[i];

		for (j = 0; j < l->n; j++) {
			if (!l->links[j].ambiguous && l->links[j].link &&
			    has(open->ambiguous, l->links[j].link))
				break;
		}
		if (j == l->n)
			continue;
		add_cells_of(&l->links[j], open);
		link_release(open);
		*open = (struct localised_link){ .link = NULL };
	}
	for (i = 0; i < l->n; i++) {
		if (l->links[i].link)
			l->links[n++] = l->links[i];
	}
	l->n = n;
}

static void take(const struct matrix *m, const struct tomo_answer *answer, size_t nth,
		 struct localised *ret)
{
	const struct tomo_link *from = &answer->links[nth];
	const char *id = m->links[from->link];
	struct localised_link *to = find(ret, id), l = { .link = NULL };
	size_t i;

	l.capacity = from->capacity;
	l.confidence = from->confidence;
	hear_cells(m, answer, nth, &l);
	l.ratio = l.capacity / l.expected;
	for (i = 0; i < from->n_ambiguous; i++)
		strv_add(&l.ambiguous, m->links[from->ambiguous[i]]);
	l.link = xstrdup(id);
	l.check = xstrdup(m->samples[0]->check);
	l.unit = xstrdup(m->samples[0]->unit);
	if (!to && ret->n < LOCALISE_LINKS_MAX) {
		ret->links = xrealloc(ret->links, ret->n + 1, sizeof(*ret->links));
		ret->links[ret->n++] = l;
	} else if (to && l.ratio < to->ratio) {
		add_cells_of(&l, to);
		keep_common(&l, to);
		link_release(to);
		*to = l;
	} else {
		if (to) {
			add_cells_of(to, &l);
			keep_common(to, &l);
		}
		link_release(&l);
	}
}

static int compare_links(const void *a, const void *b)
{
	const struct localised_link *x = a, *y = b;
	int by_ratio = (x->ratio > y->ratio) - (x->ratio < y->ratio);

	return by_ratio ? by_ratio : strcmp(x->link, y->link);
}

static size_t work_of(const struct matrix *m)
{
	size_t uses = 0, i;

	for (i = 0; i < m->n; i++)
		uses += m->cells[i].n_uses;
	return uses * m->n_links;
}

static bool is_beyond(const struct matrix *m, size_t work_max)
{
	return m->n > TOMO_CELLS_MAX || m->n_links > TOMO_LINKS_MAX ||
	       (work_max && work_of(m) > work_max);
}

void localise(const struct localise_input *input, struct localised *ret)
{
	CLEANUP(matrices_release) struct matrices all = { .n = 0 };
	size_t i, j;

	*ret = (struct localised){ .n = 0 };
	matrices_build(input, &all);
	ret->without = all.without;
	for (i = 0; i < all.n; i++) {
		const struct matrix *m = &all.v[i];
		const struct tomo_problem problem = { .cells = m->cells,
						      .n_cells = m->n,
						      .n_links = m->n_links,
						      .n_learned = m->n_learned };
		struct tomo_answer answer;

		ret->cells += m->n;
		if (is_beyond(m, input->work_max)) {
			ret->beyond += m->n;
			continue;
		}
		tomo_solve(&problem, &answer);
		for (j = 0; j < answer.n; j++)
			take(m, &answer, j, ret);
	}
	settle(ret);
	if (ret->n > 0)
		qsort(ret->links, ret->n, sizeof(ret->links[0]), compare_links);
}

/* --- a link as JSON and as a sentence --- */

/* Alternatives that a sentence has room for. */
enum { OTHERS_TOLD = 2 };

static json_t *encode_strv(char *const *strv)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; strv && strv[i]; i++)
		json_array_append_new(array, json_string(strv[i]));
	return array;
}

static json_t *encode_link(const struct localised_link *l)
{
	CLEANUP(freep) char *sentence = localised_sentence(l);
	CLEANUP(freep) char *name = link_name(l->link);

	return json_pack("{s:s, s:s, s:f, s:f, s:o, s:o, s:o, s:s, s:s, s:f, s:f, s:s}", "link",
			 l->link, "name", name, "ratio", l->ratio, "confidence", l->confidence,
			 "for", encode_strv(l->supporting), "against",
			 encode_strv(l->contradicting), "ambiguous_with", encode_strv(l->ambiguous),
			 "check", l->check, "unit", l->unit, "value", l->capacity, "expected",
			 l->expected, "sentence", sentence);
}

json_t *localised_encode(const struct localised *l)
{
	json_t *links = json_array();
	size_t i;

	for (i = 0; i < l->n; i++)
		json_array_append_new(links, encode_link(&l->links[i]));
	return json_pack("{s:i, s:s, s:o, s:I, s:I, s:I}", "v", 1, "kind", "localise", "links",
			 links, "cells", (json_int_t)l->cells, "without_reference",
			 (json_int_t)l->without, "beyond_limits", (json_int_t)l->beyond);
}

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

/* "24.9 of 49.1 GB/s": the unit once if both have the same. */
static char *rate_of(const struct localised_link *link)
{
	char value[NUMBER_SIZE], expected[NUMBER_SIZE];
	char *unit, *other;

	number_format(link->capacity, link->unit, value);
	number_format(link->expected, link->unit, expected);
	unit = strchr(value, ' ');
	other = strchr(expected, ' ');
	if (unit && other && streq(unit, other))
		*unit = '\0';
	return xasprintf("%s of %s", value, expected);
}

/*
 * "; A or B would explain it as well"; "" if there is no alternative. The link from the root port
 * that `link` ends at into its socket is not mentioned: nothing else leads there.
 */
static char *others_of(const struct localised_link *link)
{
	const char *upper = strchr(link->link, '^');
	CLEANUP(freep) char *onward = upper ? xasprintf("%s^numa:", upper + 1) : NULL;
	char *text = xstrdup("");
	size_t n = 0, i;

	for (i = 0; link->ambiguous && link->ambiguous[i]; i++) {
		CLEANUP(freep) char *name = link_name(link->ambiguous[i]);
		CLEANUP(freep) char *before = NULL;

		if (onward && starts_with(link->ambiguous[i], "root:") &&
		    starts_with(link->ambiguous[i], onward))
			continue;
		if (n++ >= OTHERS_TOLD)
			continue;
		before = text;
		text = xasprintf("%s%s%s", before, n > 1 ? " or " : "; ", name);
	}
	if (n > 0) {
		CLEANUP(freep) char *before = text;
		CLEANUP(freep)
		char *more = n > OTHERS_TOLD ? xasprintf(" or %zu more", n - OTHERS_TOLD)
					     : xstrdup("");

		text = xasprintf("%s%s would explain it as well", before, more);
	}
	return text;
}

char *localised_sentence(const struct localised_link *link)
{
	CLEANUP(freep) char *name = link_name(link->link);
	CLEANUP(freep) char *rate = rate_of(link);
	CLEANUP(freep) char *others = others_of(link);
	size_t n_for = link->supporting ? strv_len(link->supporting) : 0;
	size_t n_against = link->contradicting ? strv_len(link->contradicting) : 0;
	char against[NUMBER_SIZE] = "none";

	if (n_against > 0)
		(void)snprintf(against, sizeof(against), "%zu", n_against);
	return xasprintf("%s: %s, seen on %zu path%s, contradicted by %s%s", name, rate, n_for,
			 plural(n_for), against, others);
}
