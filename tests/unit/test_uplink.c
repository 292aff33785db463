/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "agents/assayd/assayd_config.h"
#include "agents/assayd/delivery.h"
#include "lib/base/backoff.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

/* --- backoff --- */

static void a_wait_is_anywhere_from_nothing_to_the_widest(void)
{
	struct backoff b = { .base_us = 1000, .cap_us = 60000 };

	CHECK_EQ(backoff_fail(&b, 0, 0), 0);
	b.failures = 0;
	CHECK_EQ(backoff_fail(&b, 0, 1000), 1000);
	b.failures = 0;
	CHECK_EQ(backoff_fail(&b, 0, 1001), 0);
}

static void the_widest_wait_doubles_up_to_the_cap_and_stays(void)
{
	static const uint64_t widest[] = { 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000 };
	struct backoff b = { .base_us = 1000, .cap_us = 60000 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(widest); i++)
		CHECK_EQ(backoff_fail(&b, 0, widest[i]), widest[i]);
	for (i = 0; i < 100000; i++)
		CHECK_EQ(backoff_fail(&b, 0, 60000), 60000);
}

static void success_begins_again_with_short_waits(void)
{
	struct backoff b = { .base_us = 1000, .cap_us = 60000 };

	(void)backoff_fail(&b, 0, 0);
	(void)backoff_fail(&b, 0, 0);
	backoff_reset(&b);
	CHECK_EQ(backoff_fail(&b, 0, 1001), 0);
}

static void what_the_server_asked_for_comes_on_top(void)
{
	struct backoff b = { .base_us = 1000, .cap_us = 60000 };

	CHECK_EQ(backoff_fail(&b, 7000000, 999), 7000999);
}

static void odd_limits_neither_overflow_nor_divide_by_zero(void)
{
	struct backoff none = { 0 };
	struct backoff most = { .base_us = UINT64_MAX, .cap_us = UINT64_MAX - 1 };
	struct backoff above = { .base_us = 5000, .cap_us = 100 };

	CHECK_EQ(backoff_fail(&none, 0, UINT64_MAX), 0);
	CHECK_EQ(backoff_fail(&most, 0, 17), 17);
	CHECK_EQ(backoff_fail(&above, 0, 100), 100);
	CHECK_EQ(backoff_fail(&above, 0, 101), 0);
}

/* --- delivery --- */

static const struct {
	unsigned status;
	const char *body;
	enum delivery expected;
	const char *words;
} answers[] = {
	{ 202, "{\"accepted\":1}", DELIVERY_DONE, "" },
	{ 202, "{\"accepted\":1,\"later\":true}", DELIVERY_DONE, "" },
	{ 200, "{\"duplicate\":1}", DELIVERY_DONE, "" },
	{ 202, "", DELIVERY_KEEP, "202 the answer does not acknowledge it" },
	{ 202, "{\"accepted\":0}", DELIVERY_KEEP, "does not acknowledge it" },
	{ 202, "{\"accepted\":\"1\"}", DELIVERY_KEEP, "does not acknowledge it" },
	{ 202, "{\"accepted\":1", DELIVERY_KEEP, "does not acknowledge it" },
	{ 200, "{\"accepted\":1}", DELIVERY_KEEP, "does not acknowledge it" },
	{ 200, "<html>please log in</html>", DELIVERY_KEEP, "does not acknowledge it" },
	{ 400, "", DELIVERY_SET_ASIDE, "400 malformed" },
	{ 413, "{}", DELIVERY_SET_ASIDE, "413 too large" },
	{ 422, "{\"title\":\"t\",\"detail\":\"samples[3].unit: missing\"}", DELIVERY_SET_ASIDE,
	  "422 bad content: samples[3].unit: missing" },
	{ 422, "{\"title\":\"t\",\"detail\":7}", DELIVERY_SET_ASIDE, "422 bad content: t" },
	{ 401, "{\"detail\":\"no token\"}", DELIVERY_KEEP, "no token" },
	{ 403, "", DELIVERY_SET_ASIDE, "403 not allowed for this node" },
	{ 404, "", DELIVERY_KEEP, "404 no such route" },
	{ 409, "", DELIVERY_KEEP, "409 an unexpected answer" },
	{ 429, "", DELIVERY_KEEP, "429" },
	{ 500, "oops", DELIVERY_KEEP, "500" },
	{ 503, "", DELIVERY_KEEP, "503 not now" },
	{ 301, "", DELIVERY_KEEP, "301" },
	{ 0, "", DELIVERY_KEEP, "0" },
};

static void only_a_stored_report_is_done_and_only_a_hopeless_one_is_set_aside(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		struct err why = ERR_INIT;
		const char *body = answers[i].body;

		CHECK_EQ(delivery_judge(answers[i].status, body, strlen(body), &why),
			 answers[i].expected);
		CHECK_HAS(why.msg, answers[i].words);
		CHECK_EQ(why.msg[0] != '\0', answers[i].expected != DELIVERY_DONE);
	}
}

static void a_huge_or_dirty_detail_becomes_one_bounded_line(void)
{
	CLEANUP(freep) char *body = xasprintf("{\"detail\":\"a\\nb%02000d\"}", 0);
	struct err why = ERR_INIT;

	CHECK_EQ(delivery_judge(422, body, strlen(body), &why), DELIVERY_SET_ASIDE);
	CHECK(!strchr(why.msg, '\n'));
	CHECK(strlen(why.msg) < 400);
}

#define OK202 "{\"status\":202}"

static const struct {
	unsigned status;
	const char *body;
	enum delivery_lines expected;
	size_t n;
	const char *words;
} line_answers[] = {
	{ 202, "{\"results\":[" OK202 "," OK202 "," OK202 "]}", LINES_TAKEN, 3, "" },
	{ 202, "{\"results\":[" OK202 ",{\"status\":200}]}", LINES_TAKEN, 2, "" },
	{ 202, "{\"results\":[{\"status\":422,\"detail\":\"no unit\"}," OK202 "]}", LINES_TAKEN, 2,
	  "" },
	/* What settles nothing ends what is believed. */
	{ 202, "{\"results\":[" OK202 ",{\"status\":503}," OK202 "]}", LINES_TAKEN, 1, "" },
	{ 202, "{\"results\":[" OK202 ",7," OK202 "]}", LINES_TAKEN, 1, "" },
	{ 202, "{\"results\":[{\"status\":429}]}", LINES_KEEP, 0, "does not acknowledge it" },
	{ 202, "{\"results\":[{\"status\":\"202\"}]}", LINES_KEEP, 0, "does not acknowledge it" },
	{ 202, "{\"results\":[]}", LINES_KEEP, 0, "does not acknowledge it" },
	{ 202, "{\"accepted\":3}", LINES_KEEP, 0, "does not acknowledge it" },
	{ 202, "", LINES_KEEP, 0, "does not acknowledge it" },
	{ 202, "{\"results\":[" OK202 "," OK202 "," OK202 "," OK202 "]}", LINES_KEEP, 0,
	  "does not acknowledge it" },
	{ 202, "{\"results\":[" OK202 ",{\"status\":403,\"detail\":\"not yours\"}," OK202 "]}",
	  LINES_TAKEN, 3, "" },
	{ 403, "", LINES_ALONE, 0, "" },
	{ 404, "", LINES_SINGLY, 0, "" },
	{ 405, "", LINES_SINGLY, 0, "" },
	{ 413, "", LINES_SINGLY, 0, "" },
	{ 400, "", LINES_SINGLY, 0, "" },
	{ 200, "{\"duplicate\":1}", LINES_KEEP, 0, "200 an unexpected answer" },
	{ 401, "{\"detail\":\"no token\"}", LINES_KEEP, 0, "no token" },
	{ 429, "", LINES_KEEP, 0, "429 too many requests" },
	{ 503, "{\"detail\":\"disk full\"}", LINES_KEEP, 0, "503 not now: disk full" },
	{ 500, "", LINES_KEEP, 0, "500 an unexpected answer" },
};

static void of_many_lines_only_those_that_an_answer_names_are_settled(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(line_answers); i++) {
		const struct http_answer answer = { .status = line_answers[i].status,
						    .body = line_answers[i].body,
						    .len = strlen(line_answers[i].body) };
		struct delivery_result results[3];
		struct err why = ERR_INIT;
		size_t n = 0;

		CHECK_EQ(delivery_judge_lines(&answer, 3, results, &n, &why),
			 line_answers[i].expected);
		CHECK_EQ(n, line_answers[i].n);
		CHECK_HAS(why.msg, line_answers[i].words);
		CHECK_EQ(why.msg[0] != '\0', line_answers[i].expected == LINES_KEEP);
	}
}

static void a_line_that_will_never_be_taken_says_why(void)
{
	static const char body[] = "{\"results\":[" OK202
				   ",{\"status\":422,\"detail\":\"no unit\"}]}";
	const struct http_answer answer = { .status = 202, .body = body, .len = sizeof(body) - 1 };
	struct delivery_result results[2];
	struct err why = ERR_INIT;
	size_t n = 0;

	CHECK_EQ(delivery_judge_lines(&answer, 2, results, &n, &why), LINES_TAKEN);
	CHECK_EQ(results[0].delivery, DELIVERY_DONE);
	CHECK_EQ(results[1].delivery, DELIVERY_SET_ASIDE);
	CHECK_STR(results[1].why.msg, "422 bad content: no unit");
}

static void only_digests_are_wanted_and_only_a_few(void)
{
	CLEANUP(freep) char *one = xasprintf("%064d", 1);
	CLEANUP(freep)
	char *body =
		xasprintf("{\"accepted\":1,\"want_topologies\":[\"../x\",7,\"%s\",\"%s\",\"%s\","
			  "\"%s\",\"%s\",\"%s\",\"%s\",\"%s\",\"%s\"]}",
			  one, one, one, one, one, one, one, one, one);
	char digests[DELIVERY_WANTS_MAX][TOPOLOGY_DIGEST_LEN + 1];
	size_t n = delivery_wants(body, strlen(body), digests);

	CHECK_EQ(n, DELIVERY_WANTS_MAX);
	CHECK_STR(digests[0], one);
	CHECK_STR(digests[DELIVERY_WANTS_MAX - 1], one);
	CHECK_EQ(delivery_wants("{\"want_topologies\":{}}", 22, digests), 0);
	CHECK_EQ(delivery_wants("", 0, digests), 0);
}

/* --- configuration --- */

static int decode(const char *text, struct assayd_config *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;

	CHECK_EQ(json_parse(text, strlen(text), "F", &value, NULL), 0);
	root = jval_root(value, "F");
	return assayd_config_decode(&root, ret, err);
}

static void a_configuration_has_defaults_and_takes_what_it_is_given(void)
{
	CLEANUP(assayd_config_release) struct assayd_config c = { 0 };
	CLEANUP(assayd_config_release) struct assayd_config d = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(decode("{\"v\":1}", &c, &err), 0);
	CHECK_EQ(c.orders_wait_us, 30 * USEC_PER_SEC);
	CHECK_EQ(c.retry_max_us, USEC_PER_MIN);
	CHECK_STR(c.controller, NULL);
	CHECK_EQ(decode("{\"v\":1,\"controller\":\"https://c:9470//\",\"node\":\"gpu-17\","
			"\"token_file\":\"/t\",\"intervals\":{\"retry_max\":\"5s\"}}",
			&d, &err),
		 0);
	CHECK_STR(d.controller, "https://c:9470");
	CHECK_STR(d.node, "gpu-17");
	CHECK_STR(d.token_file, "/t");
	CHECK_EQ(d.retry_max_us, 5 * USEC_PER_SEC);
	CHECK_EQ(d.orders_wait_us, 30 * USEC_PER_SEC);
}

static void what_touches_a_job_is_off_unless_it_is_switched_on(void)
{
	CLEANUP(assayd_config_release) struct assayd_config c = { 0 };
	CLEANUP(assayd_config_release) struct assayd_config d = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(decode("{\"v\":1,\"hang\":{}}", &c, &err), 0);
	CHECK_EQ(c.hang_ras, ASSAYD_OFF);
	CHECK_EQ(c.hang_pyspy, ASSAYD_OFF);
	CHECK_EQ(decode("{\"v\":1,\"hang\":{\"ras\":\"on\",\"ras_address\":\"[::1]:28029\","
			"\"pyspy\":\"on\","
			"\"pyspy_path\":\"/opt/py-spy\"}}",
			&d, &err),
		 0);
	CHECK_EQ(d.hang_ras, ASSAYD_ON);
	CHECK_EQ(d.hang_pyspy, ASSAYD_ON);
	CHECK_STR(d.hang_ras_address, "[::1]:28029");
	CHECK_STR(d.hang_pyspy_path, "/opt/py-spy");
}

static const struct {
	const char *text, *words;
} bad_configurations[] = {
	{ "{\"v\":1,\"hang\":{\"dumps\":[\"rank_\"]}}", "F: hang.dumps[0]: expected the path" },
	{ "{\"v\":1,\"hang\":{\"dumps\":\"/tmp/rank_\"}}", "F: hang.dumps: " },
	{ "{\"v\":1,\"hang\":{\"ras\":true}}", "F: hang.ras: expected" },
	{ "{\"v\":1,\"hang\":{\"ras_address\":\"localhost:28028\"}}",
	  "F: hang.ras_address: expected ADDRESS:PORT" },
	{ "{\"v\":1,\"hang\":{\"ras_address\":\"127.0.0.1\"}}", "F: hang.ras_address: expected" },
	{ "{\"v\":1,\"hang\":{\"ras_address\":\"127.0.0.1:0\"}}", "F: hang.ras_address: expected" },
	{ "{\"v\":1,\"hang\":{\"ras_address\":\"[::1:28028\"}}", "F: hang.ras_address: expected" },
	{ "{\"v\":1,\"hang\":{\"pyspy_path\":\"py-spy\"}}",
	  "F: hang.pyspy_path: expected the absolute" },
	{ "{}", "F: v: missing" },
	{ "{\"v\":2}", "F: v: expected 1" },
	{ "{\"v\":1,\"server\":\"http://c\"}", "F: server: unknown key" },
	{ "{\"v\":1,\"controller\":\"c:9470\"}", "F: controller: expected a URL" },
	{ "{\"v\":1,\"controller\":\"https://\"}", "F: controller: expected a URL" },
	{ "{\"v\":1,\"controller\":\"ftp://c\"}", "F: controller: expected a URL" },
	{ "{\"v\":1,\"controller\":\"http://u:p@c\"}", "F: controller: expected a URL" },
	{ "{\"v\":1,\"controller\":\"http://c?x\"}", "F: controller: expected a URL" },
	{ "{\"v\":1,\"controller\":7}", "F: controller: expected a URL" },
	{ "{\"v\":1,\"node\":\"../x\"}", "F: node: expected a host name" },
	{ "{\"v\":1,\"node\":\"a/b\"}", "F: node: expected a host name" },
	{ "{\"v\":1,\"node\":\"\"}", "F: node: expected a host name" },
	{ "{\"v\":1,\"intervals\":{\"retry\":\"1s\"}}", "F: intervals.retry: unknown key" },
	{ "{\"v\":1,\"intervals\":{\"retry_max\":\"2h\"}}",
	  "F: intervals.retry_max: 2h is outside 1ms to 1h" },
	{ "{\"v\":1,\"intervals\":{\"orders_wait\":\"0\"}}",
	  "F: intervals.orders_wait: 0 is outside 1s to 5m" },
	{ "{\"v\":1,\"intervals\":{\"orders_wait\":30}}",
	  "F: intervals.orders_wait: expected a duration" },
};

static void a_bad_configuration_is_refused_with_its_place(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad_configurations); i++) {
		struct assayd_config c = { 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(decode(bad_configurations[i].text, &c, &err), -EINVAL);
		CHECK_HAS(err.msg, bad_configurations[i].words);
	}
}

static const struct test tests[] = {
	TEST(a_wait_is_anywhere_from_nothing_to_the_widest),
	TEST(the_widest_wait_doubles_up_to_the_cap_and_stays),
	TEST(success_begins_again_with_short_waits),
	TEST(what_the_server_asked_for_comes_on_top),
	TEST(odd_limits_neither_overflow_nor_divide_by_zero),
	TEST(only_a_stored_report_is_done_and_only_a_hopeless_one_is_set_aside),
	TEST(a_huge_or_dirty_detail_becomes_one_bounded_line),
	TEST(of_many_lines_only_those_that_an_answer_names_are_settled),
	TEST(a_line_that_will_never_be_taken_says_why),
	TEST(only_digests_are_wanted_and_only_a_few),
	TEST(a_configuration_has_defaults_and_takes_what_it_is_given),
	TEST(what_touches_a_job_is_off_unless_it_is_switched_on),
	TEST(a_bad_configuration_is_refused_with_its_place),
};

TEST_SUITE(tests);
