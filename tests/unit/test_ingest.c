/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/ingest/ingest.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/report/node_name.h"
#include "tests/unit/reports.h"
#include "tests/unit/test.h"

static char *report_of(const char *node, const char *profile, uint64_t seq)
{
	struct report report = report_make();
	json_t *value;
	char *text;

	free(report.node);
	report.node = xstrdup(node);
	free(report.profile);
	report.profile = xstrdup(profile);
	report.seq = seq;
	value = report_encode(&report);
	text = json_line(value);
	json_decref(value);
	report_release(&report);
	return text;
}

static char *report_text(const char *node, uint64_t seq)
{
	return report_of(node, "full", seq);
}

static int decode(const char *text, struct err *err)
{
	CLEANUP(ingest_release) struct ingest in = { 0 };
	struct packed sent = { PACK_PLAIN, text, strlen(text) };

	return ingest_decode(&sent, NULL, &in, err);
}

static void a_report_is_decoded_and_its_body_kept(void)
{
	CLEANUP(ingest_release) struct ingest in = { 0 };
	CLEANUP(freep) char *text = report_text("gpu-1.example", 7);
	struct packed sent = { PACK_PLAIN, text, strlen(text) };
	struct err err = ERR_INIT;

	CHECK_EQ(ingest_decode(&sent, NULL, &in, &err), 0);
	CHECK_STR(in.report.node, "gpu-1.example");
	CHECK_EQ(in.report.seq, 7);
	CHECK(in.body.length > 0);
}

static void who_is_to_blame_is_in_the_error(void)
{
	static const struct {
		const char *text;
		int r;
		const char *words;
	} rows[] = {
		{ "", -EBADMSG, "empty" },
		{ "{", -EBADMSG, "report" },
		{ "{\"v\":1}", -EINVAL, "report: kind" },
		{ "null", -EINVAL, "report" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = ERR_INIT;

		CHECK_EQ(decode(rows[i].text, &err), rows[i].r);
		CHECK_HAS(err.msg, rows[i].words);
	}
}

static void a_host_must_have_a_name_that_can_be_one(void)
{
	static const struct {
		const char *node;
		bool ok;
	} rows[] = {
		{ "gpu-17", true }, { "a.b_c-D9", true }, { "", false },
		{ ".", false },	    { "-x", false },	  { "a/b", false },
		{ "a b", false },   { "../x", false },	  { "h\xc3\xa4", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *text = report_text(rows[i].node, 1);
		struct err err = ERR_INIT;

		CHECK_EQ(node_name_ok(rows[i].node), rows[i].ok);
		CHECK_EQ(decode(text, &err), rows[i].ok ? 0 : -EINVAL);
		CHECK(rows[i].ok || strstr(err.msg, "node"));
	}
	CHECK(!node_name_ok(NULL));
}

static void a_report_without_a_number_is_refused(void)
{
	CLEANUP(freep) char *text = report_text("gpu-1", 0);
	struct err err = ERR_INIT;

	CHECK_EQ(decode(text, &err), -EINVAL);
	CHECK_HAS(err.msg, "report: seq: expected a number from 1");
}

/* What can be read and not be meant: who sent it is told where. */
static void what_cannot_be_meant_is_refused_with_its_place(void)
{
	static const struct {
		const char *key, *value, *words; /* NULL: taken */
	} rows[] = {
		{ "time", "\"2026-11-22T12:00:00Z\"", NULL },
		{ "time", "\"2026-11-22T12:00:00.123Z\"", NULL },
		{ "time", "\"\"", "report: time: expected UTC as 2026-11-22T12:00:00.000Z" },
		{ "time", "\"yesterday\"", "report: time: expected UTC" },
		{ "time", "\"2026-02-30T12:00:00Z\"", "report: time: expected UTC" },
		{ "time", "\"2026-11-22T12:00:00\"", "report: time: expected UTC" },
		{ "env", "{\"later\":{}}", NULL },
		{ "env", "null", NULL },
		{ "env", "[]", "report: env: expected an object of strings" },
		{ "env", "\"x\"", "report: env: expected" },
		{ "order", "null", NULL },
		{ "order", "{\"id\":\"a\"}", NULL },
		{ "order", "[]", "report: order: expected an object" },
		{ "duration_s", "-1", "report: duration_s: -1 is outside 0 to 31622400" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *text = report_text("gpu-1", 1);
		CLEANUP(json_freep) json_t *report = json_loads(text, 0, NULL);
		CLEANUP(freep) char *changed = NULL;
		struct err err = ERR_INIT;

		(void)json_object_set_new(report, rows[i].key,
					  json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
		changed = json_line(report);
		CHECK_EQ(decode(changed, &err), rows[i].words ? -EINVAL : 0);
		CHECK_HAS(err.msg, rows[i].words ? rows[i].words : "");
	}
}

/* What `assay run` makes a report of is taken: both know one limit. */
static void the_longest_name_of_a_profile_is_taken(void)
{
	char name[PROFILE_NAME_MAX + 2] = "";
	size_t length;

	for (length = 0; length <= PROFILE_NAME_MAX + 1; length++) {
		CLEANUP(freep) char *text = report_of("gpu-1", name, 1);
		struct err err = ERR_INIT;
		bool fits = length >= 1 && length <= PROFILE_NAME_MAX;

		CHECK_EQ(decode(text, &err), fits ? 0 : -EINVAL);
		CHECK(fits || strstr(err.msg, "report: profile"));
		if (length < sizeof(name) - 1)
			name[length] = 'p';
	}
}

static const struct test tests[] = {
	TEST(a_report_is_decoded_and_its_body_kept),
	TEST(who_is_to_blame_is_in_the_error),
	TEST(a_host_must_have_a_name_that_can_be_one),
	TEST(a_report_without_a_number_is_refused),
	TEST(what_cannot_be_meant_is_refused_with_its_place),
	TEST(the_longest_name_of_a_profile_is_taken),
};

TEST_SUITE(tests);
