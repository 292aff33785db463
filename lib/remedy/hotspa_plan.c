/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/remedy/hotspa_plan.h"

#include <errno.h>
#include <math.h>

#include "lib/base/err.h"
#include "lib/base/splitmix.h"
#include "lib/base/xalloc.h"
#include "lib/remedy/pipe_packs.h"

/* Another way must gain this part of a step: less is rounding. */
#define GAINED 1e-9

enum { SETS_MAX = 1 << HOTSPA_PLAN_PLANS_MAX };

/* Packs with the same sequences. */
struct pattern {
	uint64_t count;
	double seconds;
};

struct patterns {
	struct pattern *list; /* owned */
	size_t n, room;
};

int hotspa_plan_fit(const uint64_t *tokens, const double *seconds, struct hotspa_plan_way *way,
		    struct err *err)
{
	const double s0 = (double)tokens[0], s1 = (double)tokens[1];
	const double each0 = seconds[0] / s0, each1 = seconds[1] / s1;
	struct hotspa_plan_way fit = *way;

	if (seconds[1] < seconds[0])
		return err_set(err, EINVAL, "%ju tokens take less time than %ju: measure both again",
			       (uintmax_t)tokens[1], (uintmax_t)tokens[0]);
	if (each1 >= each0) {
		fit.start = 0;
		fit.square = (each1 - each0) / (s1 - s0);
		fit.token = each0 - fit.square * s0;
	} else {
		fit.square = 0;
		fit.token = (seconds[1] - seconds[0]) / (s1 - s0);
		fit.start = seconds[0] - fit.token * s0;
	}
	if (fit.token < 0)
		return err_set(err, EINVAL,
			       "%ju tokens take %.4g times as long as %ju, more than the square of "
			       "their ratio: measure both again",
			       (uintmax_t)tokens[1], seconds[1] / seconds[0], (uintmax_t)tokens[0]);
	*way = fit;
	return 0;
}

static void add_pattern(struct patterns *patterns, uint64_t count, double seconds)
{
	if (patterns->n == patterns->room) {
		patterns->room = MAX(2 * patterns->room, (size_t)HOTSPA_PLAN_LENGTHS_MAX);
		patterns->list = xrealloc(patterns->list, patterns->room, sizeof(*patterns->list));
	}
	patterns->list[patterns->n++] = (struct pattern){ count, seconds };
}

/* The next pack: the longest left, then each later one that fits. Repeated while all are left. */
static void add_packs(const struct hotspa_plan_wish *wish, const struct hotspa_plan_group *group,
		      uint64_t *left, struct patterns *patterns)
{
	const struct hotspa_plan_way *way = &wish->ways[group->way];
	uint64_t taken[HOTSPA_PLAN_LENGTHS_MAX] = { 0 }, room = group->bound, times = UINT64_MAX;
	double squares = 0;
	size_t i;

	for (i = group->from; i < group->until; i++) {
		const uint64_t tokens = wish->lengths[i].tokens;

		taken[i] = MIN(left[i], room / tokens);
		room -= taken[i] * tokens;
		squares += (double)taken[i] * (double)tokens * (double)tokens;
		if (taken[i] > 0)
			times = MIN(times, left[i] / taken[i]);
	}
	for (i = group->from; i < group->until; i++)
		left[i] -= taken[i] * times;
	add_pattern(patterns, times,
		    way->start + way->token * (double)group->bound + way->square * squares);
}

static int costliest_first(const void *a, const void *b)
{
	const struct pattern *x = a, *y = b;

	return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

/* How many of the numbers from `first` to before `until` go to pipeline `d` of `dp`. */
static uint64_t dealt(uint64_t first, uint64_t until, uint64_t d, uint64_t dp)
{
	return (until + dp - 1 - d) / dp - (first + dp - 1 - d) / dp;
}

/* Seconds of the packs of pipeline `d`, costliest first. New memory. */
static double *packs_of(const struct patterns *patterns, size_t d, size_t dp, uint64_t packs,
			size_t *ret_n)
{
	double *own = xcalloc((packs - 1) / dp + 1, sizeof(*own));
	uint64_t at = 0, k;
	size_t n = 0, i;

	for (i = 0; i < patterns->n; i++) {
		const struct pattern *p = &patterns->list[i];

		for (k = dealt(at, at + p->count, d, dp); k > 0; k--)
			own[n++] = p->seconds;
		at += p->count;
	}
	*ret_n = n;
	return own;
}

static const double *slow_of(const struct hotspa_plan_way *way, size_t d)
{
	return way->slow ? way->slow + d * way->pp : NULL;
}

static double at_most(const struct hotspa_plan_way *way, const struct patterns *patterns, size_t d)
{
	double sum = 0, longest = 0;
	uint64_t at = 0;
	size_t i;

	for (i = 0; i < patterns->n; i++) {
		const struct pattern *p = &patterns->list[i];
		const uint64_t n = dealt(at, at + p->count, d, way->dp);

		sum += p->seconds * (double)n;
		longest = n > 0 ? MAX(longest, p->seconds) : longest;
		at += p->count;
	}
	return pipe_packs_at_most(sum, longest, way->pp, slow_of(way, d));
}

static double pipeline(const struct hotspa_plan_way *way, const struct patterns *patterns, size_t d,
		       uint64_t packs, double forward)
{
	struct pipe_packs play = { .stages = way->pp, .forward = forward, .slow = slow_of(way, d) };
	CLEANUP(freep) double *own = packs_of(patterns, d, way->dp, packs, &play.n);

	play.seconds = own;
	return pipe_packs_play(&play);
}

/* If all are equal it is the first: it has the costliest packs, and as many as any. */
static double slowest_pipeline(const struct hotspa_plan_way *way, const struct patterns *patterns,
			       uint64_t packs, double forward)
{
	const size_t n = MIN((uint64_t)way->dp, packs);
	CLEANUP(freep) double *bounds = NULL;
	double slowest = 0;
	size_t times, d;

	if (!way->slow)
		return pipeline(way, patterns, 0, packs, forward);
	bounds = xcalloc(n, sizeof(*bounds));
	for (d = 0; d < n; d++)
		bounds[d] = at_most(way, patterns, d);
	for (times = 0; times < MIN(n, (size_t)HOTSPA_PLAN_PLAYED_MAX); times++) {
		size_t next = 0;
		double seconds;

		for (d = 1; d < n; d++)
			next = bounds[d] > bounds[next] ? d : next;
		if (bounds[next] <= slowest)
			break;
		seconds = pipeline(way, patterns, next, packs, forward);
		slowest = MAX(slowest, seconds);
		bounds[next] = 0;
	}
	return slowest;
}

/* The packs of a group with its bound, costliest first. */
static struct patterns patterns_of(const struct hotspa_plan_wish *wish,
				   const struct hotspa_plan_group *group)
{
	struct patterns patterns = { NULL, 0, 0 };
	uint64_t left[HOTSPA_PLAN_LENGTHS_MAX] = { 0 };
	size_t i;

	for (i = group->from; i < group->until; i++)
		left[i] = wish->lengths[i].count;
	for (i = group->from; i < group->until; i++)
		while (left[i] > 0)
			add_packs(wish, group, left, &patterns);
	qsort(patterns.list, patterns.n, sizeof(*patterns.list), costliest_first);
	return patterns;
}

/* Simulates a group with its bound. */
static void play(const struct hotspa_plan_wish *wish, struct hotspa_plan_group *group)
{
	const struct hotspa_plan_way *way = &wish->ways[group->way];
	struct patterns patterns = patterns_of(wish, group);
	size_t i;

	group->packs = 0;
	group->work = 0;
	for (i = 0; i < patterns.n; i++) {
		const struct pattern *p = &patterns.list[i];

		group->work += p->seconds * (double)p->count / (double)way->dp;
		group->packs += p->count;
	}
	group->seconds = slowest_pipeline(way, &patterns, group->packs, wish->forward);
	free(patterns.list);
}

/* In (0, 1]. */
static double next_unit(uint64_t *state)
{
	return ((double)(splitmix_next(state) >> 11) + 1) / 0x1p53;
}

/* Box and Muller, 1958. */
static double next_normal(uint64_t *state)
{
	const double radius = sqrt(-2 * log(next_unit(state)));

	return radius * cos(2 * M_PI * next_unit(state));
}

/* With mean 1. */
static double noisy(double noise, uint64_t *state)
{
	return exp(noise * next_normal(state) - noise * noise / 2);
}

static double play_noisy(const struct pipe_packs *packs, double noise, uint64_t *state)
{
	const size_t n = packs->n * packs->stages;
	CLEANUP(freep) double *each = xcalloc(2 * n, sizeof(*each));
	struct pipe_packs play = *packs;
	size_t i;

	for (i = 0; i < n; i++) {
		const double seconds = packs->seconds[i % packs->n];

		each[i] = seconds * packs->forward * noisy(noise, state);
		each[n + i] = seconds * (1 - packs->forward) * noisy(noise, state);
	}
	play.each[0] = each;
	play.each[1] = each + n;
	return pipe_packs_play(&play);
}

static double slowest_noisy(const struct hotspa_plan_wish *wish,
			    const struct hotspa_plan_group *group, const struct patterns *patterns,
			    double noise, uint64_t *state)
{
	const struct hotspa_plan_way *way = &wish->ways[group->way];
	double slowest = 0;
	size_t d;

	for (d = 0; d < MIN(way->dp, group->packs); d++) {
		struct pipe_packs play = { .stages = way->pp,
					   .forward = wish->forward,
					   .slow = slow_of(way, d) };
		CLEANUP(freep)
		double *own = packs_of(patterns, d, way->dp, group->packs, &play.n);
		double seconds;

		play.seconds = own;
		seconds = play_noisy(&play, noise, state);
		slowest = MAX(slowest, seconds);
	}
	return slowest;
}

double hotspa_plan_noisy(const struct hotspa_plan_wish *wish, const struct hotspa_plan_group *group,
			 double noise)
{
	const struct hotspa_plan_way *way = &wish->ways[group->way];
	const double work = 2 * (double)group->packs * (double)way->pp;
	const size_t times = (size_t)MAX(
		1, MIN((double)HOTSPA_PLAN_NOISY_TIMES, (double)HOTSPA_PLAN_NOISY_WORK_MAX / work));
	struct patterns patterns = { NULL, 0, 0 };
	uint64_t state = 0;
	double sum = 0;
	size_t i;

	if (isinf(group->seconds) || noise <= 0)
		return group->seconds;
	patterns = patterns_of(wish, group);
	for (i = 0; i < times; i++)
		sum += slowest_noisy(wish, group, &patterns, noise, &state);
	free(patterns.list);
	return sum / (double)times;
}

/* INFINITY seconds if the way cannot hold the longest. */
static struct hotspa_plan_group play_best(const struct hotspa_plan_wish *wish, size_t way,
					  size_t from, size_t until)
{
	const uint64_t bounds[] = { wish->lengths[from].tokens, wish->ways[way].tokens };
	struct hotspa_plan_group best = { from, until, way, 0, 0, INFINITY, INFINITY };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bounds) && bounds[0] <= bounds[1]; i++) {
		struct hotspa_plan_group group = { from, until, way, bounds[i], 0, 0, 0 };

		play(wish, &group);
		if (group.seconds < best.seconds)
			best = group;
	}
	return best;
}

struct hotspa_plan_group hotspa_plan_alone(const struct hotspa_plan_wish *wish, size_t way)
{
	return play_best(wish, way, 0, wish->n);
}

static int check(const struct hotspa_plan_wish *wish, struct err *err)
{
	uint64_t total = 0;
	size_t i;

	if (wish->n == 0 || wish->n > HOTSPA_PLAN_LENGTHS_MAX)
		return err_set(err, EINVAL, "%zu lengths: expected 1 to %d", wish->n,
			       HOTSPA_PLAN_LENGTHS_MAX);
	if (wish->n_ways == 0 || wish->n_ways > HOTSPA_PLAN_PLANS_MAX)
		return err_set(err, EINVAL, "%zu plans: expected 1 to %d", wish->n_ways,
			       HOTSPA_PLAN_PLANS_MAX);
	for (i = 0; i < wish->n; i++) {
		const struct hotspa_plan_length *length = &wish->lengths[i];

		if (length->count == 0 || length->count > HOTSPA_SEQUENCES_MAX - total)
			return err_set(
				err, EINVAL,
				"%ju sequences of %ju tokens: expected 1 to %d over all lengths",
				(uintmax_t)length->count, (uintmax_t)length->tokens,
				HOTSPA_SEQUENCES_MAX);
		if (length->tokens == 0 || length->tokens > HOTSPA_PLAN_TOKENS_MAX ||
		    (i > 0 && length->tokens >= wish->lengths[i - 1].tokens))
			return err_set(err, EINVAL,
				       "lengths[%zu]: %ju is not smaller than the one before", i,
				       (uintmax_t)length->tokens);
		total += length->count;
	}
	return 0;
}

/* Least seconds for lengths before `until` with exactly the ways of a set, and the last group. */
struct best {
	double seconds;
	struct hotspa_plan_group last;
};

static size_t at(size_t set, size_t until)
{
	return set * (HOTSPA_PLAN_LENGTHS_MAX + 1) + until;
}

/* All sets, smaller before larger: best[at(set, until)]. */
static void find_best(const struct hotspa_plan_wish *wish, struct best *best)
{
	size_t sets = (size_t)1 << wish->n_ways, way, from, until, set;

	for (set = 0; set < sets; set++)
		for (until = 0; until <= wish->n; until++)
			best[at(set, until)].seconds = set == 0 && until == 0 ? 0 : INFINITY;
	/* Each group is simulated once, and combined with all sets that it may follow. */
	for (from = 0; from < wish->n; from++) {
		for (way = 0; way < wish->n_ways; way++) {
			for (until = from + 1; until <= wish->n; until++) {
				struct hotspa_plan_group last = play_best(wish, way, from, until);

				for (set = 0; set < sets; set++) {
					struct best *to = &best[at(set | (size_t)1 << way, until)];
					double seconds = best[at(set, from)].seconds + last.seconds;

					if (!(set >> way & 1) && seconds < to->seconds)
						*to = (struct best){ seconds, last };
				}
			}
		}
	}
}

/* The ways of a set in the cheapest order of switches, from `first` and back to it. */
static int order_of(const struct hotspa_plan_wish *wish, size_t set, size_t first,
		    struct hotspa_plan *plan, struct err *err)
{
	double cost[HOTSPA_PLAN_PLANS_MAX * HOTSPA_PLAN_PLANS_MAX] = { 0 };
	size_t ways[HOTSPA_PLAN_PLANS_MAX] = { 0 }, n = 0, begin = 0, i, k;
	int r;

	for (i = 0; i < wish->n_ways; i++) {
		if (!(set >> i & 1))
			continue;
		begin = i == first ? n : begin;
		ways[n++] = i;
	}
	for (i = 0; i < n; i++)
		for (k = 0; k < n; k++)
			cost[i * n + k] = wish->cost[ways[i] * wish->n_ways + ways[k]];
	r = hotspa_order(cost, n, begin, plan->order, &plan->switches, err);
	for (i = 0; i <= n && r == 0; i++)
		plan->order[i] = ways[plan->order[i]];
	return r;
}

/* Follows the last groups back to the first length. */
static void take_groups(const struct hotspa_plan_wish *wish, const struct best *best, size_t set,
			struct hotspa_plan *plan)
{
	size_t until = wish->n, n = (size_t)__builtin_popcountl(set), i;

	plan->n = n;
	for (i = n; i-- > 0;) {
		plan->groups[i] = best[at(set, until)].last;
		until = plan->groups[i].from;
		set &= ~((size_t)1 << plan->groups[i].way);
	}
}

static int try_set(const struct hotspa_plan_wish *wish, const struct best *best, size_t set,
		   struct hotspa_plan *plan, struct err *err)
{
	struct hotspa_plan tried = *plan;
	double seconds = best[at(set, wish->n)].seconds;
	int r;

	if (isinf(seconds))
		return 0;
	take_groups(wish, best, set, &tried);
	r = order_of(wish, set, tried.groups[0].way, &tried, err);
	tried.total = seconds + tried.switches;
	if (r == 0 && tried.total < plan->total * (1 - GAINED))
		*plan = tried;
	return r;
}

int hotspa_plan_find(const struct hotspa_plan_wish *wish, struct hotspa_plan *ret_plan,
		     struct err *err)
{
	CLEANUP(freep) struct best *best = NULL;
	struct hotspa_plan plan = { .total = INFINITY };
	size_t sets = (size_t)1 << MIN(wish->n_ways, (size_t)HOTSPA_PLAN_PLANS_MAX), n, i, set;
	int r = check(wish, err);

	if (r < 0)
		return r;
	plan.single.seconds = INFINITY;
	for (i = 0; i < wish->n_ways; i++) {
		struct hotspa_plan_group alone = hotspa_plan_alone(wish, i);

		if (alone.seconds < plan.single.seconds)
			plan.single = alone;
	}
	best = xcalloc(at(SETS_MAX, 0), sizeof(*best));
	find_best(wish, best);
	for (n = 1; n <= wish->n_ways && r == 0; n++)
		for (set = 1; set < sets && r == 0; set++)
			if ((size_t)__builtin_popcountl(set) == n)
				r = try_set(wish, best, set, &plan, err);
	if (r == 0 && plan.n == 0)
		return err_set(err, ERANGE, "no plan holds a sequence of %ju tokens",
			       (uintmax_t)wish->lengths[0].tokens);
	if (r == 0)
		*ret_plan = plan;
	return r;
}
