/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/json/kv.h"
#include "tests/unit/test.h"

static void check_prints(const char *json, const char *expected)
{
	CLEANUP(json_freep) json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
	CLEANUP(freep) char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	kv_print(value, out);
	(void)fclose(out);
	CHECK_STR(text, expected);
}

static void each_leaf_is_one_line(void)
{
	static const struct {
		const char *json, *lines;
	} cases[] = {
		{ "{\"a\":1,\"b\":{\"c\":[true,null,\"x y\"]}}",
		  "a=1\nb.c.0=true\nb.c.1=\nb.c.2=x y\n" },
		{ "{}", "" },
		{ "{\"a\":[],\"b\":{}}", "" },
		{ "[0.5,-2]", "0=0.5\n1=-2\n" },
		{ "\"alone\"", "=alone\n" },
		{ "{\"a\":\"\"}", "a=\n" },
		{ "{\"a\":\"24.9 GB/s \u20ac\"}", "a=24.9 GB/s \u20ac\n" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		check_prints(cases[i].json, cases[i].lines);
}

static void nothing_quoted_breaks_a_line(void)
{
	check_prints("{\"a\":\"two\\nlines \\\\ \\\"q\\\" \\u001b\"}",
		     "a=two\\nlines \\\\ \\\"q\\\" \\u001B\n");
	check_prints("{\"k\\ney\":1}", "k\\ney=1\n");
}

static const struct test tests[] = {
	TEST(each_leaf_is_one_line),
	TEST(nothing_quoted_breaks_a_line),
};

TEST_SUITE(tests);
