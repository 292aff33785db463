/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "lib/base/xalloc.h"
#include "probes/gemm/gemm_ballot.h"
#include "tests/unit/test.h"

enum { VOTERS_MAX = 9 };

/*
 * Each word is a voter, each digit the version of a run: "00 01" are two that ran twice. Expected
 * is a letter for each: r right, w wrong, u undecided, - absent; and the wrong runs.
 */
static const struct {
	const char *runs, *verdicts;
	unsigned n_wrong[VOTERS_MAX];
	int right; /* -1: none */
} cases[] = {
	{ "0", "r", { 0 }, 0 },
	{ "000", "r", { 0 }, 0 },
	{ "00 00 00", "rrr", { 0 }, 0 },
	/* The minority, whoever came first. */
	{ "00 11 00", "rwr", { 0, 2, 0 }, 0 },
	{ "00 11 11", "wrr", { 2, 0, 0 }, 1 },
	{ "0 0 0 1 0 0 0 0", "rrrwrrrr", { 0, 0, 0, 1 }, 0 },
	{ "0 0 1 2 0 0 0 3", "rrwwrrrw", { 0, 0, 1, 1, 0, 0, 0, 1 }, 0 },
	/* One run of many. */
	{ "0000 0010 0000", "rwr", { 0, 1, 0 }, 0 },
	{ "0010 0000", "wr", { 1, 0 }, 0 },
	{ "0100", "w", { 1 }, 0 },
	/* Two that differ. */
	{ "00 11", "uu", { 0, 0 }, -1 },
	{ "0 1", "uu", { 0, 0 }, -1 },
	{ "0 1 2", "uuu", { 0, 0, 0 }, -1 },
	{ "00 00 11 11", "uuuu", { 0, 0, 0, 0 }, -1 },
	/* Of two who differ the one that differs from itself too is the one. */
	{ "0001 2222", "wr", { 4, 0 }, 2 },
	{ "0123 4444", "wr", { 4, 0 }, 4 },
	{ "0000 1112", "rw", { 0, 4 }, 0 },
	/* Both do: both are wrong, and what is right nobody knows. */
	{ "0001 2223", "ww", { 1, 1 }, -1 },
	{ "01 23", "ww", { 1, 1 }, -1 },
	{ "01", "w", { 1 }, -1 },
	/* Who is known to be wrong (!) has no voice, who was not there (-) neither. */
	{ "00! 11", "wr", { 2, 0 }, 1 },
	{ "00! 00! 11", "wwr", { 2, 2, 0 }, 1 },
	{ "- 00 11 11", "-wrr", { 0, 2, 0, 0 }, 1 },
	{ "- 00", "-r", { 0, 0 }, 0 },
	{ "-", "-", { 0 }, -1 },
};

static unsigned read_voters(const char *text, struct gemm_voter *voters)
{
	unsigned n = 0;

	for (; *text; text += *text == ' ') {
		struct gemm_voter *v = &voters[n++];

		for (; *text && *text != ' '; text++) {
			v->silent |= *text == '!';
			if (*text >= '0' && *text <= '9')
				v->versions[v->n_runs++] = (unsigned)(*text - '0');
		}
	}
	return n;
}

static void the_minority_is_wrong_and_a_tie_is_undecided(void)
{
	size_t c;

	for (c = 0; c < ARRAY_SIZE(cases); c++) {
		struct gemm_voter voters[VOTERS_MAX] = { 0 };
		unsigned n = read_voters(cases[c].runs, voters), right = 99, i;
		char verdicts[VOTERS_MAX + 1] = "";
		bool found = gemm_ballot(voters, n, &right);

		for (i = 0; i < n; i++) {
			verdicts[i] = "-rwu"[voters[i].verdict];
			if (voters[i].n_wrong != cases[c].n_wrong[i])
				CHECK_STR(cases[c].runs, "with other wrong runs");
		}
		if (!streq(verdicts, cases[c].verdicts))
			(void)fprintf(stderr, "%s:\n", cases[c].runs);
		CHECK_STR(verdicts, cases[c].verdicts);
		CHECK_EQ(found, cases[c].right >= 0);
		CHECK(!found || right == (unsigned)cases[c].right);
	}
}

static void the_first_wrong_run_is_told(void)
{
	struct gemm_voter voters[2] = {
		{ .n_runs = 5, .versions = { 0, 0, 0, 2, 1 } },
		{ .n_runs = 5 },
	};
	unsigned right;

	CHECK(gemm_ballot(voters, 2, &right));
	CHECK_EQ(voters[0].first, 3);
	CHECK_EQ(voters[0].n_wrong, 2);
}

static void a_version_is_known_again_by_its_differences(void)
{
	struct gemm_versions versions = { 0 };
	const struct gemm_version none = { 0 }, a = { .hash = 5, .count = 1, .at = 7 },
				  b = { .hash = 6, .count = 1, .at = 7 },
				  c = { .hash = 5, .count = 2, .at = 7 };
	unsigned i;

	CHECK_EQ(gemm_versions_add(&versions, &none), 0);
	CHECK_EQ(gemm_versions_add(&versions, &a), 1);
	CHECK_EQ(gemm_versions_add(&versions, &b), 2);
	CHECK_EQ(gemm_versions_add(&versions, &c), 3);
	CHECK_EQ(gemm_versions_add(&versions, &b), 2);
	CHECK_EQ(gemm_versions_add(&versions, &none), 0);
	for (i = 0; i < 2 * GEMM_VERSIONS_MAX; i++)
		(void)gemm_versions_add(&versions, &(struct gemm_version){ .hash = 100 + i });
	CHECK_EQ(versions.n, GEMM_VERSIONS_MAX);
	CHECK_EQ(gemm_versions_add(&versions, &(struct gemm_version){ .hash = 4 }),
		 GEMM_VERSIONS_MAX - 1);
	CHECK_EQ(gemm_versions_add(&versions, &a), 1);
}

/* What differs between two versions follows from what sets each apart from the first. */
static void the_element_and_both_values_are_told_of_any_two_versions(void)
{
	static const struct gemm_versions versions = {
		.n = 6,
		.list = { { 0 },
			  { .hash = 1, .count = 3, .at = 10, .is = 1.5, .was = 1 },
			  { .hash = 2, .count = 1, .at = 20, .is = 2.5, .was = 2 },
			  { .hash = 3, .count = 1, .at = 10, .is = 3.5, .was = 1 },
			  { .hash = 4, .count = 2, .at = 10, .is = 1.5, .was = 1 },
			  { .hash = 5, .count = 1, .at = 5, .is = NAN, .was = 9 } },
	};
	static const struct {
		unsigned a, b;
		bool told;
		uint64_t at;
		double is, was;
	} pairs[] = {
		{ 1, 0, true, 10, 1.5, 1 },   { 0, 1, true, 10, 1, 1.5 },
		{ 1, 2, true, 10, 1.5, 1 },   { 2, 1, true, 10, 1, 1.5 },
		{ 1, 3, true, 10, 1.5, 3.5 }, { 3, 1, true, 10, 3.5, 1.5 },
		{ 1, 4, false, 0, 0, 0 },     { 1, 1, false, 0, 0, 0 },
		{ 0, 0, false, 0, 0, 0 },     { 5, 1, true, 5, NAN, 9 },
		{ 1, 5, true, 5, 9, NAN },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++) {
		struct gemm_version d = { 0 };
		bool told = gemm_versions_differ(&versions, pairs[i].a, pairs[i].b, &d);

		CHECK_EQ(told, pairs[i].told);
		if (!told)
			continue;
		CHECK_EQ(d.at, pairs[i].at);
		CHECK(isnan(pairs[i].is) ? isnan(d.is) : d.is == pairs[i].is);
		CHECK(isnan(pairs[i].was) ? isnan(d.was) : d.was == pairs[i].was);
	}
}

static const struct test tests[] = {
	TEST(the_minority_is_wrong_and_a_tie_is_undecided),
	TEST(the_first_wrong_run_is_told),
	TEST(a_version_is_known_again_by_its_differences),
	TEST(the_element_and_both_values_are_told_of_any_two_versions),
};

TEST_SUITE(tests);
