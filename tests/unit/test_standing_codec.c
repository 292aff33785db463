/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/standing_codec.h"

#include <stdlib.h>

#include "controller/store/store.h"
#include "lib/base/pool.h"
#include "lib/base/xalloc.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static const double cores[] = { 70, 71, 72, 10, 70, 71, 72, 70 };

static void release_all(struct verdict *verdicts, size_t n)
{
	while (n > 0)
		verdict_release(&verdicts[--n]);
}

static void what_is_written_comes_back(void)
{
	struct report report = report_make();
	CLEANUP(pool_release) struct pool pool = { 0 };
	CLEANUP(freep) char *text = NULL;
	struct verdict back[2] = { 0 };
	const struct verdict_item *item;

	report_put_cores(&report, cores, ARRAY_SIZE(cores));
	text = standing_codec_encode(judged(&report, NULL), 1);
	CHECK_EQ(standing_codec_decode(text, "other", &pool, back, 2), 1);
	CHECK_STR(back[0].node, "other");
	CHECK_STR(back[0].profile, "quick");
	CHECK_EQ(back[0].seq, 7);
	CHECK_EQ(back[0].n_items, ARRAY_SIZE(cores));
	CHECK_EQ(item_level(&back[0], "gemm.rate", "cpu:3"), VERDICT_FAIL);
	CHECK_EQ(item_level(&back[0], "gemm.rate", "cpu:7"), VERDICT_PASS);
	item = item_find(&back[0], "gemm.rate", "cpu:3");
	CHECK_HAS(item->sentence, "cpu:3");
	CHECK_EQ((int)item->value, 10);
	CHECK_STR(item_find(&back[0], "gemm.rate", "cpu:7")->time, report.time);
	release_all(back, 1);
	report_release(&report);
	judged_done();
}

static void nothing_is_no_text(void)
{
	CHECK(standing_codec_encode(NULL, 0) == NULL);
}

static void no_more_are_read_than_there_is_room_for(void)
{
	char node[] = "a", time[] = "2026-11-20T10:00:00Z", profile[] = "quick", none[] = "";
	struct verdict v = { .node = node, .time = time, .profile = profile, .sentence = none };
	struct verdict all[] = { v, v, v }, back[2] = { 0 };
	CLEANUP(pool_release) struct pool pool = { 0 };
	CLEANUP(freep) char *text = standing_codec_encode(all, 3);

	CHECK_EQ(standing_codec_decode(text, "a", &pool, back, 2), 2);
	release_all(back, 2);
}

static void broken_ones_are_left_out(void)
{
	static const char *const texts[] = { "",
					     "{}",
					     "[",
					     "[1]",
					     "[{}]",
					     "[{\"verdict\":{}}]",
					     "[null,{\"measured\":\"a\\tb\\tc\\n\"}]" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(pool_release) struct pool pool = { 0 };
		struct verdict back[2] = { 0 };

		CHECK_EQ(standing_codec_decode(texts[i], "a", &pool, back, 2), 0);
	}
}

static const struct test tests[] = {
	TEST(what_is_written_comes_back),
	TEST(nothing_is_no_text),
	TEST(no_more_are_read_than_there_is_room_for),
	TEST(broken_ones_are_left_out),
};

TEST_SUITE(tests);
