/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predictions of remedies for random jobs, compared with an independent simulator: it runs each
 * operation of each step, with noise, in the order of an explicit list. The planner gets what a
 * trace of some steps would show: mean operations, and the mean step.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/remedy/remedies.h"
#include "lib/remedy/replicas.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum { JOBS = 1000, JOBS_FULL = 10000, STEPS = 10, DP_MOST = 8, PP_MOST = 4, MB_MOST = 16 };
enum { WORKERS_MOST = DP_MOST * PP_MOST, OPS_MOST = 2 * MB_MOST * DP_MOST };

/* Of operations, and of silicon: one standard deviation. */
#define NOISE 0.034

#define WITHIN 0.03
#define OFTEN 0.9

struct world {
	size_t dp, pp, counts[DP_MOST]; /* micro-batches of each replica; 0: it is not there */
	double forward[PP_MOST], backward[PP_MOST], slow[WORKERS_MOST], layers[WORKERS_MOST];
	double sync;
};

static double uniform(struct random *r, double low, double high)
{
	return low + (high - low) * random_unit(r);
}

static double around(struct random *r, double value)
{
	return value * exp(random_normal(r, 0, NOISE));
}

/* What a stage does, one after the other: micro-batch i as i, its backward as -1 - i. */
static size_t list_of(size_t stages, size_t stage, size_t n, int *ret)
{
	const size_t first = MIN(stages - stage, n);
	size_t i, k = 0;

	for (i = 0; i < first; i++)
		ret[k++] = (int)i;
	for (i = 0; i < n; i++) {
		ret[k++] = -1 - (int)i;
		if (first + i < n)
			ret[k++] = (int)(first + i);
	}
	return k;
}

/* Ends of operations of a replica: [stage][0 forward, 1 backward][i], below 0 while not done. */
struct board {
	double end[PP_MOST][2][OPS_MOST];
};

/* When what it needs of another stage has ended; below 0: not yet. */
static double needed(const struct board *b, size_t stages, size_t stage, int op)
{
	if (op >= 0)
		return stage ? b->end[stage - 1][0][op] : 0;
	if (stage + 1 < stages)
		return b->end[stage + 1][1][-1 - op];
	return b->end[stage][0][-1 - op];
}

static double play_replica(const struct world *w, size_t d, struct random *r)
{
	static struct board board;
	int lists[PP_MOST][2 * OPS_MOST];
	size_t lengths[PP_MOST], at[PP_MOST] = { 0 }, left = 0, p;
	double free_at[PP_MOST] = { 0 }, last = 0;

	for (p = 0; p < w->pp; p++) {
		size_t i;

		lengths[p] = list_of(w->pp, p, w->counts[d], lists[p]);
		left += lengths[p];
		for (i = 0; i < w->counts[d]; i++)
			board.end[p][0][i] = board.end[p][1][i] = -1;
	}
	for (p = 0; left > 0; p = (p + 1) % w->pp) {
		while (at[p] < lengths[p]) {
			const int op = lists[p][at[p]];
			const double ready = needed(&board, w->pp, p, op);
			const double base = op >= 0 ? w->forward[p] : w->backward[p];
			double *end = &board.end[p][op < 0][op >= 0 ? op : -1 - op];

			if (ready < 0)
				break;
			*end = MAX(ready, free_at[p]) +
			       around(r, base * w->slow[d * w->pp + p] * w->layers[d * w->pp + p]);
			free_at[p] = *end;
			last = MAX(last, *end);
			at[p]++;
			left--;
		}
	}
	return last;
}

/* The mean of some steps. */
static double play(const struct world *w, struct random *r)
{
	double sum = 0;
	size_t step, d;

	for (step = 0; step < STEPS; step++) {
		double slowest = 0;

		for (d = 0; d < w->dp; d++) {
			if (w->counts[d])
				slowest = MAX(slowest, play_replica(w, d, r));
		}
		sum += slowest + w->sync;
	}
	return sum / STEPS;
}

static void make_world(struct world *w, struct random *r, size_t microbatches)
{
	const double f = uniform(r, 0.02, 0.1), b = f * uniform(r, 1.5, 2.5);
	size_t i;

	*w = (struct world){ .dp = 2 + random_below(r, DP_MOST - 1),
			     .pp = 1 + random_below(r, PP_MOST) };
	w->sync = uniform(r, 0, 0.1);
	for (i = 0; i < w->pp; i++) {
		w->forward[i] = f * uniform(r, 0.9, 1.1);
		w->backward[i] = b * uniform(r, 0.9, 1.1);
	}
	for (i = 0; i < w->dp; i++)
		w->counts[i] = microbatches;
	for (i = 0; i < w->dp * w->pp; i++) {
		w->slow[i] = around(r, 1);
		w->layers[i] = 1;
	}
	w->slow[random_below(r, w->dp * w->pp)] *= uniform(r, 1.2, 3);
}

/* What a trace of it shows: the means of operations of each worker. */
static void look(const struct world *w, struct random *r, size_t microbatches, double *ret)
{
	size_t i;

	for (i = 0; i < w->dp * w->pp; i++)
		ret[i] = w->slow[i] *
			 exp(random_normal(r, 0, NOISE / sqrt((double)(STEPS * 2 * microbatches))));
}

struct grade {
	size_t predicted, held, worse;
};

static void grade(struct grade *g, const struct world *then, double predicted, double now,
		  struct random *r)
{
	const double measured = play(then, r);

	g->predicted++;
	g->held += fabs(predicted - measured) <= WITHIN * measured;
	g->worse += measured > now * (1 + WITHIN);
}

static void deal(const struct world *w, const struct remedies_facts *f, double predicted,
		 struct grade *g, struct random *r)
{
	size_t counts[DP_MOST] = { 0 }, sum = 0, d;
	struct world then = *w;

	(void)replicas_deal(f->replicas, false, counts);
	for (d = 0; d < w->dp; d++) {
		sum += then.counts[d] = counts[d];
		CHECK(counts[d] >= 1);
	}
	CHECK_EQ(sum, w->dp * w->counts[0]);
	grade(g, &then, predicted, f->now_s, r);
}

static void drop(const struct world *w, const struct remedies_facts *f, double predicted,
		 struct grade *g, struct random *r)
{
	bool gone[DP_MOST] = { false };
	struct world then = *w;
	size_t n = 0, left, d;

	(void)replicas_drop(f->replicas, gone, &n);
	left = w->dp - n;
	for (d = 0; d < w->dp; d++)
		then.counts[d] = gone[d] ? 0 : (w->counts[0] * w->dp + left - 1) / left;
	grade(g, &then, predicted, f->now_s, r);
}

static void one_job(struct random *r, struct grade *g)
{
	const size_t microbatches = 4 + random_below(r, MB_MOST - 3);
	const struct remedy_range unknown = { NAN, NAN, NAN };
	double slowdown[WORKERS_MOST];
	struct replicas replicas;
	struct remedies_facts facts;
	struct remedies all;
	struct world w;
	size_t i;

	make_world(&w, r, microbatches);
	look(&w, r, microbatches, slowdown);
	replicas = (struct replicas){ w.dp, w.pp, microbatches, w.forward, w.backward, slowdown, 8 };
	facts = (struct remedies_facts){ .simulated_s = play(&w, r),
					 .replicas = &replicas,
					 .sequences_s = unknown,
					 .gc_s = unknown,
					 .pause_s = NAN,
					 .remaining = 1000,
					 .slow_steps = NAN,
					 .costs = { 600, 0, 0, 120, 5, 60 } };
	facts.now_s = facts.simulated_s;
	CHECK_EQ(remedies_find(&facts, &all, NULL), 0);
	CHECK(all.list[0].over_s >= 0);
	for (i = 0; i < all.n; i++) {
		if (all.list[i].kind == REMEDY_MICROBATCHES)
			deal(&w, &facts, all.list[i].after_s, &g[0], r);
		if (all.list[i].kind == REMEDY_DROP)
			drop(&w, &facts, all.list[i].after_s, &g[1], r);
	}
}

static void what_is_predicted_comes_so_in_nine_of_ten(void)
{
	const char *full = getenv("ASSAY_FULL");
	const size_t jobs = streq(full, "1") ? JOBS_FULL : JOBS;
	struct random random = random_seeded(29);
	struct grade g[2] = { { 0 }, { 0 } };
	size_t i;

	for (i = 0; i < jobs; i++)
		one_job(&random, g);
	for (i = 0; i < ARRAY_SIZE(g); i++) {
		printf("%zu jobs, %s: %zu predictions, %zu within %.0f %%, %zu slower than "
		       "before\n",
		       jobs, remedy_kind_names[i ? REMEDY_DROP : REMEDY_MICROBATCHES],
		       g[i].predicted, g[i].held, WITHIN * 100, g[i].worse);
		CHECK(g[i].predicted > jobs / 4);
		CHECK((double)g[i].held >= OFTEN * (double)g[i].predicted);
		CHECK_EQ(g[i].worse, 0);
	}
}

static const struct test tests[] = {
	TEST(what_is_predicted_comes_so_in_nine_of_ten),
};

TEST_SUITE(tests);
