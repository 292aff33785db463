/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agents/assayd/orders.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "probes/coll/coll.h"
#include "tests/unit/test.h"

/* 2026-11-21T00:00:00Z */
#define NOW_US (UINT64_C(1795219200) * USEC_PER_SEC)
#define TOKEN "0123456789abcdefghijklmnopqrstuv"

static int decode(const char *text, struct order *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct jval root;

	CHECK_EQ(json_parse(text, strlen(text), "o", &value, NULL), 0);
	root = jval_root(value, "o");
	return order_decode(&root, NOW_US, ret, err);
}

static void a_peer_is_a_host_and_a_port(void)
{
	static const struct {
		const char *text;
		unsigned port; /* 0: it is none */
	} rows[] = {
		{ "a:1", 1 },
		{ "gpu-17.rack_2.example:65535", 65535 },
		{ "10.1.2.3:7500", 7500 },
		{ "[::1]:7500", 7500 },
		{ "[fd00:1:2::a]:80", 80 },
		{ "[::ffff:10.0.0.1]:80", 80 },
		{ "4u:9", 9 },
		{ "", 0 },
		{ "a", 0 },
		{ ":7500", 0 },
		{ "a:", 0 },
		{ "a:0", 0 },
		{ "a:65536", 0 },
		{ "a:99999999999999999999", 0 },
		{ "a:07500", 0 },
		{ "a:+75", 0 },
		{ "a:75 ", 0 },
		{ "a:http", 0 },
		{ "-a:1", 0 },
		{ ".a:1", 0 },
		{ "a.:1", 0 },
		{ "a..b:1", 0 },
		{ "a b:1", 0 },
		{ "a,b:1", 0 },
		{ "a/../b:1", 0 },
		{ "$(a):1", 0 },
		{ "a\nb:1", 0 },
		{ "\xc3\xa4:1", 0 },
		{ "10.1.2:7500", 0 },
		{ "10.1.2.256:7500", 0 },
		{ "0x7f000001.1:7500", 0 },
		{ "17:7500", 0 },
		{ "::1:7500", 0 },
		{ "[::1:7500", 0 },
		{ "[]:7500", 0 },
		{ "[::g]:7500", 0 },
		{ "[fe80::1%eth0]:7500", 0 },
		{ "[a]:7500", 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (order_peer_port(rows[i].text) != rows[i].port)
			(void)printf("%s\n", rows[i].text);
		CHECK_EQ(order_peer_port(rows[i].text), rows[i].port);
	}
}

static void names_are_bounded(void)
{
	CLEANUP(freep) char *most = xasprintf("%0253d.x:1", 0), *more;

	/* 251 of "a" and ".b": 253 bytes. */
	memset(most, 'a', ORDER_HOST_MAX);
	(void)snprintf(most + ORDER_HOST_MAX - 2, 5, ".b:1");
	CHECK_EQ(order_peer_port(most), 1);
	more = xasprintf("a%s", most);
	CHECK_EQ(order_peer_port(more), 0);
}

static void a_meeting_has_its_hosts_rank_and_token(void)
{
	CLEANUP(order_release) struct order o = { 0 }, pair = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(decode("{\"id\":\"r1\",\"kind\":\"allreduce\",\"peers\":[\"a:1\",\"b:1\",\"[::1]:"
			"1\"],"
			"\"passed\":[\"[::1]:1\",\"b:1\",\"a:1\",\"d:9\"],\"rank\":2,\"token\":"
			"\"" TOKEN
			"\",\"deadline\":\"2026-11-21T00:05:00Z\",\"argv\":[\"/bin/sh\"]}",
			&o, &err),
		 0);
	CHECK_STR(err.msg, "");
	CHECK_EQ(o.kind, ORDER_ALLREDUCE);
	CHECK_EQ(strv_len(o.meeting.peers), 3);
	CHECK_STR(o.meeting.peers[2], "[::1]:1");
	CHECK_EQ(strv_len(o.meeting.passed), 4);
	CHECK_EQ(o.meeting.rank, 2);
	CHECK_STR(o.meeting.token, TOKEN);
	CHECK_EQ(o.meeting.memory, ORDER_HOST_MEMORY);
	CHECK_EQ(o.meeting.engine, ORDER_VERBS);
	/* One of a pair is suspected: what passed is not asked for. */
	CHECK_EQ(decode("{\"id\":\"p1\",\"kind\":\"pair\",\"peers\":[\"a:1\",\"b:1\"],\"rank\":0,"
			"\"memory\":\"gpu\",\"token\":\"" TOKEN "\"}",
			&pair, &err),
		 0);
	CHECK_EQ(strv_len(pair.meeting.passed), 0);
	CHECK_EQ(pair.meeting.memory, ORDER_GPU_MEMORY);
	CHECK(pair.meeting.passed != NULL);
	order_release(&pair);
	CHECK(!pair.meeting.peers && !pair.meeting.passed && !pair.meeting.token);
}

#define REST ",\"token\":\"" TOKEN "\"}"
#define ALL(peers, passed, rank)                                                      \
	"{\"id\":\"a\",\"kind\":\"allreduce\",\"peers\":" peers ",\"passed\":" passed \
	",\"rank\":" rank REST
#define PAIR(peers, rank) "{\"id\":\"a\",\"kind\":\"pair\",\"peers\":" peers ",\"rank\":" rank REST
#define TWO "[\"a:1\",\"b:1\"]"

static const struct {
	const char *text, *words;
} refused[] = {
	{ "{\"id\":\"a\",\"kind\":\"pair\"}", "o: peers: missing" },
	{ "{\"id\":\"a\",\"kind\":\"pair\",\"peers\":" TWO REST, "o: rank: missing" },
	{ "{\"id\":\"a\",\"kind\":\"pair\",\"peers\":" TWO ",\"rank\":0}", "o: token: missing" },
	{ PAIR("\"a:1\"", "0"), "o: peers: expected a list" },
	{ PAIR("[1,2]", "0"), "o: peers[0]: expected a string" },
	{ PAIR("[\"a:1\"]", "0"), "o: peers: expected two hosts, not 1" },
	{ PAIR("[\"a:1\",\"b:1\",\"c:1\"]", "0"), "o: peers: expected two hosts, not 3" },
	{ PAIR("[\"a:1\",\"a:1\"]", "0"), "o: peers[1]: 'a:1' appears twice" },
	{ PAIR("[\"a:1\",\"b\"]", "0"), "o: peers[1]: 'b': expected HOST:PORT" },
	{ PAIR("[\"--force:1\",\"b:1\"]", "0"), "o: peers[0]: '--force:1': expected HOST:PORT" },
	{ PAIR(TWO, "2"), "o: rank: expected 0 to 1" },
	{ PAIR(TWO, "-1"), "o: rank: " },
	{ PAIR(TWO, "64"), "o: rank: " },
	{ PAIR(TWO, "\"0\""), "o: rank: " },
	{ PAIR(TWO, "0.5"), "o: rank: " },
	{ ALL("[]", "[]", "0"), "o: peers: expected 2 to 64 hosts, not 0" },
	{ ALL("[\"a:1\"]", "[\"a:1\"]", "0"), "o: peers: expected 2 to 64 hosts, not 1" },
	{ ALL(TWO, "[]", "0"), "o: passed: without 'a:1', which takes part" },
	{ ALL(TWO, "[\"a:1\",\"b:2\"]", "0"), "o: passed: without 'b:1', which takes part" },
	{ ALL(TWO, "[\"a:1\",\"b:1\",\"x\"]", "0"), "o: passed[2]: 'x': expected HOST:PORT" },
	{ PAIR(TWO, "0,\"memory\":\"disk\""), "o: memory: 'disk'" },
	{ PAIR(TWO, "0,\"memory\":\"gpu\",\"engine\":\"nccl\""),
	  "o: engine: nccl: only for an allreduce in memory gpu" },
	{ ALL(TWO, TWO, "0,\"engine\":\"nccl\""),
	  "o: engine: nccl: only for an allreduce in memory gpu" },
	{ "{\"id\":\"a\",\"kind\":\"allreduce\",\"peers\":" TWO ",\"rank\":0" REST,
	  "o: passed: without 'a:1'" },
};

static void what_is_no_meeting_is_refused_with_its_place_and_leaves_nothing(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		struct order o = { .kind = 99 };
		struct err err = ERR_INIT;

		CHECK_EQ(decode(refused[i].text, &o, &err), -EINVAL);
		CHECK_HAS(err.msg, refused[i].words);
		CHECK_EQ(o.kind, 99);
	}
}

static void tokens_are_of_few_characters_and_never_told(void)
{
	static const struct {
		const char *token;
		int r;
	} rows[] = {
		{ TOKEN, 0 },
		{ "0123456789-ABCDEFGHIJ_KLMNOPQRSTUVWXYZ", 0 },
		{ TOKEN TOKEN TOKEN TOKEN, 0 },
		{ TOKEN TOKEN TOKEN TOKEN "x", -EINVAL },
		{ "0123456789abcdefghijklmnopqrstu", -EINVAL },
		{ "", -EINVAL },
		{ "0123456789abcdefghijklmnopqrstu ", -EINVAL },
		{ "0123456789abcdefghijklmnopqrstuv\\npassed x:1", -EINVAL },
		{ "0123456789abcdefghijklmnopqrst/../uv", -EINVAL },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(order_release) struct order o = { 0 };
		CLEANUP(freep)
		char *text = xasprintf("{\"id\":\"a\",\"kind\":\"pair\",\"peers\":" TWO
				       ",\"rank\":0,\"token\":\"%s\"}",
				       rows[i].token);
		struct err err = ERR_INIT;

		CHECK_EQ(decode(text, &o, &err), rows[i].r);
		CHECK(!strstr(err.msg, "0123456789"));
		if (rows[i].r < 0)
			CHECK_HAS(err.msg,
				  "o: token: expected 32 to 128 letters, digits, '-' or '_'");
	}
}

static void as_many_hosts_as_the_probe_takes(void)
{
	int extra;

	CHECK_EQ(ORDER_PEERS_MAX, COLL_RANKS_MAX);
	for (extra = 0; extra < 2; extra++) {
		CLEANUP(order_release) struct order o = { 0 };
		CLEANUP(freep) char *peers = xcalloc(ORDER_PEERS_MAX + 2, 16), *text = NULL;
		struct err err = ERR_INIT;
		size_t used = 0;
		int i;

		for (i = 0; i < ORDER_PEERS_MAX + extra; i++)
			used += (size_t)snprintf(peers + used, 16, "%s\"n%d:1\"", i ? "," : "", i);
		text = xasprintf(
			"{\"id\":\"a\",\"kind\":\"allreduce\",\"peers\":[%s],\"passed\":[%s],"
			"\"rank\":63" REST,
			peers, peers);
		CHECK_EQ(decode(text, &o, &err), extra ? -EINVAL : 0);
		if (extra)
			CHECK_HAS(err.msg, "o: peers: 65 items, more than 64");
	}
}

static void the_head_of_a_bad_order_is_known(void)
{
	const char *text = "{\"id\":\"a\",\"kind\":\"pair\",\"peers\":7}";
	CLEANUP(json_freep) json_t *value = NULL;
	struct order o = { 0 };
	struct jval root;

	CHECK_EQ(json_parse(text, strlen(text), "o", &value, NULL), 0);
	root = jval_root(value, "o");
	CHECK_EQ(order_decode_head(&root, &o, NULL), 0);
	CHECK_STR(o.id, "a");
	CHECK(order_kind_meets(o.kind));
	CHECK(!order_kind_meets(ORDER_DEEP) && !order_kind_meets(ORDER_OPINION));
	root = jval_root(NULL, "o");
	CHECK_EQ(order_decode_head(&root, &o, NULL), -EINVAL);
}

static const struct test tests[] = {
	TEST(a_peer_is_a_host_and_a_port),
	TEST(names_are_bounded),
	TEST(a_meeting_has_its_hosts_rank_and_token),
	TEST(what_is_no_meeting_is_refused_with_its_place_and_leaves_nothing),
	TEST(tokens_are_of_few_characters_and_never_told),
	TEST(as_many_hosts_as_the_probe_takes),
	TEST(the_head_of_a_bad_order_is_known),
};

TEST_SUITE(tests);
