/* SPDX-License-Identifier: Apache-2.0 */
/* Remedies: the examples of the decision table, small jobs by brute force; never worse than none. */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/pipe_1f1b.h"
#include "lib/remedy/pipe_schedule.h"
#include "lib/remedy/pipeline.h"
#include "lib/remedy/remedies.h"
#include "lib/remedy/replicas.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum { JOBS = 300, DEALS = 300, DP_MOST = 8, PP_MOST = 4, WORKERS_MOST = DP_MOST * PP_MOST };

/* A job of 4 stages, F 0.04 s, B 0.08 s, 16 micro-batches, 8 layers a stage, one slow worker. */
struct job {
	double forward[PP_MOST], backward[PP_MOST], slowdown[WORKERS_MOST];
	struct replicas replicas;
	struct remedies_set set;
	struct remedies_facts facts;
};

static void make_job(struct job *j, size_t dp, size_t slow, double times, double after,
		     double remaining)
{
	const struct remedy_range unknown = { NAN, NAN, NAN };
	CLEANUP(freep) double *ends = xcalloc(dp, sizeof(*ends));
	size_t i;

	for (i = 0; i < PP_MOST; i++) {
		j->forward[i] = 0.04;
		j->backward[i] = 0.08;
	}
	for (i = 0; i < dp * PP_MOST; i++)
		j->slowdown[i] = i == slow ? times : 1;
	j->replicas = (struct replicas){ dp, PP_MOST, 16, j->forward, j->backward, j->slowdown, 8 };
	j->set = (struct remedies_set){ 1, { after, NAN, NAN }, 0 };
	j->facts = (struct remedies_facts){
		.simulated_s = 0.06 + replicas_times(&j->replicas, ends),
		.replicas = &j->replicas,
		.sets = &j->set,
		.n_sets = 1,
		.spares = 1,
		.sequences_s = unknown,
		.gc_s = unknown,
		.pause_s = NAN,
		.remaining = remaining,
		.slow_steps = NAN,
		.costs = { 600, 0, 0, 120, 5, 60 },
	};
	j->facts.now_s = j->facts.simulated_s;
}

/* One of no kind where there is none. */
static const struct remedy *find(const struct remedies *all, enum remedy_kind kind)
{
	static const struct remedy none = { .kind = REMEDY_KINDS };
	size_t i;

	for (i = 0; i < all->n; i++) {
		if (all->list[i].kind == kind)
			return &all->list[i];
	}
	return &none;
}

struct row {
	enum remedy_kind kind;
	double after, s, cost, over, pays;
	size_t count;
};

static void check_rows(const struct remedies *all, const struct row *rows, size_t n)
{
	size_t i;

	CHECK_EQ(all->n, n);
	for (i = 0; i < n; i++) {
		const struct remedy *one = find(all, rows[i].kind);

		CHECK_EQ(one->kind, rows[i].kind);
		CHECK_NEAR(one->after_s, rows[i].after, 1e-9);
		CHECK_NEAR(one->after_s / 2.34, rows[i].s, 5e-7);
		CHECK_NEAR(one->cost_s, rows[i].cost, 1e-9);
		CHECK_NEAR(one->over_s, rows[i].over, 1e-6);
		if (rows[i].pays > 0)
			CHECK_NEAR(one->pays_steps.value, rows[i].pays, 5e-3);
		if (rows[i].count)
			CHECK_EQ(one->count, rows[i].count);
	}
}

static void the_first_example_comes_out(void)
{
	static const struct row rows[] = {
		{ REMEDY_NONE, 3.428, 1.464957, 0, 0, 0, 0 },
		{ REMEDY_REPLACE, 2.340, 1.000000, 600, 488, 551.47, 0 },
		{ REMEDY_DROP, 3.060, 1.307692, 120, 248, 326.09, 1 },
		{ REMEDY_MICROBATCHES, 2.580, 1.102564, 5, 843, 5.90, 10 },
		{ REMEDY_LAYERS, 2.610, 1.115385, 60, 758, 73.35, 0 },
		{ REMEDY_BOTH, 2.460, 1.051282, 60, 908, 61.98, 13 },
	};
	struct remedies all;
	struct job j;

	make_job(&j, 4, 1 * PP_MOST + 2, 1.6, 2.34, 1000);
	CHECK_EQ(remedies_find(&j.facts, &all, NULL), 0);
	check_rows(&all, rows, ARRAY_SIZE(rows));
	CHECK_EQ(all.list[0].kind, REMEDY_BOTH);
	CHECK_EQ(all.list[1].kind, REMEDY_MICROBATCHES);
	CHECK_EQ(all.list[2].kind, REMEDY_LAYERS);
	CHECK_EQ(all.list[3].kind, REMEDY_REPLACE);
	CHECK_EQ(all.list[4].kind, REMEDY_DROP);
	CHECK_EQ(all.list[5].kind, REMEDY_NONE);
}

static void the_second_example_comes_out(void)
{
	static const struct row rows[] = {
		{ REMEDY_NONE, 5.82, 5.82 / 2.34, 0, 0, 0, 0 },
		{ REMEDY_REPLACE, 2.34, 1, 600, 96, 0, 0 },
		{ REMEDY_DROP, 2.70, 2.70 / 2.34, 120, 504, 0, 1 },
		{ REMEDY_MICROBATCHES, 2.58, 2.58 / 2.34, 5, 643, 0, 2 },
		{ REMEDY_LAYERS, 2.88, 2.88 / 2.34, 60, 528, 0, 0 },
		{ REMEDY_BOTH, 2.46, 2.46 / 2.34, 60, 612, 0, 0 },
	};
	struct remedies all;
	struct job j;

	make_job(&j, 8, 5 * PP_MOST, 3, 2.34, 200);
	CHECK_EQ(remedies_find(&j.facts, &all, NULL), 0);
	check_rows(&all, rows, ARRAY_SIZE(rows));
	CHECK_EQ(all.list[0].kind, REMEDY_MICROBATCHES);
	CHECK_EQ(all.list[1].kind, REMEDY_BOTH);
}

static void a_rung_is_taken_once_its_price_is_lost(void)
{
	static const double costs[] = { 0, 5, 60, 600 };
	static const struct {
		double lost;
		size_t rung;
	} rows[] = { { 0, 0 }, { 4, 0 }, { 5, 1 }, { 59, 1 }, { 60, 2 }, { 599, 2 }, { 600, 3 } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(remedies_rung(costs, ARRAY_SIZE(costs), rows[i].lost), rows[i].rung);
}

/* Of the first example: micro-batches for 5 s, both for 60 s, replace for 600 s. */
static void what_is_lost_climbs_from_rung_to_rung(void)
{
	static const struct {
		double slow_steps;
		enum remedy_kind now, next;
	} rows[] = {
		{ NAN, REMEDY_NONE, REMEDY_MICROBATCHES }, { 4, REMEDY_NONE, REMEDY_MICROBATCHES },
		{ 5, REMEDY_MICROBATCHES, REMEDY_BOTH },   { 56, REMEDY_BOTH, REMEDY_REPLACE },
		{ 552, REMEDY_REPLACE, REMEDY_KINDS },
	};
	struct remedies all;
	struct job j;
	size_t i;

	make_job(&j, 4, 1 * PP_MOST + 2, 1.6, 2.34, NAN);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		j.facts.slow_steps = rows[i].slow_steps;
		CHECK_EQ(remedies_find(&j.facts, &all, NULL), 0);
		CHECK_EQ(all.list[all.advised].kind, rows[i].now);
		CHECK_EQ(all.next == all.n, rows[i].next == REMEDY_KINDS);
		if (all.next < all.n)
			CHECK_EQ(all.list[all.next].kind, rows[i].next);
	}
	j.facts.slow_steps = 4;
	CHECK_EQ(remedies_find(&j.facts, &all, NULL), 0);
	CHECK_NEAR(all.lost_s, 4 * 1.088, 1e-9);
	CHECK_NEAR(all.next_steps, (5 - 4 * 1.088) / 1.088, 1e-9);
}

/* Whatever the end: at most twice what one pays who knows it. */
static void a_remedy_at_its_price_costs_twice_at_most(void)
{
	const double costs[] = { 0, 37 };
	const double loss = 0.3; /* a step */
	size_t steps, i;

	for (steps = 1; steps < 1000; steps++) {
		const double best = MIN(costs[1], (double)steps * loss);
		double paid = 0;
		bool taken = false;

		for (i = 0; i < steps; i++) {
			if (!taken && remedies_rung(costs, 2, (double)i * loss) == 1) {
				taken = true;
				paid += costs[1];
			}
			paid += taken ? 0 : loss;
		}
		CHECK(paid <= 2 * best + loss);
	}
}

static void without_spares_nothing_is_replaced(void)
{
	struct remedies all;
	struct job j;

	make_job(&j, 8, 5 * PP_MOST, 3, 2.34, 100000);
	j.facts.spares = 0;
	CHECK_EQ(remedies_find(&j.facts, &all, NULL), 0);
	CHECK_EQ(all.list[0].kind, REMEDY_BOTH);
	CHECK_EQ(all.list[all.n - 1].kind, REMEDY_REPLACE);
	CHECK(!all.list[all.n - 1].possible);
	CHECK_EQ(all.list[all.n - 1].spares_missing, 1);
	j.facts.spares = 1;
	CHECK_EQ(remedies_find(&j.facts, &all, NULL), 0);
	CHECK_EQ(all.list[0].kind, REMEDY_REPLACE);
}

static void a_host_more_gains_what_a_spare_may_lack(void)
{
	/* Of 4 s: the second host gains 0.11 s, not 0.12; with the third it is enough for two. */
	static const struct remedies_set sets[] = {
		{ .n = 1, .after_s = { 3.9, NAN, NAN } },
		{ .n = 2, .after_s = { 3.79, NAN, NAN } },
		{ .n = 3, .after_s = { 3.65, NAN, NAN } },
		{ .n = 4, .after_s = { 3.55, NAN, NAN } },
		{ .n = 5, .after_s = { 3.40, NAN, NAN } },
	};
	static const size_t offered[] = { 0, 2, 4 };
	struct remedies all;
	struct job j;
	size_t i, n = 0;

	make_job(&j, 4, 1, 1, 4, NAN);
	j.facts.replicas = NULL;
	j.facts.now_s = j.facts.simulated_s = 4;
	j.facts.sets = sets;
	j.facts.n_sets = ARRAY_SIZE(sets);
	j.facts.spares = 8;
	CHECK_EQ(remedies_find(&j.facts, &all, NULL), 0);
	for (i = all.n; i-- > 0;) {
		if (all.list[i].kind == REMEDY_REPLACE && n < ARRAY_SIZE(offered))
			CHECK_EQ(all.list[i].set, offered[n++]);
	}
	CHECK_EQ(n, ARRAY_SIZE(offered));
	CHECK_EQ(all.n, 1 + ARRAY_SIZE(offered));
}

static void what_the_owner_can_do_is_priced(void)
{
	const struct remedy *one;
	struct remedies all;
	struct job j;

	make_job(&j, 1, 0, 1, 2.34, 1000);
	j.facts.n_sets = 0;
	j.facts.replicas = NULL;
	j.facts.simulated_s = 10;
	j.facts.now_s = 10.5;
	j.facts.gc_s = (struct remedy_range){ 8, 7.9, 8.2 };
	j.facts.pause_s = 0.4;
	j.facts.sequences_s = (struct remedy_range){ 7, 6.8, 7.1 };
	CHECK_EQ(remedies_find(&j.facts, &all, NULL), 0);
	one = find(&all, REMEDY_GC); /* 0.4 / (1 % of 8) = 5 steps */
	CHECK_EQ(one->count, 5);
	CHECK_NEAR(one->gain_s.value, 2 - 0.08, 1e-9);
	CHECK_NEAR(one->gain_s.low, 1.8 - 0.08, 1e-9);
	one = find(&all, REMEDY_SEQUENCES);
	CHECK(one->sure == REMEDY_BOUND && one->gain_s.low <= 0);
	CHECK_NEAR(one->after_s, 7.5, 1e-9);
	CHECK(isnan(one->pays_steps.high) && one->pays_steps.low < one->pays_steps.value);
	one = find(&all, REMEDY_DATA);
	CHECK_NEAR(one->gain_s.value, 0.5, 1e-9);
	CHECK_EQ(all.list[0].kind, REMEDY_SEQUENCES);
}

static void nonsense_is_refused(void)
{
	struct err err = ERR_INIT;
	struct remedies all = { .n = 7 };
	struct job j;

	make_job(&j, 4, 0, 1.5, 2.34, 1000);
	j.slowdown[3] = 0;
	CHECK_EQ(remedies_find(&j.facts, &all, &err), -EINVAL);
	CHECK_HAS(err.msg, "shape of the job");
	j.slowdown[3] = 1;
	j.facts.costs.restart_s = NAN;
	CHECK_EQ(remedies_find(&j.facts, &all, &err), -EINVAL);
	CHECK_HAS(err.msg, "a cost");
	j.facts.costs.restart_s = 1;
	j.facts.now_s = 0;
	CHECK_EQ(remedies_find(&j.facts, &all, &err), -EINVAL);
	CHECK_EQ(all.n, 7);
}

/* --- brute force --- */

static double uniform(struct random *state, double low, double high)
{
	return low + (high - low) * (double)(random_next(state) >> 11) / 9007199254740992.0;
}

static void draw_job(struct job *j, struct random *state, size_t dp, size_t pp, size_t microbatches)
{
	size_t i;

	make_job(j, 1, 0, 1, 2.34, NAN);
	for (i = 0; i < pp; i++) {
		j->forward[i] = uniform(state, 0.5, 2);
		j->backward[i] = uniform(state, 0.5, 4);
	}
	for (i = 0; i < dp * pp; i++)
		j->slowdown[i] = random_next(state) % 3 ? 1 : uniform(state, 1, 3);
	j->replicas = (struct replicas){ dp,
					 pp,
					 microbatches,
					 j->forward,
					 j->backward,
					 j->slowdown,
					 1 + random_next(state) % 8 };
}

static double slowest_of(const struct replicas *r, const size_t *counts)
{
	double slowest = 0;
	size_t d, p;

	for (d = 0; d < r->dp; d++) {
		double forward[PP_MOST], backward[PP_MOST];

		for (p = 0; p < r->pp; p++) {
			forward[p] = r->forward_s[p] * r->slowdown[d * r->pp + p];
			backward[p] = r->backward_s[p] * r->slowdown[d * r->pp + p];
		}
		slowest = MAX(slowest, pipe_1f1b(forward, backward, r->pp, counts[d], NULL));
	}
	return slowest;
}

/* All ways to deal what is left to the replicas from d on. */
static double try_all(const struct replicas *r, size_t d, size_t left, size_t *counts)
{
	double best = INFINITY;
	size_t n;

	if (d + 1 == r->dp) {
		counts[d] = left;
		return slowest_of(r, counts);
	}
	for (n = 1; n + (r->dp - d - 1) <= left; n++) {
		counts[d] = n;
		best = MIN(best, try_all(r, d + 1, left - n, counts));
	}
	return best;
}

/* The same of stages of chunks, in multiples of the stages. */
static double try_chunks(const struct replicas *r, size_t d, size_t left, size_t *counts)
{
	double best = INFINITY, slowest = 0;
	size_t n, p;

	for (n = r->pp; d + 1 < r->dp && n + (r->dp - d - 1) * r->pp <= left; n += r->pp) {
		counts[d] = n;
		best = MIN(best, try_chunks(r, d + 1, left - n, counts));
	}
	if (d + 1 < r->dp)
		return best;
	counts[d] = left;
	for (d = 0; d < r->dp; d++) {
		double forward[PP_MOST], backward[PP_MOST];
		const struct pipeline one = { forward, backward, r->pp, r->chunks };
		double seconds;

		for (p = 0; p < r->pp; p++) {
			forward[p] = r->forward_s[p] * r->slowdown[d * r->pp + p];
			backward[p] = r->backward_s[p] * r->slowdown[d * r->pp + p];
		}
		seconds = pipeline_time(&one, counts[d]);
		slowest = MAX(slowest, seconds);
	}
	return slowest;
}

static void micro_batches_of_chunks_are_dealt_as_well_as_can_be(void)
{
	struct random state = random_seeded(6);
	size_t i, d;

	for (i = 0; i < DEALS; i++) {
		const size_t dp = 2 + random_next(&state) % 3, pp = 2 + random_next(&state) % 2;
		size_t counts[DP_MOST], trial[DP_MOST], sum = 0;
		struct job j;

		draw_job(&j, &state, dp, pp, pp * (1 + random_next(&state) % 4));
		j.replicas.chunks = 2 + random_next(&state) % 2;
		CHECK_NEAR(replicas_deal(&j.replicas, false, counts),
			   try_chunks(&j.replicas, 0, dp * j.replicas.microbatches, trial), 1e-9);
		for (d = 0; d < dp; d++) {
			CHECK(counts[d] >= pp && counts[d] % pp == 0);
			sum += counts[d];
		}
		CHECK_EQ(sum, dp * j.replicas.microbatches);
	}
}

static void micro_batches_are_dealt_as_well_as_can_be(void)
{
	struct random state = random_seeded(5);
	size_t i, d;

	for (i = 0; i < DEALS; i++) {
		const size_t dp = 2 + random_next(&state) % 3, pp = 1 + random_next(&state) % 3;
		size_t counts[DP_MOST], trial[DP_MOST], sum = 0;
		struct job j;
		double best, got;

		draw_job(&j, &state, dp, pp, 1 + random_next(&state) % 4);
		got = replicas_deal(&j.replicas, false, counts);
		best = try_all(&j.replicas, 0, dp * j.replicas.microbatches, trial);
		for (d = 0; d < dp; d++) {
			CHECK(counts[d] >= 1);
			sum += counts[d];
		}
		CHECK_EQ(sum, dp * j.replicas.microbatches);
		CHECK_NEAR(got, best, 1e-9);
		CHECK_NEAR(slowest_of(&j.replicas, counts), best, 1e-9);
	}
}

/* With one micro-batch it is still the slowest: the others have any number of ways to share. */
static void what_a_very_slow_replica_leaves_is_shared_evenly(void)
{
	size_t counts[DP_MOST], d;
	struct remedies all;
	struct job j;

	make_job(&j, 4, 3 * PP_MOST, 100, 2.34, NAN);
	(void)replicas_deal(&j.replicas, false, counts);
	for (d = 0; d < 3; d++)
		CHECK_EQ(counts[d], 21);
	CHECK_EQ(counts[3], 1);
	CHECK_EQ(remedies_find(&j.facts, &all, NULL), 0);
	CHECK_STR(find(&all, REMEDY_MICROBATCHES)->note,
		  "dp 3 runs 1 micro-batch instead of 16, others up to 21");
}

static void a_pipeline_that_cannot_be_played_is_refused(void)
{
	CLEANUP(freep) double *ones = xcalloc(PIPE_SCHEDULE_STAGES_MAX + 1, sizeof(*ones));
	struct replicas r = { 1, PIPE_SCHEDULE_STAGES_MAX, 1, ones, ones, ones, 0 };
	struct pipeline long_one = { ones, ones, PIPE_SCHEDULE_STAGES_MAX, 1 };
	size_t i, count = 0, most = PIPE_SCHEDULE_WORK_MAX / PIPE_SCHEDULE_STAGES_MAX;

	for (i = 0; i <= PIPE_SCHEDULE_STAGES_MAX; i++)
		ones[i] = 1;
	CHECK(replicas_ok(&r));
	r.pp++;
	CHECK(!replicas_ok(&r));
	CHECK(isfinite(pipeline_deal(&long_one, 1, most, &count)));
	CHECK_EQ(count, most);
	CHECK(isinf(pipeline_deal(&long_one, 1, most + 1, &count)));
	CHECK_EQ(count, most + 1);
}

/* --- never worse than doing nothing --- */

static void check_never_worse(struct job *j, const struct remedies *all)
{
	size_t i;

	CHECK(all->list[0].possible);
	CHECK_EQ(find(all, REMEDY_NONE)->kind, REMEDY_NONE);
	CHECK(all->advised < all->n);
	CHECK(all->list[all->advised].possible);
	CHECK(all->list[all->advised].after_s <= j->facts.now_s * (1 + 1e-9));
	if (!isnan(j->facts.remaining))
		CHECK(all->list[0].over_s >= 0);
	for (i = 0; i < all->n; i++) {
		const struct remedy *one = &all->list[i];

		CHECK(one->kind == REMEDY_NONE || one->gain_s.value > 0);
		CHECK(one->gain_s.low <= one->gain_s.value && one->gain_s.value <= one->gain_s.high);
		CHECK(one->cost_s >= 0);
		CHECK(!one->possible || one->spares <= j->facts.spares);
	}
}

static void nothing_that_is_advised_is_worse_than_nothing(void)
{
	struct random state = random_seeded(17);
	size_t i;

	for (i = 0; i < JOBS; i++) {
		const size_t dp = 1 + random_next(&state) % DP_MOST,
			     pp = 1 + random_next(&state) % PP_MOST;
		double ends[DP_MOST];
		struct remedies all;
		struct job j;

		draw_job(&j, &state, dp, pp, 1 + random_next(&state) % 16);
		j.facts.simulated_s = replicas_times(&j.replicas, ends) * uniform(&state, 0.97, 1.3);
		j.facts.now_s = j.facts.simulated_s * uniform(&state, 0.98, 1.04);
		j.set.after_s.value = j.facts.simulated_s * uniform(&state, 0.5, 1.1);
		j.facts.spares = random_next(&state) % 2;
		j.facts.stages = random_next(&state) % 2;
		if (random_next(&state) % 2)
			j.facts.remaining = uniform(&state, 0, 1000);
		if (random_next(&state) % 2)
			j.facts.slow_steps = uniform(&state, 0, 1000);
		if (random_next(&state) % 2)
			j.facts.costs.regroup_s = j.facts.costs.microbatches_s = NAN;
		CHECK_EQ(remedies_find(&j.facts, &all, NULL), 0);
		check_never_worse(&j, &all);
	}
}

/* --- which are played --- */

/* The slowest of those that stay, each played. */
static double played(const struct replicas *r, const bool *gone, size_t microbatches)
{
	struct replicas longer = *r;
	double times[DP_MOST], slowest = 0;
	size_t d;

	longer.microbatches = microbatches;
	(void)replicas_times(&longer, times);
	for (d = 0; d < r->dp; d++)
		slowest = gone[d] ? slowest : MAX(slowest, times[d]);
	return slowest;
}

/* The same, by playing all of them each time. */
static double drop_all_played(const struct replicas *r, bool *ret_gone)
{
	double times[DP_MOST], best = NAN;
	bool gone[DP_MOST] = { false };
	size_t n, d;

	(void)replicas_times(r, times);
	for (n = 1; n < r->dp && n <= REPLICAS_DROP_MAX; n++) {
		const size_t left = r->dp - n;
		size_t slowest = r->dp;
		double time;

		for (d = 0; d < r->dp; d++) {
			if (!gone[d] && (slowest == r->dp || times[d] > times[slowest]))
				slowest = d;
		}
		gone[slowest] = true;
		time = played(r, gone, (r->microbatches * r->dp + left - 1) / left);
		if (!(time >= best)) {
			best = time;
			memcpy(ret_gone, gone, sizeof(gone));
		}
	}
	return best;
}

static void who_is_not_played_is_not_the_slowest(void)
{
	struct random state = random_seeded(29);
	size_t i, k;

	for (i = 0; i < JOBS; i++) {
		const size_t dp = 1 + random_next(&state) % DP_MOST,
			     pp = 1 + random_next(&state) % PP_MOST;
		const bool none[DP_MOST] = { false };
		bool expected[DP_MOST] = { false }, gone[DP_MOST] = { false };
		double best, dropped;
		size_t n = 0;
		struct job j;

		draw_job(&j, &state, dp, pp, 1 + random_next(&state) % 16);
		/* Many that are as slow as each other, and some that are faster than a good one. */
		for (k = 0; k < dp * pp && i % 2; k++)
			j.slowdown[k] = 0.9 + 0.1 * (double)(random_next(&state) % 3);
		best = drop_all_played(&j.replicas, expected);
		dropped = replicas_drop(&j.replicas, gone, &n);
		CHECK_EQ(replicas_slowest(&j.replicas),
			 played(&j.replicas, none, j.replicas.microbatches));
		CHECK_EQ(isnan(dropped), isnan(best));
		CHECK(isnan(best) || dropped == best);
		CHECK_EQ(memcmp(gone, expected, sizeof(gone)), 0);
	}
}

/* --- without some hosts --- */

static void hosts_that_go_stop_their_replicas(void)
{
	bool gone[WORKERS_MOST] = { false };
	struct remedies_loss loss;
	struct job j;

	make_job(&j, 4, 1 * PP_MOST + 2, 1.6, 2.34, NAN);
	loss = remedies_without(&j.facts, gone);
	CHECK_EQ(loss.left, 4);
	CHECK_NEAR(loss.after_s, 3.428, 1e-9);
	gone[1 * PP_MOST] = gone[1 * PP_MOST + 2] = true;
	loss = remedies_without(&j.facts, gone);
	CHECK_EQ(loss.workers, 2);
	CHECK_EQ(loss.replicas, 1);
	CHECK_EQ(loss.left, 3);
	CHECK_NEAR(loss.after_s, 3.06, 1e-9);
	memset(gone, true, sizeof(gone));
	loss = remedies_without(&j.facts, gone);
	CHECK_EQ(loss.left, 0);
	CHECK(isnan(loss.after_s));
}

static const struct test tests[] = {
	TEST(the_first_example_comes_out),
	TEST(the_second_example_comes_out),
	TEST(a_rung_is_taken_once_its_price_is_lost),
	TEST(what_is_lost_climbs_from_rung_to_rung),
	TEST(a_remedy_at_its_price_costs_twice_at_most),
	TEST(without_spares_nothing_is_replaced),
	TEST(a_host_more_gains_what_a_spare_may_lack),
	TEST(what_the_owner_can_do_is_priced),
	TEST(nonsense_is_refused),
	TEST(micro_batches_are_dealt_as_well_as_can_be),
	TEST(micro_batches_of_chunks_are_dealt_as_well_as_can_be),
	TEST(a_pipeline_that_cannot_be_played_is_refused),
	TEST(what_a_very_slow_replica_leaves_is_shared_evenly),
	TEST(nothing_that_is_advised_is_worse_than_nothing),
	TEST(who_is_not_played_is_not_the_slowest),
	TEST(hosts_that_go_stop_their_replicas),
};

TEST_SUITE(tests);
