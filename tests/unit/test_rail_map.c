/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's file of neighbors, and the neighbors reported by RNICs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "controller/config/rail_map.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/pairing/rails.h"
#include "tests/unit/test.h"

static int read_text(const char *text, struct rail_map *ret, struct err *err)
{
	CLEANUP(freep) char *path = test_file("neighbors.yaml", text);

	return rail_map_read(path, ret, err);
}

static const char *on_rail(const struct rail_map *n, const char *node, size_t rail)
{
	const char *found[PAIRING_RAILS_MAX];

	(void)rail_map_switches(n, node, found);
	return found[rail];
}

static void the_first_switch_that_names_a_host_counts_rail_by_rail(void)
{
	CLEANUP(rail_map_release) struct rail_map n = { 0 };

	CHECK_EQ(read_text("v: 1\n"
			   "switches:\n"
			   "  - {name: leaf-a, nodes: [gpu-17], rails: [0, 2]}\n"
			   "  - {name: leaf-b, nodes: ['gpu-1*', other]}\n"
			   "addresses: {gpu-17: 10.0.0.17, other: '[fd00::1]'}\n",
			   &n, NULL),
		 0);
	CHECK_STR(on_rail(&n, "gpu-17", 0), "leaf-a");
	CHECK_STR(on_rail(&n, "gpu-17", 1), "leaf-b");
	CHECK_STR(on_rail(&n, "gpu-17", 2), "leaf-a");
	CHECK_STR(on_rail(&n, "gpu-1", 7), "leaf-b");
	CHECK_STR(on_rail(&n, "other", 0), "leaf-b");
	CHECK(!on_rail(&n, "gpu-2", 0));
	CHECK_STR(rail_map_address(&n, "gpu-17"), "10.0.0.17");
	CHECK_STR(rail_map_address(&n, "other"), "[fd00::1]");
	CHECK(!rail_map_address(&n, "gpu-1"));
}

/* However they are written: the answer is that of going through the file from its top. */
static void names_and_patterns_are_found_as_they_stand(void)
{
	CLEANUP(rail_map_release) struct rail_map n = { 0 };

	CHECK_EQ(read_text("v: 1\n"
			   "switches:\n"
			   "  - {name: a, nodes: ['gpu-[12]', gpu-9], rails: [0]}\n"
			   "  - {name: b, nodes: [gpu-2, gpu-1, gpu-2], rails: [0, 1]}\n"
			   "  - {name: c, nodes: ['gpu-?', gpu-1], rails: [1, 2]}\n"
			   "  - {name: d, nodes: ['*']}\n",
			   &n, NULL),
		 0);
	CHECK_STR(on_rail(&n, "gpu-1", 0), "a");
	CHECK_STR(on_rail(&n, "gpu-1", 1), "b");
	CHECK_STR(on_rail(&n, "gpu-1", 2), "c");
	CHECK_STR(on_rail(&n, "gpu-1", 3), "d");
	CHECK_STR(on_rail(&n, "gpu-9", 0), "a");
	CHECK_STR(on_rail(&n, "gpu-9", 1), "c");
	CHECK_STR(on_rail(&n, "gpu-10", 0), "d");
	CHECK_STR(on_rail(&n, "", 0), "d");
}

static void an_empty_file_of_the_version_names_nobody(void)
{
	CLEANUP(rail_map_release) struct rail_map n = { 0 };

	CHECK_EQ(read_text("v: 1\n", &n, NULL), 0);
	CHECK(!on_rail(&n, "gpu-1", 0));
	CHECK(!rail_map_address(&n, "gpu-1"));
}

static void what_is_wrong_is_named_with_its_place(void)
{
	static const struct {
		const char *text, *words;
	} rows[] = {
		{ "switches: []\n", "neighbors.yaml: v: " },
		{ "v: 2\n", "v: expected 1" },
		{ "v: 1\nswitch: []\n", "switch" },
		{ "v: 1\nswitches: {}\n", "switches: " },
		{ "v: 1\nswitches: [{nodes: [a]}]\n", "switches[0].name" },
		{ "v: 1\nswitches: [{name: '', nodes: [a]}]\n", "switches[0].name: expected 1 to" },
		{ "v: 1\nswitches: [{name: l, nodes: []}]\n",
		  "switches[0].nodes: must name a host" },
		{ "v: 1\nswitches: [{name: l, nodes: [7]}]\n", "switches[0].nodes[0]" },
		{ "v: 1\nswitches: [{name: l, nodes: [a], rails: [8]}]\n",
		  "switches[0].rails[0]: expected a rail, 0 to 7" },
		{ "v: 1\nswitches: [{name: l, nodes: [a], rails: []}]\n",
		  "switches[0].rails: expected a rail" },
		{ "v: 1\nswitches: [{name: l, nodes: [a], rail: 0}]\n", "rail" },
		{ "v: 1\naddresses: {a: 7}\n", "addresses.a: expected a name or an address" },
		{ "v: 1\naddresses: {a: '10.0.0.1:99'}\n", "addresses.a: expected" },
		{ "v: 1\naddresses: {a: '1,2'}\n", "addresses.a: expected" },
		{ "v: 1\naddresses: [a]\n", "addresses" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rail_map n = { 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(read_text(rows[i].text, &n, &err), -EINVAL);
		CHECK_HAS(err.msg, rows[i].words);
		CHECK(!n.switches && !n.addresses);
	}
}

static void a_file_that_is_not_there_is_an_error(void)
{
	struct rail_map n = { 0 };

	CHECK_EQ(rail_map_read("/nowhere/neighbors.yaml", &n, NULL), -ENOENT);
}

/* "RNIC SWITCH" each; one without a blank has no switch. New reference. */
static json_t *topology_of(const char *const *heard)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; heard[i]; i++) {
		const char *blank = strchr(heard[i], ' ');
		json_t *one = json_object();

		(void)json_object_set_new(one, "rnic",
					  blank ? json_stringn(heard[i], (size_t)(blank - heard[i]))
						: json_integer(7));
		if (blank)
			(void)json_object_set_new(one, "switch", json_string(blank + 1));
		(void)json_array_append_new(list, one);
	}
	return json_pack("{s:o}", "neighbors", list);
}

static void the_switches_that_rnics_heard_are_by_rail(void)
{
	static const struct {
		const char *heard[12];
		const char *rails[PAIRING_RAILS_MAX]; /* NULL: none */
	} rows[] = {
		{ { NULL }, { NULL } },
		{ { "mlx5_0 leaf-a" }, { "leaf-a" } },
		/* In whatever order the host says them. */
		{ { "mlx5_1 leaf-b", "mlx5_0 leaf-a" }, { "leaf-a", "leaf-b" } },
		/* As the probes count: by number, not by letter. */
		{ { "mlx5_10 leaf-c", "mlx5_2 leaf-b", "mlx5_1 leaf-a" },
		  { "leaf-a", "leaf-b", "leaf-c" } },
		/* Two said themselves on one wire: the first counts. */
		{ { "mlx5_0 leaf-a", "mlx5_0 phone", "mlx5_1 leaf-b" }, { "leaf-a", "leaf-b" } },
		/* One that heard nothing has its place: those after it are on their own rails. */
		{ { "mlx5_0 leaf-a", "mlx5_2 leaf-c", "mlx5_1 -" }, { "leaf-a", NULL, "leaf-c" } },
		{ { "mlx5_0 -", "mlx5_1 leaf-b" }, { NULL, "leaf-b" } },
		/* What is none is passed over. */
		{ { "nothing", "mlx5_3 leaf-a" }, { "leaf-a" } },
		/* More than there are rails, given backwards. */
		{ { "m9 s9", "m8 s8", "m7 s7", "m6 s6", "m5 s5", "m4 s4", "m3 s3", "m2 s2", "m1 s1",
		    "m0 s0" },
		  { "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7" } },
	};
	size_t i, rail;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep) json_t *topology = topology_of(rows[i].heard);
		const char *found[PAIRING_RAILS_MAX] = { NULL };

		CHECK_EQ(rails_heard(topology, found), rows[i].rails[0] || rows[i].rails[1]);
		for (rail = 0; rail < PAIRING_RAILS_MAX; rail++) {
			CHECK_EQ(!found[rail], !rows[i].rails[rail]);
			if (found[rail] && rows[i].rails[rail])
				CHECK_STR(found[rail], rows[i].rails[rail]);
		}
	}
	CHECK(!rails_heard(NULL, (const char *[PAIRING_RAILS_MAX]){ NULL }));
}

static const struct test tests[] = {
	TEST(the_switches_that_rnics_heard_are_by_rail),
	TEST(the_first_switch_that_names_a_host_counts_rail_by_rail),
	TEST(names_and_patterns_are_found_as_they_stand),
	TEST(an_empty_file_of_the_version_names_nobody),
	TEST(what_is_wrong_is_named_with_its_place),
	TEST(a_file_that_is_not_there_is_an_error),
};

TEST_SUITE(tests);
