/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/routes/metric_series.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

static const char *const keys[METRIC_LABELS] = { "sku", "check", "verdict" };

/* The lines; free it. */
static char *written(const struct metric_series *s, size_t most, bool sums)
{
	const struct metric_series_form form = { "f", keys, most, sums, 6 };
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	metric_series_write(s, &form, out);
	(void)fclose(out);
	return text;
}

static void add(struct metric_series *s, const char *sku, const char *check, const char *verdict,
		double value, uint64_t rank)
{
	const char *const labels[METRIC_LABELS] = { sku, check, verdict };

	metric_series_add(s, labels, value, rank);
}

static void equal_labels_are_one_series_and_lines_are_in_order(void)
{
	CLEANUP(metric_series_release) struct metric_series s = { 0 };
	CLEANUP(freep) char *text = NULL;

	add(&s, "b", "gemm.rate", "pass", 1, 1);
	add(&s, "a", "gemm.rate", "pass", 2, 1);
	add(&s, "b", "gemm.rate", "pass", 40, 1);
	add(&s, NULL, "gemm.rate", "fail", 1, 1);
	text = written(&s, 10, true);
	CHECK_STR(text, "f{sku=\"\",check=\"gemm.rate\",verdict=\"fail\"} 1\n"
			"f{sku=\"a\",check=\"gemm.rate\",verdict=\"pass\"} 2\n"
			"f{sku=\"b\",check=\"gemm.rate\",verdict=\"pass\"} 41\n"
			"f{sku=\"(others)\",check=\"(others)\",verdict=\"(others)\"} 0\n");
	CHECK_EQ(metric_series_left_out(&s, 10), 0);
}

static void beyond_the_limit_the_lowest_ranks_go_into_one_series(void)
{
	CLEANUP(metric_series_release) struct metric_series s = { 0 };
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *bare = NULL;

	add(&s, "a", "one", "pass", 5, 5);
	add(&s, "a", "two", "fail", 1, 1000);
	add(&s, "a", "three", "pass", 7, 7);
	add(&s, "a", "four", "pass", 5, 5);
	text = written(&s, 2, true);
	CHECK_STR(text, "f{sku=\"a\",check=\"three\",verdict=\"pass\"} 7\n"
			"f{sku=\"a\",check=\"two\",verdict=\"fail\"} 1\n"
			"f{sku=\"(others)\",check=\"(others)\",verdict=\"(others)\"} 10\n");
	CHECK_EQ(metric_series_left_out(&s, 2), 2);
	bare = written(&s, 0, false);
	CHECK_STR(bare, "");
	CHECK_EQ(metric_series_left_out(&s, 0), 4);
}

static void of_equal_labels_the_highest_rank_may_count(void)
{
	CLEANUP(metric_series_release) struct metric_series s = { 0 };
	const char *const labels[METRIC_LABELS] = { "a", "b", "c" };
	CLEANUP(freep) char *text = NULL;

	metric_series_put(&s, labels, 10, 3);
	metric_series_put(&s, labels, 20, 9);
	metric_series_put(&s, labels, 30, 9);
	metric_series_put(&s, labels, 40, 1);
	text = written(&s, 10, false);
	CHECK_STR(text, "f{sku=\"a\",check=\"b\",verdict=\"c\"} 20\n");
}

/* However many labels anybody makes up, so many are held, and the others are counted. */
static void what_is_not_even_held_is_counted(void)
{
	CLEANUP(metric_series_release) struct metric_series s = { 0 };
	CLEANUP(freep) char *text = NULL;
	unsigned i;

	for (i = 0; i < METRIC_SERIES_HELD + 5; i++) {
		CLEANUP(freep) char *check = xasprintf("made.up.%u", i);

		add(&s, "a", check, "fail", 2, 1);
	}
	CHECK_EQ(s.n, METRIC_SERIES_HELD);
	CHECK_EQ(metric_series_left_out(&s, 100), METRIC_SERIES_HELD + 5 - 100);
	text = written(&s, 100, true);
	CHECK_HAS(text, "f{sku=\"(others)\",check=\"(others)\",verdict=\"(others)\"} 39810\n");
}

static void labels_end_neither_their_quotes_nor_their_line(void)
{
	CLEANUP(metric_series_release) struct metric_series s = { 0 };
	CLEANUP(freep) char *text = NULL;

	add(&s, "a\"} 1\nx{y=\"", "back\\slash", "\xc3\xa4", 0.5, 1);
	text = written(&s, 1, false);
	CHECK_STR(text, "f{sku=\"a\\\"} "
			"1\\nx{y=\\\"\",check=\"back\\\\slash\",verdict=\"\xc3\xa4\"} 0.5\n");
}

static const struct test tests[] = {
	TEST(equal_labels_are_one_series_and_lines_are_in_order),
	TEST(beyond_the_limit_the_lowest_ranks_go_into_one_series),
	TEST(of_equal_labels_the_highest_rank_may_count),
	TEST(what_is_not_even_held_is_counted),
	TEST(labels_end_neither_their_quotes_nor_their_line),
};

TEST_SUITE(tests);
