/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/policy/pair_rungs.h"

#include "tests/unit/test.h"

enum { ENDS_TRIED = 3 };

static void put(struct pair_rungs *in, size_t a, size_t b, int pair)
{
	in->pairs[a][b] = in->pairs[b][a] = pair;
}

/* Calls `check` with all that pairs of so many hosts can say. Returns how often. */
static size_t for_all(size_t n_ends, size_t n_thirds, void (*check)(const struct pair_rungs *))
{
	const size_t hosts = n_ends + n_thirds;
	size_t n = 1, i, a, b;

	for (i = 0; i < hosts * (hosts - 1) / 2; i++)
		n *= PAIRS;
	for (i = 0; i < n; i++) {
		struct pair_rungs in = { .n_ends = n_ends, .n_thirds = n_thirds };
		size_t left = i;

		for (a = 0; a < hosts; a++) {
			for (b = a + 1; b < hosts; b++, left /= PAIRS)
				put(&in, a, b, (int)(left % PAIRS));
		}
		check(&in);
	}
	return n;
}

static void for_each_size(void (*check)(const struct pair_rungs *))
{
	size_t ends, thirds, n = 0;

	for (ends = 1; ends <= ENDS_TRIED; ends++) {
		for (thirds = 0; thirds <= PAIR_RUNGS_THIRDS_MAX; thirds++)
			n += for_all(ends, thirds, check);
	}
	CHECK_EQ(n, 1 + 3 + 27 + 3 + 27 + 729 + 27 + 729 + 59049);
}

static struct pair_rungs_answer answer(const struct pair_rungs *in)
{
	struct pair_rungs_answer ret;

	pair_rungs_decide(in, &ret);
	return ret;
}

static size_t with(const struct pair_rungs *in, size_t host, int pair, size_t first, size_t but)
{
	size_t n = 0, i;

	for (i = first; i < in->n_ends + in->n_thirds; i++)
		n += i != host && i != but && in->pairs[host][i] == pair;
	return n;
}

/* ---- what holds of all inputs ------------------------------------------------- */

static void check_bad(const struct pair_rungs *in)
{
	const struct pair_rungs_answer a = answer(in);
	size_t i, t, sound;

	for (i = 0; i < in->n_ends; i++) {
		if (a.ends[i] != END_BAD)
			continue;
		for (t = in->n_ends, sound = 0; t < in->n_ends + in->n_thirds; t++)
			sound += in->pairs[i][t] == PAIR_LOW && with(in, t, PAIR_GOOD, 0, i) > 0;
		CHECK(sound > 0);
		CHECK(with(in, i, PAIR_LOW, 0, i) >= 2);
		CHECK_EQ(with(in, i, PAIR_GOOD, 0, i), 0);
	}
}

static void nobody_is_bad_without_a_third_that_is_good_with_others(void)
{
	for_each_size(check_bad);
}

static bool is_good(int end)
{
	return end == END_GOOD || end == END_BETWEEN;
}

static void check_good(const struct pair_rungs *in)
{
	const struct pair_rungs_answer a = answer(in);
	size_t i, j;

	for (i = 0; i < in->n_ends; i++) {
		if (!is_good(a.ends[i]))
			continue;
		CHECK(with(in, i, PAIR_GOOD, in->n_ends, i) > 0);
		for (j = 0; j < in->n_ends; j++) {
			if (j != i && in->pairs[i][j] != PAIR_GOOD)
				CHECK(a.ends[j] == END_BAD || a.ends[i] == END_BETWEEN);
			if (j != i && in->pairs[i][j] == PAIR_NOT_MEASURED)
				CHECK_EQ(a.ends[j], END_BAD);
		}
	}
}

static void nobody_is_good_without_a_third_or_with_what_was_not_measured(void)
{
	for_each_size(check_good);
}

/* Slow with everybody, the other third among them: it is passed over. */
static bool is_passed_over(const struct pair_rungs *in, size_t third)
{
	return with(in, third, PAIR_GOOD, 0, third) == 0 &&
	       with(in, third, PAIR_LOW, 0, third) >= 2 &&
	       with(in, third, PAIR_LOW, in->n_ends, third) == in->n_thirds - 1;
}

static void check_one_worse(const struct pair_rungs *in, const struct pair_rungs *worse, size_t end)
{
	const int before = answer(in).ends[end], after = answer(worse).ends[end];
	size_t t;

	for (t = in->n_ends; t < in->n_ends + in->n_thirds; t++) {
		if (is_passed_over(in, t) != is_passed_over(worse, t))
			return;
	}
	CHECK(is_good(before) || !is_good(after));
}

/* Each of its own pairs, worse. */
static void check_worse(const struct pair_rungs *in)
{
	size_t i, j;
	int worse;

	for (i = 0; i < in->n_ends; i++) {
		for (j = 0; j < in->n_ends + in->n_thirds; j++) {
			for (worse = 0; j != i && worse < in->pairs[i][j]; worse++) {
				struct pair_rungs other = *in;

				if (worse == PAIR_NOT_MEASURED && in->pairs[i][j] == PAIR_LOW)
					continue; /* which of the two is worse? */
				put(&other, i, j, worse);
				check_one_worse(in, &other, i);
			}
		}
	}
}

static void worse_pairs_of_an_end_never_make_it_good(void)
{
	for_each_size(check_worse);
}

static void check_tells(const struct pair_rungs *in)
{
	const struct pair_rungs_answer a = answer(in);
	size_t i;

	for (i = 0; i < in->n_ends; i++) {
		CHECK(a.ends[i] >= 0 && a.ends[i] < ENDS);
		CHECK_EQ(pair_rungs_tells(a.why[i]) != NULL, a.ends[i] == END_UNKNOWN);
	}
}

static void every_end_is_told_or_what_would_tell(void)
{
	for_each_size(check_tells);
	CHECK(!pair_rungs_tells(PAIR_WHYS) && !pair_rungs_tells(-1));
}

/* Who is named does not depend on the order of the hosts. */
static void check_order(const struct pair_rungs *in)
{
	struct pair_rungs turned = *in;
	const size_t hosts = in->n_ends + in->n_thirds;
	struct pair_rungs_answer a, b;
	size_t i, j;

	for (i = 0; i < hosts; i++) {
		for (j = 0; j < hosts; j++) {
			const size_t x = i < in->n_ends ? in->n_ends - 1 - i
							: hosts - 1 - (i - in->n_ends);
			const size_t y = j < in->n_ends ? in->n_ends - 1 - j
							: hosts - 1 - (j - in->n_ends);

			turned.pairs[x][y] = in->pairs[i][j];
		}
	}
	a = answer(in);
	b = answer(&turned);
	for (i = 0; i < in->n_ends; i++) {
		CHECK_EQ(a.ends[i], b.ends[in->n_ends - 1 - i]);
		CHECK_EQ(a.why[i], b.why[in->n_ends - 1 - i]);
	}
}

static void the_order_of_hosts_changes_nothing(void)
{
	for_each_size(check_order);
}

/* ---- what people expect ------------------------------------------------------- */

enum { A, B, C, D };
#define GBPS 1e9

/* Of two ends and two thirds: rates of ab, ac, ad, bc, bd, cd; 0: broke off, below 0: not run. */
static struct pair_rungs_answer measured(const double *gbps, size_t n_thirds)
{
	static const size_t pairs[][2] = { { A, B }, { A, C }, { B, C },
					   { A, D }, { B, D }, { C, D } };
	struct pair_rungs in = { .n_ends = 2, .n_thirds = n_thirds };
	struct pair_rungs_rate rates[ARRAY_SIZE(pairs)];
	size_t n = 0, i;

	for (i = 0; i < (n_thirds == 2 ? 6U : 3U); i++) {
		if (gbps[i] >= 0)
			rates[n++] = (struct pair_rungs_rate){ pairs[i][0], pairs[i][1],
							       gbps[i] * GBPS, false };
	}
	pair_rungs_read(rates, n, &in);
	return answer(&in);
}

static const struct {
	const char *name;
	size_t n_thirds;
	double gbps[6]; /* ab ac bc ad bd cd */
	int a, b, why;
} cases[] = {
	{ "end A", 2, { 12, 12, 24, 12.5, 23.5, 24 }, END_BAD, END_GOOD, 0 },
	{ "end A, one third", 1, { 12, 12, 24 }, END_BAD, END_GOOD, 0 },
	{ "end A breaks off", 2, { 0, 0, 24, 0, 24, 24 }, END_BAD, END_GOOD, 0 },
	{ "end B", 2, { 12, 24, 12, 24, 12, 24 }, END_GOOD, END_BAD, 0 },
	{ "end B, one third", 1, { 12, 24, 12 }, END_GOOD, END_BAD, 0 },
	{ "both ends", 2, { 12, 12, 12, 12, 12, 24 }, END_BAD, END_BAD, 0 },
	{ "the pair", 2, { 12, 24, 24, 24, 24, 24 }, END_BETWEEN, END_BETWEEN, 0 },
	{ "the pair, one third", 1, { 12, 24, 24 }, END_BETWEEN, END_BETWEEN, 0 },
	{ "all fine", 2, { 24, 23.5, 24, 24.2, 24, 23 }, END_GOOD, END_GOOD, 0 },
	{ "a bad third", 2, { 24, 12, 12, 24, 24, 12 }, END_GOOD, END_GOOD, 0 },
	{ "one third, and it is bad", 1, { 24, 12, 12 }, END_UNKNOWN, END_UNKNOWN, PAIR_WHY_THIRD },
	{ "busy", 2, { 24, -1, -1, -1, -1, 24 }, END_UNKNOWN, END_UNKNOWN, PAIR_WHY_NOT_MEASURED },
	{ "the pair was busy",
	  2,
	  { -1, 24, 24, 24, 24, 24 },
	  END_UNKNOWN,
	  END_UNKNOWN,
	  PAIR_WHY_NOT_MEASURED },
	{ "nothing ran", 1, { -1, -1, -1 }, END_UNKNOWN, END_UNKNOWN, PAIR_WHY_NOT_MEASURED },
	{ "contradictions", 2, { 24, 24, 24, 12, 12, 24 }, END_UNKNOWN, END_UNKNOWN, PAIR_WHY_MIXED },
};

static void the_usual_cases(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct pair_rungs_answer got = measured(cases[i].gbps, cases[i].n_thirds);

		CHECK_STR(got.ends[A] == cases[i].a ? cases[i].name : "end A", cases[i].name);
		CHECK_STR(got.ends[B] == cases[i].b ? cases[i].name : "end B", cases[i].name);
		CHECK_STR(got.why[A] == cases[i].why ? cases[i].name : "why", cases[i].name);
	}
}

static void pairs_between_switches_are_held_against_such(void)
{
	const struct pair_rungs_rate rates[] = {
		{ A, B, 12, true }, { A, C, 24, false }, { B, D, 24, false },
		{ A, D, 12, true }, { B, C, 12, true },	 { C, D, 12, true },
	};
	struct pair_rungs in = { .n_ends = 2, .n_thirds = 2 };
	struct pair_rungs_answer got;

	pair_rungs_read(rates, ARRAY_SIZE(rates), &in);
	got = answer(&in);
	CHECK(got.ends[A] == END_GOOD && got.ends[B] == END_GOOD);
	/* The only one of its kind says nothing. */
	pair_rungs_read(rates, 3, &in);
	CHECK_EQ(in.pairs[A][B], PAIR_NOT_MEASURED);
	CHECK_EQ(in.pairs[B][D], PAIR_GOOD);
	/* Nor does one of a host that is not there. */
	in.n_thirds = 1;
	pair_rungs_read(rates, ARRAY_SIZE(rates), &in);
	CHECK_EQ(in.pairs[C][D], PAIR_NOT_MEASURED);
}

static const struct test tests[] = {
	TEST(nobody_is_bad_without_a_third_that_is_good_with_others),
	TEST(nobody_is_good_without_a_third_or_with_what_was_not_measured),
	TEST(worse_pairs_of_an_end_never_make_it_good),
	TEST(every_end_is_told_or_what_would_tell),
	TEST(the_order_of_hosts_changes_nothing),
	TEST(the_usual_cases),
	TEST(pairs_between_switches_are_held_against_such),
};

TEST_SUITE(tests);
