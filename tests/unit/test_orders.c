/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/assayd/orders.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

/* 2026-11-21T00:00:00Z */
#define NOW_US (UINT64_C(1795219200) * USEC_PER_SEC)

static int decode(const char *text, struct order *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;

	CHECK_EQ(json_parse(text, strlen(text), "o", &value, NULL), 0);
	root = jval_root(value, "o");
	return order_decode(&root, NOW_US, ret, err);
}

/* More of it: test_order_meeting.c. */
#define MEETING                                                                 \
	",\"peers\":[\"a:1\",\"b:1\"],\"passed\":[\"a:1\",\"b:1\"],\"rank\":1," \
	"\"token\":\"0123456789abcdefghijklmnopqrstuv\"}"

static void each_kind_is_known_by_its_name(void)
{
	struct order o = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(decode("{\"id\":\"a1\",\"kind\":\"deep\",\"deadline\":\"2026-11-21T00:05:00Z\"}",
			&o, &err),
		 0);
	CHECK_STR(o.id, "a1");
	CHECK_EQ(o.kind, ORDER_DEEP);
	CHECK_EQ(o.deadline_us - NOW_US, 5 * USEC_PER_MIN);
	CHECK(!o.opinion);
	CHECK_EQ(decode("{\"id\":17,\"kind\":\"pair\",\"deadline\":null" MEETING, &o, &err), 0);
	CHECK_STR(o.id, "17");
	CHECK_EQ(o.kind, ORDER_PAIR);
	CHECK_EQ(o.deadline_us, 0);
	order_release(&o);
	CHECK_EQ(decode("{\"id\":\"x\",\"kind\":\"allreduce\"" MEETING, &o, &err), 0);
	CHECK_EQ(o.kind, ORDER_ALLREDUCE);
	order_release(&o);
}

static void a_look_names_a_job(void)
{
	static const char *const bad[] = {
		"", ",\"job\":null", ",\"job\":\"\"", ",\"job\":7", ",\"job\":\"a\\nb\"",
	};
	CLEANUP(freep) char *name = xcalloc(ORDER_JOB_MAX + 2, 1);
	struct order o = { 0 };
	size_t i, n;

	CHECK_EQ(decode("{\"id\":\"a\",\"kind\":\"look\",\"job\":\"research/llm-7\"}", &o, NULL), 0);
	CHECK_EQ(o.kind, ORDER_LOOK);
	CHECK_STR(o.job, "research/llm-7");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		CLEANUP(freep)
		char *text = xasprintf("{\"id\":\"a\",\"kind\":\"look\"%s}", bad[i]);
		struct err err = ERR_INIT;

		CHECK_EQ(decode(text, &o, &err), -EINVAL);
		CHECK_HAS(err.msg,
			  i < 2 ? "expected the name of the job" : "expected a job name of");
	}
	for (n = ORDER_JOB_MAX; n <= ORDER_JOB_MAX + 1; n++) {
		CLEANUP(freep) char *text = NULL;

		memset(name, 'j', n);
		text = xasprintf("{\"id\":\"a\",\"kind\":\"look\",\"job\":\"%s\"}", name);
		CHECK_EQ(decode(text, &o, NULL), n == ORDER_JOB_MAX ? 0 : -EINVAL);
	}
}

static void an_opinion_keeps_its_keys_and_nothing_else(void)
{
	struct order o = { 0 };
	struct err err = ERR_INIT;
	CLEANUP(freep) char *line = NULL;

	CHECK_EQ(decode("{\"id\":\"a\",\"kind\":\"opinion\",\"opinion\":{\"verdict\":\"fail\","
			"\"policy\":\"p1\",\"expires\":\"2026-11-21T01:00:00Z\",\"sentence\":\"s\","
			"\"admit\":\"degraded\",\"exec\":\"rm -rf /\"}}",
			&o, &err),
		 0);
	line = json_line(o.opinion);
	CHECK_STR(line, "{\"verdict\":\"fail\",\"policy\":\"p1\",\"expires\":"
			"\"2026-11-21T01:00:00Z\",\"sentence\":\"s\",\"admit\":\"degraded\"}");
	order_release(&o);
	CHECK(!o.opinion);
}

static void stamps_count_from_the_clock_that_gave_them(void)
{
	static const struct {
		const char *now, *deadline, *expires; /* by a clock a day behind, or ahead */
	} rows[] = {
		{ "2026-11-20T00:00:00Z", "2026-11-20T00:05:00Z", "2026-11-20T01:00:00Z" },
		{ "2026-11-22T00:00:00Z", "2026-11-22T00:05:00Z", "2026-11-22T01:00:00Z" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(order_release) struct order o = { 0 };
		CLEANUP(freep)
		char *text = xasprintf(
			"{\"id\":\"a\",\"kind\":\"opinion\",\"now\":\"%s\",\"deadline\":\"%s\","
			"\"opinion\":{\"verdict\":\"fail\",\"expires\":\"%s\"}}",
			rows[i].now, rows[i].deadline, rows[i].expires);
		struct err err = ERR_INIT;

		CHECK_EQ(decode(text, &o, &err), 0);
		CHECK_EQ(o.deadline_us, NOW_US + 5 * USEC_PER_MIN);
		CHECK_STR(json_string_value(json_object_get(o.opinion, "expires")),
			  "2026-11-21T01:00:00.000Z");
	}
}

#define OPINION(inside) "{\"id\":\"a\",\"kind\":\"opinion\",\"opinion\":{" inside "}}"
#define SOON "\"expires\":\"2026-11-21T01:00:00Z\""

static const struct {
	const char *text;
	int r;
	const char *words;
} refused[] = {
	{ "[]", -EINVAL, "expected an object" },
	{ "{}", -EINVAL, "id: missing" },
	{ "{\"id\":\"a\"}", -EINVAL, "kind: missing" },
	{ "{\"id\":\"\",\"kind\":\"deep\"}", -EINVAL, "id: expected an id" },
	{ "{\"id\":[1],\"kind\":\"deep\"}", -EINVAL, "id: expected an id" },
	{ "{\"id\":\"a\",\"kind\":\"run\",\"argv\":[\"/bin/sh\"]}", -EINVAL,
	  "kind: 'run' is not one of" },
	{ "{\"id\":\"a\",\"kind\":\"/bin/sh\"}", -EINVAL,
	  "is not one of deep, pair, allreduce, opinion" },
	{ "{\"id\":\"a\",\"kind\":\"deep\",\"deadline\":\"soon\"}", -EINVAL,
	  "deadline: expected a time" },
	{ "{\"id\":\"a\",\"kind\":\"deep\",\"deadline\":5}", -EINVAL, "deadline: expected a time" },
	{ "{\"id\":\"a\",\"kind\":\"deep\",\"deadline\":\"2026-11-21T00:00:00Z\"}", -ESTALE,
	  "the deadline of order a has passed" },
	{ "{\"id\":\"a\",\"kind\":\"opinion\"}", -EINVAL, "opinion: expected an object" },
	{ OPINION(""), -EINVAL, "opinion.verdict: missing" },
	{ OPINION("\"verdict\":\"fail\""), -EINVAL, "opinion.expires: missing" },
	{ OPINION("\"verdict\":\"dead\"," SOON), -EINVAL, "'dead' is not one of" },
	{ OPINION("\"verdict\":\"fail\",\"expires\":\"never\""), -EINVAL,
	  "opinion.expires: expected" },
	{ OPINION("\"verdict\":\"fail\",\"expires\":\"2026-11-20T23:59:59Z\""), -ESTALE, "expired" },
	{ OPINION("\"verdict\":\"fail\",\"expires\":\"2027-11-21T00:00:00Z\""), -EINVAL,
	  "more than 31 days ahead" },
	{ OPINION("\"verdict\":\"fail\",\"admit\":\"ok\"," SOON), -EINVAL,
	  "opinion.admit: 'ok': expected degraded" },
	{ OPINION("\"verdict\":\"fail\",\"sentence\":7," SOON), -EINVAL,
	  "opinion.sentence: expected a" },
};

static void what_is_no_order_is_refused_with_its_place_and_leaves_nothing(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		struct order o = { .kind = 99 };
		struct err err = ERR_INIT;

		CHECK_EQ(decode(refused[i].text, &o, &err), refused[i].r);
		CHECK_HAS(err.msg, refused[i].words);
		CHECK_EQ(o.kind, 99);
	}
}

static void texts_are_bounded(void)
{
	CLEANUP(freep) char *id = xasprintf("{\"id\":\"%065d\",\"kind\":\"deep\"}", 0);
	CLEANUP(freep)
	char *sentence =
		xasprintf(OPINION("\"verdict\":\"fail\",\"sentence\":\"%01025d\"," SOON), 0);
	CLEANUP(freep)
	char *policy = xasprintf(OPINION("\"verdict\":\"fail\",\"policy\":\"%0129d\"," SOON), 0);
	const char *const texts[] = { id, sentence, policy };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		struct order o = { 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(decode(texts[i], &o, &err), -EINVAL);
		CHECK(err.msg[0]);
	}
}

static void an_order_is_seen_once_and_remembered_for_long(void)
{
	CLEANUP(freep) struct order_seen *seen = xcalloc(1, sizeof(*seen));
	char id[16];
	int i;

	CHECK(!order_seen(seen, "a"));
	CHECK(order_seen(seen, "a"));
	for (i = 0; i < ORDER_SEEN_MAX - 1; i++) {
		(void)snprintf(id, sizeof(id), "n%d", i);
		CHECK(!order_seen(seen, id));
	}
	CHECK(order_seen(seen, "a"));
	CHECK(!order_seen(seen, "b"));
	CHECK(!order_seen(seen, "a"));
}

static const struct test tests[] = {
	TEST(each_kind_is_known_by_its_name),
	TEST(a_look_names_a_job),
	TEST(an_opinion_keeps_its_keys_and_nothing_else),
	TEST(stamps_count_from_the_clock_that_gave_them),
	TEST(what_is_no_order_is_refused_with_its_place_and_leaves_nothing),
	TEST(texts_are_bounded),
	TEST(an_order_is_seen_once_and_remembered_for_long),
};

TEST_SUITE(tests);
