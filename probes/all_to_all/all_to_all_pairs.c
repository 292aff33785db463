/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/all_to_all/all_to_all_pairs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/circle.h"
#include "lib/base/xalloc.h"
#include "lib/judge/stats.h"
#include "probes/all_to_all/all_to_all.h"
#include "probes/all_to_all/all_to_all_rate.h"

enum { PAIR_WINDOWS = 8, PAIR_REPEAT = 8 };

/* As many operations as fit into this. */
#define PAIR_WINDOW_S 5e-3

static const double slow_part = 0.97;

struct cell {
	double rates[PAIR_WINDOWS]; /* B/s */
};

static double median(double *values, size_t n)
{
	stats_sort(values, n);
	return n ? stats_median(values, n) : (double)NAN;
}

int all_to_all_slow(const double *pairs, unsigned n, double *ret_part)
{
	double own[2 * COLL_RANKS_MAX], others[COLL_RANKS_MAX * COLL_RANKS_MAX];
	int slow = COLL_NOBODY;
	unsigned gpu, i, j;

	*ret_part = 1;
	for (gpu = 0; n >= 3 && gpu < n; gpu++) {
		size_t n_own = 0, n_others = 0;
		double part;

		for (i = 0; i < n * n; i++) {
			unsigned from = i / n, to = i % n;

			if (from != to && (from == gpu || to == gpu))
				own[n_own++] = pairs[i];
			else if (from != to)
				others[n_others++] = pairs[i];
		}
		j = (unsigned)n_others;
		part = median(own, n_own) / median(others, j);
		if (part < slow_part && part < *ret_part) {
			*ret_part = part;
			slow = (int)gpu;
		}
	}
	return slow;
}

bool all_to_all_slow_pair(const double *pairs, unsigned n, struct coll_move *ret, double *ret_part)
{
	double all[COLL_RANKS_MAX * COLL_RANKS_MAX], part, middle;
	size_t n_all = 0;
	unsigned i, worst = 1;

	if (n < 3 || all_to_all_slow(pairs, n, &part) != COLL_NOBODY)
		return false;
	for (i = 0; i < n * n; i++) {
		if (i / n == i % n)
			continue;
		all[n_all++] = pairs[i];
		if (pairs[i] < pairs[worst])
			worst = i;
	}
	middle = median(all, n_all);
	*ret = (struct coll_move){ worst / n, worst % n };
	*ret_part = pairs[worst] / middle;
	return *ret_part < slow_part;
}

/* Bytes that one rank sends to another, rounded down. */
static double block_bytes(const struct all_to_all *t)
{
	const uint64_t block = t->bytes / t->n;

	return (double)block;
}

static void set_rates(struct all_to_all *t, const struct coll_move *moves, unsigned n, unsigned w,
		      struct cell *ret)
{
	const struct coll_whole_ops *whole = t->coll->ops->whole;
	const double block = block_bytes(t);
	unsigned i;

	for (i = 0; i < n; i++) {
		double sent = whole->seconds(t->coll, moves[i].from);
		double received = whole->seconds(t->coll, moves[i].to);

		ret[i].rates[w] = block / MAX(sent, received);
	}
}

/* Measure one direction of a round. Returns false if an operation did not end. */
static bool measure_moves(struct all_to_all *t, const struct coll_move *moves, unsigned n,
			  struct cell *ret)
{
	const char *check = t->plan->kind->pair_bw;
	const double block = block_bytes(t);
	unsigned w;

	coll_only(t->coll, moves, n);
	coll_repeat(t->coll, 1);
	if (!all_to_all_once(t, check, t->bytes))
		return false;
	set_rates(t, moves, n, 0, ret);
	coll_repeat(t->coll, (unsigned)MIN(PAIR_WINDOW_S * ret[0].rates[0] / block + 1,
					   (double)PAIR_REPEAT));
	for (w = 0; w < PAIR_WINDOWS; w++) {
		if (!all_to_all_once(t, check, t->bytes))
			return false;
		set_rates(t, moves, n, w, ret);
	}
	coll_only(t->coll, NULL, 0);
	return true;
}

/* What disturbed a round disturbed each of its cells. */
static void spoil(struct sample *s, const struct sample *by)
{
	s->state = by->state;
	s->ok = by->ok;
	s->severity = by->severity;
	s->value = NAN;
	s->w.n = 0;
	s->note = by->note ? xstrdup(by->note) : NULL;
}

static int emit_cell(struct all_to_all *t, const struct coll_move *m, const struct cell *cell,
		     const struct sample *round)
{
	CLEANUP(freep)
	char *subject = xasprintf("%s>%s", t->ends[m->from].subject, t->ends[m->to].subject);
	struct sample s = all_to_all_sample(t, t->plan->kind->pair_bw, subject, t->bytes / t->n);

	t->plan->kind->place(t, m, &s);
	sample_set_windows(&s, cell->rates, PAIR_WINDOWS);
	t->pairs[m->from * t->n + m->to] = s.value;
	if (round->state != SAMPLE_MEASURED || round->ok == TRI_NO) {
		spoil(&s, round);
		t->spoiled = true;
	}
	return all_to_all_emit(t, &s);
}

static int measure_round(struct all_to_all *t, size_t round, bool back)
{
	struct match matches[COLL_RANKS_MAX / 2];
	struct coll_move moves[COLL_RANKS_MAX / 2];
	struct cell cells[COLL_RANKS_MAX / 2] = { 0 };
	unsigned n = (unsigned)circle_round(t->n, round, matches), i;
	CLEANUP(sample_release) struct sample whole = sample_init();
	int r = 0;

	for (i = 0; i < n; i++)
		moves[i] = (struct coll_move){ (unsigned)(back ? matches[i].b : matches[i].a),
					       (unsigned)(back ? matches[i].a : matches[i].b) };
	if (t->plan->kind->begin)
		t->plan->kind->begin(t);
	if (!measure_moves(t, moves, n, cells))
		return 0;
	if (t->plan->kind->end)
		t->plan->kind->end(t, &whole);
	for (i = 0; r == 0 && i < n; i++)
		r = emit_cell(t, &moves[i], &cells[i], &whole);
	return r;
}

/* With switches, no two GPUs share a link; without, a pair's links connect the two directly. */
static char *pair_words(const struct all_to_all *t, const struct coll_move *m, double part)
{
	return xasprintf("only %s to %s is slow, %.0f %% of the others%s", t->ends[m->from].subject,
			 t->ends[m->to].subject, 100 * part,
			 t->links_to == ACCEL_LINKS_SWITCH
				 ? ": a path through the switches, not the links of a GPU"
				 : "");
}

static void note_slow(struct all_to_all *t)
{
	CLEANUP(freep) char *note = TAKE(t->total.note);
	CLEANUP(freep) char *words = NULL;
	struct coll_move pair;
	double part;
	int slow = all_to_all_slow(t->pairs, t->n, &part);

	if (slow != COLL_NOBODY)
		words = xasprintf("the pairs of %s reach %.0f %% of the others",
				  t->ends[slow].subject, 100 * part);
	else if (all_to_all_slow_pair(t->pairs, t->n, &pair, &part))
		words = pair_words(t, &pair, part);
	if (!words)
		t->total.note = TAKE(note);
	else
		t->total.note = xasprintf("%s%s%s", note ? note : "", note ? "; " : "", words);
}

static bool goes_on(const struct all_to_all *t)
{
	return !t->over && !all_to_all_gives_way(t);
}

int all_to_all_pairs(struct all_to_all *t)
{
	size_t round, rounds = circle_rounds(t->n);
	int r = 0;

	t->pairs = xcalloc((size_t)t->n * t->n, sizeof(*t->pairs));
	for (round = 0; r == 0 && goes_on(t) && round < rounds; round++) {
		r = measure_round(t, round, false);
		if (r == 0 && goes_on(t))
			r = measure_round(t, round, true);
	}
	if (r == 0 && goes_on(t) && !t->spoiled)
		note_slow(t);
	return r;
}
