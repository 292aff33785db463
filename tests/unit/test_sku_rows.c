/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shipped SKU files compared with the output of probes and published figures: every row matches
 * some sample, no published figure of a good host is a finding, and faults are.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "tests/unit/loopback_fabric.h"
#include "tests/unit/reports.h"
#include "tests/unit/sku_files.h"
#include "tests/unit/test.h"

enum { LINE_BYTES = 64 * 1024 };

#define FULL_US (75 * USEC_PER_SEC)

/* --- every row is about something --------------------------------------------------- */

/* What gemm, memory and all-to-all print of eight GPUs (the fakes of tests/fakes). */
static void add_recorded(struct report *r)
{
	CLEANUP(freep) char *path = test_source("tests/fixtures/run-8gpu.jsonl");
	CLEANUP(freep) char *line = xcalloc(LINE_BYTES, 1);
	FILE *in = fopen(path, "re");

	CHECK(in);
	while (in && fgets(line, LINE_BYTES, in)) {
		CLEANUP(json_freep) json_t *object = json_loads(line, 0, NULL);
		struct sample s = sample_init();

		CHECK_EQ(sample_decode(&(struct jval){ .value = object }, &s, NULL), 0);
		CHECK_EQ(report_add_sample(r, &s), 0);
	}
	if (in)
		(void)fclose(in);
}

/* The simulated fabric moves nothing: on a real one latency to host memory is until it is seen. */
static void see_what_lands(struct report *r)
{
	size_t i;

	for (i = 0; i < r->n_samples; i++) {
		struct sample *s = &r->samples[i];

		if (streq(s->check, "loopback.write_lat") && strstr(s->subject, ">numa:"))
			CHECK_EQ(json_object_set_new(s->params, "until", json_string("seen")), 0);
	}
}

/* As topology_class() has it on a guest that hides its bridges. */
static void make_virtual(struct report *r)
{
	size_t i;

	for (i = 0; i < r->n_samples; i++) {
		struct sample *s = &r->samples[i];

		if (!s->locality || streq(s->locality, "self"))
			continue;
		free(s->locality);
		s->locality = xstrdup("virtual");
	}
}

/* The recorded GPUs may draw 700 W; those of a later generation more. */
static void raise_power_limit(struct report *r)
{
	size_t i;

	for (i = 0; i < r->n_samples; i++) {
		if (starts_with(r->samples[i].check, "gemm."))
			CHECK_EQ(json_object_set_new(r->samples[i].params, "power_limit_w",
						     json_integer(1000)),
				 0);
	}
}

static struct report run_of_host(bool is_virtual)
{
	struct fabric *f = fabric_new();
	struct report r;

	fabric_run(f, SET_FULL, FULL_US, &r);
	fabric_free(f);
	add_recorded(&r);
	see_what_lands(&r);
	if (is_virtual) {
		make_virtual(&r);
		raise_power_limit(&r);
	}
	return r;
}

static bool is_met(const struct sku *s, const struct sku_expect *row, const struct report *r)
{
	size_t i;

	for (i = 0; i < r->n_samples; i++) {
		double floor = NAN;

		if (sku_expectation(s, &r->samples[i], &floor) == row && floor > 0)
			return true;
	}
	return false;
}

static void every_row_of_every_file_is_about_a_sample(void)
{
	CLEANUP(report_release) struct report bare = run_of_host(false), guest = run_of_host(true);
	size_t i, k, rows = 0;

	sku_files_read();
	for (i = 0; i < sku_files_count(); i++) {
		const struct sku *file = sku_files_at(i);

		for (k = 0; k < file->n_expects; k++) {
			const struct sku_expect *row = &file->expects[k];
			const bool met = is_met(file, row, &bare) || is_met(file, row, &guest);

			if (!met)
				printf("  %s: nothing is held to expect[%zu], %s\n", file->name, k,
				       row->check);
			CHECK(met);
			rows++;
		}
	}
	CHECK(rows > 100);
}

/* --- hosts that are known ------------------------------------------------------------- */

enum {
	H100,
	H200,
	B200,
	A100_80,
	A100_40,
	H100_4,
	A100_40_4,
	H100_1,
	H200_1,
	A100_40_1,
	P4D,
	AZURE
};

static const struct sku_host hosts[] = {
	[H100] = { "HGX H100", "hgx-h100", "10de:2330", "15b3:1021", "10de:22a3", 8, false, "" },
	[H200] = { "HGX H200", "hgx-h200", "10de:2335", "15b3:1021", "10de:22a3", 8, false, "" },
	[B200] = { "HGX B200", "hgx-b200", "10de:2901", "15b3:1021", "", 8, false, "" },
	[A100_80] = { "A100 80", "hgx-a100", "10de:20b2", "15b3:101b", "10de:1af1", 8, false, "" },
	[A100_40] = { "A100 40", "hgx-a100-40gb", "10de:20b0", "15b3:101b", "10de:1af1", 8, false,
		      "DGXA100 920-23687-2530-000" },
	[H100_4] = { "4 H100", "hgx-h100-4gpu", "10de:2330", "15b3:1021", "", 4, false, "" },
	[A100_40_4] = { "4 A100", "hgx-a100-40gb-4gpu", "10de:20b0", "15b3:101b", "", 4, false, "" },
	[H100_1] = { "H100 guest", "guest-h100", "10de:2330", "1af4:1041", "", 1, true, "KVM" },
	[H200_1] = { "H200 guest", "guest-h200", "10de:2335", "1af4:1041", "", 1, true, "" },
	[A100_40_1] = { "A100 guest", "guest-a100-40gb", "10de:20b0", "1af4:1000", "", 1, true,
			"Alibaba Cloud ECS" },
	[P4D] = { "p4d", "aws-p4d", "10de:20b0", "1d0f:efa0", "10de:1af1", 8, true, "p4d.24xlarge" },
	[AZURE] = { "ND H100 v5", "azure-nd-h100-v5", "10de:2330", "15b3:101e", "10de:22a3", 8,
		    true, "Virtual Machine" },
};

/* --- published figures ------------------------------------------------------------------ */

#define BF16 "{\"dtype\":\"bf16\",\"shape\":\"8192x8192x8192\",\"power_limit_w\":700}"
#define BF16_400 "{\"dtype\":\"bf16\",\"shape\":\"8192x8192x8192\",\"power_limit_w\":400}"
#define BF16_1000 "{\"dtype\":\"bf16\",\"shape\":\"8192x8192x8192\",\"power_limit_w\":1000}"
#define SIZE_32M "{\"size\":33554432}"
#define SIZE_256M "{\"size\":268435456}"
#define DIRECT "{\"size\":33554432,\"direct\":true}"
#define RANKS "{\"ranks\":8,\"bytes\":1073741824}"
/* 400 and 200 Gb/s of InfiniBand, 200 and 100 of RoCE; packets of 4096, and of 1024 bytes. */
#define LINE_400 "{\"line_rate\":49207208000,\"mtu\":4096}"
#define LINE_200 "{\"line_rate\":24603604000,\"mtu\":4096}"
#define LINE_100_1K "{\"line_rate\":11366974000,\"mtu\":1024}"

#define AZURE_GUIDE "https://github.com/Azure/AI-benchmarking-guide/tree/main/Azure_Results"
#define NHC "https://github.com/Azure/azurehpc-health-checks/tree/main/conf"
#define NCCL_1264 "https://github.com/NVIDIA/nccl/issues/1264"
#define PC2 "https://pc2.github.io/GPUInspector.jl/dev/examples/data_bandwidth/"
#define ECS "https://github.com/router-gao/cuda-demo/blob/main/cuda-samples/02-cuda-bandwidth.md"
#define SUSTAINED "what hosts at their power limit sustain, 8 GPUs at once, random data"

/* What good hosts were seen to reach; `held`: a floor must look at it, and be kept. */
static const struct figure {
	int host;
	const char *check, *locality, *subject, *params;
	double value;
	bool held;
	const char *source;
} figures[] = {
	{ H100, "memory.h2d_bw", "node", "numa:0>gpu:1", SIZE_32M, 51e9, true, AZURE_GUIDE },
	{ H100, "memory.d2h_bw", "node", "gpu:1>numa:0", SIZE_32M, 52e9, true, AZURE_GUIDE },
	{ H100, "memory.h2d_bw", "node", "numa:0>gpu:1", SIZE_32M, 55.63e9, true,
	  "https://developer.nvidia.com/blog/?p=115566" },
	{ H100, "memory.h2d_bw", "sys", "numa:1>gpu:1", SIZE_32M, 36.3e9, false, NCCL_1264 },
	{ H100, "memory.device_bw", "self", "gpu:1", SIZE_256M, 2.90e12, true, AZURE_GUIDE },
	{ H100, "memory.device_bw", "self", "gpu:0", SIZE_256M, 2474.76e9, true, NCCL_1264 },
	{ H100, "memory.p2p_bw", "node", "gpu:0>gpu:1", DIRECT, 371.02e9, true, NCCL_1264 },
	{ H100, "memory.p2p_bw", "sys", "gpu:0>gpu:5", DIRECT, 375.94e9, true, NCCL_1264 },
	{ H100, "memory.p2p_bw", "node", "gpu:0>gpu:1", "{\"size\":33554432,\"direct\":false}",
	  37.19e9, false, NCCL_1264 },
	{ H100, "gemm.rate", "self", "gpu:0", BF16, 580e12, true, SUSTAINED },
	{ H100, "gemm.rate", "self", "gpu:0", BF16, 716e12, true,
	  "https://github.com/pranjalssh/fast.cu" },
	{ H100, "gemm.rate", "self", "gpu:0", BF16, 518.6e12, true,
	  "https://github.com/pranjalssh/fast.cu/issues/13" },
	{ H100, "gemm.rate", "self", "gpu:0", "{\"dtype\":\"f64\",\"shape\":\"8192x8192x8192\"}",
	  60e12, false, "https://resources.nvidia.com/en-us-tensor-core (67 at best)" },
	{ H100, "all_to_all.busbw", NULL, "gpus", RANKS, 370e9, true,
	  "https://github.com/NVIDIA/nccl-tests/issues/212" },
	{ H100, "loopback.write_bw", "node", "mlx5_0:1>numa:0", LINE_400, 360e9 / 8, true, NHC },
	{ H100, "loopback.write_bw", "pix", "mlx5_0:1>gpu:0", LINE_400, 375e9 / 8, true, NHC },
	/* A storage port, and one in small packets: 0.97 of what their headers leave. */
	{ H100, "loopback.write_bw", "node", "mlx5_8:1>numa:0", LINE_100_1K, 11.0e9, true,
	  "https://github.com/linux-rdma/perftest/pull/98 (95.5 of 100 Gb/s at 4096)" },
	{ H100, "loopback.write_lat", "node", "mlx5_0:1>numa:0", "{\"until\":\"seen\"}", 2.2e-6,
	  true, "https://github.com/Mellanox/ngc_multinode_perf" },
	{ H100, "loopback.write_lat", "pix", "mlx5_0:1>gpu:0", "{\"until\":\"completed\"}", 2.6e-6,
	  false, "the acknowledgement and the completion come on top" },
	{ H100, "loopback.write_lat", "sys", "mlx5_0:1>numa:1", "{\"until\":\"seen\"}", 3.1e-6,
	  false, "a hop between sockets more" },
	{ H200, "memory.h2d_bw", "node", "numa:0>gpu:1", SIZE_32M, 52e9, true, AZURE_GUIDE },
	{ H200, "memory.h2d_bw", "node", "numa:0>gpu:1", SIZE_32M, 55e9, true, AZURE_GUIDE },
	{ H200, "memory.device_bw", "self", "gpu:1", SIZE_256M, 4.01e12, true, AZURE_GUIDE },
	{ H200, "gemm.rate", "self", "gpu:0", BF16, 600e12, true, SUSTAINED },
	{ H200, "gemm.rate", "self", "gpu:0", BF16, 769e12, true,
	  "a burst on one GPU of a chassis" },
	{ B200, "memory.device_bw", "self", "gpu:1", SIZE_256M, 6.0e12, true,
	  "https://www.newmind.ai/journal/18" },
	{ B200, "gemm.rate", "self", "gpu:0", BF16_1000, 1250e12, true, SUSTAINED },
	{ B200, "gemm.rate", "self", "gpu:0", BF16_1000, 1745e12, true,
	  "https://github.com/stas00/ml-engineering (MAMF, the best of many shapes)" },
	{ A100_80, "memory.h2d_bw", "node", "numa:0>gpu:1", SIZE_32M, 26.28e9, true, AZURE_GUIDE },
	{ A100_80, "memory.device_bw", "self", "gpu:1", SIZE_256M, 1.61e12, true, AZURE_GUIDE },
	{ A100_80, "memory.device_bw", "self", "gpu:1", SIZE_256M, 1.5e12, true,
	  "https://github.com/NVIDIA/cuda-samples/issues/311" },
	{ A100_80, "memory.p2p_bw", "node", "gpu:0>gpu:1", DIRECT, 276e9, true,
	  "https://github.com/microsoft/superbenchmark" },
	{ A100_80, "gemm.rate", "self", "gpu:0", BF16_400, 253.7e12, true, AZURE_GUIDE },
	{ A100_80, "gemm.rate", "self", "gpu:0", BF16_400, 228.0e12, true, AZURE_GUIDE },
	{ A100_80, "all_to_all.busbw", NULL, "gpus", RANKS, 217e9, true,
	  "https://github.com/microsoft/superbenchmark" },
	{ A100_80, "loopback.write_bw", "node", "mlx5_0:1>numa:0", LINE_200, 185e9 / 8, true, NHC },
	{ A100_40, "memory.device_bw", "self", "gpu:1", SIZE_256M, 1219.18 * (1 << 30), true, PC2 },
	{ A100_40, "memory.h2d_bw", "node", "numa:0>gpu:1", SIZE_32M, 24e9, true, NHC },
	{ A100_40, "memory.h2d_bw", "node", "numa:0>gpu:1", SIZE_32M, 25.13e9, true,
	  "https://github.com/NVIDIA/nvbandwidth/issues/42" },
	{ A100_40, "gemm.rate", "self", "gpu:0", BF16_400, 263e12, true,
	  "https://github.com/HFAiLab (SC24 artifact: DGX A100 fp16)" },
	{ H100_4, "memory.p2p_bw", "node", "gpu:0>gpu:1", DIRECT, 260.89e9 / 2, true,
	  "https://github.com/NVIDIA/cuda-samples/issues/392" },
	{ H100_4, "memory.device_bw", "self", "gpu:0", SIZE_256M, 2959.19e9, true,
	  "https://github.com/NVIDIA/cuda-samples/issues/392" },
	{ H100_4, "gemm.rate", "self", "gpu:0", BF16, 580e12, true, SUSTAINED },
	{ A100_40_4, "memory.p2p_bw", "node", "gpu:0>gpu:1", DIRECT, 72e9, true,
	  "https://github.com/NVIDIA/nccl-tests/issues/331" },
	{ A100_40_4, "memory.device_bw", "self", "gpu:0", SIZE_256M, 1219.18 * (1 << 30), true,
	  PC2 },
	{ H100_1, "memory.h2d_bw", "virtual", "numa:0>gpu:0", SIZE_32M, 36.3e9, true, NCCL_1264 },
	{ H100_1, "memory.device_bw", "self", "gpu:0", SIZE_256M, 2474.76e9, true, NCCL_1264 },
	{ H200_1, "gemm.rate", "self", "gpu:0", BF16, 600e12, true, SUSTAINED },
	{ A100_40_1, "memory.h2d_bw", "virtual", "numa:0>gpu:0", SIZE_32M, 12.3e9, false, ECS },
	{ A100_40_1, "memory.d2h_bw", "virtual", "gpu:0>numa:0", SIZE_32M, 13.2e9, false, ECS },
	{ A100_40_1, "memory.device_bw", "self", "gpu:0", SIZE_32M, 1157.5e9, true, ECS },
	{ P4D, "memory.h2d_bw", "virtual", "numa:0>gpu:0", SIZE_32M, 12.3e9, false, ECS },
	{ P4D, "memory.device_bw", "self", "gpu:0", SIZE_256M, 1219.18 * (1 << 30), true, PC2 },
	{ AZURE, "memory.h2d_bw", "virtual", "numa:0>gpu:0", SIZE_32M, 51e9, true, AZURE_GUIDE },
	{ AZURE, "memory.h2d_bw", "virtual", "numa:1>gpu:0", SIZE_32M, 36.3e9, true, NCCL_1264 },
	{ AZURE, "memory.p2p_bw", "virtual", "gpu:0>gpu:1", DIRECT, 335e9, true, NHC },
};

/* Parts that are broken; each is a finding. */
static const struct figure faults[] = {
	{ H100, "memory.h2d_bw", "node", "numa:0>gpu:1", SIZE_32M, 27e9, true, "8 lanes of 16" },
	{ H100, "loopback.write_bw", "node", "mlx5_0:1>numa:0", LINE_400, 27e9, true, "8 lanes" },
	{ H100, "loopback.read_bw", "pix", "mlx5_0:1>gpu:0", LINE_400, 27e9, true, "8 lanes" },
	{ H100, "loopback.write_bw", "node", "mlx5_8:1>numa:0", LINE_100_1K, 7e9, true, "4 lanes" },
	{ H100, "memory.p2p_bw", "node", "gpu:0>gpu:1", DIRECT, 280e9, true, "13 of 18 NVLinks" },
	{ H100, "gemm.rate", "self", "gpu:0", BF16, 400e12, true, "a GPU held at two thirds" },
	{ H200, "memory.d2h_bw", "node", "gpu:1>numa:0", SIZE_32M, 27e9, true, "8 lanes of 16" },
	{ B200, "loopback.write_bw", "node", "mlx5_0:1>numa:0", LINE_400, 27e9, true, "8 lanes" },
	{ A100_80, "memory.h2d_bw", "node", "numa:0>gpu:1", SIZE_32M, 13.2e9, true, "8 lanes" },
	{ A100_80, "loopback.write_bw", "node", "mlx5_0:1>numa:0", LINE_200, 13e9, true, "8 lanes" },
	{ A100_40, "memory.h2d_bw", "node", "numa:0>gpu:1", SIZE_32M, 13.2e9, true, "8 lanes" },
	{ H100_4, "memory.p2p_bw", "node", "gpu:0>gpu:1", DIRECT, 87e9, true, "4 of 6 NVLinks" },
	{ H100_1, "memory.h2d_bw", "virtual", "numa:0>gpu:0", SIZE_32M, 27e9, true, "8 lanes" },
	{ AZURE, "memory.h2d_bw", "virtual", "numa:0>gpu:0", SIZE_32M, 27e9, true, "8 lanes" },
};

/* The level of one figure by the file that is about its host. */
static int level_of(const struct figure *f, bool *ret_held)
{
	CLEANUP(report_release) struct report r = report_make();
	struct sample *s = report_put(&r, f->check, f->subject, f->value);
	const struct sku *file = sku_files_find(&hosts[f->host], hosts[f->host].gpus);
	struct judge_inputs in = { .sku = sku_files_expect };
	const struct verdict_item *item;

	CHECK_STR(file ? file->name : "", hosts[f->host].sku);
	in.sku_context = (void *)(uintptr_t)file;
	s->locality = f->locality ? xstrdup(f->locality) : NULL;
	s->params = json_loads(f->params, 0, NULL);
	if (strstr(f->check, "_lat"))
		s->better = BETTER_LOWER;
	item = item_find(judged(&r, &in), f->check, f->subject);
	*ret_held = item->source == SOURCE_SKU;
	return item->level;
}

static void no_published_figure_of_a_good_host_is_a_finding(void)
{
	size_t i;

	sku_files_read();
	for (i = 0; i < ARRAY_SIZE(figures); i++) {
		const struct figure *f = &figures[i];
		bool held;
		const int level = level_of(f, &held);

		if (level != VERDICT_PASS || held != f->held)
			printf("  %s, %s of %s at %g: level %d, %sheld (%s)\n", hosts[f->host].name,
			       f->check, f->subject, f->value, level, held ? "" : "not ", f->source);
		CHECK_EQ(level, VERDICT_PASS);
		CHECK_EQ(held, f->held);
	}
}

static void a_part_that_is_broken_is_a_finding(void)
{
	size_t i;

	sku_files_read();
	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		bool held;
		const int level = level_of(&faults[i], &held);

		if (level < VERDICT_WARN)
			printf("  %s, %s: %s is not found\n", hosts[faults[i].host].name,
			       faults[i].check, faults[i].source);
		CHECK(level >= VERDICT_WARN);
	}
}

/* Of a board that shows what it is: bare metal, or with its NVSwitches. */
static void four_gpus_that_are_missing_are_a_finding(void)
{
	static const int boards[] = { H100, H200, B200, A100_80, A100_40, P4D, AZURE };
	size_t i;

	sku_files_read();
	for (i = 0; i < ARRAY_SIZE(boards); i++) {
		CLEANUP(report_release) struct report r = report_make();
		const struct sku_host *h = &hosts[boards[i]];
		const struct sku *file = sku_files_find(h, h->gpus - 4);
		struct judge_inputs in = { .sku = sku_files_expect };

		CHECK_STR(file ? file->name : "", h->sku);
		in.sku_context = (void *)(uintptr_t)file;
		report_put(&r, "inventory.gpus", "host", 4)->better = BETTER_NONE;
		CHECK_EQ(item_level(judged(&r, &in), "inventory.gpus", "host"), VERDICT_FAIL);
	}
	judged_done();
	sku_files_release();
}

static const struct test tests[] = {
	TEST(every_row_of_every_file_is_about_a_sample),
	TEST(no_published_figure_of_a_good_host_is_a_finding),
	TEST(a_part_that_is_broken_is_a_finding),
	TEST(four_gpus_that_are_missing_are_a_finding),
};

TEST_SUITE(tests);
