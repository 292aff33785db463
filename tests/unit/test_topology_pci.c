/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/topology/topology_pci.h"

#include "lib/topology/topology.h"
#include "tests/unit/test.h"

static void only_gpus_are_gpus(void)
{
	static const struct {
		unsigned class, vendor;
		bool gpu;
	} rows[] = {
		{ 0x0302, 0x10de, true },  /* NVIDIA data centre card */
		{ 0x0300, 0x10de, true },  /* with a display */
		{ 0x0300, 0x1002, true },  /* AMD with a display */
		{ 0x0380, 0x1002, true },  /* AMD MI200 */
		{ 0x1200, 0x1002, true },  /* AMD MI300 */
		{ 0x0380, 0x8086, true },  /* Intel Max */
		{ 0x0300, 0x1a03, false }, /* ASPEED of a management controller */
		{ 0x0300, 0x102b, false }, /* Matrox of one */
		{ 0x0300, 0x8086, false }, /* Intel desktop graphics */
		{ 0x0403, 0x10de, false }, /* the audio function of a card */
		{ 0x0680, 0x10de, false }, /* NVSwitch */
		{ 0x1200, 0x8086, false }, /* another accelerator (QAT, DSA...) */
		{ 0x0200, 0x15b3, false }, { 0x0207, 0x15b3, false }, { 0, 0, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(topology_pci_is_gpu(rows[i].class, rows[i].vendor), rows[i].gpu);
}

static void the_words_of_sysfs_are_read(void)
{
	static const struct {
		const char *text;
		double gts;
		unsigned width;
	} rows[] = {
		{ "32.0 GT/s PCIe", 32, 32 },
		{ "2.5 GT/s PCIe", 2.5, 2 },
		{ "5.0 GT/s", 5, 5 },
		{ "16", 16, 16 },
		{ "Unknown", 0, 0 },
		{ "Unknown speed", 0, 0 },
		{ "", 0, 0 },
		{ NULL, 0, 0 },
		{ "0", 0, 0 },
		{ "-8", 0, 0 },
		{ "nan", 0, 0 },
		{ "inf", 0, 0 },
		{ "255", 0, 0 }, /* a device off the bus reads all ones */
		{ "63", 63, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct port port = { .gts = 1, .width = 1, .max_gts = 1, .max_width = 1 };

		port_set(&port, 0, rows[i].text);
		port_set(&port, 1, rows[i].text);
		port_set(&port, 2, rows[i].text);
		port_set(&port, 3, rows[i].text);
		CHECK_NEAR(port.gts, rows[i].gts, 0);
		CHECK_EQ(port.width, rows[i].width);
		CHECK_NEAR(port.max_gts, rows[i].gts, 0);
		CHECK_EQ(port.max_width, rows[i].width);
	}
}

static void the_best_fitting_standard_is_found(void)
{
	static const struct {
		double gbytes_per_s, gts;
		unsigned width;
	} rows[] = {
		{ 63.015385, 32, 16 }, { 31.507692, 16, 16 },  /* Gen5 x8 carries the same: x16 is
								  preferred */
		{ 15.753846, 8, 16 },  { 126.030769, 64, 16 }, /* hwloc counts Gen6 without the FLIT
								  overhead */
		{ 121, 64, 16 },       { 8, 5, 16 },	       { 4, 2.5, 16 }, { 0.984615, 8, 1 },
		{ 0.5, 2.5, 2 },       { 0.25, 2.5, 1 },       { 1000, 0, 0 }, { 0.01, 0, 0 },
		{ 0, 0, 0 },	       { -1, 0, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct port port = { .gts = 0 };

		port_fit(&port, rows[i].gbytes_per_s * 1e9);
		CHECK_NEAR(port.gts, rows[i].gts, 0);
		CHECK_EQ(port.width, rows[i].width);
	}
}

static void a_link_carries_what_its_line_code_leaves(void)
{
	CHECK_NEAR(topology_link_bytes_per_s(2.5, 1), 250e6, 1);
	CHECK_NEAR(topology_link_bytes_per_s(5, 16), 8e9, 1);
	CHECK_NEAR(topology_link_bytes_per_s(8, 16), 15.753846e9, 1e4);
	CHECK_NEAR(topology_link_bytes_per_s(32, 16), 63.015385e9, 1e4);
	CHECK_NEAR(topology_link_bytes_per_s(64, 16), 121e9, 1e4);
	CHECK_NEAR(topology_link_bytes_per_s(0, 16), 0, 0);
	CHECK_NEAR(topology_link_bytes_per_s(32, 0), 0, 0);
}

static void a_link_is_slow_below_what_both_ends_can(void)
{
	static const struct {
		struct topo_link link;
		bool slow;
	} rows[] = {
		{ { .gts = 32, .width = 16, .max_gts = 32, .max_width = 16 }, false },
		{ { .gts = 32, .width = 8, .max_gts = 32, .max_width = 16 }, true },
		{ { .gts = 16, .width = 16, .max_gts = 32, .max_width = 16 }, true },
		{ { .gts = 0, .width = 0, .max_gts = 32, .max_width = 16 }, false },
		{ { .gts = 32, .width = 16, .max_gts = 0, .max_width = 0 }, false },
		{ { .gts = 0 }, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(topology_link_is_slow(&rows[i].link), rows[i].slow);
}

static void without_a_tree_nothing_is_known(void)
{
	CHECK(!port_read(-1, "0000:00:00.0", 0));
	CHECK(!port_verbs_name(-1, "0000:00:00.0"));
}

static const struct test tests[] = {
	TEST(only_gpus_are_gpus),
	TEST(the_words_of_sysfs_are_read),
	TEST(the_best_fitting_standard_is_found),
	TEST(a_link_carries_what_its_line_code_leaves),
	TEST(a_link_is_slow_below_what_both_ends_can),
	TEST(without_a_tree_nothing_is_known),
};

TEST_SUITE(tests);
