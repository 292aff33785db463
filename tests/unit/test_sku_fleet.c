/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fleets of healthy hosts judged with the shipped SKU files: hosts of many models, with values
 * drawn from published results of good hosts, must have no finding. Seeds are fixed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/xalloc.h"
#include "lib/judge/reference.h"
#include "tests/unit/random.h"
#include "tests/unit/reports.h"
#include "tests/unit/sku_files.h"
#include "tests/unit/test.h"

enum { RANGES_MAX = 9, HOSTS_A_MODEL = 100, SUBJECT_SIZE = 64 };

/* How far good parts of one host lie apart, as a part of their value: 1 %. */
#define WITHIN_HOST 0.01

/* What a value is about. */
enum about { GPU, TO_GPU, FROM_GPU, FAR_GPU, PAIR, PORT, GPUS };

/* From and to what good hosts were seen to reach. */
struct range {
	const char *check;
	int about; /* enum about */
	const char *locality, *params;
	double low, high;
	const char *source;
};

struct model {
	struct sku_host host;
	uint64_t nics, ports; /* RDMA ports that are active */
	struct range ranges[RANGES_MAX];
};

#define SHAPE "\"dtype\":\"bf16\",\"shape\":\"8192x8192x8192\""
#define WATT(n) "{" SHAPE ",\"power_limit_w\":" n "}"
#define COPY "{\"size\":33554432}"
#define OWN "{\"size\":268435456}"
#define DIRECT "{\"size\":33554432,\"direct\":true}"
#define RANKS "{\"ranks\":8,\"bytes\":1073741824}"
#define LINE_400 "{\"line_rate\":49207208000,\"mtu\":4096}"
#define LINE_200 "{\"line_rate\":24603604000,\"mtu\":4096}"
#define SEEN "{\"until\":\"seen\"}"

#define AZURE_GUIDE "https://github.com/Azure/AI-benchmarking-guide/tree/main/Azure_Results"
#define NHC "https://github.com/Azure/azurehpc-health-checks/tree/main/conf"
#define NVBANDWIDTH "https://developer.nvidia.com/blog/?p=115566"
#define NCCL_1264 "https://github.com/NVIDIA/nccl/issues/1264"
#define SAMPLES_392 "https://github.com/NVIDIA/cuda-samples/issues/392"
#define SAMPLES_311 "https://github.com/NVIDIA/cuda-samples/issues/311"
#define BENCH "https://github.com/microsoft/superbenchmark"
#define TESTS_212 "https://github.com/NVIDIA/nccl-tests/issues/212"
#define TESTS_331 "https://github.com/NVIDIA/nccl-tests/issues/331"
#define FAST_CU "https://github.com/pranjalssh/fast.cu (716); sustained at 700 W by field reports"
#define PC2 "https://pc2.github.io/GPUInspector.jl/dev/examples/data_bandwidth/"
#define ECS "https://github.com/router-gao/cuda-demo/blob/main/cuda-samples/02-cuda-bandwidth.md"
#define HAI "https://github.com/HFAiLab (SC24 artifact: DGX A100 fp16); Azure guide"
#define MAMF "https://github.com/stas00/ml-engineering (1745 at best); sustained at 1000 W"
#define C2C "https://github.com/NVIDIA/nvbandwidth/issues/23 (346 in, 15 % less out)"
#define HBM3E "https://www.newmind.ai/journal/18 (6.0 TB/s and more of 8)"
#define PERFTEST NHC ", https://github.com/linux-rdma/perftest/pull/98"
#define LATENCY "https://github.com/Mellanox/ngc_multinode_perf"
#define BOUNCE "docs.nvidia.com, confidential computing: copies go through encrypted bounce buffers"

#define H100_GPU                                                            \
	{ "gemm.rate", GPU, "self", WATT("700"), 650e12, 750e12, FAST_CU }, \
	{                                                                   \
		"memory.device_bw", GPU, "self", OWN, 2.4747e12, 2.96e12,   \
			NCCL_1264 ", " AZURE_GUIDE                          \
	}
#define H100_NEAR                                                                               \
	{ "memory.h2d_bw", TO_GPU, "node", COPY, 51e9, 55.63e9, AZURE_GUIDE ", " NVBANDWIDTH }, \
	{                                                                                       \
		"memory.d2h_bw", FROM_GPU, "node", COPY, 52e9, 55.6e9, AZURE_GUIDE              \
	}
#define H100_HIDDEN                                                                                \
	{ "memory.h2d_bw", TO_GPU, "virtual", COPY, 35e9, 52e9, NCCL_1264 ", " AZURE_GUIDE },      \
	{                                                                                          \
		"memory.d2h_bw", FROM_GPU, "virtual", COPY, 35e9, 52e9, NCCL_1264 ", " AZURE_GUIDE \
	}
#define H100_SWITCHED                                                          \
	{ "memory.p2p_bw", PAIR, "node", DIRECT, 371e9, 377e9, NCCL_1264 },    \
	{                                                                      \
		"all_to_all.busbw", GPUS, NULL, RANKS, 350e9, 370e9, TESTS_212 \
	}
#define PORTS_400                                                                       \
	{ "loopback.write_bw", PORT, "node", LINE_400, 45.5e9, 49e9, PERFTEST },        \
		{ "loopback.read_bw", PORT, "node", LINE_400, 45.5e9, 49e9, PERFTEST }, \
	{                                                                               \
		"loopback.write_lat", PORT, "node", SEEN, 1.8e-6, 2.4e-6, LATENCY       \
	}
#define A100_GPU                                                           \
	{                                                                  \
		"gemm.rate", GPU, "self", WATT("400"), 228e12, 263e12, HAI \
	}
#define A100_NEAR                                                                     \
	{ "memory.h2d_bw", TO_GPU, "node", COPY, 24e9, 26.3e9, NHC ", " BENCH },      \
	{                                                                             \
		"memory.d2h_bw", FROM_GPU, "node", COPY, 24e9, 26.3e9, NHC ", " BENCH \
	}
#define A100_SWITCHED                                                      \
	{ "memory.p2p_bw", PAIR, "node", DIRECT, 276e9, 279e9, BENCH },    \
	{                                                                  \
		"all_to_all.busbw", GPUS, NULL, RANKS, 205e9, 217e9, BENCH \
	}
#define A100_40_OWN                                                                    \
	{                                                                              \
		"memory.device_bw", GPU, "self", OWN, 1.1575e12, 1.31e12, ECS ", " PC2 \
	}
#define BLACKWELL                                                           \
	{                                                                   \
		"memory.device_bw", GPU, "self", OWN, 6.0e12, 7.2e12, HBM3E \
	}

static const struct model models[] = {
	{ { "HGX H100", "hgx-h100", "10de:2330", "15b3:1021", "10de:22a3", 8, false, "" },
	  10,
	  10,
	  { H100_GPU, H100_NEAR, H100_SWITCHED, PORTS_400 } },
	/* The same board with half of the RNICs, as some build it. */
	{ { "HGX H100, 4 RNICs", "hgx-h100", "10de:2330", "15b3:1021", "10de:22a3", 8, false, "" },
	  4,
	  4,
	  { H100_GPU, H100_NEAR, { "memory.h2d_bw", FAR_GPU, "sys", COPY, 35e9, 48e9, NCCL_1264 } } },
	{ { "HGX H200", "hgx-h200", "10de:2335", "15b3:1021", "10de:22a3", 8, false, "" },
	  8,
	  8,
	  { { "gemm.rate", GPU, "self", WATT("700"), 600e12, 769e12, AZURE_GUIDE ", " FAST_CU },
	    { "memory.device_bw", GPU, "self", OWN, 3.9e12, 4.1e12, AZURE_GUIDE },
	    H100_NEAR,
	    PORTS_400 } },
	{ { "HGX B200", "hgx-b200", "10de:2901", "15b3:1021", "", 8, false, "" },
	  8,
	  8,
	  { BLACKWELL,
	    H100_NEAR,
	    PORTS_400,
	    { "gemm.rate", GPU, "self", WATT("1000"), 1250e12, 1745e12, MAMF } } },
	{ { "4 H100", "hgx-h100-4gpu", "10de:2330", "15b3:1021", "", 4, false, "" },
	  2,
	  2,
	  { H100_GPU,
	    H100_NEAR,
	    { "memory.p2p_bw", PAIR, "node", DIRECT, 125e9, 135e9, SAMPLES_392 },
	    PORTS_400 } },
	{ { "A100 40 GB", "hgx-a100-40gb", "10de:20b0", "15b3:101b", "10de:1af1", 8, false, "" },
	  8,
	  8,
	  { A100_GPU,
	    A100_NEAR,
	    A100_SWITCHED,
	    A100_40_OWN,
	    { "loopback.write_bw", PORT, "node", LINE_200, 185e9 / 8, 24.4e9, NHC } } },
	{ { "A100 80 GB", "hgx-a100", "10de:20b2", "15b3:101b", "10de:1af1", 8, false, "" },
	  10,
	  10,
	  { A100_GPU,
	    A100_NEAR,
	    A100_SWITCHED,
	    { "memory.device_bw", GPU, "self", OWN, 1.5e12, 1.74e12,
	      SAMPLES_311 ", " AZURE_GUIDE } } },
	{ { "4 A100 40 GB", "hgx-a100-40gb-4gpu", "10de:20b0", "15b3:101b", "", 4, false, "" },
	  4,
	  4,
	  { A100_GPU,
	    A100_NEAR,
	    A100_40_OWN,
	    { "memory.p2p_bw", PAIR, "node", DIRECT, 72e9, 92e9, TESTS_331 } } },
	{ { "p5", "aws-p5", "10de:2330", "1d0f:efa1", "10de:22a3", 8, true, "p5.48xlarge" },
	  32,
	  0,
	  { H100_GPU, H100_HIDDEN, H100_SWITCHED } },
	{ { "p4d", "aws-p4d", "10de:20b0", "1d0f:efa0", "10de:1af1", 8, true, "p4d.24xlarge" },
	  4,
	  0,
	  { A100_GPU,
	    A100_SWITCHED,
	    A100_40_OWN,
	    { "memory.h2d_bw", TO_GPU, "virtual", COPY, 12e9, 13.2e9, ECS } } },
	{ { "ND H100 v5", "azure-nd-h100-v5", "10de:2330", "15b3:101e", "10de:22a3", 8, true,
	    "Virtual Machine" },
	  9,
	  8,
	  { H100_GPU, H100_HIDDEN, H100_SWITCHED } },
	{ { "one H100 of a guest", "guest-h100", "10de:2330", "1af4:1041", "", 1, true, "KVM" },
	  1,
	  0,
	  { H100_GPU, H100_HIDDEN } },
	{ { "GB200", "gb200", "10de:2941", "15b3:1023", "", 4, false, "" },
	  6,
	  6,
	  { BLACKWELL,
	    { "gemm.rate", GPU, "self", WATT("1200"), 1250e12, 1900e12, MAMF },
	    { "memory.h2d_bw", TO_GPU, "node", COPY, 90e9, 380e9, "no figure is public" } } },
	{ { "GB200 with EFA", "gb200", "10de:2941", "1d0f:efa3", "", 4, true, "u-p6e-gb200x72" },
	  4,
	  0,
	  { BLACKWELL,
	    { "gemm.rate", GPU, "self", WATT("1200"), 1250e12, 1900e12, MAMF },
	    { "memory.h2d_bw", TO_GPU, "virtual", COPY, 90e9, 380e9, "no figure is public" } } },
	{ { "GH200", "gh200", "10de:2342", "15b3:1021", "", 1, false, "" },
	  2,
	  2,
	  { { "gemm.rate", GPU, "self", WATT("900"), 580e12, 750e12, FAST_CU },
	    { "memory.device_bw", GPU, "self", OWN, 3.0e12, 3.7e12, SAMPLES_392 },
	    { "memory.h2d_bw", TO_GPU, "node", COPY, 327e9, 375e9, C2C },
	    { "memory.d2h_bw", FROM_GPU, "node", COPY, 280e9, 310e9, C2C } } },
	/* What is measured beside floors that are of something else. */
	{ { "H100 at 500 W", "hgx-h100", "10de:2330", "15b3:1021", "10de:22a3", 8, false, "" },
	  8,
	  8,
	  { { "gemm.rate", GPU, "self", WATT("500"), 430e12, 560e12, FAST_CU },
	    { "gemm.rate", GPU, "self", "{\"dtype\":\"f64\",\"shape\":\"8192x8192x8192\"}", 50e12,
	      60e12, "67 at best by NVIDIA's data sheet" },
	    { "memory.p2p_bw", PAIR, "node", "{\"size\":33554432,\"direct\":false}", 30e9, 38e9,
	      NCCL_1264 },
	    { "memory.h2d_bw", TO_GPU, "node", "{\"size\":4096}", 0.5e9, 3e9, NVBANDWIDTH } } },
	{ { "H100, confidential", "azure-nd-h100-v5", "10de:2330", "15b3:101e", "10de:22a3", 8,
	    true, "Virtual Machine" },
	  9,
	  8,
	  { { "gemm.rate", GPU, "self", "{" SHAPE ",\"power_limit_w\":700,\"cc\":\"on\"}", 400e12,
	      750e12, BOUNCE },
	    { "memory.h2d_bw", TO_GPU, "node", "{\"size\":33554432,\"cc\":\"on\"}", 4e9, 10e9,
	      BOUNCE },
	    { "memory.p2p_bw", PAIR, "node", "{\"size\":33554432,\"direct\":true,\"cc\":\"on\"}",
	      50e9, 300e9, BOUNCE } } },
	{ { "H100, divided", "hgx-h100", "10de:2330", "15b3:1021", "10de:22a3", 8, false, "" },
	  8,
	  8,
	  { { "gemm.rate", GPU, "self", "{" SHAPE ",\"power_limit_w\":700,\"mig\":\"on\"}", 80e12,
	      100e12, "a seventh of 132 SMs" },
	    { "memory.device_bw", GPU, "self", "{\"size\":268435456,\"mig\":\"on\"}", 0.3e12,
	      0.4e12, "an eighth of the memory" } } },
};

static char *subject_of(int about, size_t i)
{
	switch (about) {
	case TO_GPU:
		return xasprintf("numa:0>gpu:%zu", i);
	case FROM_GPU:
		return xasprintf("gpu:%zu>numa:0", i);
	case FAR_GPU:
		return xasprintf("numa:1>gpu:%zu", i);
	case PAIR:
		return xasprintf("gpu:%zu>gpu:%zu", i, i + 1);
	case PORT:
		return xasprintf("mlx5_%zu:1>numa:0", i);
	case GPUS:
		return xstrdup("gpus");
	default:
		return xasprintf("gpu:%zu", i);
	}
}

static size_t parts_of(const struct model *m, int about)
{
	if (about == GPUS)
		return 1;
	if (about == PORT)
		return m->ports;
	return about == PAIR ? m->host.gpus - 1 : m->host.gpus;
}

static void put(struct report *r, const struct range *range, size_t part, double value)
{
	CLEANUP(freep) char *subject = subject_of(range->about, part);
	struct sample *s = report_put(r, range->check, subject, value);

	s->locality = range->locality ? xstrdup(range->locality) : NULL;
	s->params = json_loads(range->params, 0, NULL);
	CHECK(s->params != NULL);
	if (strstr(range->check, "_lat"))
		s->better = BETTER_LOWER;
}

/* A level for the host, and the parts of it around that; nothing outside of what was published. */
static void put_range(struct report *r, const struct model *m, const struct range *range,
		      struct random *random)
{
	const double level = range->low + (range->high - range->low) * random_unit(random);
	size_t i;

	for (i = 0; i < parts_of(m, range->about); i++) {
		const double value = level * random_normal(random, 1, WITHIN_HOST);

		put(r, range, i, fmin(fmax(value, range->low), range->high));
	}
}

static void put_inventory(struct report *r, const struct model *m)
{
	report_put(r, "inventory.gpus", "host", (double)m->host.gpus)->better = BETTER_NONE;
	report_put(r, "inventory.nics", "host", (double)m->nics)->better = BETTER_NONE;
	report_put(r, "inventory.ports_active", "host", (double)m->ports)->better = BETTER_NONE;
}

static struct report draw(const struct model *m, struct random *random)
{
	struct report r = report_make();
	size_t i;

	put_inventory(&r, m);
	for (i = 0; i < RANGES_MAX && m->ranges[i].check; i++)
		put_range(&r, m, &m->ranges[i], random);
	return r;
}

/* Findings of one host, each told. */
static size_t count_findings(const struct model *m, const struct report *r)
{
	const struct sku *file = sku_files_find(&m->host, m->host.gpus);
	struct judge_inputs in = { .sku = sku_files_expect };
	const struct verdict *v;
	size_t n = 0, i;

	CHECK_STR(file ? file->name : "", m->host.sku);
	in.sku_context = (void *)(uintptr_t)file;
	v = judged(r, &in);
	for (i = 0; i < v->n_items; i++) {
		if (v->items[i].level == VERDICT_PASS)
			continue;
		printf("  %s: %s\n", m->host.name, v->items[i].sentence);
		n++;
	}
	return n;
}

static void no_healthy_host_of_any_model_has_a_finding(void)
{
	struct random random = random_seeded(test_seed(15));
	size_t hosts = 0, findings = 0, i, k;

	sku_files_read();
	for (i = 0; i < ARRAY_SIZE(models); i++) {
		for (k = 0; k < HOSTS_A_MODEL; k++) {
			CLEANUP(report_release) struct report r = draw(&models[i], &random);

			findings += count_findings(&models[i], &r);
			hosts++;
		}
	}
	printf("  %zu hosts of %zu models: %zu findings\n", hosts, ARRAY_SIZE(models), findings);
	CHECK(hosts >= 1000);
	CHECK_EQ(findings, 0);
}

/* Is one value anywhere in the range on the good side of its floor? Counts it when there is one. */
static bool is_kept(const struct sku *file, const struct range *range, struct random *random,
		    size_t *held)
{
	CLEANUP(report_release) struct report r = report_make();
	double expected = NAN, floor = NAN;
	struct measure m;

	put(&r, range, 0, range->low + (range->high - range->low) * random_unit(random));
	CHECK(measure_of(&r.samples[0], &m));
	if (!sku_files_expect((void *)(uintptr_t)file, &r.samples[0], &expected, &floor))
		return true;
	(*held)++;
	return measure_keeps(&m, floor);
}

/* Each part anywhere in what was published, whatever the others of its host do. */
static void no_value_that_was_published_is_below_a_floor(void)
{
	struct random random = random_seeded(test_seed(16));
	size_t held = 0, i, j, k;

	sku_files_read();
	for (i = 0; i < ARRAY_SIZE(models); i++) {
		const struct sku *file = sku_files_find(&models[i].host, models[i].host.gpus);

		for (j = 0; j < RANGES_MAX && models[i].ranges[j].check; j++) {
			for (k = 0; k < HOSTS_A_MODEL; k++)
				CHECK(is_kept(file, &models[i].ranges[j], &random, &held));
		}
	}
	printf("  %zu values held against a floor\n", held);
	CHECK(held > 40 * HOSTS_A_MODEL);
}

/* What is broken on one host: the first part of this check has this much of its value left. */
static const struct {
	const char *model, *check;
	double left;
} faults[] = {
	{ "HGX H100", "memory.h2d_bw", 0.5 },
	{ "HGX H100", "gemm.rate", 0.55 },
	{ "HGX H100", "loopback.write_bw", 0.5 },
	{ "4 H100", "memory.p2p_bw", 0.66 },
	{ "A100 40 GB", "memory.h2d_bw", 0.5 },
	{ "p5", "memory.p2p_bw", 0.75 },
	{ "p5", "memory.h2d_bw", 0.5 },
	{ "GB200", "memory.device_bw", 0.6 },
	{ "GH200", "memory.h2d_bw", 0.5 },
	{ "one H100 of a guest", "memory.device_bw", 0.7 },
};

static void break_first(struct report *r, const char *check, double left)
{
	size_t i = 0;

	while (i < r->n_samples && !streq(r->samples[i].check, check))
		i++;
	CHECK(i < r->n_samples);
	r->samples[i].value *= left;
}

static const struct model *model_called(const char *name)
{
	size_t i = 0;

	while (!streq(models[i].host.name, name))
		i++;
	return &models[i];
}

static void a_broken_part_of_any_model_is_a_finding(void)
{
	struct random random = random_seeded(test_seed(17));
	size_t i, k;

	sku_files_read();
	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		const struct model *m = model_called(faults[i].model);
		const struct sku *file = sku_files_find(&m->host, m->host.gpus);
		struct judge_inputs in = { .sku = sku_files_expect,
					   .sku_context = (void *)(uintptr_t)file };
		size_t found = 0;

		for (k = 0; k < HOSTS_A_MODEL; k++) {
			CLEANUP(report_release) struct report r = draw(m, &random);

			break_first(&r, faults[i].check, faults[i].left);
			found += judged(&r, &in)->level >= VERDICT_WARN;
		}
		if (found < HOSTS_A_MODEL)
			printf("  %s, %s: found on %zu of %d\n", m->host.name, faults[i].check,
			       found, HOSTS_A_MODEL);
		CHECK(found >= HOSTS_A_MODEL * 98 / 100);
	}
	judged_done();
	sku_files_release();
}

static const struct test tests[] = {
	TEST(no_healthy_host_of_any_model_has_a_finding),
	TEST(no_value_that_was_published_is_below_a_floor),
	TEST(a_broken_part_of_any_model_is_a_finding),
};

TEST_SUITE(tests);
