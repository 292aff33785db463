/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assay/topology_draw.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/topology/topology.h"
#include "tests/unit/test.h"
#include "tests/unit/topology_fixture.h"

static char *draw(const struct topology *t, bool colour, bool utf8)
{
	struct topology_draw how = { .colour = colour, .utf8 = utf8 };
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	CHECK(out);
	if (!out)
		return xstrdup("");
	topology_draw(t, &how, out);
	(void)fclose(out);
	return text;
}

/* The fixture with one edit, drawn without colours; NULL when skipped. */
static char *draw_edited(const char *after, const char *from, const char *to)
{
	CLEANUP(freep) char *hgx = fixture_text("hgx-8gpu-8nic.xml");
	CLEANUP(freep) char *xml = from ? fixture_edit(hgx, after, from, to) : xstrdup(hgx);
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };

	return fixture_read("drawn.xml", xml, &t) ? draw(&t, false, false) : NULL;
}

static struct topology from_json(const char *text)
{
	CLEANUP(freep) char *path = test_file("drawn.json", text);
	struct topology t = { .n_nodes = 0 };

	CHECK_EQ(topology_from_file(path, &t, NULL), 0);
	return t;
}

static void a_whole_host_is_a_tree_and_a_good_sentence(void)
{
	CLEANUP(freep) char *text = draw_edited(NULL, NULL, NULL);

	if (!text)
		return;
	CHECK_HAS(text, "NUMA node 0\n"
			"|- root port 0000:15:01.0\n"
			"|  `- switch 0000:16:00.0                         "
			"      Gen5 x16, 63.0 GB/s\n"
			"|     |- GPU 0000:1a:00.0  NVIDIA H100 80GB HBM3  "
			"      Gen5 x16, 63.0 GB/s\n");
	CHECK_HAS(text, "|     `- RNIC mlx5_1 0000:19:00.0  Mellanox ConnectX-7  Gen5 x16");
	CHECK_HAS(text, "NUMA node 1\n|- root port 0000:95:01.0\n");
	CHECK_HAS(text, "\n\n8 GPUs, 8 RNICs, 4 PCIe switches and 2 NUMA nodes; all 20 PCIe links "
			"run as fast as both ends can.\n");
	CHECK(!strstr(text, "SLOW"));
	CHECK(!strstr(text, "\033"));
}

static void a_slow_uplink_is_marked_and_named(void)
{
	CLEANUP(freep)
	char *text = draw_edited("pci_busid=\"0000:46:00.0\"", "\"current_link_width\" value=\"16\"",
				 "\"current_link_width\" value=\"8\"");

	if (!text)
		return;
	CHECK_HAS(text, "Gen5 x8, 31.5 GB/s  SLOW: can do Gen5 x16, 63.0 GB/s\n");
	CHECK_HAS(text,
		  "; 1 of 20 PCIe links runs below what both ends can do: "
		  "switch:0000:46:00.0 at Gen5 x8, 31.5 GB/s instead of Gen5 x16, 63.0 GB/s.\n");
}

static void a_gpu_at_low_speed_may_be_idle(void)
{
	CLEANUP(freep)
	char *idle = draw_edited("pci_busid=\"0000:1a:00.0\"",
				 "\"current_link_speed\" value=\"32.0 GT/s PCIe\"",
				 "\"current_link_speed\" value=\"2.5 GT/s PCIe\"");
	CLEANUP(freep)
	char *narrow = draw_edited("pci_busid=\"0000:1a:00.0\"",
				   "\"current_link_width\" value=\"16\"",
				   "\"current_link_width\" value=\"4\"");
	CLEANUP(freep)
	char *rnic = draw_edited("pci_busid=\"0000:18:00.0\"",
				 "\"current_link_speed\" value=\"32.0 GT/s PCIe\"",
				 "\"current_link_speed\" value=\"8.0 GT/s PCIe\"");

	if (!idle || !narrow || !rnic)
		return;
	CHECK_HAS(idle, "Gen1 x16, 4.00 GB/s  idle? can do Gen5 x16, 63.0 GB/s\n");
	CHECK_HAS(idle, "; no PCIe link is known to be slow, but 1 GPU link is below full speed");
	CHECK(!strstr(idle, "SLOW"));
	CHECK_HAS(narrow, "gpu:0000:1a:00.0 at Gen5 x4, 15.8 GB/s instead of Gen5 x16");
	CHECK_HAS(rnic, "rnic:mlx5_0 at Gen3 x16, 15.8 GB/s instead of Gen5 x16");
}

static void many_slow_links_are_counted(void)
{
	CLEANUP(freep)
	char *text = draw_edited(NULL, "\"current_link_width\" value=\"16\"",
				 "\"current_link_width\" value=\"8\"");

	if (!text)
		return;
	CHECK_HAS(text, "; 20 of 20 PCIe links run below what both ends can do: ");
	CHECK_HAS(text, "; and 16 more.\n");
}

static void a_guest_says_that_nothing_can_be_said(void)
{
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	CLEANUP(freep) char *text = NULL;

	if (!fixture_load("vm.xml", &t))
		return;
	text = draw(&t, false, false);
	CHECK_HAS(text, "NUMA node 0\n|- GPU 0000:00:10.0  NVIDIA H100 80GB HBM3\n");
	CHECK_HAS(text, "\nNUMA node 1\n\n");
	CHECK_HAS(text, "8 GPUs, 8 RNICs, no PCIe switch and 2 NUMA nodes; this virtual machine "
			"hides its PCIe bridges, so how close its devices are is unknown.\n");
}

static void colours_and_boxes_only_when_asked(void)
{
	CLEANUP(topology_releasep) struct topology t = { .n_nodes = 0 };
	CLEANUP(freep) char *text = NULL;

	if (!fixture_load("hgx-8gpu-8nic.xml", &t))
		return;
	text = draw(&t, true, true);
	CHECK_HAS(text, "\033[2m├─ \033[0mroot port");
	CHECK_HAS(text, "\033[32mGen5 x16, 63.0 GB/s\033[0m");
	CHECK(!strstr(text, "|-"));
}

static void any_graph_can_be_drawn(void)
{
	/* A ring, a part that hangs on nothing, an id without a kind. */
	CLEANUP(topology_releasep)
	struct topology t = from_json(
		"{\"v\":1,\"kind\":\"topology\",\"nodes\":[{\"id\":\"numa:0\",\"type\":\"numa\"},"
		"{\"id\":\"a\",\"type\":\"switch\"},{\"id\":\"b\",\"type\":\"switch\"},"
		"{\"id\":\"gpu:alone\",\"type\":\"gpu\"}],\"links\":["
		"{\"id\":\"1\",\"a\":\"a\",\"b\":\"numa:0\"},"
		"{\"id\":\"2\",\"a\":\"b\",\"b\":\"a\",\"gts\":12,\"width\":3},"
		"{\"id\":\"3\",\"a\":\"a\",\"b\":\"b\"}]}");
	CLEANUP(freep) char *text = draw(&t, false, false);

	CHECK_STR(text, "NUMA node 0\n`- switch a\n   `- switch b  12 GT/s x3, 4.43 GB/s\nGPU "
			"alone\n\n1 GPU, no RNIC, 2 PCIe switches and 1 NUMA node; the maximum "
			"speed of their PCIe links is unknown.\n");
}

static void nothing_is_drawn_as_nothing(void)
{
	CLEANUP(topology_releasep)
	struct topology t = from_json("{\"v\":1,\"kind\":\"topology\",\"nodes\":[],\"links\":[]}");
	CLEANUP(freep) char *text = draw(&t, false, false);

	CHECK_STR(text, "no GPU, no RNIC, no PCIe switch and no NUMA node.\n");
}

static const struct test tests[] = {
	TEST(a_whole_host_is_a_tree_and_a_good_sentence),
	TEST(a_slow_uplink_is_marked_and_named),
	TEST(a_gpu_at_low_speed_may_be_idle),
	TEST(many_slow_links_are_counted),
	TEST(a_guest_says_that_nothing_can_be_said),
	TEST(colours_and_boxes_only_when_asked),
	TEST(any_graph_can_be_drawn),
	TEST(nothing_is_drawn_as_nothing),
};

TEST_SUITE(tests);
