/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbors: the output of lldpcli, running it as a child, and adding them to the topology. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "agents/run/run_neighbors.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/report.h"
#include "lib/topology/topology.h"
#include "probes/harness/child.h"
#include "probes/harness/finding.h"
#include "probes/rnic_state/lldp.h"
#include "tests/unit/test.h"

#define FIRST                                                            \
	"{\"name\":\"eth2\",\"via\":\"LLDP\",\"rid\":\"1\","             \
	"\"chassis\":[{\"id\":[{\"type\":\"mac\",\"value\":\"00:11\"}]," \
	"\"name\":[{\"value\":\"leaf1\"}]}],"                            \
	"\"port\":[{\"id\":[{\"type\":\"ifname\",\"value\":\"swp7\"}],"  \
	"\"descr\":[{\"value\":\"to gpu-17\"}]}]}"
#define SECOND                                                                                \
	"{\"name\":\"eth3\",\"chassis\":[{\"id\":[{\"type\":\"mac\",\"value\":\"00:22\"}]}]," \
	"\"port\":[{\"id\":[{\"type\":\"mac\",\"value\":\"00:33\"}],"                         \
	"\"descr\":[{\"value\":\"Ethernet1/2\"}]}]}"
#define OUTPUT(interfaces) "{\"lldp\":[{\"interface\":[" interfaces "]}]}"

/* --- reading ---------------------------------------------------------------------------------- */

static size_t decode(const char *text, struct lldp_neighbor *ret)
{
	return lldp_decode(text, strlen(text), ret, 4);
}

static void neighbors_are_read(void)
{
	struct lldp_neighbor all[4];

	CHECK_EQ(decode(OUTPUT(FIRST "," SECOND), all), 2);
	CHECK_STR(all[0].netdev, "eth2");
	CHECK_STR(all[0].chassis, "leaf1");
	CHECK_STR(all[0].port, "swp7");
	/* without a name its id; an address as a port says less than its description */
	CHECK_STR(all[1].chassis, "00:22");
	CHECK_STR(all[1].port, "Ethernet1/2");
}

static void the_first_neighbor_of_a_device_counts(void)
{
	struct lldp_neighbor all[4];

	CHECK_EQ(decode(OUTPUT(FIRST "," FIRST "," SECOND), all), 2);
	CHECK_EQ(lldp_decode(OUTPUT(FIRST "," SECOND), strlen(OUTPUT(FIRST "," SECOND)), all, 1), 1);
}

static void what_is_no_such_output_has_none(void)
{
	static const char *const texts[] = {
		"",
		"lldpcli: cannot connect",
		"[]",
		"{}",
		"{\"lldp\":[]}",
		"{\"lldp\":{\"interface\":[]}}",
		OUTPUT(""),
		OUTPUT("7"),
		OUTPUT("{\"name\":\"eth2\"}"),
		OUTPUT("{\"name\":\"a-name-longer-than-any-device\",\"chassis\":[{\"name\":[{"
		       "\"value\":\"x\"}]}],\"port\":[{\"id\":[{\"value\":\"y\"}]}]}"),
		OUTPUT("{\"name\":\"eth2\",\"chassis\":[{\"name\":[{\"value\":7}]}],"
		       "\"port\":[{\"id\":[{\"value\":\"y\"}]}]}"),
	};
	struct lldp_neighbor all[4];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		CHECK_EQ(decode(texts[i], all), 0);
}

static void a_name_cannot_drive_a_terminal(void)
{
	struct lldp_neighbor all[4];

	CHECK_EQ(decode(OUTPUT("{\"name\":\"eth2\",\"chassis\":[{\"name\":[{\"value\":"
			       "\"leaf\\u001b[31m\"}]}],\"port\":[{\"id\":[{\"value\":\"y\"}]}]}"),
			all),
		 1);
	CHECK_STR(all[0].chassis, "leaf?[31m");
}

/* --- the child ---------------------------------------------------------------------------------- */

static int run_script(const char *text, uint64_t budget_us, struct strbuf *ret)
{
	CLEANUP(freep) char *path = test_file("child", text);
	char *const argv[] = { path, NULL };

	CHECK_EQ(chmod(path, 0755), 0);
	return child_read(argv, clock_mono_us() + budget_us, ret);
}

static void a_child_is_read_to_its_end(void)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(100);

	CHECK_EQ(run_script("#!/bin/sh\necho words >&2\necho one\necho two\nexit 3\n",
			    60 * USEC_PER_SEC, &out),
		 3);
	CHECK_STR(strbuf_text(&out), "one\ntwo\n");
}

static void a_child_that_prints_too_much_is_ended(void)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(100);

	CHECK_EQ(run_script("#!/bin/sh\nwhile :; do echo 0123456789; done\n", 60 * USEC_PER_SEC,
			    &out),
		 -EFBIG);
}

static void a_child_that_hangs_is_ended_at_the_deadline(void)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(100);

	CHECK_EQ(run_script("#!/bin/sh\nexec sleep 1000\n", USEC_PER_SEC / 5, &out), -ETIMEDOUT);
	CHECK_EQ(run_script("#!/bin/sh\nexec sleep 1000 >&-\n", 2 * USEC_PER_SEC, &out), -EINTR);
}

static void a_program_that_is_not_there_is_an_error(void)
{
	CLEANUP(strbuf_release) struct strbuf out = STRBUF_INIT(100);
	CLEANUP(freep) char *path = xasprintf("%s/not-there", test_dir());
	char *const argv[] = { path, NULL };

	CHECK_EQ(child_read(argv, clock_mono_us() + USEC_PER_SEC, &out), -ENOENT);
}

/* --- the topology --------------------------------------------------------------------------------- */

static json_t *a_topology(void)
{
	CLEANUP(topology_releasep) struct topology t = { 0 };
	CLEANUP(json_freep)
	json_t *value = json_pack("{s:i, s:s, s:[{s:s, s:s}], s:[], s:[{s:s, s:s, s:s, s:s}]}", "v",
				  1, "kind", "topology", "nodes", "id", "rnic:mlx5_0", "type",
				  "rnic", "links", "neighbors", "rnic", "rnic:mlx5_9", "switch",
				  "spine", "port", "1", "source", "file");
	struct jval root = jval_root(value, "topology");

	CHECK_EQ(topology_decode(&root, &t, NULL), 0);
	return topology_encode(&t);
}

static void add(struct report *r, const char *subject, const char *port)
{
	struct sample s = finding_sample("rnic.neighbor", subject, 1);

	s.unit = xstrdup("1");
	s.params = json_pack("{s:s, s:s}", "switch", "leaf1", "port", port);
	CHECK_EQ(report_add_sample(r, &s), 0);
}

static void neighbors_go_into_the_topology_and_make_another_digest(void)
{
	CLEANUP(json_freep) json_t *topology = a_topology();
	const char *digest = json_string_value(json_object_get(topology, "digest"));
	struct report r = { .topology = xstrdup(digest) };
	const json_t *list, *one;

	run_report_neighbors(&r, &topology);
	CHECK_STR(r.topology, json_string_value(json_object_get(topology, "digest")));
	CHECK_EQ(json_array_size(json_object_get(topology, "neighbors")), 1);

	add(&r, "mlx5_0:1", "swp7");
	run_report_neighbors(&r, &topology);
	list = json_object_get(topology, "neighbors");
	CHECK_EQ(json_array_size(list), 2);
	one = json_array_get(list, 1);
	CHECK_STR(json_string_value(json_object_get(one, "rnic")), "rnic:mlx5_0");
	CHECK_STR(json_string_value(json_object_get(one, "switch")), "leaf1");
	CHECK_STR(json_string_value(json_object_get(one, "port")), "swp7");
	CHECK_STR(json_string_value(json_object_get(one, "source")), "lldp");
	CHECK_STR(r.topology, json_string_value(json_object_get(topology, "digest")));
	report_release(&r);
}

static void add_port(struct report *r, const char *subject, double up)
{
	struct sample s = finding_sample("rnic.port", subject, up);

	s.unit = xstrdup("1");
	CHECK_EQ(report_add_sample(r, &s), 0);
}

/* Rails count ports that are up, and not those that are down. */
static void a_port_that_heard_nothing_has_its_place_beside_those_that_did(void)
{
	CLEANUP(json_freep) json_t *topology = a_topology();
	struct report r = { 0 };
	const json_t *list, *one;

	add_port(&r, "mlx5_0:1", 1);
	add_port(&r, "mlx5_1:1", 1);
	add_port(&r, "mlx5_2:1", 0);
	run_report_neighbors(&r, &topology);
	CHECK_EQ(json_array_size(json_object_get(topology, "neighbors")), 1); /* nobody heard */
	add(&r, "mlx5_0:1", "swp7");
	run_report_neighbors(&r, &topology);
	list = json_object_get(topology, "neighbors");
	CHECK_EQ(json_array_size(list), 3);
	one = json_array_get(list, 2);
	CHECK_STR(json_string_value(json_object_get(one, "rnic")), "rnic:mlx5_1");
	CHECK_STR(json_string_value(json_object_get(one, "switch")), "-");
	report_release(&r);
}

static void without_a_topology_there_is_nothing_to_do(void)
{
	json_t *none = NULL;
	struct report r = { 0 };

	add(&r, "mlx5_0:1", "swp7");
	run_report_neighbors(&r, &none);
	CHECK(!none && !r.topology);
	report_release(&r);
}

static const struct test tests[] = {
	TEST(neighbors_are_read),
	TEST(the_first_neighbor_of_a_device_counts),
	TEST(what_is_no_such_output_has_none),
	TEST(a_name_cannot_drive_a_terminal),
	TEST(a_child_is_read_to_its_end),
	TEST(a_child_that_prints_too_much_is_ended),
	TEST(a_child_that_hangs_is_ended_at_the_deadline),
	TEST(a_program_that_is_not_there_is_an_error),
	TEST(neighbors_go_into_the_topology_and_make_another_digest),
	TEST(a_port_that_heard_nothing_has_its_place_beside_those_that_did),
	TEST(without_a_topology_there_is_nothing_to_do),
};

TEST_SUITE(tests);
