/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/coverage_codec.h"

#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static void only_what_passed_is_listed_and_comes_back(void)
{
	struct report report = report_make();
	static const double cores[] = { 70, 71, 72, 10, 70, 71, 72, 70 };
	CLEANUP(freep) char *text = NULL;
	CLEANUP(pool_release) struct pool pool = { 0 };
	struct verdict back = { .borrows = true };
	const struct verdict *v;

	report_put_cores(&report, cores, ARRAY_SIZE(cores));
	v = judged(&report, NULL);
	text = coverage_codec_encode(v);
	CHECK_EQ(coverage_codec_count(text), ARRAY_SIZE(cores) - 1);
	CHECK(strstr(text, "cpu:3") == NULL);
	back.items = xcalloc(coverage_codec_count(text), sizeof(*back.items));
	coverage_codec_decode(text, &pool, &back);
	CHECK_EQ(back.n_items, ARRAY_SIZE(cores) - 1);
	CHECK_EQ(item_level(&back, "gemm.rate", "cpu:0"), VERDICT_PASS);
	CHECK_STR(item_find(&back, "gemm.rate", "cpu:7")->unit, "FLOP/s");
	verdict_release(&back);
	report_release(&report);
	judged_done();
}

static void what_a_value_was_held_against_comes_back(void)
{
	static const char text[] = "a\tb\tc\tf\na\td\tc\to\ne\tb\tc\tn\ng\tb\tc\nh\tb\tc\tN\n";
	static const int held[] = { HELD_FLEET, HELD_NOT, HELD_NEVER, HELD_UNKNOWN, HELD_NEVER };
	struct verdict v = { .items = xcalloc(ARRAY_SIZE(held), sizeof(*v.items)), .borrows = true };
	CLEANUP(pool_release) struct pool pool = { 0 };
	CLEANUP(freep) char *again = NULL;
	size_t i;

	coverage_codec_decode(text, &pool, &v);
	CHECK_EQ(v.n_items, ARRAY_SIZE(held));
	for (i = 0; i < v.n_items; i++)
		CHECK_EQ(v.items[i].held, held[i]);
	for (i = 0; i < v.n_items; i++)
		CHECK_EQ(v.items[i].unjudged, i == 4); /* measured, and not judged */
	again = coverage_codec_encode(&v);
	CHECK_STR(again, text);
	verdict_release(&v);
}

static void broken_lines_end_the_list(void)
{
	static const struct {
		const char *text;
		size_t n;
	} rows[] = {
		{ "", 0 },
		{ "a", 0 },
		{ "a\tb\n", 0 },
		{ "a\tb\tc", 0 },
		{ "a\tb\t\n", 1 },
		{ "a\tb\tc\nx\n", 1 },
		{ "a\tb\tc\n1\t2\t3\n", 2 },
		{ "a\tb\tc\tf\n1\t2\t3\n", 2 },
		{ "a\tb\tc\tx\n1\t2\t3\n", 0 },
		{ "a\tb\tc\tff\n", 0 },
		{ "a\tb\tc\t\n", 0 },
		{ "a\tb\tc\tf", 0 },
		{ "a\tb\tc\tf\tf\n", 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(pool_release) struct pool pool = { 0 };
		struct verdict v = { .items = xcalloc(4, sizeof(*v.items)), .borrows = true };

		coverage_codec_decode(rows[i].text, &pool, &v);
		CHECK_EQ(v.n_items, rows[i].n);
		verdict_release(&v);
	}
}

static const struct test tests[] = {
	TEST(only_what_passed_is_listed_and_comes_back),
	TEST(what_a_value_was_held_against_comes_back),
	TEST(broken_lines_end_the_list),
};

TEST_SUITE(tests);
