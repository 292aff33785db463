/* SPDX-License-Identifier: Apache-2.0 */
/* The fast reader of reports agrees with the slow one on any input. */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/jmemo.h"
#include "lib/report/report.h"
#include "lib/report/report_tables.h"
#include "tests/unit/both_readers.h"
#include "tests/unit/random.h"
#include "tests/unit/test.h"

/* One report with every key there is, twice the same params, and things that are skipped. */
static const char full_report[] = HEAD
	",\"agent\":\"0.1.0\",\"sku\":\"hgx\",\"topology\":null,\"env\":{\"kernel\":\"6.1\","
	"\"bios\":"
	"\"\\u00e9\\ud83d\\ude00\"},\"duration_s\":40.5,\"samples\":[{\"v\":1,\"check\":\"gemm."
	"rate\","
	"\"subject\":\"cpu:\\\"3\\\\\",\"value\":70123456789.1234,\"unit\":\"FLOP/s\",\"better\":"
	"\"higher\",\"ok\":null,\"state\":\"measured\",\"from\":\"a\",\"to\":\"b\",\"class\":"
	"\"self\","
	"\"path\":[\"a^b\",\"b^c\"],\"params\":{\"m\":8192,\"dtype\":\"bf16\"},\"with\":[],"
	"\"code\":"
	"\"x:1\",\"n\":64,\"min\":-1,\"max\":2.5e22,\"stddev\":0.001,\"p50\":-0.0,\"p99\":1e22,"
	"\"w\":"
	"[1.0,"
	"2,3.25,4e-7,5,6,7,8,9],\"start\":1795224600.125,\"seconds\":4.0,\"severity\":\"fatal\","
	"\"note\":\"t\\u00fcr \xc3\xbc\"}, {" SAMPLE ",\"params\":{\"m\":8192,\"dtype\":\"bf16\"},"
	"\"tomorrow\":{\"a\":[1,{\"b\":null}],\"c\":true}}],\"problems\":[{\"probe\":\"memory\","
	"\"code\":\"timeout\",\"detail\":\"d\",\"stderr\":\"e\\n\"}],\"order\":{\"id\":\"7\"}}\n";

static void a_report_with_every_key_is_read_as_by_the_careful_one(void)
{
	CLEANUP(report_release) struct report r = { 0 };

	CHECK(both_read(full_report, strlen(full_report)));
	CHECK_EQ(report_read(full_report, strlen(full_report), NULL, &r, NULL), 0);
	CHECK(r.pool.blocks != NULL);
	CHECK_EQ(r.n_samples, 2);
	CHECK_STR(r.samples[0].subject, "cpu:\"3\\");
	CHECK_NEAR(r.samples[0].value, 70123456789.1234, 0);
	CHECK_EQ(r.samples[0].w.n, 9);
	CHECK(r.samples[0].params == r.samples[1].params);
	CHECK_EQ(r.problems[0].code, PROBLEM_TIMEOUT);
}

/* A report whose one sample has these params. */
static struct report report_with(const char *params, struct jmemo *memo)
{
	CLEANUP(freep)
	char *text = xasprintf(HEAD ",\"samples\":[{" SAMPLE ",\"params\":%s}]}", params);
	struct report r = { 0 };

	CHECK_EQ(report_read(text, strlen(text), memo, &r, NULL), 0);
	CHECK_EQ(r.n_samples, 1);
	return r;
}

static void objects_of_reports_before_are_shared_while_they_are_written_alike(void)
{
	static const struct {
		const char *params, *canonical;
		bool shared;
	} rows[] = {
		{ "{\"m\":8192,\"a\":1}", "{\"a\":1,\"m\":8192}", true },
		{ "{\"m\":8192, \"a\":1}", "{\"a\":1,\"m\":8192}", false },
		{ "{\"m\":8192,\"a\":2}", "{\"a\":2,\"m\":8192}", false },
		{ "{}", "{}", false },
	};
	CLEANUP(jmemo_release) struct jmemo memo = { 0 };
	CLEANUP(report_release) struct report first = report_with(rows[0].params, &memo);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(report_release) struct report r = report_with(rows[i].params, &memo);

		CHECK_EQ(r.samples[0].params == first.samples[0].params, rows[i].shared);
		CHECK_STR(r.samples[0].params_text, rows[i].canonical);
	}
	/* What a report has is its own, though another takes its place meanwhile. */
	CHECK_STR(first.samples[0].params_text, rows[0].canonical);
}

static void more_objects_than_are_kept_are_read_as_ever(void)
{
	CLEANUP(jmemo_release) struct jmemo memo = { 0 };
	CLEANUP(freep) char *blank = repeated_byte(' ', JMEMO_TEXT_MAX);
	CLEANUP(freep) char *large = xasprintf("{\"a\":%s1}", blank);
	size_t i;

	for (i = 0; i < 4 * (size_t)JMEMO_SLOTS; i++) {
		CLEANUP(freep) char *params = xasprintf("{\"a\":%zu}", i % (3 * JMEMO_SLOTS));
		CLEANUP(report_release) struct report r = report_with(params, &memo);
		CLEANUP(report_release) struct report again = report_with(params, &memo);

		CHECK_STR(r.samples[0].params_text, params);
		CHECK(r.samples[0].params == again.samples[0].params);
	}
	for (i = 0; i < 2; i++) {
		CLEANUP(report_release) struct report r = report_with(large, &memo);

		CHECK_STR(r.samples[0].params_text, "{\"a\":1}");
		CHECK(!jmemo_find(&memo, large, strlen(large)));
	}
}

/* `n` times `item`, with commas between. */
static char *repeated(const char *begin, const char *item, size_t n, const char *end)
{
	size_t length = strlen(item), i;
	char *text = xcalloc(strlen(begin) + n * (length + 1) + strlen(end) + 1, 1), *at = text;

	at = mempcpy(at, begin, strlen(begin));
	for (i = 0; i < n; i++) {
		at = mempcpy(at, item, length);
		if (i + 1 < n)
			*at++ = ',';
	}
	(void)mempcpy(at, end, strlen(end));
	return text;
}

static void limits_are_those_of_the_careful_one(void)
{
	static const struct {
		const char *begin, *item, *end;
		size_t most;
	} rows[] = {
		{ HEAD ",\"samples\":[", "{" SAMPLE "}", "]}", SAMPLE_COUNT_MAX },
		{ HEAD ",\"problems\":[", "{\"probe\":\"p\",\"code\":\"busy\"}", "]}",
		  PROBLEMS_MAX },
		{ HEAD ",\"samples\":[{" SAMPLE ",\"w\":[", "1.5", "]}]}", SAMPLE_WINDOWS_MAX },
		{ HEAD ",\"samples\":[{" SAMPLE ",\"path\":[", "\"p\"", "]}]}", 64 },
		{ HEAD ",\"samples\":[{" SAMPLE ",\"with\":[", "\"p\"", "]}]}", 64 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep)
		char *most = repeated(rows[i].begin, rows[i].item, rows[i].most, rows[i].end);
		CLEANUP(freep)
		char *more = repeated(rows[i].begin, rows[i].item, rows[i].most + 1, rows[i].end);

		both_read_as(most, true);
		both_read_as(more, false);
	}
}

static void nesting_has_the_same_limit_everywhere(void)
{
	/* By which depth a value of the key stands. */
	static const struct {
		const char *begin, *end;
		size_t depth;
	} rows[] = {
		{ HEAD ",\"later\":", "}", 1 },
		{ HEAD ",\"env\":{\"a\":", "}}", 2 },
		{ HEAD ",\"samples\":[{" SAMPLE ",\"params\":{\"a\":", "}}]}", 4 },
	};
	size_t i;
	int over;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (over = 0; over <= 1; over++) {
			size_t n = JSON_DEPTH_MAX - rows[i].depth + (size_t)over;
			CLEANUP(freep) char *open = repeated_byte('[', n);
			CLEANUP(freep) char *close = repeated_byte(']', n);
			CLEANUP(freep)
			char *text = xasprintf("%s%s%s%s", rows[i].begin, open, close, rows[i].end);

			both_read_as(text, !over);
		}
	}
}

static void what_was_good_higher_up_may_be_too_deep_below(void)
{
	CLEANUP(freep) char *open = repeated_byte('[', JSON_DEPTH_MAX - 2);
	CLEANUP(freep) char *close = repeated_byte(']', JSON_DEPTH_MAX - 2);
	CLEANUP(freep)
	char *text = xasprintf(HEAD ",\"env\":{\"a\":%s%s},\"samples\":[{" SAMPLE
				    ",\"params\":{\"a\":%s%s}}]}",
			       open, close, open, close);

	both_read_as(text, false);
}

/* --- random changes --- */

/* Bytes and words that mean something to a reader of JSON. */
static const char *const pieces[] = {
	"\"",
	"\\",
	"{",
	"}",
	"[",
	"]",
	",",
	":",
	"0",
	"9",
	"-",
	".",
	"e",
	"null",
	"true",
	"1.5",
	" ",
	"\n",
	"\\u0041",
	"\\ud83d",
	"\\ude00",
	"\xc3",
	"\xa9",
	"\xf0\x9f\x98\x80",
	"\x01",
	"\"v\":1,",
	"\"n\":3,",
	"{\"m\":8192}",
	"99999999999999999999",
	"1e400",
	"\"check\":\"c\",",
	"[[[[[[[[",
};

/* Change, drop, double or put in a few bytes at a random place. */
static size_t mutate(struct random *chance, char *text, size_t length, size_t room)
{
	size_t at = random_below(chance, length), n = 1 + random_below(chance, 6);
	const char *piece = pieces[random_below(chance, ARRAY_SIZE(pieces))];

	n = MIN(n, length - at);
	switch (random_below(chance, 5)) {
	case 0: /* another byte */
		text[at] = (char)random_next(chance);
		return length;
	case 1: /* less */
		memmove(text + at, text + at + n, length - at - n);
		return length - n;
	case 2: /* twice */
		if (length + n > room)
			return length;
		memmove(text + at + n, text + at, length - at);
		return length + n;
	case 3: /* the end is lost */
		return random_below(chance, 20) ? length : at + 1;
	default: /* something that means something */
		n = strlen(piece);
		if (length + n > room)
			return length;
		memmove(text + at + n, text + at, length - at);
		memcpy(text + at, piece, n);
		return length + n;
	}
}

static void random_changes_of_a_good_report_are_taken_or_refused_alike(void)
{
	struct random chance = random_seeded(7);
	size_t rounds = test_full() ? 3000000 : 30000, taken = 0, i;
	char text[sizeof(full_report) + 200];

	for (i = 0; i < rounds; i++) {
		size_t length = sizeof(full_report) - 1, n = 1 + random_below(&chance, 3);

		memcpy(text, full_report, length);
		while (n-- > 0 && length > 0)
			length = mutate(&chance, text, length, sizeof(text));
		taken += both_read(text, length);
	}
	/* Neither all nor none: both ways were walked. */
	CHECK(taken > rounds / 20);
	CHECK(taken < rounds * 19 / 20);
}

static void every_beginning_of_a_report_is_refused(void)
{
	size_t length;

	for (length = 0; length < sizeof(full_report) - 2; length++)
		CHECK(!both_read(full_report, length));
}

/* --- what people read --- */

static void who_is_refused_reads_why_and_where(void)
{
	static const struct {
		const char *text;
		int r;
		const char *words;
	} rows[] = {
		{ "{", -EBADMSG, "report: line 1: " },
		{ HEAD "} x", -EBADMSG, "report: line 1: end of file expected" },
		{ HEAD ",\"node\":\"m\"}", -EBADMSG, "duplicate object key" },
		{ "[]", -EINVAL, "report: expected an object, not a list" },
		{ "{}", -EINVAL, "report: kind: expected \"report\"" },
		{ HEAD ",\"samples\":[{" SAMPLE ",\"n\":1.5}]}", -EINVAL,
		  "report: samples[0].n: 1.5 is not a whole number" },
		{ HEAD ",\"samples\":[{" SAMPLE ",\"w\":[1,\"2\"]}]}", -EINVAL,
		  "report: samples[0].w[1]: expected a number, not a string" },
		{ HEAD ",\"samples\":[{" SAMPLE "},{" SAMPLE ",\"min\":5,\"max\":3}]}", -EINVAL,
		  "report: samples[1]: min 5 is above max 3" },
		{ HEAD ",\"samples\":[{" SAMPLE ",\"stddev\":-1}]}", -EINVAL,
		  "report: samples[0].stddev: -1 is outside 0 to " },
		{ HEAD ",\"duration_s\":-5}", -EINVAL,
		  "report: duration_s: -5 is outside 0 to 31622400" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct report r = { 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(report_read(rows[i].text, strlen(rows[i].text), NULL, &r, &err), rows[i].r);
		CHECK_HAS(err.msg, rows[i].words);
		CHECK(!r.node && !r.pool.blocks);
	}
}

static const struct test tests[] = {
	TEST(a_report_with_every_key_is_read_as_by_the_careful_one),
	TEST(objects_of_reports_before_are_shared_while_they_are_written_alike),
	TEST(more_objects_than_are_kept_are_read_as_ever),
	TEST(limits_are_those_of_the_careful_one),
	TEST(nesting_has_the_same_limit_everywhere),
	TEST(what_was_good_higher_up_may_be_too_deep_below),
	TEST(random_changes_of_a_good_report_are_taken_or_refused_alike),
	TEST(every_beginning_of_a_report_is_refused),
	TEST(who_is_refused_reads_why_and_where),
};

TEST_SUITE(tests);
