/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_places.h"

#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

#define STARTED "2026-01-02T03:04:05Z"

/* A pod of the Kubeflow job `job`; NULL: it does not have that. */
struct member {
	const char *name, *part, *index, *node, *gpus, *started, *phase, *job;
};

#define POD(name, index, node, gpus)                                       \
	{                                                                  \
		name, "worker", index, node, gpus, STARTED, "Running", "j" \
	}

static void add(struct kube_pods *pods, const struct member *m)
{
	CLEANUP(json_freep)
	json_t *list = json_pack(
		"{s:[{s:{s:s, s:s, s:s, s:{s:s, s:s, s:s*}}, s:{s:s*, s:[{s:{s:{s:s*, s:s}}}, "
		"{}]}, s:{s:s*, s:s}}]}",
		"items", "metadata", "name", m->name, "namespace", "ml", "uid", m->name, "labels",
		"training.kubeflow.org/job-name", m->job, "training.kubeflow.org/replica-type",
		m->part, "training.kubeflow.org/replica-index", m->index, "spec", "nodeName",
		m->node, "containers", "resources", "limits", "nvidia.com/gpu", m->gpus, "cpu",
		"64", "status", "startTime", m->started, "phase", m->phase);

	CHECK(list != NULL);
	CHECK_EQ(kube_pods_add(pods, list, NULL), 0);
}

/* "gpu-1:0+8 gpu-2:8+8", or why not. New memory. */
static char *text_of(const struct member *members, size_t n)
{
	CLEANUP(kube_pods_release) struct kube_pods pods = { 0 };
	CLEANUP(kube_places_release) struct kube_places places = { 0 };
	char *text = xstrdup("");
	const char *why;
	size_t i;

	for (i = 0; i < n && members[i].name; i++)
		add(&pods, &members[i]);
	why = kube_places_of(NULL, &pods, &places);
	for (i = 0; i < places.n; i++) {
		const struct cluster_place *p = &places.items[i];
		char *more = xasprintf("%s%s%s:%lld+%lld", text, i ? " " : "", p->node,
				       (long long)p->first, (long long)p->n);
		char stamp[CLOCK_STAMP_SIZE];

		clock_stamp(p->from_us, stamp);
		CHECK_HAS(stamp, "2026-01-02T03:04:05");
		free(text);
		text = more;
	}
	if (!why)
		return text;
	CHECK_EQ(places.n, 0);
	free(text);
	return xstrdup(why);
}

enum { MEMBERS = 4 };

static void the_processes_of_pods_follow_each_other_or_nothing_is_known(void)
{
	static const struct {
		struct member pods[MEMBERS];
		const char *want;
	} rows[] = {
		{ { POD("b", "1", "gpu-1", "8"), POD("a", "0", "gpu-2", "8") },
		  "gpu-2:0+8 gpu-1:8+8" },
		/* The first part may be of another size, and a launcher has no processes. */
		{ { POD("w", "0", "gpu-1", "8"),
		    { "m", "master", "0", "gpu-2", "4", STARTED, "Running", "j" },
		    { "l", "launcher", "0", "cpu-1", NULL, STARTED, "Running", "j" } },
		  "gpu-2:0+4 gpu-1:4+8" },
		/* Who has finished has gone: the other of its rank counts. */
		{ { { "a", "worker", "0", "gpu-1", "8", STARTED, "Failed", "j" },
		    POD("b", "0", "gpu-2", "8") },
		  "gpu-2:0+8" },
		{ { { "a", "worker", "0", "gpu-1", "8", STARTED, "Succeeded", "j" } }, "" },
		{ { { .name = NULL } }, "" },
		{ { POD("a", "0", "gpu-1", "8"), POD("c", "2", "gpu-3", "8") },
		  "one of its pods is missing" },
		{ { POD("a", "0", "gpu-1", "8"), POD("b", "0", "gpu-2", "8") },
		  "one of its pods has no rank of its own" },
		{ { POD("a", "0", "gpu-1", "8"), POD("b", NULL, "gpu-2", "8") },
		  "one of its pods has no rank of its own" },
		{ { POD("a", "0", "gpu-1", "8"), POD("b", "1", NULL, "8") },
		  "one of its pods has not started" },
		{ { { "a", "worker", "0", "gpu-1", "8", NULL, "Pending", "j" } },
		  "one of its pods has not started" },
		{ { { "a", "worker", "0", "gpu-1", "8", "yesterday", "Running", "j" } },
		  "one of its pods has not started" },
		{ { POD("a", "0", "gpu-1", NULL) }, "one of its pods requests no GPU" },
		{ { POD("a", "0", "gpu-1", "500m") }, "one of its pods requests no GPU" },
		{ { POD("a", "0", "gpu-1", "99999") }, "one of its pods requests no GPU" },
		{ { POD("a", "0", "gpu-1", "8"),
		    { "b", "worker", "1", "gpu-2", "8", STARTED, "Running", "k" } },
		  "two jobs have that name" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *text = text_of(rows[i].pods, MEMBERS);

		CHECK_STR(text, rows[i].want);
	}
}

static void labels_that_number_pods_are_asked_for_each_once(void)
{
	char *const rank[KUBE_RANK_KEYS] = { xstrdup("example.com/index") };
	struct kube_job_row rows[] = {
		{ .kind = rank[0], .from = KUBE_FROM_LABEL, .key = rank[0], .rank = { rank[0] } },
		{ .kind = rank[0], .from = KUBE_FROM_LABEL, .key = rank[0], .rank = { rank[0] } },
		{ .kind = rank[0], .from = KUBE_FROM_ANNOTATION, .key = rank[0] },
	};
	const struct kube_job_table table = { rows, ARRAY_SIZE(rows) };
	const char *labels[KUBE_JOB_LABELS_MAX];
	const size_t built_in = kube_job_labels(NULL, labels);

	CHECK_EQ(built_in, 7);
	CHECK_STR(labels[0], "jobset.sigs.k8s.io/jobset-name");
	CHECK_STR(labels[built_in - 1], "job-name");
	CHECK_EQ(kube_job_labels(&table, labels), built_in + 1);
	CHECK_STR(labels[0], "example.com/index");
	CHECK_STR(labels[1], "jobset.sigs.k8s.io/jobset-name");
	free(rank[0]);
}

static const struct test tests[] = {
	TEST(the_processes_of_pods_follow_each_other_or_nothing_is_known),
	TEST(labels_that_number_pods_are_asked_for_each_once),
};

TEST_SUITE(tests);
