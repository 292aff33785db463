/* SPDX-License-Identifier: Apache-2.0 */
/* Groups by length and their plans, compared with an exhaustive search in independent code. */
#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/hotspa_cost.h"
#include "lib/remedy/hotspa_plan.h"
#include "lib/remedy/pipe_1f1b.h"
#include "lib/remedy/pipe_packs.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

enum { JOBS = 800, LENGTHS = 5, WAYS = 4, SEQUENCES = 40, STAGES = 4, PIPELINES = 4 };

struct job {
	struct hotspa_plan_length lengths[LENGTHS];
	struct hotspa_plan_way ways[WAYS];
	double cost[WAYS * WAYS];
	double slow[WAYS][PIPELINES * STAGES];
	struct hotspa_plan_wish wish;
};

/* Stages of one way in two are not alike: silicon, and a few that are slow. */
static const double *make_slow(struct random *random, double slow[PIPELINES * STAGES])
{
	size_t i;

	for (i = 0; i < PIPELINES * STAGES; i++)
		slow[i] = 1 + 0.1 * random_unit(random) + (random_below(random, 8) == 0);
	return random_below(random, 2) ? slow : NULL;
}

/* Some cheap for short sequences, one that holds all. */
static void make(struct random *random, struct job *job)
{
	size_t n = 1 + random_below(random, LENGTHS), ways = 1 + random_below(random, WAYS), i;
	uint64_t tokens = 64;

	for (i = n; i-- > 0;) {
		job->lengths[i] = (struct hotspa_plan_length){ tokens, 1 + random_below(random, 8) };
		tokens += 1 + random_below(random, 100);
	}
	for (i = 0; i < ways; i++) {
		double dear = i == 0 ? 4 : 1;

		job->ways[i] = (struct hotspa_plan_way){ 1 + random_below(random, 3),
							 1 + random_below(random, PIPELINES),
							 i == 0 ? 2 * tokens
								: 64 + random_below(random, 500),
							 random_unit(random) * 20,
							 random_unit(random) * dear,
							 random_unit(random) * 1e-3,
							 make_slow(random, job->slow[i]) };
	}
	for (i = 0; i < ways * ways; i++)
		job->cost[i] = i / ways == i % ways ? 0 : random_unit(random) * 5;
	job->wish = (struct hotspa_plan_wish){ .lengths = job->lengths,
					       .n = n,
					       .ways = job->ways,
					       .n_ways = ways,
					       .cost = job->cost,
					       .forward = random_unit(random) };
}

/* Is operation `i` of stage `p` a forward? Warm up, then one of each in turn, then what is left. */
static bool is_forward(size_t i, size_t warm, size_t n)
{
	return i < warm || (i < 2 * n - warm && (i - warm) % 2 == 0);
}

/* 1F1B of packs that differ: each stage takes its next operation once what it needs is there. */
static double play_1f1b(const double *seconds, size_t n, size_t stages, double part,
			const double *slow)
{
	double ends[2][STAGES][SEQUENCES + 1] = { 0 }, free_at[STAGES] = { 0 }, most = 0;
	size_t next[STAGES] = { 0 }, did[2][STAGES] = { 0 }, left = 2 * n * stages, p;

	while (left > 0) {
		for (p = 0; p < stages; p++) {
			bool forward = is_forward(next[p], MIN(stages - 1 - p, n), n);
			size_t i = did[forward][p];
			bool end = p == (forward ? 0 : stages - 1);
			size_t beside = forward ? p - 1 : p + 1;
			double needed = forward ? 0 : ends[1][p][i];

			if (next[p] == 2 * n || (!end && did[forward][beside] <= i))
				continue;
			if (!end)
				needed = ends[forward][beside][i];
			free_at[p] = MAX(free_at[p], needed) + seconds[i] *
								       (forward ? part : 1 - part) *
								       (slow ? slow[p] : 1);
			ends[forward][p][i] = free_at[p];
			most = MAX(most, free_at[p]);
			did[forward][p]++;
			next[p]++;
			left--;
		}
	}
	return most;
}

/* A group by single sequences: hotspa_group() packs them, and every pipeline plays its own. */
static double group_seconds(const struct job *job, size_t from, size_t until, size_t way,
			    uint64_t bound)
{
	const struct hotspa_plan_way *w = &job->ways[way];
	uint64_t lengths[SEQUENCES], bounds[] = { bound, 0 };
	struct hotspa_place places[SEQUENCES];
	double packs[SEQUENCES] = { 0 }, own[PIPELINES][SEQUENCES] = { 0 }, most = 0;
	size_t n = 0, n_packs = 0, i, k;

	for (i = from; i < until; i++)
		for (k = 0; k < job->lengths[i].count; k++)
			lengths[n++] = job->lengths[i].tokens;
	CHECK_EQ(hotspa_group(&(struct hotspa_wish){ lengths, n, bounds, 2 }, places, NULL), 0);
	for (i = 0; i < n; i++) {
		packs[places[i].pack] += w->square * (double)(places[i].length * places[i].length);
		n_packs = MAX(n_packs, places[i].pack + 1);
	}
	for (i = 0; i < n_packs; i++)
		packs[i] += w->start + w->token * (double)bound;
	for (i = 0; i < n_packs; i++) {
		size_t worst = i;

		for (k = i + 1; k < n_packs; k++)
			worst = packs[k] > packs[worst] ? k : worst;
		own[i % w->dp][i / w->dp] = packs[worst];
		packs[worst] = packs[i];
	}
	for (i = 0; i < MIN(w->dp, n_packs); i++) {
		size_t mine = (n_packs - i - 1) / w->dp + 1;
		double seconds = play_1f1b(own[i], mine, w->pp, job->wish.forward,
					   w->slow ? w->slow + i * w->pp : NULL);

		most = MAX(most, seconds);
	}
	return most;
}

static double group_best(const struct job *job, size_t from, size_t until, size_t way)
{
	uint64_t longest = job->lengths[from].tokens, holds = job->ways[way].tokens;

	if (holds < longest)
		return INFINITY;
	return MIN(group_seconds(job, from, until, way, longest),
		   group_seconds(job, from, until, way, holds));
}

/* From `at` through the ways of `left` to `home`: every order. */
static double switches(const struct job *job, size_t at, size_t home, unsigned left)
{
	size_t n = job->wish.n_ways, i;
	double best = left ? INFINITY : job->cost[at * n + home];

	for (i = 0; i < n; i++)
		if (left >> i & 1)
			best = MIN(best, job->cost[at * n + i] +
						 switches(job, i, home, left & ~(1u << i)));
	return best;
}

/* Every first group, every way for it, and then the rest. */
static double least(const struct job *job, size_t from, unsigned used, size_t first)
{
	double best = INFINITY;
	size_t until, way;

	if (from == job->wish.n)
		return switches(job, first, first, used & ~(1u << first));
	for (until = from + 1; until <= job->wish.n; until++) {
		for (way = 0; way < job->wish.n_ways; way++) {
			if (used >> way & 1)
				continue;
			best = MIN(best, group_best(job, from, until, way) +
						 least(job, until, used | 1u << way,
						       from == 0 ? way : first));
		}
	}
	return best;
}

/* It is what it says it is, and no choice is better; nor is any plan alone. */
static void groups_are_the_best_there_are(void)
{
	struct random random = random_seeded(17);
	size_t i, g, several = 0;

	for (i = 0; i < JOBS; i++) {
		struct hotspa_plan plan = { .n = 0 };
		double sum = 0;
		struct job job;

		make(&random, &job);
		CHECK_EQ(hotspa_plan_find(&job.wish, &plan, NULL), 0);
		CHECK_NEAR(plan.total, least(&job, 0, 0, 0), 1e-6 * plan.total);
		CHECK(plan.total <= plan.single.seconds);
		CHECK(plan.total <= hotspa_plan_alone(&job.wish, 0).seconds);
		CHECK_EQ(plan.groups[0].from, 0);
		CHECK_EQ(plan.groups[plan.n - 1].until, job.wish.n);
		for (g = 0; g < plan.n; g++) {
			const struct hotspa_plan_group *group = &plan.groups[g];

			CHECK_EQ(group->from, g ? plan.groups[g - 1].until : 0);
			CHECK(job.lengths[group->from].tokens <= group->bound);
			CHECK(group->bound <= job.ways[group->way].tokens);
			CHECK_NEAR(group->seconds,
				   group_seconds(&job, group->from, group->until, group->way,
						 group->bound),
				   1e-6 * group->seconds);
			sum += group->seconds +
			       job.cost[plan.order[g] * job.wish.n_ways + plan.order[g + 1]];
		}
		CHECK_NEAR(plan.total, sum, 1e-6 * sum);
		CHECK_EQ(plan.order[0], plan.groups[0].way);
		CHECK_EQ(plan.order[plan.n], plan.groups[0].way);
		several += plan.n > 1;
	}
	CHECK(several > JOBS / 10);
}

static void equal_packs_take_what_1f1b_says(void)
{
	const struct hotspa_plan_length lengths[] = { { 100, 24 } };
	const struct hotspa_plan_way ways[] = { { 3, 4, 100, 0, 0.03, 0, NULL } };
	const double forward[] = { 1, 1, 1 }, backward[] = { 2, 2, 2 }, cost[] = { 0 };
	const struct hotspa_plan_wish wish = { lengths, 1, ways, 1, cost, 0.3 };
	struct hotspa_plan_group group = hotspa_plan_alone(&wish, 0);

	CHECK_EQ(group.packs, 24);
	CHECK_NEAR(group.seconds, pipe_1f1b(forward, backward, 3, 6, NULL), 1e-9);
	CHECK_NEAR(group.work, 18, 1e-9);
}

/* Too many to be played take no less than they would: few more of them do not end earlier. */
static void many_packs_are_bounded(void)
{
	enum { N = PIPE_PACKS_WORK_MAX / 4 + 1 };
	double *seconds = xcalloc(N, sizeof(*seconds)), played, bound;
	struct pipe_packs packs = { seconds, N - 1, 4, 0.3, NULL };
	size_t i;

	for (i = 0; i < N; i++)
		seconds[i] = i < N / 2 ? 3 : 2;
	played = pipe_packs_play(&packs);
	packs.n = N;
	bound = pipe_packs_play(&packs);
	CHECK_NEAR(bound, N / 2 * 3.0 + (N - N / 2) * 2.0 + 3 * 3, 1e-6);
	CHECK(played + 2 <= bound + 1e-6);
	CHECK(bound - played < 2 + 3 * 3);
	free(seconds);
}

static void two_measurements_are_met(void)
{
	static const struct {
		double seconds[2];
		int r;
	} cases[] = { { { 1, 10 }, 0 }, { { 1, 4 }, 0 },	  { { 1, 2 }, 0 },
		      { { 1, 16 }, 0 }, { { 1, 16.1 }, -EINVAL }, { { 1, 0.9 }, -EINVAL } };
	const uint64_t tokens[] = { 1024, 4096 };
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct hotspa_plan_way way = { .pp = 7 };

		CHECK_EQ(hotspa_plan_fit(tokens, cases[i].seconds, &way, NULL), cases[i].r);
		CHECK_EQ(way.pp, 7);
		for (k = 0; k < 2 && cases[i].r == 0; k++) {
			double n = (double)tokens[k];

			CHECK(way.start >= 0 && way.token >= 0 && way.square >= 0);
			CHECK_NEAR(way.start + way.token * n + way.square * n * n,
				   cases[i].seconds[k], 1e-9);
		}
	}
}

static void what_cannot_be_had_leaves_the_plan_alone(void)
{
	struct hotspa_plan_length lengths[] = { { 100, 2 }, { 100, 1 } };
	struct hotspa_plan_way ways[] = { { 1, 1, 99, 0, 1, 0 } };
	const double cost[] = { 0 };
	struct hotspa_plan_wish wish = { lengths, 2, ways, 1, cost, 0.3 };
	struct hotspa_plan plan = { .n = 7 };
	struct err err = ERR_INIT;

	CHECK_EQ(hotspa_plan_find(&wish, &plan, &err), -EINVAL);
	wish.n = 1;
	CHECK_EQ(hotspa_plan_find(&wish, &plan, &err), -ERANGE);
	CHECK_STR(err.msg, "no plan holds a sequence of 100 tokens");
	lengths[0].count = HOTSPA_SEQUENCES_MAX + 1;
	CHECK_EQ(hotspa_plan_find(&wish, &plan, &err), -EINVAL);
	wish.n = HOTSPA_PLAN_LENGTHS_MAX + 1;
	CHECK_EQ(hotspa_plan_find(&wish, &plan, &err), -EINVAL);
	CHECK_EQ(plan.n, 7);
}

/* Two hosts of two GPUs, a model of 8 GiB: DP2 x TP2 to TP4, as in the planner's own example. */
static void a_switch_takes_what_its_busiest_link_needs(void)
{
	const size_t hosts[] = { 0, 0, 1, 1 }, one[] = { 2 }, two[] = { 1, 1 };
	const struct hotspa_cost_layout wide = { 2, 1, 2, one, NULL }, all = { 4, 1, 1, one, NULL };
	const struct hotspa_cost_layout piped = { 2, 2, 1, two, NULL };
	const struct hotspa_cost_job job = { hosts, 4, 2, 4, 1, 10 };
	double seconds = 0;

	/* GPU 1 gets the second quarter of 8 bytes from GPU 0, GPU 2 the third from GPU 3. */
	CHECK_EQ(hotspa_cost_find(&job, &wide, &all, &seconds, NULL), 0);
	CHECK_NEAR(seconds, 2.0 / 10, 1e-12);
	/* Each host has all already. */
	CHECK_EQ(hotspa_cost_find(&job, &wide, &piped, &seconds, NULL), 0);
	CHECK_NEAR(seconds, 0, 1e-12);
	/* Each host lacks the layer of the other: 4 bytes, over one link. */
	CHECK_EQ(hotspa_cost_find(&job, &piped, &wide, &seconds, NULL), 0);
	CHECK_NEAR(seconds, 4, 1e-12);
	CHECK_EQ(hotspa_cost_find(&job, &piped, &piped, &seconds, NULL), 0);
	CHECK_NEAR(seconds, 0, 1e-12);
}

/* One host; the last of its GPUs gets three quarters of five layers, and nobody sends as much. */
static void a_switch_takes_what_its_busiest_receiver_needs(void)
{
	const size_t hosts[] = { 0, 0, 0, 0 }, all[] = { 8 }, uneven[] = { 1, 1, 1, 5 };
	const struct hotspa_cost_layout wide = { 4, 1, 1, all, NULL },
					deep = { 1, 4, 1, uneven, NULL };
	/* The same, with the GPUs of its stages the other way round. */
	const size_t first[] = { 3, 2, 1, 0 };
	const struct hotspa_cost_layout back = { 1, 4, 1, uneven, first };
	const struct hotspa_cost_job job = { hosts, 4, 8, 4, 1, 10 };
	double seconds = 0;

	CHECK_EQ(hotspa_cost_find(&job, &wide, &deep, &seconds, NULL), 0);
	CHECK_NEAR(seconds, 0.75 * 5 * 4 / 10, 1e-12);
	/* GPU 0 and GPU 3 change five layers for one. */
	CHECK_EQ(hotspa_cost_find(&job, &deep, &back, &seconds, NULL), 0);
	CHECK_NEAR(seconds, 5.0 * 4 / 10, 1e-12);
}

static const struct test tests[] = {
	TEST(groups_are_the_best_there_are),
	TEST(equal_packs_take_what_1f1b_says),
	TEST(many_packs_are_bounded),
	TEST(two_measurements_are_met),
	TEST(what_cannot_be_had_leaves_the_plan_alone),
	TEST(a_switch_takes_what_its_busiest_link_needs),
	TEST(a_switch_takes_what_its_busiest_receiver_needs),
};

TEST_SUITE(tests);
