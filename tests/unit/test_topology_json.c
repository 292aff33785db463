/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/topology/topology.h"
#include "tests/unit/test.h"
#include "tests/unit/topology_fixture.h"

#define HEAD "{\"v\":1,\"kind\":\"topology\","
#define NUMA "{\"id\":\"numa:0\",\"type\":\"numa\"}"
#define GPU "{\"id\":\"gpu:a\",\"type\":\"gpu\"}"

static int decode(const char *text, struct topology *ret, struct err *err)
{
	json_auto_t *value = NULL;
	struct jval root;
	int r = json_parse(text, strlen(text), "t.json", &value, err);

	if (r < 0)
		return r;
	root = jval_root(value, "t.json");
	return topology_decode(&root, ret, err);
}

static void what_is_written_is_read_again(void)
{
	static const char text[] = HEAD
		"\"nodes\":[{\"id\":\"gpu:a\",\"type\":\"gpu\",\"name\":\"H100\",\"pci\":\"0000:1a:"
		"00.0\"},"
		"{\"id\":\"rnic:r\",\"type\":\"rnic\",\"name\":null,\"pci\":null}," NUMA "],"
		"\"links\":[{\"id\":\"gpu:a^numa:0\",\"a\":\"gpu:a\",\"b\":\"numa:0\",\"gts\":2.5,"
		"\"width\":8,\"max_gts\":32,\"max_width\":16},"
		"{\"id\":\"numa:0^numa:0\",\"a\":\"numa:0\",\"b\":\"numa:0\"}],"
		"\"neighbors\":[{\"rnic\":\"mlx5_0\",\"switch\":\"leaf1\",\"port\":\"Eth1/1\","
		"\"source\":\"lldp\"}],\"later\":{\"any\":[1]}}";
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	CLEANUP(topology_releasep) struct topology again = { .n_nodes = 0 };
	CLEANUP(freep) char *first = NULL;
	CLEANUP(freep) char *second = NULL;
	json_auto_t *one = NULL;
	json_auto_t *two = NULL;
	struct err err = ERR_INIT;

	CHECK_EQ(decode(text, &t, &err), 0);
	CHECK_STR(err.msg, "");
	one = topology_encode(&t);
	first = json_line(one);
	CHECK_HAS(first, "\"gts\":2.5,\"width\":8,\"max_gts\":32.0,\"max_width\":16");
	CHECK_HAS(first, "\"name\":null");
	CHECK_HAS(first, "\"source\":\"lldp\"");
	CHECK_HAS(first, "\"virtual\":true");
	CHECK_EQ(decode(first, &again, &err), 0);
	two = topology_encode(&again);
	second = json_line(two);
	CHECK_STR(first, second);
	CHECK_STR(t.digest, again.digest);
}

static void the_eight_gpu_host_survives_json(void)
{
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	CLEANUP(topology_releasep) struct topology again = { .n_nodes = 0 };
	CLEANUP(freep) char *text = NULL;
	json_auto_t *value = NULL;
	struct err err = ERR_INIT;

	if (!fixture_load("hgx-8gpu-8nic.xml", &t))
		return;
	value = topology_encode(&t);
	text = json_line(value);
	CHECK_EQ(decode(text, &again, &err), 0);
	CHECK_STR(err.msg, "");
	CHECK_STR(again.digest, t.digest);
	CHECK_EQ(again.n_nodes, t.n_nodes);
	CHECK_EQ(again.n_links, t.n_links);
	CHECK(!again.is_virtual);
}

/* `text` with `from` replaced by `to` has (or has not) the digest of `text`. */
static void check_digest(const char *text, const char *from, const char *to, bool same)
{
	CLEANUP(freep) char *other = fixture_edit(text, text, from, to);
	CLEANUP(topology_releasep) struct topology a = { .n_nodes = 0 };
	CLEANUP(topology_releasep) struct topology b = { .n_nodes = 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(decode(text, &a, &err), 0);
	CHECK_EQ(decode(other, &b, &err), 0);
	CHECK_STR(err.msg, "");
	CHECK_EQ(streq(a.digest, b.digest), same);
}

static void the_digest_tells_contents_apart(void)
{
	static const char text[] = HEAD
		"\"digest\":\"d\",\"nodes\":[" NUMA "," GPU
		",{\"id\":\"rnic:r\",\"type\":\"rnic\"}],"
		"\"links\":[{\"id\":\"x\",\"a\":\"gpu:a\",\"b\":\"numa:0\",\"gts\":32,\"width\":16}"
		","
		"{\"id\":\"y\",\"a\":\"rnic:r\",\"b\":\"numa:0\",\"gts\":8,\"width\":15}]}";

	check_digest(text, "\"d\"", "\"e\"", true);
	check_digest(text, NUMA "," GPU, GPU "," NUMA, true);
	check_digest(text, "\"gts\":32", "\"gts\":2.5", true); /* a GPU that idles */
	check_digest(text, "\"gts\":8", "\"gts\":5", false);
	check_digest(text, "\"width\":16", "\"width\":8", false);
	check_digest(text, "\"width\":15", "\"width\":8", false);
	check_digest(text, "\"width\":16", "\"width\":16,\"max_gts\":32", false);
	check_digest(text, "\"type\":\"gpu\"", "\"type\":\"gpu\",\"name\":\"B200\"", false);
	check_digest(text, "\"id\":\"x\"", "\"id\":\"z\"", false);
	check_digest(text, "\"kind\"", "\"virtual\":false,\"kind\"", false);
}

static void mistakes_are_named_with_their_place(void)
{
	static const struct {
		const char *text, *what;
	} rows[] = {
		{ "[]", "t.json: expected an object, not a list" },
		{ "{}", "t.json: v: expected 1" },
		{ "{\"v\":2,\"kind\":\"topology\"}", "t.json: v: expected 1" },
		{ "{\"v\":1,\"kind\":\"report\"}", "t.json: kind: expected \"topology\"" },
		{ HEAD "\"links\":[]}", "t.json: nodes: expected a list, not nothing" },
		{ HEAD "\"nodes\":[]}", "t.json: links: expected a list, not nothing" },
		{ HEAD "\"nodes\":{},\"links\":[]}", "t.json: nodes: expected a list" },
		{ HEAD "\"nodes\":[7],\"links\":[]}", "t.json: nodes[0]: expected an object" },
		{ HEAD "\"nodes\":[{\"type\":\"gpu\"}],\"links\":[]}",
		  "t.json: nodes[0].id: missing" },
		{ HEAD "\"nodes\":[{\"id\":\"x\",\"type\":\"cpu\"}],\"links\":[]}",
		  "t.json: nodes[0].type: 'cpu' is not one of numa, gpu, rnic, switch, root" },
		{ HEAD "\"nodes\":[{\"id\":\"\",\"type\":\"gpu\"}],\"links\":[]}",
		  "t.json: nodes[0].id: empty" },
		{ HEAD "\"nodes\":[{\"id\":\"a^b\",\"type\":\"gpu\"}],\"links\":[]}",
		  "t.json: nodes[0].id: '^'" },
		{ HEAD "\"nodes\":[{\"id\":\"a\\u001b\",\"type\":\"gpu\"}],\"links\":[]}",
		  "t.json: nodes[0].id: a control character" },
		{ HEAD "\"nodes\":[" GPU "," GPU "],\"links\":[]}",
		  "t.json: nodes[1].id: 'gpu:a' is listed twice" },
		{ HEAD "\"nodes\":[" GPU
		       "],\"links\":[{\"id\":\"l\",\"a\":\"gpu:a\",\"b\":\"x\"}]}",
		  "t.json: links[0].b: no node 'x'" },
		{ HEAD "\"nodes\":[" GPU
		       "],\"links\":[{\"id\":\"l\",\"a\":\"gpu:a\",\"b\":\"gpu:a\"}]}",
		  "t.json: links[0].b: a link from 'gpu:a' to itself" },
		{ HEAD "\"nodes\":[" GPU "," NUMA
		       "],\"links\":[{\"id\":\"l\",\"a\":\"gpu:a\",\"b\":\"numa:0\",\"gts\":-1}]}",
		  "t.json: links[0].gts: -1 is outside 0 to 1024" },
		{ HEAD
		  "\"nodes\":[" GPU "," NUMA
		  "],\"links\":[{\"id\":\"l\",\"a\":\"gpu:a\",\"b\":\"numa:0\",\"width\":65}]}",
		  "t.json: links[0].width: 65 is outside 0 to 64" },
		{ HEAD "\"nodes\":[" GPU "," NUMA
		       "],\"links\":[{\"id\":\"l\",\"a\":\"gpu:a\",\"b\":\"numa:0\"},"
		       "{\"id\":\"l\",\"a\":\"gpu:a\",\"b\":\"numa:0\"}]}",
		  "t.json: links[1].id: 'l' is listed twice" },
		{ HEAD "\"nodes\":[],\"links\":[],\"virtual\":1}",
		  "t.json: virtual: expected true or false, not a number" },
		{ HEAD "\"nodes\":[],\"links\":[],\"neighbors\":[{\"rnic\":\"a\",\"switch\":\"b\","
		       "\"source\":\"guess\"}]}",
		  "t.json: neighbors[0].source: 'guess' is not one of lldp, label, file" },
	};
	struct topology t = { .n_nodes = 77 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = ERR_INIT;

		CHECK_EQ(decode(rows[i].text, &t, &err), -EINVAL);
		CHECK_HAS(err.msg, rows[i].what);
		CHECK_EQ(t.n_nodes, 77);
	}
}

/* JSON with `nodes` GPUs, each with as many links as `links` asks for in all. */
static int decode_many(unsigned nodes, unsigned links, struct topology *ret, struct err *err)
{
	struct strbuf text = STRBUF_INIT(2 * 1024 * 1024);
	unsigned i;
	int r;

	(void)strbuf_puts(&text, HEAD "\"nodes\":[" NUMA);
	for (i = 1; i < nodes; i++)
		(void)strbuf_printf(&text, ",{\"id\":\"gpu:%u\",\"type\":\"gpu\"}", i);
	(void)strbuf_puts(&text, "],\"links\":[");
	for (i = 0; i < links; i++)
		(void)strbuf_printf(&text, "%s{\"id\":\"l%u\",\"a\":\"gpu:%u\",\"b\":\"numa:0\"}",
				    i ? "," : "", i, 1 + i % (nodes - 1));
	(void)strbuf_puts(&text, "]}");
	CHECK(strbuf_ok(&text));
	r = decode(strbuf_text(&text), ret, err);
	strbuf_release(&text);
	return r;
}

static void huge_counts_are_refused_and_the_largest_are_not(void)
{
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	CLEANUP(freep) char *path = NULL;
	struct err err = ERR_INIT;

	CHECK_EQ(decode_many(TOPOLOGY_NODES_MAX + 1, 0, &t, &err), -EINVAL);
	CHECK_HAS(err.msg, "t.json: nodes: 1025 items, more than 1024");
	CHECK_EQ(decode_many(10, TOPOLOGY_LINKS_MAX + 1, &t, &err), -EINVAL);
	CHECK_HAS(err.msg, "t.json: links: 2049 items, more than 2048");
	CHECK_EQ(decode_many(TOPOLOGY_NODES_MAX, TOPOLOGY_LINKS_MAX, &t, &err), 0);
	path = fixture_path(&t, "gpu:1", "gpu:1023");
	CHECK_STR(path, "l0 l1022");
}

static void a_chain_too_long_to_be_a_host_has_no_path(void)
{
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	struct strbuf text = STRBUF_INIT(1024 * 1024);
	CLEANUP(freep) char *near = NULL;
	CLEANUP(freep) char *far = NULL;
	unsigned i;

	(void)strbuf_puts(&text, HEAD "\"nodes\":[" NUMA);
	for (i = 0; i < 100; i++)
		(void)strbuf_printf(&text, ",{\"id\":\"s%u\",\"type\":\"switch\"}", i);
	(void)strbuf_puts(&text, "],\"links\":[{\"id\":\"x\",\"a\":\"s0\",\"b\":\"numa:0\"}");
	for (i = 1; i < 100; i++)
		(void)strbuf_printf(&text, ",{\"id\":\"l%u\",\"a\":\"s%u\",\"b\":\"s%u\"}", i, i,
				    i - 1);
	(void)strbuf_puts(&text, "]}");
	CHECK_EQ(decode(strbuf_text(&text), &t, NULL), 0);
	strbuf_release(&text);
	near = fixture_path(&t, "s3", "numa:0");
	CHECK_STR(near, "l3 l2 l1 x");
	far = fixture_path(&t, "s99", "numa:0");
	CHECK_EQ(strtol(far, NULL, 10), -EHOSTUNREACH);
}

static const struct test tests[] = {
	TEST(what_is_written_is_read_again),
	TEST(the_eight_gpu_host_survives_json),
	TEST(the_digest_tells_contents_apart),
	TEST(mistakes_are_named_with_their_place),
	TEST(huge_counts_are_refused_and_the_largest_are_not),
	TEST(a_chain_too_long_to_be_a_host_has_no_path),
};

TEST_SUITE(tests);
