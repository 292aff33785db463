/* SPDX-License-Identifier: Apache-2.0 */
/* A node with another prefix than the default. */
#include <stdlib.h>

#include "controller/cluster/kube/kube_node.h"
#include "controller/cluster/kube/kube_patch.h"
#include "lib/base/duration.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define META "\"name\": \"gpu-1\", \"uid\": \"u-1\", \"resourceVersion\": \"205\""

/* Marked behind gpu.example.com; by others behind assay.dev. */
static const char both[] =
	"{\"metadata\": {" META ", \"annotations\": {\"assay.dev/cordon\": \"of before\", "
	"\"gpu.example.com/cordon\": \"{\\\"v\\\":1,\\\"by\\\":\\\"assay\\\","
	"\\\"reason\\\":\\\"xid79\\\",\\\"at\\\":\\\"2026-11-21T10:00:00Z\\\","
	"\\\"epoch\\\":7,\\\"pre\\\":false}\", "
	"\"gpu.example.com/override-until\": \"2026-11-22T10:00:00Z\"}, "
	"\"labels\": {\"gpu.example.com/managed\": \"false\"}}, \"spec\": {\"taints\": ["
	"{\"key\": \"assay.dev/testing\", \"value\": \"x\", \"effect\": \"NoExecute\"}, "
	"{\"key\": \"gpu.example.com/testing\", \"value\": \"5.assay\", "
	"\"effect\": \"NoSchedule\"}, "
	"{\"key\": \"gpu.example.com/unverified\", \"effect\": \"NoSchedule\"}]}}";

static void what_stands_behind_another_prefix_is_none_of_ours(void)
{
	const struct cluster_names names = cluster_names_of("gpu.example.com");
	CLEANUP(json_freep) json_t *object = json_loads(both, 0, NULL);
	struct cluster_node ours = { 0 }, others = { 0 };

	CHECK_EQ(kube_node_read(object, &names, &ours, NULL), 0);
	CHECK(ours.mark && ours.override_us > 0 && ours.unverified && !ours.managed);
	CHECK(!ours.hands_off);
	CHECK_EQ(ours.hold_us, 5 * USEC_PER_SEC);
	CHECK_EQ(kube_node_read(object, &cluster_names_usual, &others, NULL), 0);
	CHECK(!others.mark && !others.override_us && !others.unverified && others.managed);
	CHECK_STR(others.hands_off, "its annotation assay.dev/cordon is not one that Assay wrote");
	CHECK_EQ(others.hold_us, 0);
	cluster_node_release(&ours);
	cluster_node_release(&others);
}

static void all_that_is_written_is_behind_the_prefix(void)
{
	static const struct kube_taint no_taint = { 0 };
	static const struct cluster_condition sick = { "gpu-1", 0, "AssayCordoned", "sick" };
	const uint64_t stamp_us = UINT64_C(1767225601) * USEC_PER_SEC;
	const struct cluster_mark mark = { .by = (char *)(uintptr_t) "assay",
					   .reason = (char *)(uintptr_t) "xid79",
					   .at_us = stamp_us };
	const struct cluster_names names = cluster_names_of("gpu.example.com");
	CLEANUP(json_freep) json_t *raw = json_loads("{\"metadata\": {" META "}}", 0, NULL);
	struct cluster_node node = { 0 };
	const struct kube_subject s = { raw, &node, &no_taint, &names };
	json_t *patches[4];
	size_t i;

	CHECK_EQ(kube_node_read(raw, &names, &node, NULL), 0);
	patches[0] = kube_plan_cordon(&s, &mark).patch;
	patches[1] = kube_plan_override(&s, stamp_us).patch;
	patches[2] = kube_plan_hold(&s, stamp_us, "assay").patch;
	patches[3] = kube_patch_condition(&names, &sick, stamp_us, stamp_us);
	for (i = 0; i < ARRAY_SIZE(patches); i++) {
		CLEANUP(freep) char *text = json_dumps(patches[i], 0);

		CHECK_HAS(text ? text : "", "\"gpu.example.com/");
		CHECK(!strstr(text ? text : CLUSTER_PREFIX, CLUSTER_PREFIX));
		json_decref(patches[i]);
	}
	cluster_node_release(&node);
}

static const struct test tests[] = {
	TEST(what_stands_behind_another_prefix_is_none_of_ours),
	TEST(all_that_is_written_is_behind_the_prefix),
};

TEST_SUITE(tests);
