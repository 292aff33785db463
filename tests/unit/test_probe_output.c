/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/run/err_tail.h"
#include "agents/run/probe_output.h"
#include "lib/base/xalloc.h"
#include "tests/unit/test.h"

#define GOOD                                                                 \
	"{\"v\":1,\"check\":\"x.rate\",\"subject\":\"cpu:0\",\"value\":1.5," \
	"\"unit\":\"1\",\"better\":\"higher\",\"ok\":true,\"state\":\"measured\"}"
#define VALUE(text)                                                                     \
	"{\"v\":1,\"check\":\"x\",\"subject\":\"s\",\"value\":" text ",\"unit\":\"1\"," \
	"\"state\":\"measured\"}"

static void feed(struct probe_output *out, const char *text)
{
	probe_output_init(out);
	(void)probe_output_feed(out, text, strlen(text));
	probe_output_end(out);
}

/* The verdict as "code: words"; "" when there is none. */
static char *verdict(const struct probe_output *out)
{
	CLEANUP(freep) char *words = NULL;
	int code = probe_output_verdict(out, &words);

	return code < 0 ? xstrdup("") : xasprintf("%s: %s", problem_code_names[code], words);
}

static void lines_become_samples_or_garbage_with_the_place_and_the_reason(void)
{
	static const struct {
		const char *text;
		size_t samples;
		const char *want; /* part of the verdict, "" for none at all */
	} rows[] = {
		{ GOOD "\n", 1, "" },
		{ GOOD, 1, "" }, /* no newline at the end */
		{ GOOD "\r\n" GOOD "\n", 2, "" },
		{ "\n \t\n" GOOD "\n\n", 1, "" },
		{ "{\"check\":\"x\",\"subject\":\"s\",\"state\":\"measured\",\"new\":[1]}\n", 1,
		  "" },
		{ "", 0, "empty: printed no sample" },
		{ "\n\n", 0, "empty: printed no sample" },
		{ "hello\n", 0, "garbage: line 1: " },
		{ GOOD "\n" GOOD "\nhello\n" GOOD "\n", 3, "garbage: line 3: invalid token near" },
		{ GOOD "\nx\ny\nz\n", 1, "(and 2 more lines that are not samples)" },
		{ GOOD "\n{\"v\":1,\"check\":", 1, "garbage: line 2: " }, /* half a line */
		{ "[]\n", 0, "garbage: line 1: expected an object, not a list" },
		{ "7\n", 0, "garbage: line 1: expected an object, not a number" },
		{ "{}\n", 0, "garbage: line 1: " },
		{ "{\"v\":1,\"check\":\"x\",\"state\":\"measured\"}\n", 0, "subject" },
		{ "{\"v\":2,\"check\":\"x\",\"subject\":\"s\",\"state\":\"measured\"}\n", 0,
		  "garbage: line 1: v: expected 1: this program reads sample/1 only" },
		{ VALUE("NaN") "\n", 0, "garbage: line 1: invalid token" },
		{ VALUE("-Infinity") "\n", 0, "garbage: line 1: invalid token" },
		{ VALUE("1e999") "\n", 0, "garbage: line 1: real number overflow" },
		{ VALUE("\"1\"") "\n", 0, "garbage: line 1: value: expected a number" },
		{ VALUE("1") " " VALUE("1") "\n", 0, "garbage: line 1: end of file expected" },
		{ "{\"check\":\"\xff\",\"subject\":\"s\",\"state\":\"measured\"}\n", 0,
		  "unable to decode byte 0xff" },
		{ "\xef\xbb\xbf" GOOD "\n", 0, "garbage: line 1: " },
		{ "\x1b[31mred\n", 0, "garbage: line 1: invalid token near" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *said = NULL;
		struct probe_output out;

		feed(&out, rows[i].text);
		said = verdict(&out);
		CHECK_EQ(out.n_samples, rows[i].samples);
		CHECK_HAS(said, rows[i].want);
		CHECK_EQ(said[0] == '\0', rows[i].want[0] == '\0');
		CHECK(!strchr(said, '\x1b') && !strchr(said, '\xff'));
		probe_output_release(&out);
	}
}

static void a_nul_byte_in_a_line_is_garbage(void)
{
	struct probe_output out;

	probe_output_init(&out);
	CHECK_EQ(probe_output_feed(&out, "\0\n" GOOD "\n", sizeof("\0\n" GOOD "\n") - 1), 0);
	probe_output_end(&out);
	CHECK_EQ(out.n_garbage, 1);
	CHECK_EQ(out.garbage_line, 1);
	CHECK_EQ(out.n_samples, 1);
	probe_output_release(&out);
}

static void it_does_not_matter_how_the_bytes_are_cut(void)
{
	static const char text[] = GOOD "\nhello\n" GOOD "\n" GOOD;
	size_t step, at;

	for (step = 1; step < sizeof(text); step += 7) {
		struct probe_output out;

		probe_output_init(&out);
		for (at = 0; at < sizeof(text) - 1; at += step)
			CHECK_EQ(probe_output_feed(&out, text + at,
						   MIN(step, sizeof(text) - 1 - at)),
				 0);
		probe_output_end(&out);
		CHECK_EQ(out.n_samples, 3);
		CHECK_EQ(out.n_garbage, 1);
		CHECK_EQ(out.garbage_line, 2);
		CHECK_STR(out.samples[2].check, "x.rate");
		CHECK_NEAR(out.samples[2].value, 1.5, 0);
		probe_output_release(&out);
	}
}

static void a_line_may_have_64_KiB_and_not_one_byte_more(void)
{
	size_t extra;

	for (extra = 0; extra < 2; extra++) {
		size_t n = SAMPLE_LINE_MAX + extra;
		CLEANUP(freep) char *line = xcalloc(n + 2, 1);
		CLEANUP(freep) char *said = NULL;
		struct probe_output out;

		memset(line, ' ', n);
		memcpy(line, GOOD, sizeof(GOOD) - 1);
		line[n] = '\n';
		probe_output_init(&out);
		CHECK_EQ(probe_output_feed(&out, GOOD "\n", sizeof(GOOD)), 0);
		CHECK_EQ(probe_output_feed(&out, line, n + 1), extra ? -E2BIG : 0);
		probe_output_end(&out);
		said = verdict(&out);
		CHECK_STR(said, extra ? "too-much: printed a line of more than 64 KiB" : "");
		CHECK_EQ(out.n_samples, extra ? 1 : 2);
		CHECK_EQ(out.n_lines, 2);
		probe_output_release(&out);
	}
}

static void the_sample_after_the_4096th_is_too_much(void)
{
	CLEANUP(freep) char *said = NULL;
	struct probe_output out;
	size_t i;

	probe_output_init(&out);
	for (i = 0; i < SAMPLE_COUNT_MAX; i++)
		CHECK_EQ(probe_output_feed(&out, VALUE("1") "\n", sizeof(VALUE("1"))), 0);
	CHECK_EQ(probe_output_verdict(&out, &said), -1);
	CHECK_EQ(probe_output_feed(&out, VALUE("1") "\n", sizeof(VALUE("1"))), -E2BIG);
	CHECK_EQ(probe_output_feed(&out, "x\n", 2), -E2BIG);
	probe_output_end(&out);
	said = verdict(&out);
	CHECK_STR(said, "too-much: printed more than 4096 samples");
	CHECK_EQ(out.n_samples, SAMPLE_COUNT_MAX);
	CHECK_EQ(out.n_garbage, 0);
	probe_output_release(&out);
}

static void four_MiB_are_taken_and_the_next_byte_is_too_much(void)
{
	enum { PIECE = 1024 };
	CLEANUP(freep) char *said = NULL;
	char piece[PIECE];
	struct probe_output out;
	size_t i;

	memset(piece, 'y', sizeof(piece));
	piece[PIECE - 1] = '\n';
	probe_output_init(&out);
	for (i = 0; i < PROBE_OUTPUT_MAX / PIECE; i++)
		CHECK_EQ(probe_output_feed(&out, piece, sizeof(piece)), 0);
	CHECK_EQ(out.n_garbage, PROBE_OUTPUT_MAX / PIECE);
	CHECK_EQ(probe_output_feed(&out, "\n", 1), -E2BIG);
	said = verdict(&out);
	CHECK_STR(said, "too-much: printed more than 4 MiB");
	CHECK(out.line.alloc <= 2 * SAMPLE_LINE_MAX);
	probe_output_release(&out);
}

static void aborted_samples_have_no_results_left(void)
{
	struct probe_output out;
	CLEANUP(json_freep) json_t *object = NULL;

	feed(&out, "{\"check\":\"x\",\"subject\":\"s\",\"state\":\"measured\",\"unit\":\"1\","
		   "\"value\":1,\"ok\":false,\"n\":3,\"min\":1,\"p99\":2,\"w\":[1,2,3]}\n");
	CHECK_EQ(out.n_samples, 1);
	probe_output_abort(&out);
	object = sample_encode(&out.samples[0]);
	CHECK_STR(json_string_value(json_object_get(object, "state")), "aborted");
	CHECK(json_is_null(json_object_get(object, "value")));
	CHECK(json_is_null(json_object_get(object, "ok")));
	CHECK(!json_object_get(object, "w") && !json_object_get(object, "min"));
	probe_output_release(&out);
}

static void text_is_made_fit_for_json_and_terminals(void)
{
	static const struct {
		const char *bytes;
		const char *want;
	} rows[] = {
		{ "", "" },
		{ "plain\ttext\n", "plain\ttext\n" },
		{ "K\xc3\xa4se \xe2\x82\xac \xf0\x9f\x98\x80",
		  "K\xc3\xa4se \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\x1b[31mred\x7f\r", "?[31mred??" },
		{ "\xff\xfe", "??" },
		{ "\xc3", "?" },	/* cut */
		{ "a\xe2\x82", "a??" }, /* cut */
		{ "\x82\xac"
		  "b",
		  "b" },			/* the end of a character that was cut */
		{ "\xc0\xaf", "??" },		/* overlong */
		{ "\xed\xa0\x80", "???" },	/* surrogate */
		{ "\xf4\x90\x80\x80", "????" }, /* above U+10FFFF */
		{ "\xc3\xc3\xa4", "?\xc3\xa4" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *text = text_clean(rows[i].bytes, strlen(rows[i].bytes));
		CLEANUP(json_freep) json_t *value = json_string(text);

		CHECK_STR(text, rows[i].want);
		CHECK(value); /* jansson takes valid UTF-8 only */
	}
}

static void the_tail_keeps_the_last_4_KiB(void)
{
	CLEANUP(freep) struct err_tail *tail = xcalloc(1, sizeof(*tail));
	CLEANUP(freep) char *nothing = err_tail_text(tail);
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *line = NULL;
	char number[16];
	size_t i;

	CHECK(!nothing);
	for (i = 0; i < 10000; i++) {
		(void)snprintf(number, sizeof(number), "%zu\n", i);
		err_tail_add(tail, number, strlen(number));
	}
	text = err_tail_text(tail);
	line = err_tail_last_line(tail);
	CHECK_EQ(strlen(text), PROBLEM_TEXT_MAX - 2); /* without the newlines at its ends */
	CHECK_HAS(text, "\n9998\n9999");
	CHECK_STR(line, "9999");
}

static void one_huge_piece_leaves_its_end_in_the_tail(void)
{
	enum { HUGE_N = 100000 };
	CLEANUP(freep) struct err_tail *tail = xcalloc(1, sizeof(*tail));
	CLEANUP(freep) char *bytes = xcalloc(HUGE_N, 1);
	CLEANUP(freep) char *text = NULL;
	CLEANUP(freep) char *line = NULL;

	memset(bytes, 'a', HUGE_N);
	bytes[HUGE_N - 1] = 'z';
	err_tail_add(tail, "before", 6);
	err_tail_add(tail, bytes, HUGE_N);
	text = err_tail_text(tail);
	line = err_tail_last_line(tail);
	CHECK_EQ(strlen(text), PROBLEM_TEXT_MAX);
	CHECK_EQ(text[PROBLEM_TEXT_MAX - 1], 'z');
	CHECK_EQ(strlen(line), 300);
}

static void the_last_line_is_the_last_with_words(void)
{
	static const struct {
		const char *bytes;
		const char *want;
	} rows[] = {
		{ "one", "one" },
		{ "one\ntwo\n", "two" },
		{ "one\n  two  \n\n \n", "  two" },
		{ " \n\t\n", NULL },
		{ "", NULL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) struct err_tail *tail = xcalloc(1, sizeof(*tail));
		CLEANUP(freep) char *line = NULL;

		err_tail_add(tail, rows[i].bytes, strlen(rows[i].bytes));
		line = err_tail_last_line(tail);
		CHECK_STR(line, rows[i].want);
	}
}

static const struct test tests[] = {
	TEST(lines_become_samples_or_garbage_with_the_place_and_the_reason),
	TEST(a_nul_byte_in_a_line_is_garbage),
	TEST(it_does_not_matter_how_the_bytes_are_cut),
	TEST(a_line_may_have_64_KiB_and_not_one_byte_more),
	TEST(the_sample_after_the_4096th_is_too_much),
	TEST(four_MiB_are_taken_and_the_next_byte_is_too_much),
	TEST(aborted_samples_have_no_results_left),
	TEST(text_is_made_fit_for_json_and_terminals),
	TEST(the_tail_keeps_the_last_4_KiB),
	TEST(one_huge_piece_leaves_its_end_in_the_tail),
	TEST(the_last_line_is_the_last_with_words),
};

TEST_SUITE(tests);
