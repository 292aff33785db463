/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_pods.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

/* A pod as a server gives it, much shortened; what differs is put in. */
static struct kube_pod pod_of(const char *metadata, const char *spec, const char *phase)
{
	CLEANUP(freep)
	char *text = xasprintf("{\"metadata\": {\"name\": \"p0\", \"namespace\": \"%s\", \"uid\": "
			       "\"u-0\"%s%s},"
			       " \"spec\": {\"nodeName\": \"gpu-0\", \"containers\": [{\"name\": "
			       "\"main\"}]%s%s},"
			       " \"status\": {\"phase\": \"%s\"}}",
			       metadata && starts_with(metadata, "NS ") ? metadata + 3 : "default",
			       metadata && !starts_with(metadata, "NS ") ? ", " : "",
			       metadata && !starts_with(metadata, "NS ") ? metadata : "",
			       spec ? ", " : "", spec ? spec : "", phase);
	CLEANUP(json_freep) json_t *value = NULL;
	struct kube_pod pod = { 0 };
	struct err err = ERR_INIT;

	CHECK_EQ(json_parse(text, strlen(text), "pod", &value, &err), 0);
	CHECK_STR(err.msg, "");
	CHECK_EQ(kube_pod_decode(value, &pod, &err), 0);
	CHECK_STR(err.msg, "");
	return pod;
}

#define OWNED(kind)                                \
	"\"ownerReferences\": [{\"kind\": \"" kind \
	"\", \"name\": \"o\", \"uid\": \"o-1\", \"controller\": true}]"
#define NOTED(key, value) OWNED("Job") ", \"annotations\": {\"" key "\": \"" value "\"}"
#define SCRATCH "\"volumes\": [{\"name\": \"shm\", \"emptyDir\": {\"medium\": \"Memory\"}}]"

static void each_pod_goes_stays_or_keeps_the_node(void)
{
	static const struct kube_leave none = { 0 }, all = { .bare = true, .scratch = true },
				       ours = { .own = "health" };
	static const struct {
		const char *metadata, *spec, *phase;
		const struct kube_leave *leave;
		int fate;
		const char *why;
	} table[] = {
		{ OWNED("Job"), NULL, "Running", &none, KUBE_GOES, "" },
		{ OWNED("Job"), NULL, "Pending", &none, KUBE_GOES, "" },
		{ OWNED("Job"), NULL, "Succeeded", &none, KUBE_STAYS, "finished" },
		{ NULL, NULL, "Failed", &none, KUBE_STAYS, "finished" },
		{ OWNED("DaemonSet"), NULL, "Running", &none, KUBE_STAYS, "DaemonSet" },
		{ OWNED("DaemonSet"), SCRATCH, "Running", &none, KUBE_STAYS, "DaemonSet" },
		{ "\"annotations\": {\"kubernetes.io/config.mirror\": \"abc\"}", NULL, "Running",
		  &none, KUBE_STAYS, "static" },
		{ "NS kube-system", NULL, "Running", &none, KUBE_STAYS, "namespace" },
		{ "NS health", NULL, "Running", &ours, KUBE_STAYS, "namespace" },
		{ "NS health", NULL, "Running", &none, KUBE_KEEPS, "bare_pods" },
		{ NULL, NULL, "Running", &none, KUBE_KEEPS, "bare_pods" },
		{ NULL, NULL, "Running", &all, KUBE_GOES, "" },
		{ OWNED("Job"), SCRATCH, "Running", &none, KUBE_KEEPS, "empty_dir" },
		{ OWNED("Job"), SCRATCH, "Running", &all, KUBE_GOES, "" },
		{ NOTED("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"), NULL, "Running",
		  &all, KUBE_KEEPS, "safe-to-evict" },
		{ NOTED("cluster-autoscaler.kubernetes.io/safe-to-evict", "true"), NULL, "Running",
		  &all, KUBE_GOES, "" },
		{ NOTED("karpenter.sh/do-not-disrupt", "true"), NULL, "Running", &all, KUBE_KEEPS,
		  "do-not-disrupt" },
		/* It goes already: nothing holds it any more. */
		{ "\"deletionTimestamp\": \"2026-01-01T00:00:00Z\"", NULL, "Running", &none,
		  KUBE_LEAVING, "terminating" },
		/* An owner that is no controller makes nothing anew. */
		{ "\"ownerReferences\": [{\"kind\": \"Job\", \"name\": \"o\", \"uid\": \"1\"}]",
		  NULL, "Running", &none, KUBE_KEEPS, "bare_pods" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct kube_pod pod = pod_of(table[i].metadata, table[i].spec, table[i].phase);
		const char *why = NULL;

		CHECK_EQ(kube_pod_fate(&pod, table[i].leave, &why), table[i].fate);
		CHECK_HAS(why, table[i].why);
		if (table[i].fate == KUBE_GOES)
			CHECK_STR(why, "");
		kube_pod_release(&pod);
	}
}

static void what_is_asked_for_is_read(void)
{
	struct kube_pod pod = pod_of(OWNED("Job") ", \"labels\": {\"job-name\": \"train\"}",
				     "\"schedulingGroup\": {\"podGroupName\": \"pg\"}, "
				     "\"workloadRef\": {\"name\": \"w\", "
				     "\"podGroup\": \"g\"}",
				     "Running");
	char name[KUBE_POD_NAME_SIZE];

	CHECK_STR(kube_pod_name(&pod, name), "default/p0");
	CHECK_STR(pod.node, "gpu-0");
	CHECK_STR(pod.uid, "u-0");
	CHECK_STR(pod.owner_kind, "Job");
	CHECK_STR(pod.owner_uid, "o-1");
	CHECK_STR(pod.pod_group, "pg");
	CHECK_STR(pod.workload, "w");
	CHECK_STR(pod.workload_group, "g");
	CHECK_STR(kube_pod_label(&pod, "job-name"), "train");
	CHECK(kube_pod_label(&pod, "other") == NULL);
	CHECK(kube_pod_annotation(&pod, "job-name") == NULL);
	kube_pod_release(&pod);
}

static void what_is_no_list_of_pods_is_refused(void)
{
	static const struct {
		const char *text;
		int r;
		size_t n;
		const char *message;
	} table[] = {
		{ "{\"items\": []}", 0, 0, "" },
		{ "{\"items\": null}", 0, 0, "" },
		{ "{}", -EINVAL, 0, "a list of pods" },
		{ "{\"items\": {}}", -EINVAL, 0, "a list of pods" },
		{ "{\"items\": [7]}", -EINVAL, 0, "without name" },
		{ "{\"items\": [{\"metadata\": {\"name\": \"a\", \"namespace\": \"b\"}}]}", -EINVAL,
		  0, "without name, namespace or uid" },
		{ "{\"items\": [{\"metadata\": {\"name\": \"a\", \"namespace\": \"b\", \"uid\": "
		  "\"c\"}}, "
		  "{}]}",
		  -EINVAL, 1, "without name" },
		{ "{\"items\": [{\"metadata\": {\"name\": \"a\", \"namespace\": \"b\", \"uid\": "
		  "\"c\", "
		  "\"labels\": 7, \"ownerReferences\": 8}, \"spec\": [], \"status\": \"x\"}]}",
		  0, 1, "" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		CLEANUP(json_freep) json_t *value = json_loads(table[i].text, 0, NULL);
		CLEANUP(kube_pods_release) struct kube_pods pods = { 0 };
		struct err err = ERR_INIT;

		CHECK(value != NULL);
		CHECK_EQ(kube_pods_add(&pods, value, &err), table[i].r);
		CHECK_HAS(err.msg, table[i].message);
		CHECK_EQ(pods.n, table[i].n);
	}
}

static void more_pods_than_a_node_can_have_are_refused(void)
{
	CLEANUP(json_freep) json_t *list = json_pack("{s:[]}", "items");
	CLEANUP(json_freep)
	json_t *one = json_pack("{s:{s:s, s:s, s:s}}", "metadata", "name", "a", "namespace", "b",
				"uid", "c");
	CLEANUP(kube_pods_release) struct kube_pods pods = { 0 };
	struct err err = ERR_INIT;
	int i;

	for (i = 0; i < KUBE_PODS_MAX; i++)
		(void)json_array_append(json_object_get(list, "items"), one);
	CHECK_EQ(kube_pods_add(&pods, list, &err), 0);
	CHECK_EQ(pods.n, KUBE_PODS_MAX);
	CHECK_EQ(kube_pods_add(&pods, list, &err), -E2BIG);
	CHECK_EQ(pods.n, KUBE_PODS_MAX);
}

static const struct test tests[] = {
	TEST(each_pod_goes_stays_or_keeps_the_node),
	TEST(what_is_asked_for_is_read),
	TEST(what_is_no_list_of_pods_is_refused),
	TEST(more_pods_than_a_node_can_have_are_refused),
};

TEST_SUITE(tests);
