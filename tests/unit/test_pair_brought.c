/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/pair_brought.h"

#include <stdlib.h>

#include "controller/job/pair_record.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define GBPS 1e9

/* A campaign of a, b, c and d with these states and rates of ab, cd, ac, bd, ad, bc. */
static json_t *campaign_of(const char *const *states, const double *gbps)
{
	static const char *const pairs[][2] = { { "a", "b" }, { "c", "d" }, { "a", "c" },
						{ "b", "d" }, { "a", "d" }, { "b", "c" } };
	json_t *rounds = json_array();
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pairs); i++)
		(void)json_array_append_new(rounds, json_pack("{s:[{s:[s, s], s:s, s:f, s:b}]}",
							      "groups", "nodes", pairs[i][0],
							      pairs[i][1], "state", states[i],
							      "value", gbps[i] * GBPS, "cross", 0));
	return json_pack("{s:o}", "rounds", rounds);
}

static const char *const ran[] = { "measured", "measured", "measured",
				   "measured", "measured", "measured" };
static const char *const broke[] = { "failed",	 "measured", "failed",
				     "measured", "failed",   "measured" };
static const char *const busy[] = {
	"not-run", "not-run", "not-run", "not-run", "not-run", "not-run"
};

static const struct {
	const char *const *states;
	double gbps[6];
	int a, b;
	const char *words;
} rows[] = {
	{ ran,
	  { 12, 24, 12, 24, 12, 24 },
	  END_BAD,
	  END_GOOD,
	  "a is slow with all others, and c and d are good with "
	  "another host (12.0 GB/s to 24.0 "
	  "GB/s)" },
	{ broke,
	  { 0, 24, 0, 24, 0, 24 },
	  END_BAD,
	  END_GOOD,
	  "a is slow with all others, and c and d are good with "
	  "another host (0.00 B/s to 24.0 "
	  "GB/s)" },
	{ ran,
	  { 12, 24, 24, 24, 24, 24 },
	  END_BETWEEN,
	  END_BETWEEN,
	  "a and b are slow only with each other, and good with c "
	  "and d: check what lies "
	  "between them (12.0 GB/s to 24.0 GB/s)" },
	{ ran,
	  { 24, 24, 24, 24, 24, 24 },
	  END_GOOD,
	  END_GOOD,
	  "a and b are good with c and d and with each other (24.0 GB/s to 24.0 GB/s)" },
	{ busy,
	  { 0 },
	  END_UNKNOWN,
	  END_UNKNOWN,
	  "the pairs are not conclusive; conclusive would be: pairs "
	  "that complete, with nothing "
	  "else "
	  "running on the hosts" },
};

static void a_campaign_becomes_what_its_pairs_say(void)
{
	CLEANUP(json_freep) json_t *ends = json_pack("[s, s]", "a", "b");
	CLEANUP(json_freep) json_t *thirds = json_pack("[s, s]", "c", "d");
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep)
		json_t *campaign = campaign_of(rows[i].states, rows[i].gbps);
		CLEANUP(freep) struct pair_brought *b = xcalloc(1, sizeof(*b));
		CLEANUP(freep) char *words = NULL;

		pair_brought_read(campaign, ends, thirds, b);
		CHECK_EQ(b->answer.ends[0], rows[i].a);
		CHECK_EQ(b->answer.ends[1], rows[i].b);
		words = pair_brought_words(b, ends, thirds);
		CHECK_STR(words, rows[i].words);
	}
	CHECK_EQ(json_array_size(ends), 2);
}

static void one_that_is_abandoned_or_of_others_says_nothing(void)
{
	CLEANUP(json_freep) json_t *ends = json_pack("[s]", "x");
	CLEANUP(json_freep) json_t *thirds = json_pack("[s]", "y");
	CLEANUP(json_freep) json_t *campaign = campaign_of(ran, rows[0].gbps);
	CLEANUP(freep) struct pair_brought *b = xcalloc(1, sizeof(*b));

	pair_brought_read(NULL, ends, thirds, b);
	CHECK_EQ(b->n_rates, 0);
	CHECK_EQ(b->answer.ends[0], END_UNKNOWN);
	pair_brought_read(campaign, ends, thirds, b);
	CHECK_EQ(b->n_rates, 0);
}

static void names_are_told_as_people_say_them(void)
{
	static const struct {
		const char *json, *words;
	} names[] = { { "[]", "" },
		      { "[\"a\"]", "a" },
		      { "[\"a\", \"b\"]", "a and b" },
		      { "[\"a\", \"b\", \"c\"]", "a, b and c" } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		CLEANUP(json_freep) json_t *list = json_loads(names[i].json, 0, NULL);
		CLEANUP(freep) char *words = pair_record_names(list);

		CHECK_STR(words, names[i].words);
	}
}

static const struct test tests[] = {
	TEST(a_campaign_becomes_what_its_pairs_say),
	TEST(one_that_is_abandoned_or_of_others_says_nothing),
	TEST(names_are_told_as_people_say_them),
};

TEST_SUITE(tests);
