/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/judge/sku.h"
#include "lib/report/report.h"
#include "tests/unit/test.h"

static int decode(const char *yaml, struct sku *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *doc = NULL;
	struct jval root;
	int r = yaml_parse(yaml, strlen(yaml), "s.yaml", &doc, err);

	if (r < 0)
		return r;
	root = jval_root(doc, "s.yaml");
	return sku_decode(&root, ret, err);
}

/* What the file says about a sample of this kind; its floor is in `ret_floor`. */
static const struct sku_expect *expected_of(const struct sku *s, const char *check,
					    const char *locality, const char *subject,
					    const char *params, double *ret_floor)
{
	CLEANUP(sample_release) struct sample sample = sample_init();

	sample.check = xstrdup(check);
	sample.locality = locality ? xstrdup(locality) : NULL;
	sample.subject = xstrdup(subject);
	sample.params = params ? json_loads(params, 0, NULL) : NULL;
	CHECK(!params || sample.params);
	return sku_expectation(s, &sample, ret_floor);
}

static char h100[] = "10de:2330", mellanox[] = "15b3:1021";
static char *h100_only[] = { h100, NULL };
static char *mellanox_only[] = { mellanox, NULL };
static char product[] = "DGXH100", cpu[] = "Intel(R) Xeon(R) Platinum 8480C", empty[] = "";

static const struct sku_models gpu_host = {
	.product = product, .cpu = cpu, .gpus = h100_only, .nics = mellanox_only
};
static const struct sku_models cpu_host = { .product = empty, .cpu = cpu };

static void a_host_matches_by_model_and_never_by_counts(void)
{
	static const struct {
		const char *match;
		bool gpu_host, cpu_host;
	} table[] = {
		{ "{}", true, true },
		{ "{gpu: ['10de:2330']}", true, false },
		{ "{gpu: ['10DE:2330', '10de:2331']}", true, false },
		{ "{gpu: ['10de:20b0']}", false, false },
		{ "{gpu: []}", false, true },
		{ "{product: 'dgx*', nic: ['15b3:*']}", true, false },
		{ "{cpu: '*Xeon*'}", true, true },
		{ "{cpu: '*EPYC*'}", false, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		CLEANUP(freep)
		char *yaml = xasprintf("{v: 1, sku: x, match: %s}", table[i].match);
		struct err err = ERR_INIT;
		struct sku s = { 0 };

		CHECK_EQ(decode(yaml, &s, &err), 0);
		CHECK_STR(err.msg, "");
		CHECK_EQ(sku_matches(&s, &gpu_host), table[i].gpu_host);
		CHECK_EQ(sku_matches(&s, &cpu_host), table[i].cpu_host);
		sku_release(&s);
	}
}

/* Cells that share a link get a part of it each: the promise of one flow is none of theirs. */
static void cells_measured_at_once_are_asked_for_by_their_number(void)
{
	const char *yaml =
		"{v: 1, sku: x, match: {}, expect: ["
		"{check: 'loopback.*', subject: '*gpu:*', floor: 40, unit: B/s, source: s},"
		" {check: 'loopback.*', subject: '*\\*3', floor: 13, unit: B/s, source: s},"
		" {check: 'loopback.*', floor: 30, unit: B/s, source: s}]}";
	static const struct {
		const char *subject;
		double floor; /* 0: none */
	} cases[] = {
		{ "mlx5_0:1>gpu:1", 40 },   { "mlx5_0:1>numa:0", 30 }, { "mlx5_0:1>numa:0*3", 13 },
		{ "mlx5_0:1>numa:0*4", 0 }, { "mlx5_0:1>gpu:1*4", 0 }, { "mlx5_0:1>gpu:1*", 40 },
	};
	struct err err = ERR_INIT;
	struct sku s = { 0 };
	size_t i;

	CHECK_EQ(decode(yaml, &s, &err), 0);
	CHECK_STR(err.msg, "");
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		double floor = NAN;
		const struct sku_expect *e = expected_of(&s, "loopback.write_bw", "node",
							 cases[i].subject, NULL, &floor);

		CHECK_EQ(e != NULL, cases[i].floor > 0);
		if (e)
			CHECK_NEAR(floor, cases[i].floor, 0.01);
	}
	sku_release(&s);
}

/* A floor of bf16 is none of f64, nor that of NVLink one of a copy through the host. */
static void an_expectation_may_ask_for_params(void)
{
	const char *yaml =
		"{v: 1, sku: x, match: {}, expect: ["
		"{check: gemm.rate, params: {dtype: bf16, power_limit_w: {min: 650}}, floor: 400,"
		" unit: FLOP/s, source: s},"
		"{check: gemm.rate, params: {dtype: [tf32, 'f8*']}, floor: 300, unit: FLOP/s,"
		" source: s},"
		"{check: memory.p2p_bw, params: {direct: true, size: 32}, floor: 200, unit: B/s,"
		" source: s},"
		"{check: loopback.write_bw, class: [node, 'p?x'], part: 0.9, of: line_rate,"
		" unit: B/s, source: s}]}";
	static const struct {
		const char *check, *locality, *params;
		double floor; /* 0: none */
	} cases[] = {
		{ "gemm.rate", "self", "{\"dtype\":\"bf16\",\"power_limit_w\":700}", 400 },
		{ "gemm.rate", "self", "{\"dtype\":\"bf16\",\"power_limit_w\":500}", 0 },
		{ "gemm.rate", "self", "{\"dtype\":\"bf16\"}",
		  400 }, /* it does not say otherwise */
		{ "gemm.rate", "self", "{\"dtype\":\"f64\",\"power_limit_w\":700}", 0 },
		{ "gemm.rate", "self", "{\"dtype\":\"tf32\"}", 300 },
		{ "gemm.rate", "self", "{\"dtype\":\"f8e4m3\"}", 300 },
		{ "gemm.rate", "self", "{\"dtype\":8}", 0 },
		{ "gemm.rate", "self", NULL, 400 },
		{ "memory.p2p_bw", "sys", "{\"direct\":true,\"size\":32}", 200 },
		{ "memory.p2p_bw", "sys", "{\"direct\":false,\"size\":32}", 0 },
		{ "memory.p2p_bw", "sys", "{\"direct\":true,\"size\":4}", 0 },
		{ "loopback.write_bw", "node", "{\"line_rate\":50}", 45 },
		{ "loopback.write_bw", "pxx", "{\"line_rate\":25}", 22.5 },
		{ "loopback.write_bw", "sys", "{\"line_rate\":50}", 0 },
		{ "loopback.write_bw", NULL, "{\"line_rate\":50}", 0 },
		{ "loopback.write_bw", "node", "{\"line_rate\":0}", 0 },
		{ "loopback.write_bw", "node", "{\"line_rate\":\"50\"}", 0 },
		{ "loopback.write_bw", "node", NULL, 0 },
	};
	struct err err = ERR_INIT;
	struct sku s = { 0 };
	size_t i;

	CHECK_EQ(decode(yaml, &s, &err), 0);
	CHECK_STR(err.msg, "");
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		double floor = NAN;
		const struct sku_expect *e = expected_of(&s, cases[i].check, cases[i].locality,
							 "a>b", cases[i].params, &floor);

		CHECK_EQ(e != NULL, cases[i].floor > 0);
		if (e)
			CHECK_NEAR(floor, cases[i].floor, 0.01);
	}
	sku_release(&s);
}

/* Which file is about a host: by its board, and not by how many of its GPUs are left. */
static void a_board_is_known_by_its_gpus_and_switches(void)
{
	static const char *const files[] = {
		"{v: 1, sku: eight, match: {gpu: ['10de:2330'], gpus: 8}}",
		"{v: 1, sku: four, match: {gpu: ['10de:2330'], gpus: 4, nvswitch: []}}",
		("{v: 1, sku: guest, match: {gpu: ['10de:2330'], gpus: [1, 2, 4], nvswitch: [],"
		 " virtual: true}}"),
		"{v: 1, sku: cloud, match: {gpu: ['10de:2330'], nic: ['1d0f:*'], gpus: 8}}",
	};
	static char nvswitch[] = "10de:22a3", efa[] = "1d0f:efa1";
	static char *switches[] = { nvswitch, NULL }, *efas[] = { efa, NULL };
	static const struct {
		uint64_t gpus;
		bool has_switches, is_virtual, has_efa;
		const char *sku;
	} cases[] = {
		{ 8, true, false, false, "eight" }, { 8, false, false, false, "eight" },
		{ 8, true, true, false, "eight" },  { 8, false, true, false, "eight" },
		{ 4, true, false, false, "eight" }, /* four have fallen off */
		{ 4, true, true, false, "eight" },  { 7, false, false, false, "eight" },
		{ 4, false, false, false, "four" }, { 3, false, false, false, "four" },
		{ 4, false, true, false, "guest" }, { 1, false, true, false, "guest" },
		{ 3, false, true, false, "" },	    { 9, true, false, false, "" },
		{ 8, true, true, true, "cloud" },   { 7, true, true, true, "cloud" },
	};
	struct sku all[ARRAY_SIZE(files)] = { 0 };
	struct err err = ERR_INIT;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(files); i++)
		CHECK_EQ(decode(files[i], &all[i], &err), 0);
	CHECK_STR(err.msg, "");
	for (k = 0; k < ARRAY_SIZE(cases); k++) {
		const struct sku_models m = {
			.product = empty,
			.cpu = empty,
			.gpus = h100_only,
			.nics = cases[k].has_efa ? efas : mellanox_only,
			.switches = cases[k].has_switches ? switches : NULL,
			.n_gpus = cases[k].gpus,
			.is_virtual = cases[k].is_virtual,
		};
		const struct sku *best = NULL;

		for (i = 0; i < ARRAY_SIZE(files); i++) {
			if (sku_matches(&all[i], &m) && (!best || sku_better(&all[i], best, &m)))
				best = &all[i];
		}
		CHECK_STR(best ? best->name : "", cases[k].sku);
	}
	for (i = 0; i < ARRAY_SIZE(files); i++)
		sku_release(&all[i]);
}

static void an_expectation_is_found_by_check_class_and_subject(void)
{
	const char *yaml =
		"{v: 1, sku: x, match: {}, probes: [gpu-state], inventory: {gpus: {count: 8,"
		" source: s}}, expect: [{check: 'memory.h2d_bw', class: node, subject: '*gpu:*',"
		" value: 52e9, floor: 48.0e9, unit: B/s, source: s},"
		" {check: 'memory.*', floor: 1, unit: B/s, source: s}]}";
	const struct sku_expect *e;
	struct err err = ERR_INIT;
	struct sku s = { 0 };
	double floor = NAN;

	CHECK_EQ(decode(yaml, &s, &err), 0);
	CHECK_STR(err.msg, "");
	e = expected_of(&s, "memory.h2d_bw", "node", "numa:0>gpu:GPU-1", NULL, &floor);
	CHECK(e && fabs(e->value - 52e9) < 1 && fabs(floor - 48e9) < 1);
	e = expected_of(&s, "memory.h2d_bw", "sys", "numa:0>gpu:GPU-1", NULL, &floor);
	CHECK(e && isnan(e->value) && floor > 0.5 && floor < 1.5);
	e = expected_of(&s, "inventory.gpus", NULL, "host", NULL, &floor);
	CHECK(e && e->value > 7.5 && e->value < 8.5);
	CHECK(!expected_of(&s, "gemm.rate", "self", "gpu:GPU-1", NULL, &floor));
	CHECK(sku_expects_probe(&s, "gpu-state"));
	CHECK(!sku_expects_probe(&s, "gemm"));
	sku_release(&s);
}

static const struct wrong {
	const char *yaml, *message;
} wrong[] = {
	{ "{v: 1, match: {}}", "s.yaml: sku: missing" },
	{ "{v: 1, sku: x}", "s.yaml: match: missing" },
	{ "{v: 1, sku: ../x, match: {}}", "s.yaml: sku: expected a name of" },
	{ "{v: 1, sku: \"\", match: {}}", "s.yaml: sku: expected a name of" },
	{ "{v: 3, sku: x, match: {}}", "s.yaml: v: expected 1" },
	{ "{v: 1, sku: x, match: {nics: []}}", "s.yaml: match.nics: unknown key" },
	{ "{v: 1, sku: x, match: {gpus: []}}", "s.yaml: match.gpus: expected 1 to" },
	{ "{v: 1, sku: x, match: {gpu: nvidia}}", "s.yaml: match.gpu: expected a list" },
	{ "{v: 1, sku: x, match: {gpu: ['10de:2330', zz]}}",
	  "s.yaml: match.gpu[1]: expected a PCI id such as 10de:2330" },
	{ "{v: 1, sku: x, match: {nic: ['15b3']}}", "s.yaml: match.nic[0]: expected a PCI id" },
	{ "{v: 1, sku: x, match: {nic: [':1021']}}", "s.yaml: match.nic[0]: expected a PCI id" },
	{ "{v: 1, sku: x, match: {nic: ['15b3:']}}", "s.yaml: match.nic[0]: expected a PCI id" },
	{ "{v: 1, sku: x, match: {nic: ['15b3:10 21']}}", "s.yaml: match.nic[0]: expected a" },
	{ "{v: 1, sku: x, match: {}, inventory: {wheels: {count: 1, source: s}}}",
	  "s.yaml: inventory.wheels: unknown key" },
	{ "{v: 1, sku: x, match: {}, inventory: {gpus: {count: 8}}}",
	  "s.yaml: inventory.gpus.source: missing" },
	{ "{v: 1, sku: x, match: {}, inventory: {gpus: {count: -8, source: s}}}",
	  "s.yaml: inventory.gpus.count: -8 is outside" },
	{ "{v: 1, sku: x, match: {}, expect: [{check: c, floor: 0, unit: s, source: s}]}",
	  "s.yaml: expect[0].floor: 0 is outside" },
	{ "{v: 1, sku: x, match: {}, expect: [{check: c, floor: 1, unit: s}]}",
	  "s.yaml: expect[0].source: missing" },
	{ "{v: 1, sku: x, match: {}, inventory: {gpus: {count: 7.5, source: s}}}",
	  "s.yaml: inventory.gpus.count: 7.5 is not a whole number" },
	{ "{v: 1, sku: x, match: {}, expect: [{check: '', floor: 1, unit: s, source: s}]}",
	  "s.yaml: expect[0].check: must not be empty" },
	{ "{v: 1, sku: x, match: {}, expect: [{check: c, floor: 1, unit: s, source: ''}]}",
	  "s.yaml: expect[0].source: must not be empty" },
	{ "{v: 1, sku: x, match: {}, expect: [{check: c, floor: 24.9, unit: GB/s, source: "
	  "s}]}",
	  "s.yaml: expect[0].unit: 'GB/s': expected B/s, s, FLOP/s or 1" },
	{ "{v: 1, sku: x, match: {}, expect: [{check: c, class: nod, floor: 1, unit: s, "
	  "source: s}]}",
	  "s.yaml: expect[0].class: 'nod' matches none of self, pix" },
	{ "{v: 1, sku: x, match: {}, expect: [{check: c, class: [node, nod], floor: 1, "
	  "unit: s, source: s}]}",
	  "s.yaml: expect[0].class: 'nod' matches none of self, pix" },
	{ "{v: 1, sku: x, match: {}, expect: [{check: c, unit: s, source: s}]}",
	  "s.yaml: expect[0].floor: missing" },
	{ "{v: 1, sku: x, match: {}, expect: [{check: c, part: 0.9, unit: s, source: s}]}",
	  "s.yaml: expect[0].of: missing" },
	{ "{v: 1, sku: x, match: {}, expect: [{check: c, of: a, unit: s, source: s}]}",
	  "s.yaml: expect[0].part: missing" },
	{ "{v: 1, sku: x, match: {}, expect: [{check: c, part: 0.9, of: a, floor: 1, "
	  "unit: s, source: s}]}",
	  "s.yaml: expect[0].part: cannot be combined with floor" },
	{ "{v: 1, sku: x, match: {}, expect: [{check: c, params: 3, floor: 1, unit: s, "
	  "source: s}]}",
	  "s.yaml: expect[0].params: expected" },
	{ "{v: 1, sku: x, match: {}, expect: [{check: c, params: {a: {least: 1}}, floor: "
	  "1, "
	  "unit: s, source: s}]}",
	  "s.yaml: expect[0].params.a.least: unknown key" },
	{ "{v: 1, sku: x, match: {gpus: 0}}", "s.yaml: match.gpus: expected a number of GPUs" },
	{ "{v: 1, sku: x, match: {gpus: [8, 4.5]}}",
	  "s.yaml: match.gpus[1]: expected a number of GPUs" },
	{ "{v: 1, sku: x, match: {virtual: 1}}", "s.yaml: match.virtual: expected true or" },
};

static void what_is_wrong_is_named_with_its_place(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct err err = ERR_INIT;
		struct sku s = { 0 };

		CHECK(decode(wrong[i].yaml, &s, &err) < 0);
		CHECK_HAS(err.msg, wrong[i].message);
		CHECK(s.name == NULL);
		sku_release(&s);
	}
}

static bool is_yaml(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && streq(dot, ".yaml");
}

static void every_shipped_file_decodes_and_sources_each_number(void)
{
	CLEANUP(freep) char *dir = test_source("policies/sku");
	DIR *d = opendir(dir);
	const struct dirent *entry;
	int files = 0;

	CHECK(d != NULL);
	while (d && (entry = readdir(d))) {
		CLEANUP(freep) char *path = xasprintf("%s/%s", dir, entry->d_name);
		CLEANUP(json_freep) json_t *doc = NULL;
		struct err err = ERR_INIT;
		struct sku s = { 0 };
		struct jval root;
		size_t i;

		if (!is_yaml(entry->d_name))
			continue;
		files++;
		CHECK_EQ(yaml_read_file(path, &doc, &err), 0);
		root = jval_root(doc, path);
		CHECK_EQ(sku_decode(&root, &s, &err), 0);
		CHECK_STR(err.msg, "");
		for (i = 0; i < s.n_expects; i++)
			CHECK(strlen(s.expects[i].source) > 8);
		sku_release(&s);
	}
	if (d)
		(void)closedir(d);
	CHECK_EQ(files, 28);
}

static void the_pinned_text_names_models_only(void)
{
	CLEANUP(freep) char *text = sku_models_text(&gpu_host);
	CLEANUP(freep) char *bare = sku_models_text(&cpu_host);

	CHECK_STR(text, "product=DGXH100; cpu=Intel(R) Xeon(R) Platinum 8480C; gpu=10de:2330; "
			"nic=15b3:1021");
	CHECK_STR(bare, "product=; cpu=Intel(R) Xeon(R) Platinum 8480C; gpu=; nic=");
}

static const struct test tests[] = {
	TEST(a_host_matches_by_model_and_never_by_counts),
	TEST(an_expectation_may_ask_for_params),
	TEST(a_board_is_known_by_its_gpus_and_switches),
	TEST(an_expectation_is_found_by_check_class_and_subject),
	TEST(cells_measured_at_once_are_asked_for_by_their_number),
	TEST(what_is_wrong_is_named_with_its_place),
	TEST(every_shipped_file_decodes_and_sources_each_number),
	TEST(the_pinned_text_names_models_only),
};

TEST_SUITE(tests);
