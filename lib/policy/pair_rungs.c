/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/pair_rungs.h"

/* --- what is low --- */

/* The best of one kind; `ret_n`: how many of it were measured. */
static double best_of(const struct pair_rungs_rate *rates, size_t n, bool cross, size_t *ret_n)
{
	double best = 0;
	size_t i;

	*ret_n = 0;
	for (i = 0; i < n; i++) {
		if (rates[i].cross != cross)
			continue;
		best = MAX(best, rates[i].value);
		(*ret_n)++;
	}
	return best;
}

void pair_rungs_read(const struct pair_rungs_rate *rates, size_t n, struct pair_rungs *ret)
{
	const size_t hosts = ret->n_ends + ret->n_thirds;
	size_t i;

	*ret = (struct pair_rungs){ .n_ends = ret->n_ends, .n_thirds = ret->n_thirds };
	for (i = 0; i < n; i++) {
		const struct pair_rungs_rate *one = &rates[i];
		size_t alike;
		const double best = best_of(rates, n, one->cross, &alike);
		const bool good = one->value >= best * (1 - PAIR_RUNGS_SLACK);

		if (alike < 2 || !(best > 0) || one->a >= hosts || one->b >= hosts)
			continue;
		ret->pairs[one->a][one->b] = good ? PAIR_GOOD : PAIR_LOW;
		ret->pairs[one->b][one->a] = ret->pairs[one->a][one->b];
	}
}

/* --- conclusions --- */

static size_t hosts_of(const struct pair_rungs *in)
{
	return in->n_ends + in->n_thirds;
}

/* The number of hosts from `first` on with which it has this kind of pair, except `but`. */
static size_t count(const struct pair_rungs *in, size_t host, int pair, size_t first, size_t but)
{
	size_t n = 0, i;

	for (i = first; i < hosts_of(in); i++)
		n += i != host && i != but && in->pairs[host][i] == pair;
	return n;
}

/* True if this third is slow with everybody it was measured with, including the other third. */
static bool is_bad_third(const struct pair_rungs *in, size_t third)
{
	const size_t low = count(in, third, PAIR_LOW, in->n_ends, third);

	return count(in, third, PAIR_GOOD, 0, third) == 0 && low + 1 == in->n_thirds &&
	       count(in, third, PAIR_LOW, 0, third) >= 2;
}

/* The number of good thirds with which it has this kind of pair. */
static size_t count_thirds(const struct pair_rungs *in, size_t end, int pair)
{
	size_t n = 0, i;

	for (i = in->n_ends; i < hosts_of(in); i++)
		n += in->pairs[end][i] == pair && !is_bad_third(in, i);
	return n;
}

/* True if it is slow with a third that is good with somebody else. */
static bool is_low_with_good(const struct pair_rungs *in, size_t end)
{
	size_t i;

	for (i = in->n_ends; i < hosts_of(in); i++) {
		if (in->pairs[end][i] == PAIR_LOW && count(in, i, PAIR_GOOD, 0, end) > 0)
			return true;
	}
	return false;
}

/* Judges an end by its pairs with all others. */
static int look_at(const struct pair_rungs *in, size_t end)
{
	if (is_low_with_good(in, end) && count(in, end, PAIR_GOOD, 0, end) == 0 &&
	    count(in, end, PAIR_LOW, 0, end) >= 2)
		return END_BAD;
	return count_thirds(in, end, PAIR_LOW) == 0 && count_thirds(in, end, PAIR_GOOD) > 0
		       ? END_GOOD
		       : END_UNKNOWN;
}

/*
 * For an end good with thirds: good with each other good end too, or END_BETWEEN if not with one.
 */
static int settle(const struct pair_rungs *in, size_t end, const int *looks)
{
	int ret = END_GOOD;
	size_t i;

	for (i = 0; i < in->n_ends; i++) {
		const int pair = in->pairs[end][i];

		if (i == end || looks[i] == END_BAD || pair == PAIR_GOOD)
			continue;
		if (pair == PAIR_NOT_MEASURED || looks[i] != END_GOOD)
			return END_UNKNOWN;
		ret = END_BETWEEN;
	}
	return ret;
}

static int why_of(const struct pair_rungs *in, size_t end)
{
	size_t i;

	if (in->n_thirds == 0)
		return PAIR_WHY_NO_THIRD;
	for (i = in->n_ends; i < hosts_of(in); i++) {
		if (is_bad_third(in, i))
			return PAIR_WHY_THIRD;
	}
	if (count(in, end, PAIR_NOT_MEASURED, 0, end) > 0)
		return PAIR_WHY_NOT_MEASURED;
	return PAIR_WHY_MIXED;
}

void pair_rungs_decide(const struct pair_rungs *in, struct pair_rungs_answer *ret)
{
	int looks[PAIR_RUNGS_ENDS_MAX] = { 0 };
	size_t i;

	*ret = (struct pair_rungs_answer){ .ends = { 0 } };
	for (i = 0; i < in->n_ends; i++)
		looks[i] = look_at(in, i);
	for (i = 0; i < in->n_ends; i++) {
		ret->ends[i] = looks[i] == END_GOOD ? settle(in, i, looks) : looks[i];
		ret->why[i] = ret->ends[i] == END_UNKNOWN ? why_of(in, i) : PAIR_WHY_NONE;
	}
}

const char *pair_rungs_tells(int why)
{
	static const char *const tells[PAIR_WHYS] = {
		[PAIR_WHY_NO_THIRD] = "pairs with a third host of its model that is idle, not in "
				      "the job, and passed the full profile within the last day",
		[PAIR_WHY_NOT_MEASURED] = "pairs that complete, with nothing else running on "
					  "the hosts",
		[PAIR_WHY_THIRD] =
			"pairs with another third host: the one used is slow with every other host",
		[PAIR_WHY_MIXED] = "pairs that agree with each other",
	};

	return why >= 0 && why < PAIR_WHYS ? tells[why] : NULL;
}
