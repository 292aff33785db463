/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each ordered pair of GPUs, as many at once as share no GPU: the rounds of the
 * circle method, once in each direction. What is low in one GPU's row and column
 * is that GPU's links; a low cell alone is between the two.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/circle.h"
#include "lib/judge/stats.h"
#include "lib/xalloc.h"
#include "probes/all_to_all/all_to_all.h"

enum { PAIR_WINDOWS = 8, PAIR_REPEAT = 8 };

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

/* One direction of a round. False when an operation did not end. */
static bool measure_moves(struct all_to_all *t, const struct nccl_move *moves, unsigned n,
			  struct cell *ret)
{
	double block = (double)(t->bytes / t->n);
	unsigned w, i;

	nccl_coll_only(t->coll, moves, n);
	nccl_coll_repeat(t->coll, 1);
	if (!all_to_all_once(t, "all_to_all.pair_bw", t->bytes))
		return false;
	nccl_coll_repeat(t->coll, PAIR_REPEAT);
	for (w = 0; w < PAIR_WINDOWS; w++) {
		if (!all_to_all_once(t, "all_to_all.pair_bw", t->bytes))
			return false;
		for (i = 0; i < n; i++) {
			double sent = nccl_coll_seconds(t->coll, moves[i].from);
			double received = nccl_coll_seconds(t->coll, moves[i].to);

			ret[i].rates[w] = block / MAX(sent, received);
		}
	}
	nccl_coll_only(t->coll, NULL, 0);
	return true;
}

static int emit_cell(struct all_to_all *t, const struct nccl_move *m, struct cell *cell)
{
	const char *from = t->devices[m->from].subject, *to = t->devices[m->to].subject;
	CLEANUP(freep) char *subject = xasprintf("%s>%s", from, to);
	struct sample s = all_to_all_sample(t, "all_to_all.pair_bw", subject, t->bytes / t->n);

	s.from = xstrdup(from);
	s.to = xstrdup(to);
	sample_set_windows(&s, cell->rates, PAIR_WINDOWS);
	t->pairs[m->from * t->n + m->to] = s.value;
	return all_to_all_emit(t, &s);
}

static int measure_round(struct all_to_all *t, size_t round, bool back)
{
	struct match matches[COLL_RANKS_MAX / 2];
	struct nccl_move moves[COLL_RANKS_MAX / 2];
	struct cell cells[COLL_RANKS_MAX / 2];
	unsigned n = (unsigned)circle_round(t->n, round, matches), i;
	int r = 0;

	for (i = 0; i < n; i++)
		moves[i] = (struct nccl_move){ (unsigned)(back ? matches[i].b : matches[i].a),
					       (unsigned)(back ? matches[i].a : matches[i].b) };
	if (!measure_moves(t, moves, n, cells))
		return 0;
	for (i = 0; r == 0 && i < n; i++)
		r = emit_cell(t, &moves[i], &cells[i]);
	return r;
}

static void note_slow(struct all_to_all *t)
{
	double part;
	int slow = all_to_all_slow(t->pairs, t->n, &part);
	char *note = t->total.note;

	if (slow == COLL_NOBODY)
		return;
	t->total.note = xasprintf("%s%sthe pairs of %s do %.0f %% of the others", note ? note : "",
				  note ? "; " : "", t->devices[slow].subject, 100 * part);
	free(note);
}

int all_to_all_pairs(struct all_to_all *t)
{
	size_t round, rounds = circle_rounds(t->n);
	int r = 0;

	t->pairs = xcalloc((size_t)t->n * t->n, sizeof(*t->pairs));
	for (round = 0; r == 0 && !t->over && round < rounds; round++) {
		r = measure_round(t, round, false);
		if (r == 0 && !t->over)
			r = measure_round(t, round, true);
	}
	if (r == 0 && !t->over)
		note_slow(t);
	return r;
}
