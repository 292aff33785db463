/* SPDX-License-Identifier: Apache-2.0 */
/* The permit file of an all-reduce, and the messages between hosts. */
#include <errno.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "probes/all_reduce/reduce_message.h"
#include "probes/all_reduce/reduce_permit.h"
#include "tests/unit/test.h"

static void only_those_that_passed_may_meet(void)
{
	static const struct {
		const char *text, *peers;
		int r;
		const char *words;
	} cases[] = {
		{ "word\npassed a:1\npassed b:2\n", "a:1,b:2", 0, "" },
		{ "word\npassed a:1\r\npassed b:2", "b:2,a:1", 0, "" },
		{ "word\npassed a:1\n", "a:1,b:2", -EPERM, "b:2 is not known to have passed" },
		{ "word\n", "a:1,b:2", -EPERM, "no line \"passed a:1\"" },
		{ "", "a:1,b:2", -EINVAL, "expected a line with a token" },
		{ "\npassed a:1\n", "a:1,b:2", -EINVAL, "line 1: expected a token" },
		{ "word\nfailed a:1\n", "a:1,b:2", -EINVAL,
		  "line 2: expected \"passed HOST:PORT\"" },
		{ "word\npassed \n", "a:1,b:2", -EINVAL, "line 2: expected \"passed" },
		{ "word\n", "a:1", -EINVAL, "expected two or more" },
		{ "word\n", "a:1,b", -EINVAL, "'b' is not HOST:PORT" },
		{ "word\n", "a:1,a:1", -EINVAL, "a:1 appears twice" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(freep) char *path = test_file("token", cases[i].text);
		struct reduce_permit permit = { .token = NULL };
		CLEANUP(strv_freep) char **peers = NULL;
		struct err err = ERR_INIT;
		int r = reduce_peers_parse(cases[i].peers, &peers, &err);

		if (r == 0)
			r = reduce_permit_read(path, &permit, &err);
		if (r == 0)
			r = reduce_permit_check(&permit, peers, &err);
		CHECK_EQ(r, cases[i].r);
		CHECK_HAS(err.msg, cases[i].words);
		reduce_permit_release(&permit);
	}
}

static void messages_are_checked(void)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "{}", "expected version 1" },
		{ "{\"v\":1,\"kind\":\"x\"}", "expected the kind of a message" },
		{ "{\"v\":1,\"kind\":\"go\",\"ops\":0,\"within_us\":1,\"check\":true}", "ops" },
		{ "{\"v\":1,\"kind\":\"hello\",\"node\":\"a/b\",\"rank\":1,\"ranks\":2,\"rails\":1,"
		  "\"bytes\":8}",
		  "expected the name of a node" },
		{ "{\"v\":1,\"kind\":\"stop\",\"suspect\":65,\"why\":\"\"}", "suspect" },
		{ "{\"v\":1,\"kind\":\"plan\",\"nodes\":[\"a\",\"b>c\"],\"rails\":1,\"bytes\":8,"
		  "\"size\":8,\"qps\":1}",
		  "expected names of nodes" },
		{ "{\"v\":1,\"kind\":\"plan\",\"nodes\":[\"a\",\"b\"],\"rails\":1,\"bytes\":8,"
		  "\"size\":8,\"qps\":17}",
		  "qps" },
		{ "{\"v\":1,\"kind\":\"whose\",\"again\":[0,-1]}",
		  "expected non-negative numbers" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct reduce_message m = reduce_message_init(REDUCE_BYE);
		struct err err = ERR_INIT;

		CHECK_EQ(reduce_message_decode(cases[i].text, strlen(cases[i].text), &m, &err),
			 -EINVAL);
		CHECK_HAS(err.msg, cases[i].words);
	}
}

static const struct test tests[] = {
	TEST(only_those_that_passed_may_meet),
	TEST(messages_are_checked),
};

TEST_SUITE(tests);
