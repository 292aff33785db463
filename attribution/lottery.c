/* SPDX-License-Identifier: Apache-2.0 */
#include "attribution/lottery.h"

#include <math.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"

/* What takes less than this is too short to compare, in seconds. */
#define SHORTEST 1e-7

/* A spread below this part of good silicon's is no better known. */
#define LEAST 0.05

/* The variance of a median over that of one of many that are normally distributed: pi / 2. */
#define MEDIAN 1.5708

/* One stage while levels are looked for. */
struct stage {
	size_t n;	 /* others */
	double variance; /* of its median, in those of one host */
};

struct finder {
	struct lottery *lottery;
	const bool *left_out;
	double *values;	      /* owned: room for all workers */
	struct stage *stages; /* owned */
	double squares;	      /* of relative distances from the medians of stages */
	size_t free, used;    /* others: beyond the first of each stage; stages that have any */
};

static void finder_release(struct finder *finder)
{
	free(finder->values);
	free(finder->stages);
}

static double time_of(const struct pace *pace, size_t worker)
{
	size_t stage = worker % pace->trace->job.pp, type;
	double time = 0;

	for (type = 0; type < OPTYPE_N; type++) {
		if (optype_is_compute((enum optype)type))
			time += pace->count[stage * OPTYPE_N + type] *
				pace->mean[worker * OPTYPE_N + type];
	}
	return time;
}

/* The times of the others of some stages into finder.values; returns how many. */
static size_t times_of(struct finder *finder, size_t begin, size_t end)
{
	const struct pace *pace = finder->lottery->pace;
	size_t dp = pace->trace->job.dp, pp = pace->trace->job.pp, stage, d, n = 0;

	for (stage = begin; stage < end; stage++) {
		for (d = 0; d < dp; d++) {
			if (!finder->left_out[d * pp + stage])
				finder->values[n++] = time_of(pace, d * pp + stage);
		}
	}
	return n;
}

/* Of one it is that of the one, of many pi / 2n. */
static double variance_of_median(size_t n)
{
	return MEDIAN / ((double)n + MEDIAN - 1);
}

static void find_stage(struct finder *finder, size_t stage)
{
	size_t n = times_of(finder, stage, stage + 1), i;
	double level = n ? cost_median(finder->values, n) : 0;

	if (level <= SHORTEST)
		return;
	for (i = 0; i < n; i++)
		finder->squares += pow(finder->values[i] / level - 1, 2);
	finder->stages[stage] = (struct stage){ n, variance_of_median(n) };
	finder->lottery->level[stage] = level;
	finder->free += n - 1;
	finder->used++;
}

static double spread_of(const struct finder *finder, double usual)
{
	double seen = finder->free ? sqrt(finder->squares / (double)finder->free) : usual;
	double weight = LOTTERY_WEIGHT, free = (double)finder->free;

	seen = MAX(seen, LEAST * usual);
	return exp((weight * log(usual) + free * log(seen)) / (weight + free));
}

/* The variance between stages beyond what their medians have by chance, relative. */
static double between_stages(const struct finder *finder)
{
	const struct lottery *lottery = finder->lottery;
	size_t pp = lottery->pace->trace->job.pp, stage;
	double n = (double)finder->used, mean = 0, seen = 0, chance = 0;

	for (stage = 0; stage < pp; stage++)
		mean += lottery->level[stage] / n;
	for (stage = 0; stage < pp; stage++) {
		if (finder->stages[stage].n == 0)
			continue;
		seen += pow(lottery->level[stage] / mean - 1, 2) / (n - 1);
		chance += finder->stages[stage].variance * pow(lottery->spread, 2) / n;
	}
	return MAX(seen - chance, 0);
}

static void draw_together(struct finder *finder)
{
	struct lottery *lottery = finder->lottery;
	size_t pp = lottery->pace->trace->job.pp, stage;
	double between, all;

	if (finder->used < 2)
		return;
	between = between_stages(finder);
	all = cost_median(finder->values, times_of(finder, 0, pp));
	for (stage = 0; stage < pp; stage++) {
		double chance = finder->stages[stage].variance * pow(lottery->spread, 2);

		if (finder->stages[stage].n)
			lottery->level[stage] =
				all + (lottery->level[stage] - all) * between / (between + chance);
	}
}

double lottery_ratio(const struct lottery *lottery, size_t worker)
{
	double level = lottery->level[worker % lottery->pace->trace->job.pp];

	return level > 0 ? time_of(lottery->pace, worker) / level : 1;
}

struct lottery lottery_of(const struct pace *pace, const bool *left_out, double spread)
{
	size_t pp = pace->trace->job.pp, n = (size_t)pace->trace->job.dp * pp, i;
	struct lottery lottery = { .pace = pace, .level = xcalloc(pp, sizeof(*lottery.level)) };
	CLEANUP(finder_release)
	struct finder finder = { .lottery = &lottery,
				 .left_out = left_out,
				 .values = xcalloc(n, sizeof(*finder.values)),
				 .stages = xcalloc(pp, sizeof(*finder.stages)) };

	for (i = 0; i < pp; i++)
		find_stage(&finder, i);
	lottery.spread = spread_of(&finder, spread);
	draw_together(&finder);
	for (i = 0; i < n; i++) {
		if (!left_out[i])
			lottery.most = MAX(lottery.most, lottery_ratio(&lottery, i));
	}
	return lottery;
}

void lottery_release(struct lottery *lottery)
{
	free(lottery->level);
	*lottery = (struct lottery){ 0 };
}
