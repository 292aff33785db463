/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

static void check_reads_as(const char *yaml, const char *json)
{
	CLEANUP(json_freep) json_t *value = NULL;
	CLEANUP(freep) char *line = NULL;
	struct err err = ERR_INIT;

	if (yaml_parse(yaml, strlen(yaml), "f.yaml", &value, &err) < 0) {
		CHECK_STR(err.msg, json);
		return;
	}
	line = json_line(value);
	CHECK_STR(line, json);
}

static void check_refused(const char *yaml, const char *sentence)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct err err = ERR_INIT;

	CHECK_EQ(yaml_parse(yaml, strlen(yaml), "f.yaml", &value, &err), -EINVAL);
	CHECK(!value);
	CHECK_HAS(err.msg, "f.yaml: ");
	CHECK_HAS(err.msg, sentence);
	CHECK(!strchr(err.msg, '\n'));
}

static void plain_scalars_follow_the_core_schema(void)
{
	static const struct {
		const char *yaml, *json;
	} cases[] = {
		{ "[~, null, Null, NULL, ]", "[null,null,null,null]" },
		{ "a:", "{\"a\":null}" },
		{ "[true, True, TRUE, false, False, FALSE]", "[true,true,true,false,false,false]" },
		/* YAML 1.1 read these as booleans. */
		{ "[yes, no, on, off, y, n, tRUE]",
		  "[\"yes\",\"no\",\"on\",\"off\",\"y\",\"n\",\"tRUE\"]" },
		{ "[0, 7, -7, +7, 007, 08]", "[0,7,-7,7,7,8]" },
		{ "[0x1F, 0xff, 0o17]", "[31,255,15]" },
		{ "[0x, 0xg, 0o8, 0X1F, -0x1, 0b1]",
		  "[\"0x\",\"0xg\",\"0o8\",\"0X1F\",\"-0x1\",\"0b1\"]" },
		{ "[1.5, -.5, 5., 1e3, 1.5E-3]", "[1.5,-0.5,5.0,1000.0,0.0015]" },
		{ "[., -, +, e3, 1e, 1_000, 1:30, 1.2.3, 45s, 2026-11-21]",
		  "[\".\",\"-\",\"+\",\"e3\",\"1e\",\"1_000\",\"1:30\",\"1.2.3\",\"45s\",\"2026-11-"
		  "21\"]" },
		/* JSON has no place for them: the decoder will ask for a number. */
		{ "[.inf, -.Inf, .nan, inf, nan]",
		  "[\".inf\",\"-.Inf\",\".nan\",\"inf\",\"nan\"]" },
		{ "['12', \"true\", '']", "[\"12\",\"true\",\"\"]" },
		{ "9223372036854775807", "9223372036854775807" },
		{ "-9223372036854775808", "-9223372036854775808" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check_reads_as(cases[i].yaml, cases[i].json);
}

static void collections_are_read(void)
{
	check_reads_as("a:\n  - 1\n  - b: {c: d}\n    e: []\nf: >\n  one\n  two\n",
		       "{\"a\":[1,{\"b\":{\"c\":\"d\"},\"e\":[]}],\"f\":\"one two\\n\"}");
	check_reads_as("{\"json\": [1, 2.5, \"\\u00e9\", null]}",
		       "{\"json\":[1,2.5,\"\u00e9\",null]}");
	check_reads_as("# words\n---\na: 1 # more\n...\n", "{\"a\":1}");
	check_reads_as("1: one\ntrue: two\n", "{\"1\":\"one\",\"true\":\"two\"}");
}

static void what_people_must_not_write_is_refused_with_its_place(void)
{
	static const struct {
		const char *yaml, *sentence;
	} cases[] = {
		{ "", "empty" },
		{ "# only words\n", "empty" },
		{ "a: &x 1\n", "line 1 column 4: anchors and tags" },
		{ "a: &x [1]\n", "anchors and tags" },
		{ "a: &x {b: 1}\n", "anchors and tags" },
		{ "a: 1\nb: *x\n", "line 2 column 4: anchors and tags" },
		{ "a: !!str 1\n", "anchors and tags" },
		{ "a: ! 1\n", "anchors and tags" },
		{ "a: !x [1]\n", "anchors and tags" },
		{ "!!map {a: 1}\n", "anchors and tags" },
		{ "&a a: 1\n", "anchors and tags" },
		{ "a: 1\nb: 2\na:\n  - 3\n", "line 3 column 1: a: given twice" },
		{ "a: {b: 1, b: 2}\n", "line 1 column 11: b: given twice" },
		{ "a: 1\n---\nb: 2\n", "a second document" },
		{ "? [1, 2]\n: 3\n", "a key must be plain text" },
		{ "? {a: 1}\n: 3\n", "a key must be plain text" },
		{ "a: 1e999\n", "line 1 column 4: a number too large" },
		{ "a: 99999999999999999999\n", "a number too large" },
		{ "a: 0xffffffffffffffffff\n", "a number too large" },
		{ "a: \"x\\0y\"\n", "a NUL byte" },
		{ "\"a\\0b\": 1\n", "a NUL byte" },
		{ "a:\n\t- 1\n", "line 2 column 1" },
		{ "a: [1, 2\n", "line 2 column 1" },
		{ "a: 'x\n", "f.yaml: line" },
		{ "a: b: c\n", "line 1 column 5" },
		{ "a: \xff\n", "byte 4: invalid leading UTF-8 octet" },
		{ "a: \xc3(\n", "byte 5: invalid trailing UTF-8 octet" },
		{ "a: \a\n", "control characters are not allowed" },
		{ "%YAML 3.0\n---\na: 1\n", "incompatible YAML document" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check_refused(cases[i].yaml, cases[i].sentence);
}

static void nesting_has_a_limit(void)
{
	char text[2 * JSON_DEPTH_MAX + 4] = "";
	json_t *value = NULL;
	struct err err = ERR_INIT;

	memset(text, '[', JSON_DEPTH_MAX);
	memset(text + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
	CHECK_EQ(yaml_parse(text, 2 * JSON_DEPTH_MAX, "f", &value, &err), 0);
	json_decref(value);
	memset(text, '[', JSON_DEPTH_MAX + 1);
	memset(text + JSON_DEPTH_MAX + 1, ']', JSON_DEPTH_MAX + 1);
	CHECK_EQ(yaml_parse(text, 2 * JSON_DEPTH_MAX + 2, "f", &value, &err), -EINVAL);
	CHECK_HAS(err.msg, "line 1 column 33: nested too deep");
}

static void open_ends_in_bulk_end_at_the_limit(void)
{
	static const char *const pieces[] = { "[", "{a: ", "- ", "? ", "[[]," };
	CLEANUP(freep) char *text = xcalloc(JSON_PEOPLE_FILE_MAX + 1, 1);
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		json_t *value = NULL;
		struct err err = ERR_INIT;

		for (len = 0; len + strlen(pieces[i]) <= JSON_PEOPLE_FILE_MAX;
		     len += strlen(pieces[i]))
			memcpy(text + len, pieces[i], strlen(pieces[i]));
		CHECK_EQ(yaml_parse(text, len, "f", &value, &err), -EINVAL);
		CHECK(!value);
	}
}

static void a_file_has_a_limit(void)
{
	CLEANUP(freep) char *text = xcalloc(JSON_PEOPLE_FILE_MAX + 2, 1);
	CLEANUP(freep) char *path = NULL;
	CLEANUP(freep) char *longer = NULL;
	CLEANUP(json_freep) json_t *value = NULL;
	struct err err = ERR_INIT;

	memset(text, '#', JSON_PEOPLE_FILE_MAX);
	memcpy(text, "a: 1\n", 5);
	path = test_file("a.yaml", text);
	CHECK_EQ(yaml_read_file(path, &value, &err), 0);
	CHECK_EQ(json_integer_value(json_object_get(value, "a")), 1);
	text[JSON_PEOPLE_FILE_MAX] = '#';
	longer = test_file("b.yaml", text);
	CHECK_EQ(yaml_read_file(longer, &value, &err), -EFBIG);
	CHECK_HAS(err.msg, "b.yaml: larger than 1048576 bytes");
	CHECK_EQ(yaml_read_file(test_dir(), &value, &err), -EISDIR);
}

static const struct test tests[] = {
	TEST(plain_scalars_follow_the_core_schema),
	TEST(collections_are_read),
	TEST(what_people_must_not_write_is_refused_with_its_place),
	TEST(nesting_has_a_limit),
	TEST(open_ends_in_bulk_end_at_the_limit),
	TEST(a_file_has_a_limit),
};

TEST_SUITE(tests);
