/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that both readers of reports accept, or reject. */
#include <limits.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/both_readers.h"
#include "tests/unit/test.h"

/* Any JSON value: it is skipped where a key is unknown. */
static const struct {
	const char *text;
	bool good;
} values[] = {
	{ "null", true },
	{ "true", true },
	{ "false", true },
	{ "nul", false },
	{ "nullx", false },
	{ "True", false },
	{ "truefalse", false },
	{ "NaN", false },
	{ "Infinity", false },
	{ "", false },
	{ "{}", true },
	{ " { } ", true },
	{ "[]", true },
	{ "[1,]", false },
	{ "[,1]", false },
	{ "[1 2]", false },
	{ "[1,,2]", false },
	{ "[", false },
	{ "]", false },
	{ "[}", false },
	{ "{]", false },
	{ "{\"a\"}", false },
	{ "{\"a\":}", false },
	{ "{\"a\":1,}", false },
	{ "{,}", false },
	{ "{a:1}", false },
	{ "{1:1}", false },
	{ "{\"a\":1 \"b\":2}", false },
	{ "{\"a\" : 1 , \"b\":\t2\r\n}", true },
	{ "{\"a\":1,\"a\":2}", false },
	{ "{\"a\":1,\"\\u0061\":2}", false },
	{ "{\"a\":1,\"A\":2,\"\":3}", true },
	{ "{\"\":1,\"\":2}", false },
	{ "[{\"a\":1},{\"a\":2}]", true },
	{ "{\"a\":{\"a\":1},\"b\":{\"a\":1}}", true },
	{ "{\"a\":{\"b\":1,\"b\":1}}", false },
	{ "{\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0,\"j\":0,\"k\":"
	  "0,"
	  "\"l\":0,\"m\":0,\"n\":0}",
	  true },
	{ "{\"a\":0,\"b\":0,\"c\":0,\"d\":0,\"e\":0,\"f\":0,\"g\":0,\"h\":0,\"i\":0,\"j\":0,\"k\":"
	  "0,"
	  "\"l\":0,\"m\":0,\"a\":0}",
	  false },
	{ "{\"a\\u0000\":1}", false },
	{ "// 1\n1", false },
	{ "\xef\xbb\xbf"
	  "1",
	  false },
	{ "1\v", false },
	{ "'a'", false },
	/* numbers */
	{ "0", true },
	{ "-0", true },
	{ "-", false },
	{ "+1", false },
	{ "01", false },
	{ "-01", false },
	{ "00", false },
	{ "1.", false },
	{ ".5", false },
	{ "1.e5", false },
	{ "1e", false },
	{ "1e+", false },
	{ "1E-07", true },
	{ "1e00", true },
	{ "0x10", false },
	{ "1a", false },
	{ "1.5.5", false },
	{ "1-1", false },
	{ "9223372036854775807", true },
	{ "9223372036854775808", false },
	{ "-9223372036854775808", true },
	{ "-9223372036854775809", false },
	{ "99999999999999999999", false },
	{ "18446744073709551616", false },
	{ "9223372036854775808.0", true },
	{ "1e308", true },
	{ "1.7976931348623157e308", true },
	{ "1.7976931348623159e308", false },
	{ "1e309", false },
	{ "-1e309", false },
	{ "1e99999999999", false },
	{ "0e99999999999", true },
	{ "1e-99999999999", true },
	{ "5e-324", true },
	/* strings */
	{ "\"\"", true },
	{ "\"", false },
	{ "\"a", false },
	{ "\"\\\"", false },
	{ "\"\\", false },
	{ "\"\\\\\"", true },
	{ "\"\\/\\b\\f\\n\\r\\t\"", true },
	{ "\"\\x41\"", false },
	{ "\"\\'\"", false },
	{ "\"\\U0041\"", false },
	{ "\"\\u004\"", false },
	{ "\"\\u004g\"", false },
	{ "\"\\u\"", false },
	{ "\"\\u0000\"", false },
	{ "\"\\u0001\\uFFFF\\uffff\"", true },
	{ "\"\\ud800\"", false },
	{ "\"\\ud800x\"", false },
	{ "\"\\ud800\\n\"", false },
	{ "\"\\ud800\\ud800\"", false },
	{ "\"\\ud800\\u0041\"", false },
	{ "\"\\ud800\\udc0\"", false },
	{ "\"\\udc00\"", false },
	{ "\"\\udfff\\ud800\"", false },
	{ "\"\\ud800\\udc00\\udbff\\udfff\"", true },
	{ "\"a\nb\"", false },
	{ "\"a\tb\"", false },
	{ "\"\x01\"", false },
	{ "\"\x1f\"", false },
	{ "\"\x7f\"", true },
	{ "\"\xc3\xa9\"", true },
	{ "\"\x80\"", false },
	{ "\"\xbf\"", false },
	{ "\"\xc0\x80\"", false },
	{ "\"\xc1\xbf\"", false },
	{ "\"\xc2\"", false },
	{ "\"\xc2\x41\"", false },
	{ "\"\xc2\x80\xdf\xbf\"", true },
	{ "\"\xe0\x9f\xbf\"", false },
	{ "\"\xe0\xa0\x80\xef\xbf\xbf\"", true },
	{ "\"\xe2\x82\"", false },
	{ "\"\xed\x9f\xbf\xee\x80\x80\"", true },
	{ "\"\xed\xa0\x80\"", false },
	{ "\"\xed\xbf\xbf\"", false },
	{ "\"\xf0\x8f\xbf\xbf\"", false },
	{ "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"", true },
	{ "\"\xf4\x90\x80\x80\"", false },
	{ "\"\xf5\x80\x80\x80\"", false },
	{ "\"\xff\"", false },
	{ "\"\xf0\x9f\x98\"", false },
};

static void any_value_is_taken_or_refused_as_by_the_careful_one(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		CLEANUP(freep)
		char *skipped = xasprintf(HEAD ",\"later\":%s}", values[i].text);
		CLEANUP(freep) char *kept = xasprintf(HEAD ",\"env\":%s}", values[i].text);
		CLEANUP(freep)
		char *in_sample = xasprintf(HEAD ",\"samples\":[{" SAMPLE ",\"later\":[%s]}]}",
					    values[i].text);
		CLEANUP(freep) char *alone = xasprintf("%s", values[i].text);
		CLEANUP(freep) char *behind = xasprintf(HEAD "}%s", values[i].text);

		both_read_as(skipped, values[i].good);
		both_read_as(kept, values[i].good);
		/* Nothing between the brackets is a list too. */
		both_read_as(in_sample, values[i].good || !values[i].text[0]);
		both_read_as(alone, false);
		both_read_as(behind, !values[i].text[0]);
	}
}

/* Strings and numbers are read eight bytes at a time: each byte stands at each place of them. */
static void any_byte_is_taken_or_refused_at_any_place(void)
{
	static const char *const texts[] = {
		HEAD ",\"agent\":\"01234567890123456789\"}",
		HEAD ",\"uptime_s\":12345678901234567890}",
		HEAD ",\"uptime_s\":0.12345678901234567}",
	};
	size_t i, at;
	int byte;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		CLEANUP(freep) char *text = xstrdup(texts[i]);

		for (at = strlen(HEAD) + strlen(",\"agent\":"); text[at]; at++) {
			for (byte = 0; byte <= UCHAR_MAX; byte++) {
				text[at] = (char)byte;
				(void)both_read(text, strlen(texts[i]));
			}
			text[at] = texts[i][at];
		}
	}
}

/* The rest of a report behind HEAD. */
static const struct {
	const char *text;
	bool good;
} reports[] = {
	{ "}", true },
	{ "} ", true },
	{ "}}", false },
	{ "", false },
	{ ",\"node\":\"m\"}", false },
	{ ",\"v\":1}", false },
	{ ",\"kind\":\"report\"}", false },
	{ ",\"samples\":[],\"samples\":[]}", false },
	{ ",\"later\":1,\"later\":1}", false },
	{ ",\"sku\":null,\"topology\":\"x\"}", true },
	{ ",\"agent\":null}", false },
	{ ",\"agent\":7}", false },
	{ ",\"sku\":7}", false },
	{ ",\"env\":null,\"order\":[1,2.5,\"x\"]}", true },
	{ ",\"env\":{\"a\":1},\"order\":{\"a\":1}}", true },
	{ ",\"duration_s\":7}", true },
	{ ",\"duration_s\":null}", false },
	{ ",\"duration_s\":0}", true },
	{ ",\"duration_s\":-1e-9}", false },
	{ ",\"duration_s\":31622400}", true },
	{ ",\"duration_s\":31622401}", false },
	{ ",\"duration_s\":\"7\"}", false },
	{ ",\"samples\":null}", false },
	{ ",\"samples\":{}}", false },
	{ ",\"samples\":[1]}", false },
	{ ",\"samples\":[{}]}", false },
	{ ",\"samples\":[{" SAMPLE "}]}", true },
	{ ",\"samples\":[{" SAMPLE "},{" SAMPLE "}]}", true },
	{ ",\"samples\":[{" SAMPLE "},{" SAMPLE ",\"check\":\"c\"}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"v\":1}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"v\":1.0}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"v\":2}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"v\":null}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"v\":1,\"v\":1}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"value\":-0}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"value\":-0.0}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"value\":true}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"ok\":true}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"ok\":false}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"ok\":1}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"ok\":tru}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"n\":1.0}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"n\":-1}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"n\":9223372036854775807}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"n\":null}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"better\":\"lower\"}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"better\":\"low\"}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"better\":\"lowers\"}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"better\":\"\"}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"better\":null}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"better\":\"\\u006cower\"}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"\\u006e\":5}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"n\":5,\"\\u006e\":5}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"min\":1,\"max\":1,\"p50\":1,\"p99\":1}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"min\":1,\"p50\":2,\"p99\":3,\"max\":4}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"min\":1.5,\"max\":1}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"max\":1,\"min\":1.5}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"p50\":1,\"min\":1.5}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"p50\":2,\"p99\":1}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"p99\":2,\"max\":1}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"min\":-2,\"p99\":-1}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"value\":9,\"min\":1,\"max\":2}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"stddev\":-1}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"seconds\":-1}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"seconds\":1e10}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"class\":\"nvl\"}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"params\":{}}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"params\":null}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"params\":[]}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"params\":{\"a\":1,\"a\":1}}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"path\":[]}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"path\":[\"a\",1]}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"path\":\"a\"}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"w\":[]}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"w\":[1,null]}]}", false },
	{ ",\"samples\":[{" SAMPLE ",\"w\":[1,-2.5,1e300]}]}", true },
	{ ",\"samples\":[{" SAMPLE ",\"w\":{}}]}", false },
	{ ",\"samples\":[{\"check\":\"\",\"subject\":\"s\",\"state\":\"busy\"}]}", false },
	{ ",\"samples\":[{\"check\":\"c\",\"subject\":\"\",\"state\":\"busy\"}]}", false },
	{ ",\"samples\":[{\"check\":\"c\",\"subject\":\"s\",\"state\":\"busy\"}]}", true },
	{ ",\"samples\":[{\"check\":\"c\",\"subject\":\"s\",\"state\":\"busy\",\"ok\":true}]}",
	  false },
	{ ",\"samples\":[{\"check\":\"c\",\"subject\":\"s\",\"state\":\"measured\",\"value\":1}]}",
	  false },
	{ ",\"samples\":[{\"check\":\"c\",\"subject\":\"s\"}]}", false },
	{ ",\"problems\":[]}", true },
	{ ",\"problems\":null}", false },
	{ ",\"problems\":[{\"probe\":\"p\",\"code\":\"busy\",\"later\":{}}]}", true },
	{ ",\"problems\":[{\"probe\":\"p\",\"code\":\"tired\"}]}", false },
	{ ",\"problems\":[{\"code\":\"busy\"}]}", false },
	{ ",\"problems\":[{\"probe\":\"p\",\"code\":\"busy\",\"probe\":\"p\"}]}", false },
	{ ",\"problems\":[{\"probe\":\"p\",\"code\":\"busy\",\"detail\":null}]}", false },
};

static void any_report_is_taken_or_refused_as_by_the_careful_one(void)
{
	static const char *const heads[] = {
		"[]",
		"{}",
		"{\"v\":1,\"node\":\"n\",\"boot_id\":\"b\",\"seq\":1,\"time\":\"t\",\"profile\":"
		"\"q\"}",
		"{\"kind\":\"report\",\"node\":\"n\",\"boot_id\":\"b\",\"seq\":1,\"time\":\"t\","
		"\"profile\":"
		"\"q\"}",
		"{\"v\":1,\"kind\":\"run\",\"node\":\"n\",\"boot_id\":\"b\",\"seq\":1,\"time\":"
		"\"t\","
		"\"profile\":\"q\"}",
		"{\"v\":1,\"kind\":\"report\",\"boot_id\":\"b\",\"seq\":1,\"time\":\"t\","
		"\"profile\":\"q\"}",
		"{\"v\":1,\"kind\":\"report\",\"node\":\"n\",\"boot_id\":\"b\",\"seq\":-1,\"time\":"
		"\"t\","
		"\"profile\":\"q\"}",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(reports); i++) {
		CLEANUP(freep) char *text = xasprintf(HEAD "%s", reports[i].text);

		both_read_as(text, reports[i].good);
	}
	for (i = 0; i < ARRAY_SIZE(heads); i++)
		both_read_as(heads[i], false);
}

static const struct test tests[] = {
	TEST(any_value_is_taken_or_refused_as_by_the_careful_one),
	TEST(any_byte_is_taken_or_refused_at_any_place),
	TEST(any_report_is_taken_or_refused_as_by_the_careful_one),
};

TEST_SUITE(tests);
