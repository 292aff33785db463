/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "agents/run/sku_host.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/sys/state.h"
#include "tests/unit/test.h"

/* A root with this sysfs, policy and state below test_dir()/name. */
static void fresh_host(const char *name)
{
	CLEANUP(freep) char *root = xasprintf("%s/%s/root", test_dir(), name);
	CLEANUP(freep) char *state = xasprintf("%s/%s/state", test_dir(), name);
	CLEANUP(freep) char *policy = xasprintf("%s/%s/policy", test_dir(), name);
	CLEANUP(freep) char *cpus = xasprintf("%s/root/proc/cpuinfo", name);

	(void)setenv("ASSAY_SYSROOT", root, 1);
	(void)setenv("ASSAY_STATE_DIR", state, 1);
	(void)setenv("ASSAY_POLICY_DIR", policy, 1);
	free(test_file(cpus, "processor\t: 0\nmodel name\t: Some Xeon\n"));
}

static void add_pci(const char *host, const char *address, const char *class, const char *vendor,
		    const char *device)
{
	const char *const files[] = { "class", "vendor", "device" };
	const char *const values[] = { class, vendor, device };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		CLEANUP(freep)
		char *path = xasprintf("%s/root/sys/bus/pci/devices/%s/%s", host, address, files[i]);

		free(test_file(path, values[i]));
	}
}

static void add_sku(const char *host, const char *file, const char *yaml)
{
	CLEANUP(freep) char *path = xasprintf("%s/policy/sku/%s", host, file);

	free(test_file(path, yaml));
}

static void add_usual(const char *host)
{
	add_pci(host, "0000:1b:00.0", "0x030200\n", "0x10de\n", "0x2330\n");
	add_pci(host, "0000:1c:00.0", "0x030200\n", "0x10de\n", "0x2330\n");
	add_pci(host, "0000:1d:00.0", "0x020700\n", "0x15b3\n", "0x1021\n");
	add_pci(host, "0000:02:00.0", "0x030000\n", "0x1a03\n", "0x2000\n"); /* a BMC's VGA */
	add_sku(host, "a-cpu.yaml", "{v: 1, sku: cpu, match: {gpu: []}}");
	add_sku(host, "b-any.yaml", "{v: 1, sku: any, match: {gpu: ['10de:*']}}");
	add_sku(host, "c-h100.yaml",
		"{v: 1, sku: h100, match: {gpu: ['10de:2330'], cpu: '*Xeon*'}}");
}

static int find(struct sku *ret, char **ret_changed, struct err *err)
{
	struct sku_models models = { 0 };
	int r;

	sku_host_models(&models);
	r = sku_host_find(&models, ret, ret_changed, err);
	sku_models_release(&models);
	return r;
}

static void models_are_read_without_counts(void)
{
	CLEANUP(freep) char *text = NULL;
	struct sku_models models = { 0 };

	fresh_host("models");
	add_usual("models");
	sku_host_models(&models);
	text = sku_models_text(&models);
	CHECK_STR(text, "product=; cpu=Some Xeon; gpu=10de:2330; nic=15b3:1021");
	sku_models_release(&models);
}

static void the_most_specific_file_wins(void)
{
	CLEANUP(freep) char *changed = NULL;
	struct err err = ERR_INIT;
	struct sku sku = { 0 };

	fresh_host("specific");
	add_usual("specific");
	CHECK_EQ(find(&sku, &changed, &err), 0);
	CHECK_STR(sku.name, "h100");
	CHECK(changed == NULL);
	sku_release(&sku);
}

static void a_pinned_host_that_lost_its_gpus_keeps_its_sku_and_asks(void)
{
	CLEANUP(freep) char *changed = NULL;
	struct sku_models models = { 0 };
	struct err err = ERR_INIT;
	struct sku sku = { 0 };

	fresh_host("pinned");
	add_usual("pinned");
	sku_host_models(&models);
	CHECK_EQ(sku_host_find(&models, &sku, &changed, &err), 0);
	CHECK_EQ(sku_host_pin(&sku, &models, &err), 0);
	sku_release(&sku);
	sku_models_release(&models);
	/* The same classes, now of no GPU vendor: as good as gone. */
	add_pci("pinned", "0000:1b:00.0", "0xffffff\n", "0xffff\n", "0xffff\n");
	add_pci("pinned", "0000:1c:00.0", "0xffffff\n", "0xffff\n", "0xffff\n");
	CHECK_EQ(find(&sku, &changed, &err), 0);
	CHECK_STR(sku.name, "h100");
	CHECK_HAS(changed, "from product=; cpu=Some Xeon; gpu=10de:2330");
	CHECK_HAS(changed, "to product=; cpu=Some Xeon; gpu=; nic=");
	sku_release(&sku);
}

static void one_gpu_of_two_gone_changes_no_model(void)
{
	CLEANUP(freep) char *changed = NULL;
	struct sku_models models = { 0 };
	struct sku sku = { 0 };

	fresh_host("one");
	add_usual("one");
	sku_host_models(&models);
	CHECK_EQ(sku_host_find(&models, &sku, &changed, NULL), 0);
	CHECK_EQ(sku_host_pin(&sku, &models, NULL), 0);
	sku_release(&sku);
	sku_models_release(&models);
	add_pci("one", "0000:1b:00.0", "0xffffff\n", "0xffff\n", "0xffff\n");
	CHECK_EQ(find(&sku, &changed, NULL), 0);
	CHECK_STR(sku.name, "h100");
	CHECK(changed == NULL);
	sku_release(&sku);
}

/* One file for two models became two; a host of the second had been pinned to the one. */
static void a_pin_to_a_file_that_was_divided_gives_way(void)
{
	CLEANUP(freep) char *changed = NULL;
	struct sku_models models = { 0 };
	struct sku sku = { 0 };

	fresh_host("divided");
	add_pci("divided", "0000:1b:00.0", "0x030200\n", "0x10de\n", "0x20b0\n");
	add_sku("divided", "a100.yaml",
		"{v: 1, sku: a100, match: {gpu: ['10de:20b0', '10de:20b2']}}");
	sku_host_models(&models);
	CHECK_EQ(sku_host_find(&models, &sku, &changed, NULL), 0);
	CHECK_STR(sku.name, "a100");
	CHECK_EQ(sku_host_pin(&sku, &models, NULL), 0);
	sku_release(&sku);
	add_sku("divided", "a100.yaml", "{v: 1, sku: a100, match: {gpu: ['10de:20b2']}}");
	add_sku("divided", "a100-40.yaml", "{v: 1, sku: a100-40, match: {gpu: ['10de:20b0']}}");
	CHECK_EQ(sku_host_find(&models, &sku, &changed, NULL), 0);
	CHECK_STR(sku.name, "a100-40");
	CHECK(changed == NULL);
	CHECK_EQ(sku_host_pin(&sku, &models, NULL), 0);
	sku_release(&sku);
	sku_models_release(&models);
	/* From now on that one is the pin: the GPU may go. */
	add_pci("divided", "0000:1b:00.0", "0xffffff\n", "0xffff\n", "0xffff\n");
	CHECK_EQ(find(&sku, &changed, NULL), 0);
	CHECK_STR(sku.name, "a100-40");
	CHECK_HAS(changed, "pinned as a100-40");
	sku_release(&sku);
}

static void a_board_is_read_as_it_is(void)
{
	struct sku_models models = { 0 };

	fresh_host("board");
	add_usual("board");
	sku_host_models(&models);
	CHECK_EQ(models.n_gpus, 2);
	CHECK_EQ(strv_len(models.switches), 0);
	CHECK(!models.is_virtual);
	sku_models_release(&models);
	add_pci("board", "0000:05:00.0", "0x068000\n", "0x10de\n", "0x22a3\n");
	free(test_file("board/root/proc/cpuinfo", "flags\t\t: fpu hypervisor lahf_lm\n"));
	sku_host_models(&models);
	CHECK_EQ(strv_len(models.switches), 1);
	CHECK_STR(models.switches[0], "10de:22a3");
	CHECK(models.is_virtual);
	sku_models_release(&models);
}

static void a_pin_that_names_nothing_is_replaced(void)
{
	CLEANUP(freep) char *changed = NULL;
	CLEANUP(json_freep) json_t *empty = json_object();
	struct sku_models models = { 0 };
	struct sku pinned = { .name = (char[]){ "h300" } }, sku = { 0 };

	fresh_host("empty");
	add_usual("empty");
	CHECK_EQ(state_save("sku", empty, NULL), 0);
	sku_host_models(&models);
	CHECK_EQ(sku_host_find(&models, &sku, &changed, NULL), 0);
	CHECK_STR(sku.name, "h100");
	CHECK(changed == NULL);
	sku_release(&sku);
	CHECK_EQ(sku_host_pin(&pinned, &models, NULL), 0);
	sku_models_release(&models);
	CHECK_EQ(find(&sku, &changed, NULL), -ENOENT);
	CHECK_HAS(changed, "this host is pinned as h300");
}

static void a_pin_whose_file_is_gone_asks(void)
{
	CLEANUP(freep) char *changed = NULL;
	struct sku_models models = { 0 };
	struct sku gone = { .name = (char[]){ "h300" } }, sku = { 0 };

	fresh_host("gone");
	add_usual("gone");
	sku_host_models(&models);
	CHECK_EQ(sku_host_pin(&gone, &models, NULL), 0);
	sku_models_release(&models);
	CHECK_EQ(find(&sku, &changed, NULL), -ENOENT);
	CHECK_HAS(changed, "this host is pinned as h300, and no file in ");
	CHECK_HAS(changed, "or remove the file 'sku' from the state directory");
}

static void no_match_and_a_bad_file_are_told_apart(void)
{
	CLEANUP(freep) char *changed = NULL;
	struct err err = ERR_INIT;
	struct sku sku = { 0 };

	fresh_host("none");
	add_sku("none", "x.yaml", "{v: 1, sku: x, match: {gpu: ['10de:1']}}");
	CHECK_EQ(find(&sku, &changed, &err), -ENOENT);
	CHECK_HAS(err.msg, "no SKU file in");
	CHECK(changed == NULL);
	add_sku("none", "y.yaml", "{v: 1, sku: y, match: {gpu: x}}");
	CHECK_EQ(find(&sku, &changed, &err), -EINVAL);
	CHECK_HAS(err.msg, "y.yaml: match.gpu: expected a list");
	CHECK(sku.name == NULL);
}

static const struct test tests[] = {
	TEST(models_are_read_without_counts),
	TEST(the_most_specific_file_wins),
	TEST(a_pinned_host_that_lost_its_gpus_keeps_its_sku_and_asks),
	TEST(one_gpu_of_two_gone_changes_no_model),
	TEST(a_pin_to_a_file_that_was_divided_gives_way),
	TEST(a_board_is_read_as_it_is),
	TEST(a_pin_that_names_nothing_is_replaced),
	TEST(a_pin_whose_file_is_gone_asks),
	TEST(no_match_and_a_bad_file_are_told_apart),
};

TEST_SUITE(tests);
