/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

static char *nested(size_t depth, const char *open, const char *inside, const char *close)
{
	char *text = xcalloc(depth * (strlen(open) + strlen(close)) + strlen(inside) + 1, 1);
	char *at = text;
	size_t i;

	for (i = 0; i < depth; i++)
		at = mempcpy(at, open, strlen(open));
	at = mempcpy(at, inside, strlen(inside));
	for (i = 0; i < depth; i++)
		at = mempcpy(at, close, strlen(close));
	return text;
}

static int parse(const char *text, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	int r = json_parse(text, strlen(text), "x.json", &value, err);

	CHECK_EQ(value == NULL, r < 0);
	return r;
}

static void any_value_is_read(void)
{
	static const char *const cases[] = { "{}",    "[]",
					     "null",  "true",
					     "0",     "-1.5e300",
					     "\"a\"", " {\"a\": [1, 2.5, \"\\u00e9\"]}\n" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		CHECK_EQ(parse(cases[i], NULL), 0);
}

static void what_is_not_json_is_refused_in_one_line(void)
{
	static const struct {
		const char *text, *sentence;
	} cases[] = {
		{ "", "near end of file" },
		{ " ", "near end of file" },
		{ "{", "x.json: line 1: " },
		{ "{\"a\":1}\n}", "x.json: line 2: end of file expected" },
		{ "{\"a\":1,\"a\":2}", "duplicate object key" },
		{ "NaN", "invalid token" },
		{ "Infinity", "invalid token" },
		{ "1e999", "real number overflow" },
		{ "-1e999", "real number overflow" },
		{ "99999999999999999999", "too big integer" },
		{ "01", "x.json" },
		{ "[1,]", "unexpected token" },
		{ "'a'", "invalid token" },
		{ "\"\xff\"", "unable to decode byte 0xff" },
		{ "\"\xc0\xaf\"", "unable to decode byte" },
		{ "\"\xed\xa0\x80\"", "unable to decode byte" },
		{ "\"\\ud800\"", "invalid Unicode" },
		{ "\"a\\u0000b\"", "\\u0000 is not allowed" },
		{ "\"a\nb\"", "unexpected newline" },
		{ "\033[31m", "invalid token near '?'" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;

		CHECK_EQ(parse(cases[i].text, &err), -EINVAL);
		CHECK_HAS(err.msg, "x.json: ");
		CHECK_HAS(err.msg, cases[i].sentence);
		CHECK(!strpbrk(err.msg, "\n\033"));
	}
}

static void bytes_after_a_nul_are_not_lost(void)
{
	json_t *value = NULL;

	CHECK_EQ(json_parse("1\0002", 3, "x", &value, NULL), -EINVAL);
	CHECK_EQ(json_parse("[1\0]", 4, "x", &value, NULL), -EINVAL);
	CHECK(!value);
}

static void nesting_has_a_limit(void)
{
	CLEANUP(freep) char *deepest = nested(JSON_DEPTH_MAX, "[", "", "]");
	CLEANUP(freep) char *too_deep = nested(JSON_DEPTH_MAX + 1, "[", "", "]");
	CLEANUP(freep) char *objects = nested(JSON_DEPTH_MAX + 1, "{\"a\":", "1", "}");
	CLEANUP(freep) char *huge = nested(1000000, "[", "", "");
	struct err err = ERR_INIT;

	CHECK_EQ(parse(deepest, NULL), 0);
	CHECK_EQ(parse(too_deep, &err), -EINVAL);
	CHECK_STR(err.msg, "x.json: nested deeper than 32");
	CHECK_EQ(parse(objects, NULL), -EINVAL);
	CHECK_EQ(parse(huge, NULL), -EINVAL);
}

static void brackets_in_strings_do_not_nest(void)
{
	CLEANUP(freep) char *brackets = nested(1000, "[", "", "");
	CLEANUP(freep) char *text = xasprintf("[\"%s\", \"\\\"%s\"]", brackets, brackets);

	CHECK_EQ(parse(text, NULL), 0);
}

static void writing_and_reading_keeps_numbers(void)
{
	CLEANUP(json_freep)
	json_t *value = json_pack("[f,f,I,f]", 0.1, 24.9e9, (json_int_t)LLONG_MAX, 1795224600.123);
	CLEANUP(freep) char *line = json_line(value);
	CLEANUP(json_freep) json_t *back = NULL;

	CHECK_STR(line, "[0.1,24900000000.0,9223372036854775807,1795224600.123]");
	CHECK_EQ(json_parse(line, strlen(line), "x", &back, NULL), 0);
	CHECK(json_equal(value, back));
}

static void files_are_read_within_their_limit(void)
{
	CLEANUP(freep) char *path = test_file("a.json", "{\"a\":[1,2]}");
	CLEANUP(json_freep) json_t *value = NULL;
	struct err err = ERR_INIT;

	CHECK_EQ(json_read_file(path, 11, &value, &err), 0);
	CHECK(json_is_object(value));
	CHECK_EQ(json_read_file(path, 10, &value, &err), -EFBIG);
	CHECK_HAS(err.msg, "a.json: larger than 10 bytes");
	CHECK_EQ(json_read_file(test_dir(), 10, &value, &err), -EISDIR);
	CHECK_HAS(err.msg, "Is a directory");
	CHECK_EQ(json_read_file("/nowhere/a.json", 10, &value, &err), -ENOENT);
	CHECK_STR(err.msg, "/nowhere/a.json: No such file or directory");
}

static void a_time_goes_round_and_none_is_null(void)
{
	const uint64_t us = UINT64_C(1700000000123000);
	CLEANUP(json_freep) json_t *stamp = json_stamp(us);
	CLEANUP(json_freep) json_t *none = json_stamp(0);
	CLEANUP(json_freep) json_t *word = json_string("yesterday");

	CHECK_STR(json_string_value(stamp), "2023-11-14T22:13:20.123Z");
	CHECK_EQ(json_stamp_us(stamp), us);
	CHECK(json_is_null(none));
	CHECK_EQ(json_stamp_us(none), 0);
	CHECK_EQ(json_stamp_us(word), 0);
	CHECK_EQ(json_stamp_us(NULL), 0);
}

static void texts_are_put_in_order_and_each_once(void)
{
	static const char *const given[] = { "m", "a", "z", "m", NULL, "b" };
	CLEANUP(json_freep) json_t *array = json_array();
	CLEANUP(freep) char *line = NULL;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(given); i++)
		json_insert_text(array, given[i]);
	line = json_line(array);
	CHECK_STR(line, "[\"a\",\"b\",\"m\",\"z\"]");
	CHECK(json_has_text(array, "z") && !json_has_text(array, "c"));
	CHECK(!json_has_text(array, NULL) && !json_has_text(NULL, "a"));
}

static void a_time_is_whole_once_it_was_a_stamp(void)
{
	CLEANUP(json_freep) json_t *stamp = json_stamp(1764201600123456);

	CHECK(json_stamp_us(stamp) == json_stamp_whole(1764201600123456));
	CHECK(json_stamp_whole(0) == 0);
}

static void what_is_not_known_is_null(void)
{
	CLEANUP(json_freep) json_t *object = json_object();
	CLEANUP(freep) char *line = NULL;

	json_put(object, "a", json_number(NAN));
	json_put(object, "b", json_number(INFINITY));
	json_put(object, "c", json_seconds(NAN));
	json_put(object, "d", json_seconds(1.00000049));
	json_put(object, "e", json_text(NULL));
	json_put(object, "f", json_text("\xff"));
	json_put(object, "g", json_text(""));
	json_put(object, "h", json_count(3));
	line = json_line(object);
	CHECK_STR(line, "{\"a\":null,\"b\":null,\"c\":null,\"d\":1.0,\"e\":null,\"f\":null,"
			"\"g\":\"\",\"h\":3}");
}

static const struct test tests[] = {
	TEST(any_value_is_read),
	TEST(what_is_not_json_is_refused_in_one_line),
	TEST(bytes_after_a_nul_are_not_lost),
	TEST(nesting_has_a_limit),
	TEST(brackets_in_strings_do_not_nest),
	TEST(writing_and_reading_keeps_numbers),
	TEST(files_are_read_within_their_limit),
	TEST(a_time_goes_round_and_none_is_null),
	TEST(texts_are_put_in_order_and_each_once),
	TEST(a_time_is_whole_once_it_was_a_stamp),
	TEST(what_is_not_known_is_null),
};

TEST_SUITE(tests);
