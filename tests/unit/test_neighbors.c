/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's file of neighbors. */
#include <errno.h>
#include <stdlib.h>

#include "controller/neighbors.h"
#include "lib/err.h"
#include "lib/xalloc.h"
#include "tests/unit/test.h"

static int read_text(const char *text, struct neighbors *ret, struct err *err)
{
	CLEANUP(freep) char *path = test_file("neighbors.yaml", text);

	return neighbors_read(path, ret, err);
}

static void the_first_switch_that_names_a_host_counts_rail_by_rail(void)
{
	CLEANUP(neighbors_release) struct neighbors n = { 0 };

	CHECK_EQ(read_text("v: 1\n"
			   "switches:\n"
			   "  - {name: leaf-a, nodes: [gpu-17], rails: [0, 2]}\n"
			   "  - {name: leaf-b, nodes: ['gpu-1*', other]}\n"
			   "addresses: {gpu-17: 10.0.0.17, other: '[fd00::1]'}\n",
			   &n, NULL),
		 0);
	CHECK_STR(neighbors_switch(&n, "gpu-17", 0), "leaf-a");
	CHECK_STR(neighbors_switch(&n, "gpu-17", 1), "leaf-b");
	CHECK_STR(neighbors_switch(&n, "gpu-17", 2), "leaf-a");
	CHECK_STR(neighbors_switch(&n, "gpu-1", 7), "leaf-b");
	CHECK_STR(neighbors_switch(&n, "other", 0), "leaf-b");
	CHECK(!neighbors_switch(&n, "gpu-2", 0));
	CHECK_STR(neighbors_address(&n, "gpu-17"), "10.0.0.17");
	CHECK_STR(neighbors_address(&n, "other"), "[fd00::1]");
	CHECK(!neighbors_address(&n, "gpu-1"));
}

static void an_empty_file_of_the_version_names_nobody(void)
{
	CLEANUP(neighbors_release) struct neighbors n = { 0 };

	CHECK_EQ(read_text("v: 1\n", &n, NULL), 0);
	CHECK(!neighbors_switch(&n, "gpu-1", 0));
	CHECK(!neighbors_address(&n, "gpu-1"));
}

static void what_is_wrong_is_named_with_its_place(void)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "switches: []\n", "neighbors.yaml: v: " },
		{ "v: 2\n", "v: want 1" },
		{ "v: 1\nswitch: []\n", "switch" },
		{ "v: 1\nswitches: {}\n", "switches: " },
		{ "v: 1\nswitches: [{nodes: [a]}]\n", "switches[0].name" },
		{ "v: 1\nswitches: [{name: '', nodes: [a]}]\n", "switches[0].name: want 1 to" },
		{ "v: 1\nswitches: [{name: l, nodes: []}]\n",
		  "switches[0].nodes: must name a host" },
		{ "v: 1\nswitches: [{name: l, nodes: [7]}]\n", "switches[0].nodes[0]" },
		{ "v: 1\nswitches: [{name: l, nodes: [a], rails: [8]}]\n",
		  "switches[0].rails[0]: want a rail, 0 to 7" },
		{ "v: 1\nswitches: [{name: l, nodes: [a], rails: []}]\n",
		  "switches[0].rails: want a rail" },
		{ "v: 1\nswitches: [{name: l, nodes: [a], rail: 0}]\n", "rail" },
		{ "v: 1\naddresses: {a: 7}\n", "addresses.a: want a name or an address" },
		{ "v: 1\naddresses: {a: '10.0.0.1:99'}\n", "addresses.a: want" },
		{ "v: 1\naddresses: {a: '1,2'}\n", "addresses.a: want" },
		{ "v: 1\naddresses: [a]\n", "addresses" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct neighbors n = { 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(read_text(rows[i].text, &n, &err), -EINVAL);
		CHECK_HAS(err.msg, rows[i].words);
		CHECK(!n.switches && !n.addresses);
	}
}

static void a_file_that_is_not_there_is_an_error(void)
{
	struct neighbors n = { 0 };

	CHECK_EQ(neighbors_read("/nowhere/neighbors.yaml", &n, NULL), -ENOENT);
}

static const struct test tests[] = {
	TEST(the_first_switch_that_names_a_host_counts_rail_by_rail),
	TEST(an_empty_file_of_the_version_names_nobody),
	TEST(what_is_wrong_is_named_with_its_place),
	TEST(a_file_that_is_not_there_is_an_error),
};

int main(void)
{
	return TEST_MAIN("neighbors", tests);
}
