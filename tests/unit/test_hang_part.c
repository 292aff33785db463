/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts' documents on a hung job, decoded once and joined for each judging; rows of its ranks. */
#include "lib/hang/hang_part.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/hang/hang_json.h"
#include "lib/hang/hang_rows.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define HEAD "{\"format\": \"assay-hang/1\", \"node\": \"gpu-1\", \"job\": \"j\", "

static int read_part(const char *text, struct hang_part *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *doc = json_loads(text, 0, NULL);
	struct jval root = jval_root(doc, "hang");

	CHECK(doc);
	return hang_json_read(&root, ret, err);
}

static void join(struct hang_case *c, const char *text, int64_t world, bool strangers_only)
{
	const struct hang_part_options options = { world, strangers_only };
	CLEANUP(hang_part_release) struct hang_part part = { .n_groups = 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(read_part(text, &part, &err), 0);
	CHECK_EQ(hang_part_join(&part, &options, c, &err), 0);
	CHECK_STR(err.msg, "");
}

static void check_ranks(const struct hang_case *c, size_t group, const uint32_t *expected)
{
	size_t i;

	for (i = 0; i < c->groups[group].size; i++)
		CHECK_EQ(c->groups[group].ranks[i], expected[i]);
}

static void a_group_fills_up_by_places_and_is_the_one_that_is_listed(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	const uint32_t half[] = { HANG_NOBODY, 6, HANG_NOBODY }, whole[] = { 4, 6, 2 };

	join(&c,
	     HEAD "\"groups\": [{\"name\": \"g\", \"size\": 3}], \"ranks\": [{\"rank\": 6, "
		  "\"positions\": [{\"group\": 0, \"place\": 1, \"enqueued\": 5}]}]}",
	     HANG_UNKNOWN, false);
	CHECK_EQ(c.n_groups, 1);
	check_ranks(&c, 0, half);
	join(&c,
	     HEAD "\"groups\": [{\"name\": \"g\", \"size\": 3, \"ranks\": [4, null, null]}], "
		  "\"ranks\": [{\"rank\": 2, \"positions\": [{\"group\": 0, \"place\": 2}]}]}",
	     HANG_UNKNOWN, false);
	CHECK_EQ(c.n_groups, 1);
	check_ranks(&c, 0, whole);
	CHECK_EQ(c.groups[0].n_known, 3);
	/* All as a list, all by places, and others of the same name. */
	join(&c, HEAD "\"groups\": [{\"name\": \"g\", \"size\": 3, \"ranks\": [4, 6, 2]}]}",
	     HANG_UNKNOWN, false);
	join(&c,
	     HEAD "\"groups\": [{\"name\": \"g\", \"size\": 3}], \"ranks\": ["
		  "{\"rank\": 4, \"positions\": [{\"group\": 0, \"place\": 0}]},"
		  "{\"rank\": 6, \"positions\": [{\"group\": 0, \"place\": 1}]},"
		  "{\"rank\": 2, \"positions\": [{\"group\": 0, \"place\": 2}]}]}",
	     HANG_UNKNOWN, false);
	CHECK_EQ(c.n_groups, 1);
	join(&c, HEAD "\"groups\": [{\"name\": \"g\", \"size\": 3, \"ranks\": [4, 6, 3]}]}",
	     HANG_UNKNOWN, false);
	CHECK_EQ(c.n_groups, 2);
	check_ranks(&c, 0, whole);
}

static void who_cannot_be_is_nobody(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	const uint32_t expected[] = { 0, HANG_NOBODY, 3 };

	join(&c,
	     HEAD "\"world\": 9000, \"groups\": [{\"name\": \"g\", \"size\": 3, \"ranks\": [0, "
		  "8999, 3]}]}",
	     4, false);
	CHECK_EQ(c.n_ranks, 4);
	check_ranks(&c, 0, expected);
}

static void of_ranks_that_are_known_strangers_say_nothing(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	const struct hang_position *found;
	const uint32_t expected[] = { HANG_NOBODY, 1 };

	join(&c, HEAD "\"ranks\": [{\"rank\": 0, \"sources\": [\"process\"]}]}", HANG_UNKNOWN,
	     false);
	join(&c,
	     HEAD "\"missing\": [\"x\"], \"groups\": [{\"name\": \"g\", \"size\": 2}], \"ranks\": ["
		  "{\"rank\": 0, \"sources\": [\"ras\"], \"positions\": [{\"group\": 0, \"place\": "
		  "0, \"enqueued\": 7}]},"
		  "{\"rank\": 1, \"sources\": [\"ras\"], \"positions\": [{\"group\": 0, \"place\": "
		  "1, \"enqueued\": 8}], \"ops\": [{\"group\": 0, \"seq\": 8}]}]}",
	     HANG_UNKNOWN, true);
	CHECK_EQ(c.ranks[0].sources, HANG_PROCESS);
	CHECK_EQ(c.ranks[1].sources, HANG_RAS);
	CHECK(!hang_case_find(&c, 0, 0));
	found = hang_case_find(&c, 1, 0);
	CHECK_EQ(found ? found->enqueued : HANG_UNKNOWN, 8);
	CHECK_EQ(c.n_ops, 1);
	CHECK_EQ(c.ops[0].rank, 1);
	CHECK_EQ(c.n_missing, 0);
	check_ranks(&c, 0, expected);
	/* None is left: its group is not even begun. */
	join(&c,
	     HEAD "\"groups\": [{\"name\": \"other\", \"size\": 2}], \"ranks\": [{\"rank\": 1, "
		  "\"sources\": [\"ras\"]}]}",
	     HANG_UNKNOWN, true);
	CHECK_EQ(c.n_groups, 1);
}

static void a_place_is_one_ranks(void)
{
	static const char *const bad[] = {
		HEAD "\"groups\": [{\"name\": \"g\", \"size\": 2}], \"ranks\": ["
		     "{\"rank\": 0, \"positions\": [{\"group\": 0, \"place\": 1}]},"
		     "{\"rank\": 1, \"positions\": [{\"group\": 0, \"place\": 1}]}]}",
		HEAD "\"groups\": [{\"name\": \"g\", \"size\": 2, \"ranks\": [0, 1]}], \"ranks\": ["
		     "{\"rank\": 1, \"positions\": [{\"group\": 0, \"place\": 0}]}]}",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct hang_part part = { .n_groups = 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(read_part(bad[i], &part, &err), -EINVAL);
		CHECK_STR(err.msg, i == 0 ? "hang: rank 1: place 1 of groups[0] is rank 0's"
					  : "hang: rank 1: place 0 of groups[0] is rank 0's");
		CHECK_EQ(part.n_groups, 0);
	}
}

static void what_is_held_is_counted(void)
{
	CLEANUP(hang_part_release) struct hang_part small = { .n_groups = 0 };
	CLEANUP(hang_part_release) struct hang_part large = { .n_groups = 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(read_part(HEAD "\"groups\": [{\"name\": \"g\", \"size\": 16384}]}", &small, &err),
		 0);
	CHECK(hang_part_bytes(&small) < 4096);
	CHECK_EQ(read_part(HEAD "\"groups\": [{\"name\": \"g\", \"size\": 3, \"ranks\": [1, 2, "
				"null]}], \"ranks\": [{\"rank\": 1, \"gpu\": \"gpu 3\"}]}",
			   &large, &err),
		 0);
	CHECK_EQ(hang_part_bytes(&large) - hang_part_bytes(&small),
		 3 * sizeof(uint32_t) + sizeof(struct hang_part_rank) + sizeof(struct hang_rank));
}

/* Ranks 0 and 1 wait at 5 and 2 at 4: 3 has launched 3, and of 4 nothing is known. */
static void who_waits_at_one_number_waits_for_the_same(void)
{
	CLEANUP(hang_case_release) struct hang_case c = { .n_ranks = 0 };
	CLEANUP(freep) struct hang_row *rows = NULL;

	join(&c,
	     HEAD
	     "\"groups\": [{\"name\": \"g\", \"size\": 5, \"ranks\": [4, 3, 2, 1, 0]}], "
	     "\"ranks\": ["
	     "{\"rank\": 0, \"positions\": [{\"group\": 0, \"enqueued\": 5, \"completed\": 4}]},"
	     "{\"rank\": 1, \"positions\": [{\"group\": 0, \"enqueued\": 6, \"completed\": 4}]},"
	     "{\"rank\": 2, \"positions\": [{\"group\": 0, \"enqueued\": 4, \"completed\": 3}]},"
	     "{\"rank\": 3, \"positions\": [{\"group\": 0, \"enqueued\": 3, \"completed\": 3}]}"
	     "]}",
	     HANG_UNKNOWN, false);
	rows = hang_rows_new(&c);
	CHECK_EQ(rows[0].n_waits_for, 2);
	CHECK_EQ(rows[0].waits_for[0], 3);
	CHECK_EQ(rows[0].waits_for[1], 2);
	CHECK_EQ(rows[1].n_waits_for, 2);
	CHECK_EQ(rows[1].waits_for[0], 3);
	CHECK_EQ(rows[1].waits_for[1], 2);
	CHECK_EQ(rows[2].n_waits_for, 1);
	CHECK_EQ(rows[2].waits_for[0], 3);
	CHECK_EQ(rows[3].n_waits_for, 0);
}

static const struct test tests[] = {
	TEST(a_group_fills_up_by_places_and_is_the_one_that_is_listed),
	TEST(who_cannot_be_is_nobody),
	TEST(of_ranks_that_are_known_strangers_say_nothing),
	TEST(a_place_is_one_ranks),
	TEST(what_is_held_is_counted),
	TEST(who_waits_at_one_number_waits_for_the_same),
};

TEST_SUITE(tests);
