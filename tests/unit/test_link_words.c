/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/judge/link_words.h"

#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/topology/topology.h"
#include "tests/unit/test.h"

static void a_link_has_a_name_in_the_field(void)
{
	static const struct {
		const char *id, *name;
	} rows[] = {
		{ "switch:0000:3f:00.0^root:0000:3d:01.0", "PCIe switch 0000:3f:00.0 uplink" },
		{ "switch:0000:41:00.0^switch:0000:3f:00.0", "PCIe switch 0000:41:00.0 uplink" },
		{ "rnic:mlx5_0^switch:0000:16:00.0", "NIC mlx5_0's PCIe link" },
		{ "rnic:mlx5_0^root:0000:15:01.0", "NIC mlx5_0's PCIe link" },
		{ "gpu:0000:1b:00.0^switch:0000:16:00.0", "GPU 0000:1b:00.0's PCIe link" },
		{ "gpu:0000:1b:00.0^nvswitch", "NVLinks of GPU 0000:1b:00.0" },
		{ "gpu:0000:1b:00.0^gpu:0000:43:00.0",
		  "path between GPUs 0000:1b:00.0 and 0000:43:00.0" },
		{ "root:0000:15:01.0^numa:0", "root port 0000:15:01.0 to NUMA node 0" },
		{ "numa:0^numa:1", "interconnect of NUMA nodes 0 and 1" },
		{ "numa:1^numa:10", "interconnect of NUMA nodes 1 and 10" },
		{ "numa:1^numa:1", "memory of NUMA node 1" },
		/* of a fabric, or of nobody we know: as it is */
		{ "leaf-3:12^spine-1:7", "leaf-3:12^spine-1:7" },
		{ "switch:0000:3f:00.0", "switch:0000:3f:00.0" },
		{ "", "" },
		{ "^", "^" },
		{ "numa:^numa:", "memory of NUMA node " },
		{ "gpu:x\033[2J^root:y", "GPU x [2J's PCIe link" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *name = link_name(rows[i].id);

		CHECK_STR(name, rows[i].name);
	}
}

static void the_ratio_hints_at_the_cause(void)
{
	static const char pcie[] = "switch:a^root:b", between[] = "numa:0^numa:1";
	static const struct {
		const char *id;
		double ratio;
		const char *words; /* that it has; "" for no hint */
	} rows[] = {
		{ pcie, 0.5, "half of its lanes, or one PCIe generation" },
		{ pcie, 0.537, "half of its lanes" },
		{ pcie, 0.25, "x4 of x16, or two" },
		{ pcie, 0.125, "x2 of x16" },
		{ pcie, 0.03, "no GPUDirect RDMA" },
		{ pcie, 0, "no GPUDirect RDMA" },
		{ pcie, 0.9, "signal integrity" },
		{ pcie, 0.7, "" },
		{ pcie, 0.99, "" },
		{ between, 0.5, "UPI, xGMI" },
		{ "numa:0^numa:0", 0.5, "DIMMs" },
		{ "gpu:a^nvswitch", 0.94, "gpu.nvlink" },
		{ "gpu:a^gpu:b", 0.5, "NVLinks of both" },
		{ "root:b^numa:0", 0.5, "" },
		{ "leaf^spine", 0.5, "" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *hint = link_hint(rows[i].id, rows[i].ratio);

		if (*rows[i].words)
			CHECK_HAS(hint, rows[i].words);
		else
			CHECK_STR(hint, "");
	}
}

static void training_is_told_where_it_is_known(void)
{
	static char gpu[] = "gpu:a^switch:b";
	const struct {
		struct topo_link link;
		const char *words;
	} rows[] = {
		{ { .gts = 32, .width = 8, .max_gts = 32, .max_width = 16 },
		  "x8 at 32 GT/s, of x16 at 32 GT/s" },
		{ { .gts = 2.5, .width = 16 }, "x16 at 2.5 GT/s" },
		{ { .id = gpu, .gts = 2.5, .width = 16, .max_gts = 32, .max_width = 16 },
		  "x16 at 2.5 GT/s, of x16 at 32 GT/s (a GPU slows its link while idle)" },
		{ { .id = gpu, .gts = 2.5, .width = 8, .max_gts = 32, .max_width = 16 },
		  "x8 at 2.5 GT/s, of x16 at 32 GT/s" },
		{ { .gts = 0, .width = 0 }, NULL },
		{ { .gts = 16, .width = 0 }, NULL },
	};
	size_t i;

	CHECK(link_training(NULL) == NULL);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *words = link_training(&rows[i].link);

		CHECK(streq(words, rows[i].words));
	}
}

static const struct test tests[] = {
	TEST(a_link_has_a_name_in_the_field),
	TEST(the_ratio_hints_at_the_cause),
	TEST(training_is_told_where_it_is_known),
};

TEST_SUITE(tests);
