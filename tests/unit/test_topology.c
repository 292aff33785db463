/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/topology/topology.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/sys/file.h"
#include "tests/unit/test.h"
#include "tests/unit/topology_fixture.h"

#define HGX "hgx-8gpu-8nic.xml"
#define GPU0 "gpu:0000:1a:00.0"
#define GPU1 "gpu:0000:1b:00.0"
#define GPU2 "gpu:0000:4a:00.0"
#define GPU7 "gpu:0000:cb:00.0"
#define SWITCH0 "switch:0000:16:00.0"
#define ROOT0 "root:0000:15:01.0"

static void the_eight_gpu_host_has_its_parts(void)
{
	static const size_t expected[] = {
		[TOPO_NUMA] = 2,   [TOPO_GPU] = 8,  [TOPO_RNIC] = 8,
		[TOPO_SWITCH] = 4, [TOPO_ROOT] = 4,
	};
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	const struct topo_link *uplink;
	size_t i;

	if (!fixture_load(HGX, &t))
		return;
	for (i = 0; i < ARRAY_SIZE(expected); i++)
		CHECK_EQ(fixture_count(&t, (enum topo_type)i), expected[i]);
	CHECK_EQ(t.n_links, 8 + 8 + 4 + 4 + 1 + 2);
	CHECK(!t.is_virtual);
	CHECK_EQ(strlen(t.digest), 64);
	CHECK_STR(topology_find(&t, "rnic:mlx5_7")->pci, "0000:c9:00.0");
	CHECK_STR(topology_find(&t, GPU0)->name, "NVIDIA H100 80GB HBM3");
	uplink = topology_find_link(&t, SWITCH0 "^" ROOT0);
	CHECK(uplink);
	if (!uplink)
		return;
	CHECK_STR(uplink->a, SWITCH0);
	CHECK_STR(uplink->b, ROOT0);
	CHECK_NEAR(uplink->gts, 32, 0);
	CHECK_EQ(uplink->width, 16);
	CHECK_NEAR(uplink->max_gts, 32, 0);
	CHECK_EQ(uplink->max_width, 16);
	CHECK(topology_find_link(&t, "numa:0^numa:1"));
	CHECK(!topology_find(&t, "gpu:0000:01:00.0")); /* the management controller's VGA */
}

static void locality_is_judged_by_what_lies_between(void)
{
	static const struct {
		const char *from, *to;
		enum locality locality;
	} rows[] = {
		{ GPU0, GPU0, LOCALITY_SELF },
		{ "numa:1", "numa:1", LOCALITY_SELF },
		{ GPU0, GPU1, LOCALITY_PIX },
		{ "rnic:mlx5_0", GPU1, LOCALITY_PIX },
		{ GPU0, GPU2, LOCALITY_NODE },
		{ "rnic:mlx5_2", GPU0, LOCALITY_NODE },
		{ GPU0, GPU7, LOCALITY_SYS },
		{ "rnic:mlx5_0", "numa:0", LOCALITY_NODE },
		{ "numa:1", "rnic:mlx5_0", LOCALITY_SYS },
		{ "numa:0", "numa:1", LOCALITY_SYS },
	};
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	enum locality locality;
	size_t i;

	if (!fixture_load(HGX, &t))
		return;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(topology_class(&t, rows[i].from, rows[i].to, &locality), 0);
		CHECK_STR(locality_names[locality], locality_names[rows[i].locality]);
	}
	CHECK_EQ(topology_class(&t, GPU0, "gpu:none", &locality), -ENOENT);
	CHECK_EQ(topology_class(&t, "", GPU0, &locality), -ENOENT);
}

/* What the eight-GPU host does not have: shared host bridges, switches of switches. */
static void root_ports_and_switches_make_the_other_classes(void)
{
	static const char text[] =
		"{\"v\":1,\"kind\":\"topology\",\"nodes\":["
		"{\"id\":\"numa:0\",\"type\":\"numa\"},"
		"{\"id\":\"root:a\",\"type\":\"root\",\"pci\":\"0000:40:01.0\"},"
		"{\"id\":\"root:b\",\"type\":\"root\",\"pci\":\"0000:40:02.0\"},"
		"{\"id\":\"root:c\",\"type\":\"root\",\"pci\":\"0000:41:01.0\"},"
		"{\"id\":\"switch:a\",\"type\":\"switch\"},{\"id\":\"switch:b\",\"type\":"
		"\"switch\"},"
		"{\"id\":\"gpu:a\",\"type\":\"gpu\"},{\"id\":\"gpu:b\",\"type\":\"gpu\"},"
		"{\"id\":\"gpu:c\",\"type\":\"gpu\"},{\"id\":\"gpu:d\",\"type\":\"gpu\"},"
		"{\"id\":\"rnic:a.0\",\"type\":\"rnic\"},{\"id\":\"rnic:a.1\",\"type\":\"rnic\"}],"
		"\"links\":["
		"{\"id\":\"1\",\"a\":\"root:a\",\"b\":\"numa:0\"},"
		"{\"id\":\"2\",\"a\":\"root:b\",\"b\":\"numa:0\"},"
		"{\"id\":\"3\",\"a\":\"root:c\",\"b\":\"numa:0\"},"
		"{\"id\":\"4\",\"a\":\"switch:a\",\"b\":\"root:a\"},"
		"{\"id\":\"5\",\"a\":\"switch:b\",\"b\":\"switch:a\"},"
		"{\"id\":\"6\",\"a\":\"gpu:a\",\"b\":\"switch:a\"},"
		"{\"id\":\"7\",\"a\":\"gpu:b\",\"b\":\"switch:b\"},"
		"{\"id\":\"8\",\"a\":\"gpu:c\",\"b\":\"root:b\"},"
		"{\"id\":\"9\",\"a\":\"rnic:a.0\",\"b\":\"root:c\"},"
		"{\"id\":\"10\",\"a\":\"rnic:a.1\",\"b\":\"root:c\"}]}";
	static const struct {
		const char *from, *to;
		enum locality locality;
	} rows[] = {
		{ "gpu:a", "gpu:b", LOCALITY_PXB },	 { "gpu:a", "gpu:c", LOCALITY_PHB },
		{ "gpu:c", "rnic:a.0", LOCALITY_NODE },	 { "rnic:a.0", "rnic:a.1", LOCALITY_PIX },
		{ "rnic:a.0", "numa:0", LOCALITY_NODE },
	};
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	CLEANUP(freep) char *path = test_file("classes.json", text);
	struct err err = ERR_INIT;
	enum locality locality;
	size_t i;

	CHECK_EQ(topology_from_file(path, &t, &err), 0);
	CHECK_STR(err.msg, "");
	CHECK(!t.is_virtual);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_EQ(topology_class(&t, rows[i].from, rows[i].to, &locality), 0);
		CHECK_STR(locality_names[locality], locality_names[rows[i].locality]);
	}
	CHECK_EQ(topology_class(&t, "gpu:a", "gpu:d", &locality), -EHOSTUNREACH);
}

static void a_path_names_its_links_in_order(void)
{
	static const struct {
		const char *from, *to, *path;
	} rows[] = {
		{ GPU0, GPU0, "" },
		{ "numa:0", "numa:0", "" },
		{ "rnic:mlx5_0", GPU1, "rnic:mlx5_0^" SWITCH0 " " GPU1 "^" SWITCH0 },
		{ "rnic:mlx5_0", "numa:0",
		  "rnic:mlx5_0^" SWITCH0 " " SWITCH0 "^" ROOT0 " " ROOT0 "^numa:0 numa:0^numa:0" },
		{ "rnic:mlx5_0", "numa:1",
		  "rnic:mlx5_0^" SWITCH0 " " SWITCH0 "^" ROOT0 " " ROOT0
		  "^numa:0 numa:0^numa:1 numa:1^numa:1" },
		{ GPU0, GPU7,
		  GPU0 "^" SWITCH0 " " SWITCH0 "^" ROOT0 " " ROOT0 "^numa:0 numa:0^numa:1 "
		       "root:0000:c5:01.0^numa:1 switch:0000:c6:00.0^root:0000:c5:01.0 " GPU7
		       "^switch:0000:c6:00.0" },
		{ "numa:1", "numa:0", "numa:1^numa:1 numa:0^numa:1 numa:0^numa:0" },
	};
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	CLEANUP(freep) char *unknown = NULL;
	size_t i;

	if (!fixture_load(HGX, &t))
		return;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *path = fixture_path(&t, rows[i].from, rows[i].to);

		CHECK_STR(path, rows[i].path);
	}
	unknown = fixture_path(&t, GPU0, "gpu:none");
	CHECK_EQ(strtol(unknown, NULL, 10), -ENOENT);
}

/* Of the path from one node to another: every link exists, none twice, back is reversed. */
static void check_path(const struct topology *t, const char *from, const char *to)
{
	CLEANUP(strv_freep) char **there = NULL;
	CLEANUP(strv_freep) char **back = NULL;
	size_t n, i, j;
	int r = topology_path(t, from, to, &there);

	CHECK_EQ(topology_path(t, to, from, &back), r);
	if (r < 0)
		return;
	n = strv_len(there);
	CHECK_EQ(strv_len(back), n);
	CHECK_EQ(n == 0, streq(from, to));
	for (i = 0; i < n && n == strv_len(back); i++) {
		CHECK(topology_find_link(t, there[i]));
		CHECK_STR(there[i], back[n - 1 - i]);
		for (j = 0; j < i; j++)
			CHECK(!streq(there[i], there[j]));
	}
}

static void check_all_paths(const struct topology *t)
{
	size_t i, j;

	for (i = 0; i < t->n_nodes; i++)
		for (j = 0; j < t->n_nodes; j++)
			check_path(t, t->nodes[i].id, t->nodes[j].id);
}

static void every_path_back_is_the_path_reversed(void)
{
	CLEANUP(topology_releasep) struct topology hgx = { .n_nodes = 0 };
	CLEANUP(topology_releasep) struct topology vm = { .n_nodes = 0 };

	if (!fixture_load(HGX, &hgx) || !fixture_load("vm.xml", &vm))
		return;
	check_all_paths(&hgx);
	check_all_paths(&vm);
}

/* Any graph that JSON may hold: parts apart, rings, several ways of one length. */
static void paths_of_random_graphs_reverse_too(void)
{
	static const char *const types[] = { "numa", "gpu", "rnic", "switch", "root" };
	unsigned seed = 1, graph, i;

	for (graph = 0; graph < 50; graph++) {
		CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
		struct strbuf text = STRBUF_INIT(65536);
		CLEANUP(freep) char *path = NULL;
		unsigned n = 2 + graph % 12;

		(void)strbuf_puts(&text, "{\"v\":1,\"kind\":\"topology\",\"nodes\":[");
		for (i = 0; i < n; i++)
			(void)strbuf_printf(&text, "%s{\"id\":\"n%u\",\"type\":\"%s\"}",
					    i ? "," : "", i, types[(unsigned)rand_r(&seed) % 5]);
		(void)strbuf_puts(&text, "],\"links\":[");
		for (i = 0; i < 2 * n; i++) {
			unsigned a = (unsigned)rand_r(&seed) % n;
			unsigned b = (a + 1 + (unsigned)rand_r(&seed) % (n - 1)) % n;

			(void)strbuf_printf(&text, "%s{\"id\":\"l%u\",\"a\":\"n%u\",\"b\":\"n%u\"}",
					    i ? "," : "", i, a, b);
		}
		(void)strbuf_puts(&text, "]}");
		path = test_file("random.json", strbuf_text(&text));
		strbuf_release(&text);
		CHECK_EQ(topology_from_file(path, &t, NULL), 0);
		check_all_paths(&t);
	}
}

static void an_uplink_that_trained_at_x8_is_slow(void)
{
	CLEANUP(freep) char *hgx = fixture_text(HGX);
	CLEANUP(freep)
	char *xml = fixture_edit(hgx, "pci_busid=\"0000:46:00.0\"",
				 "\"current_link_width\" value=\"16\"",
				 "\"current_link_width\" value=\"8\"");
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	size_t i;

	if (!fixture_read("x8.xml", xml, &t))
		return;
	for (i = 0; i < t.n_links; i++)
		CHECK_EQ(topology_link_is_slow(&t.links[i]),
			 streq(t.links[i].id, "switch:0000:46:00.0^root:0000:45:01.0"));
}

static void a_missing_gpu_is_not_there(void)
{
	CLEANUP(freep) char *hgx = fixture_text(HGX);
	CLEANUP(freep)
	char *xml = fixture_edit(hgx, "pci_busid=\"0000:4b:00.0\"", "0302 [10de:2330]",
				 "0300 [1a03:2000]");
	CLEANUP(topology_releasep) struct topology whole = { .n_nodes = 0 };
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };

	if (!fixture_read("seven.xml", xml, &t) || !fixture_load(HGX, &whole))
		return;
	CHECK_EQ(fixture_count(&t, TOPO_GPU), 7);
	CHECK_EQ(fixture_count(&t, TOPO_SWITCH), 4);
	CHECK(!topology_find(&t, "gpu:0000:4b:00.0"));
	CHECK(!streq(t.digest, whole.digest));
}

static void a_guest_that_hides_bridges_is_virtual(void)
{
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	CLEANUP(freep) char *path = NULL;
	enum locality locality;

	if (!fixture_load("vm.xml", &t))
		return;
	CHECK(t.is_virtual);
	CHECK_EQ(fixture_count(&t, TOPO_GPU), 8);
	CHECK_EQ(fixture_count(&t, TOPO_RNIC), 8);
	CHECK_EQ(topology_class(&t, "rnic:mlx5_0", "gpu:0000:00:10.0", &locality), 0);
	CHECK_EQ(locality, LOCALITY_VIRTUAL);
	CHECK_EQ(topology_class(&t, "numa:0", "rnic:mlx5_0", &locality), 0);
	CHECK_EQ(locality, LOCALITY_VIRTUAL);
	CHECK_EQ(topology_class(&t, "rnic:mlx5_0", "rnic:mlx5_0", &locality), 0);
	CHECK_EQ(locality, LOCALITY_SELF);
	path = fixture_path(&t, "rnic:mlx5_0", "gpu:0000:00:10.0");
	CHECK_STR(path, "rnic:mlx5_0^numa:0 gpu:0000:00:10.0^numa:0");
}

static void without_sysfs_the_speed_is_derived(void)
{
	CLEANUP(freep) char *hgx = fixture_text(HGX);
	CLEANUP(freep) char *current = fixture_edit(hgx, NULL, "\"current_link", "\"other");
	CLEANUP(freep) char *xml = fixture_edit(current, NULL, "\"max_link", "\"another");
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	const struct topo_link *link;

	if (!fixture_read("speeds.xml", xml, &t))
		return;
	link = topology_find_link(&t, GPU0 "^" SWITCH0);
	CHECK(link);
	if (!link)
		return;
	CHECK_NEAR(link->gts, 32, 0);
	CHECK_EQ(link->width, 16);
	CHECK_NEAR(link->max_gts, 0, 0);
	CHECK_EQ(link->max_width, 0);
	CHECK(!topology_link_is_slow(link));
}

static void sysfs_knows_better_than_the_file(void)
{
	static const struct {
		const char *path, *text;
	} files[] = {
		{ "sys/bus/pci/devices/0000:1a:00.0/current_link_speed", "16.0 GT/s PCIe\n" },
		{ "sys/bus/pci/devices/0000:1a:00.0/current_link_width", "8\n" },
		{ "sys/bus/pci/devices/0000:1a:00.0/max_link_speed", "32.0 GT/s PCIe\n" },
		{ "sys/bus/pci/devices/0000:02:04.0/x", "" },
		{ "sys/bus/pci/devices/0000:1b:00.0/infiniband/mlx5_bond_0/node_type", "1\n" },
	};
	CLEANUP(freep) char *hgx = fixture_text(HGX);
	/* A device of no class of ours: only its verbs device tells. */
	CLEANUP(freep)
	char *xml = fixture_edit(hgx, "pci_busid=\"0000:1b:00.0\"", "0302 [10de:2330]",
				 "0200 [15b3:101d]");
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	CLEANUP(freep) char *sys = xasprintf("%s/sys", test_dir());
	CLEANUP(closep) int fd = -1;
	const struct topo_link *link;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		free(test_file(files[i].path, files[i].text));
	fd = open(sys, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (!fixture_read_at("sysfs.xml", xml, fd, &t))
		return;
	link = topology_find_link(&t, GPU0 "^" SWITCH0);
	CHECK(link && link->gts == 16 && link->width == 8 && link->max_gts == 32);
	CHECK(link && topology_link_is_slow(link));
	CHECK(topology_find(&t, "rnic:mlx5_bond_0"));
	CHECK_EQ(fixture_count(&t, TOPO_RNIC), 9);
	CHECK_EQ(fixture_count(&t, TOPO_GPU), 7);
}

static const struct test tests[] = {
	TEST(the_eight_gpu_host_has_its_parts),
	TEST(locality_is_judged_by_what_lies_between),
	TEST(root_ports_and_switches_make_the_other_classes),
	TEST(a_path_names_its_links_in_order),
	TEST(every_path_back_is_the_path_reversed),
	TEST(paths_of_random_graphs_reverse_too),
	TEST(an_uplink_that_trained_at_x8_is_slow),
	TEST(a_missing_gpu_is_not_there),
	TEST(a_guest_that_hides_bridges_is_virtual),
	TEST(without_sysfs_the_speed_is_derived),
	TEST(sysfs_knows_better_than_the_file),
};

TEST_SUITE(tests);
