/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/job/group_brought.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/policy/blame.h"
#include "lib/policy/pair_rungs.h"
#include "tests/unit/test.h"

/* A campaign of a, b, c and d, and e, which left; all but e were measured. */
static json_t *campaign_of(const char *blames)
{
	json_t *campaign =
		json_pack("{s:[{s:s, s:b}, {s:s, s:b}, {s:s, s:b}, {s:s, s:b}, {s:s, s:b}], "
			  "s:[{s:[{s:[s, s, s], s:s}, {s:[s, s], s:s}]}], s:s}",
			  "nodes", "node", "a", "gone", 0, "node", "b", "gone", 0, "node", "c",
			  "gone", 0, "node", "d", "gone", 0, "node", "e", "gone", 1, "rounds",
			  "groups", "nodes", "a", "b", "c", "state", "measured", "nodes", "a", "d",
			  "state", "failed", "sentence", "that is all");

	(void)json_object_set_new(campaign, "blames", json_loads(blames, 0, NULL));
	return campaign;
}

static const struct {
	const char *blames, *host;
	int end;
	const char *why;
} rows[] = {
	{ "[]", "a", END_GOOD, NULL },
	{ "[{\"kind\": \"node\", \"node\": \"a\"}]", "a", END_BAD, NULL },
	{ "[{\"kind\": \"link\", \"node\": \"a\"}]", "a", END_BAD, NULL },
	{ "[{\"kind\": \"node\", \"node\": \"a\"}]", "b", END_GOOD, NULL },
	/* Named is also who left after it was shown. */
	{ "[{\"kind\": \"node\", \"node\": \"e\"}]", "e", END_BAD, NULL },
	{ "[{\"kind\": \"undecided\", \"node\": \"a\", \"sentence\": \"why\"}]", "a", END_UNKNOWN,
	  "why" },
	{ "[{\"kind\": \"undecided\", \"node\": \"a\", \"sentence\": \"why\"}]", "b", END_GOOD,
	  NULL },
	{ "[{\"kind\": \"undecided\", \"node\": null, \"sentence\": \"who knows\"}]", "b",
	  END_UNKNOWN, "who knows" },
	{ "[{\"kind\": \"switch\", \"node\": null, \"sentence\": \"leaf-1\"}]", "b", END_BETWEEN,
	  NULL },
	{ "[{\"kind\": \"switch\", \"node\": null}, {\"kind\": \"node\", \"node\": \"b\"}]", "b",
	  END_BAD, NULL },
};

static void who_is_named_is_bad_and_the_rest_is_good_unless_nobody_knows(void)
{
	const char *why;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep) json_t *campaign = campaign_of(rows[i].blames);

		CHECK_EQ(group_brought_end(campaign, rows[i].host, &why), rows[i].end);
		if (rows[i].why)
			CHECK_STR(why, rows[i].why);
		else
			CHECK(!why);
	}
}

static void of_who_was_not_measured_nothing_is_known(void)
{
	static const char *const hosts[] = { "d", "e", "f" };
	CLEANUP(json_freep) json_t *campaign = campaign_of("[]");
	const char *why;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hosts); i++) {
		CHECK_EQ(group_brought_end(campaign, hosts[i], &why), END_UNKNOWN);
		CHECK_STR(why, pair_rungs_tells(PAIR_WHY_NOT_MEASURED));
	}
	CHECK_EQ(group_brought_end(NULL, "a", &why), END_UNKNOWN);
}

static void it_says_whose_fault_it_is_in_one_sentence(void)
{
	CLEANUP(json_freep) json_t *campaign = campaign_of("[]");
	CLEANUP(json_freep)
	json_t *of_switch = campaign_of("[{\"kind\": \"switch\", \"sentence\": \"leaf-1\"}]");
	CLEANUP(freep) char *words = group_brought_words(campaign);
	CLEANUP(freep) char *cloud = group_brought_words(of_switch);
	CLEANUP(freep) char *none = group_brought_words(NULL);

	CHECK_STR(words, "that is all");
	CHECK_STR(cloud, "leaf-1");
	CHECK_STR(none, "the campaign gave no result");
}

static const struct test tests[] = {
	TEST(who_is_named_is_bad_and_the_rest_is_good_unless_nobody_knows),
	TEST(of_who_was_not_measured_nothing_is_known),
	TEST(it_says_whose_fault_it_is_in_one_sentence),
};

TEST_SUITE(tests);
