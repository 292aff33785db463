/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "lib/base/xalloc.h"
#include "lib/judge/peers.h"
#include "lib/judge/words.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

/* Compare and free. */
#define CHECK_WORDS(words, text)                      \
	do {                                          \
		CLEANUP(freep) char *said_ = (words); \
		CHECK_STR(said_, text);               \
	} while (0)

static const struct expectation seven_peers = { .expected = 79.1e9,
						.floor = 75.1e9,
						.n = 7,
						.source = SOURCE_PEERS,
						.low = true,
						.margin = 0.948 };
static const struct expectation history = { .expected = 78e9,
					    .floor = 74e9,
					    .n = 12,
					    .source = SOURCE_HISTORY,
					    .low = true,
					    .margin = 0.96 };
static const struct expectation sku = {
	.expected = 80e9, .floor = 60e9, .n = 1, .source = SOURCE_SKU, .margin = 1.2
};

static void a_low_value_is_told_with_what_it_is_held_against(void)
{
	CLEANUP(report_release) struct report r = report_make();
	struct sample *s = report_put(&r, "gemm.rate", "cpu:5", 71.2e9);
	struct expectation e[3] = { seven_peers, history, sku }, few = seven_peers,
			   one = seven_peers;
	struct expectation far = seven_peers;

	few.n = 3;
	one.n = 1;
	far.far = true;
#define FACT "cpu:5 runs at 71.2 of 79.1 GFLOP/s (90 %) in gemm.rate: "
	CHECK_WORDS(words_low(s, e, 3), FACT "below what its 7 peers and its own last 12 runs say");
	CHECK_WORDS(words_low(s, e, 1), FACT "below its 7 peers; nothing else confirms it yet");
	CHECK_WORDS(words_low(s, &far, 1), FACT "far below its 7 peers");
	CHECK_WORDS(words_low(s, &few, 1),
		    FACT "below the best of its 3 peers; too few peers to be "
			 "sure");
	CHECK_WORDS(words_low(s, &one, 1), FACT "below its only peer; too few peers to be sure");
	e[1] = sku;
	CHECK_WORDS(words_low(s, e, 2), FACT "below its 7 peers, but the SKU file would let it "
					     "pass");
#undef FACT
}

static void too_slow_is_above_when_lower_is_better(void)
{
	CLEANUP(report_release) struct report r = report_make();
	struct sample *s = report_put(&r, "loopback.write_lat", "mlx5_0:1>numa:0", 4.7e-6);
	struct expectation e = { .expected = 1.9e-6,
				 .floor = 2.5e-6,
				 .n = 1,
				 .source = SOURCE_SKU,
				 .low = true,
				 .far = true };

	s->better = BETTER_LOWER;
	CHECK_WORDS(words_low(s, &e, 1), "mlx5_0:1>numa:0 takes 4.70 of 1.90 us (247 %) in "
					 "loopback.write_lat: far above the SKU file");
}

static void counts_are_told_in_full(void)
{
	CLEANUP(report_release) struct report r = report_make();
	struct sample *s = report_put(&r, "inventory.gpus", "host", 7);
	struct expectation e = {
		.expected = 8, .floor = 8, .n = 1, .source = SOURCE_SKU, .low = true
	};

	CHECK_WORDS(words_low(s, &e, 1),
		    "host has 7 gpus where the SKU file says 8 (inventory.gpus)");
	s = report_put(&r, "inventory.dimm_bytes", "host", 2130303778816);
	e = (struct expectation){ .expected = 2164663517184, .n = 9, .source = SOURCE_HISTORY };
	CHECK_WORDS(words_fine(s, &e, 1),
		    "host has 2130303778816 dimm_bytes where its own last 9 runs say "
		    "2164663517184 (inventory.dimm_bytes)");
}

static void a_good_value_names_its_reference(void)
{
	CLEANUP(report_release) struct report r = report_make();
	struct sample *s = report_put(&r, "memory.read_bw", "numa:0>numa:1", 20.1e9);
	struct expectation e = { .expected = 20e9, .floor = 18e9, .n = 7, .source = SOURCE_PEERS };

	CHECK_WORDS(words_fine(s, &e, 1), "numa:0>numa:1 moves 20.1 of 20.0 GB/s (100 %) in "
					  "memory.read_bw, by its 7 peers");
	e.expected = 999e6;
	CHECK_WORDS(words_fine(s, &e, 1), "numa:0>numa:1 moves 20.1 GB/s of 999 MB/s (2012 %) in "
					  "memory.read_bw, by its 7 peers");
}

static void without_a_reference_a_value_is_recorded(void)
{
	CLEANUP(report_release) struct report r = report_make();
	struct sample *s = report_put(&r, "memory.read_bw", "numa:0", 20.1e9);

	CHECK_WORDS(words_recorded(s),
		    "numa:0 moves 20.1 GB/s in memory.read_bw, recorded: nothing "
		    "to compare with yet");
	s->ok = TRI_YES;
	CHECK_WORDS(words_recorded(s), "numa:0 moves 20.1 GB/s in memory.read_bw");
	s->value = NAN;
	CHECK_WORDS(words_recorded(s), "numa:0 is good in memory.read_bw");
	s->note = xstrdup("64 MiB checked");
	CHECK_WORDS(words_recorded(s), "numa:0 is good in memory.read_bw: 64 MiB checked");
}

static void a_bad_sample_speaks_in_its_own_words(void)
{
	CLEANUP(report_release) struct report r = report_make();
	struct sample *s = report_put(&r, "gemm.correct", "cpu:2", 3);

	CHECK_WORDS(words_not_ok(s), "cpu:2 has a problem in gemm.correct: 3");
	s->value = NAN;
	CHECK_WORDS(words_not_ok(s), "cpu:2 has a problem in gemm.correct");
	s->code = xstrdup("wrong-element");
	CHECK_WORDS(words_not_ok(s), "cpu:2 has a problem in gemm.correct: wrong-element");
	s->note = xstrdup("row 3, column 9 is 17 instead of 16");
	CHECK_WORDS(words_not_ok(s), "cpu:2: row 3, column 9 is 17 instead of 16 (gemm.correct, "
				     "wrong-element)");
}

static void what_was_not_measured_says_why(void)
{
	static const struct {
		int state;
		const char *note, *sentence;
	} cases[] = {
		{ SAMPLE_BUSY, "pid 4711 (stress)",
		  "cpu:0 was busy with pid 4711 (stress) (gemm.rate not measured)" },
		{ SAMPLE_BUSY, "pid 4711 (stress) uses 50 % of cpu:0",
		  "cpu:0 was busy: pid 4711 (stress) uses 50 % of cpu:0 (gemm.rate not measured)" },
		{ SAMPLE_BUSY, "steal 12 %", "cpu:0 was busy: steal 12 % (gemm.rate not measured)" },
		{ SAMPLE_BUSY, NULL, "cpu:0 was busy (gemm.rate not measured)" },
		{ SAMPLE_SET_UP, "no permission",
		  "cpu:0 could not be set up for the test: no permission (gemm.rate not "
		  "measured)" },
		{ SAMPLE_TIMEOUT, NULL, "cpu:0 did not finish in time (gemm.rate not measured)" },
		{ SAMPLE_ABORTED, NULL,
		  "cpu:0 was aborted because a job started (gemm.rate not measured)" },
		{ SAMPLE_FOREIGN_TRAFFIC, NULL,
		  "cpu:0 carried other traffic (gemm.rate not measured)" },
		{ SAMPLE_MEASURED, NULL, "cpu:0 gave no value (gemm.rate not measured)" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(report_release) struct report r = report_make();
		struct sample *s = report_put(&r, "gemm.rate", "cpu:0", NAN);

		s->state = cases[i].state;
		s->note = xstrdup(cases[i].note);
		CHECK_WORDS(words_not_measured(s), cases[i].sentence);
	}
}

static void every_problem_has_its_words(void)
{
	int code;

	for (code = PROBLEM_TIMEOUT; code <= PROBLEM_BUSY; code++) {
		struct problem p = { .probe = xstrdup("gemm"), .code = code };
		CLEANUP(freep) char *short_words = words_problem(&p), *words = NULL;

		p.detail = xstrdup("signal 11");
		words = words_problem(&p);
		CHECK(starts_with(short_words, "probe gemm "));
		CHECK(strlen(short_words) > strlen("probe gemm "));
		CHECK_HAS(words, ": signal 11");
		problem_release(&p);
	}
}

static void an_expected_device_is_missed(void)
{
	struct problem p = { .probe = xstrdup("loopback"), .code = PROBLEM_NOT_APPLICABLE };

	CHECK_WORDS(words_expected_device(&p), "probe loopback found nothing to measure here; the "
					       "SKU file expects it to find something");
	problem_release(&p);
}

static void text_of_strangers_is_cleaned_of_control_characters(void)
{
	CLEANUP(report_release) struct report r = report_make();
	struct sample *s = report_put(&r, "gemm.correct", "cpu\033[31m:2\n", NAN);

	/* 0xc2 0x9b is the one-character form of "escape [". */
	s->note = xstrdup("a\xc2\x9b"
			  "2J\x7f\tb\xc3\xa9");
	CHECK_WORDS(words_not_ok(s), "cpu [31m:2 : a  2J  b\xc3\xa9 (gemm.correct)");
}

static void a_long_note_is_cut_between_characters(void)
{
	size_t shift, i;

	for (shift = 0; shift < 2; shift++) {
		CLEANUP(report_release) struct report r = report_make();
		struct sample *s = report_put(&r, "gemm.correct", "cpu:2", NAN);
		CLEANUP(freep) char *words = NULL;

		s->note = xcalloc(2002, 1);
		memset(s->note, 'x', shift);
		for (i = 0; i < 1000; i++)
			memcpy(s->note + shift + 2 * i, "\xc3\xa9", 2);
		words = words_not_ok(s);
		CHECK(strlen(words) > 400 && strlen(words) < 450);
		CHECK_HAS(words, "\xc3\xa9 (gemm.correct)");
	}
}

static const struct test tests[] = {
	TEST(a_low_value_is_told_with_what_it_is_held_against),
	TEST(too_slow_is_above_when_lower_is_better),
	TEST(counts_are_told_in_full),
	TEST(a_good_value_names_its_reference),
	TEST(without_a_reference_a_value_is_recorded),
	TEST(a_bad_sample_speaks_in_its_own_words),
	TEST(what_was_not_measured_says_why),
	TEST(every_problem_has_its_words),
	TEST(an_expected_device_is_missed),
	TEST(text_of_strangers_is_cleaned_of_control_characters),
	TEST(a_long_note_is_cut_between_characters),
};

TEST_SUITE(tests);
