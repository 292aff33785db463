/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_jobs.h"

#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/test.h"

/* One pod in YAML's flow style, as its framework makes it. */
static void add_pod(struct kube_pods *pods, const char *yaml)
{
	CLEANUP(json_freep) json_t *one = NULL;
	CLEANUP(json_freep) json_t *list = json_pack("{s:[]}", "items");
	struct err err = ERR_INIT;

	CHECK_EQ(yaml_parse(yaml, strlen(yaml), "pod", &one, &err), 0);
	CHECK_STR(err.msg, "");
	(void)json_array_append(json_object_get(list, "items"), one);
	CHECK_EQ(kube_pods_add(pods, list, &err), 0);
	CHECK_STR(err.msg, "");
}

#define META(more) "{metadata: {name: p0, namespace: ml, uid: u0, " more "}"
#define OWNER(kind, uid) \
	"ownerReferences: [{kind: " kind ", name: o, uid: " uid ", controller: true}]"
#define SPEC ", spec: {nodeName: gpu-0}}"

/* As JobSet 0.8 labels them. */
#define JOBSET_POD                                                                                 \
	META("labels: {jobset.sigs.k8s.io/jobset-name: llama, jobset.sigs.k8s.io/jobset-uid: js1," \
	     " jobset.sigs.k8s.io/replicatedjob-name: node, jobset.sigs.k8s.io/job-index: '1',"    \
	     " jobset.sigs.k8s.io/job-global-index: '1', batch.kubernetes.io/job-name: "           \
	     "llama-node-1,"                                                                       \
	     " batch.kubernetes.io/controller-uid: c1, job-name: llama-node-1,"                    \
	     " batch.kubernetes.io/job-completion-index: '3'}, " OWNER("Job", "c1"))               \
	SPEC
#define LWS_POD                                                                                 \
	META("labels: {leaderworkerset.sigs.k8s.io/name: vllm, "                                \
	     "leaderworkerset.sigs.k8s.io/group-index: '2', "                                   \
	     "leaderworkerset.sigs.k8s.io/group-key: "                                          \
	     "k2, leaderworkerset.sigs.k8s.io/worker-index: '1'}, " OWNER("StatefulSet", "s1")) \
	SPEC
#define KUBEFLOW_POD                                                                               \
	META("labels: {training.kubeflow.org/job-name: bert, training.kubeflow.org/replica-type: " \
	     "worker, training.kubeflow.org/replica-index: '0'}, " OWNER("PyTorchJob", "pt1"))     \
	SPEC
#define VOLCANO_POD                                                                           \
	META("labels: {volcano.sh/job-name: vj, volcano.sh/task-spec: worker, "               \
	     "volcano.sh/task-index: "                                                        \
	     "'0'}, annotations: {scheduling.k8s.io/group-name: vj-pg}, " OWNER("Job", "v1")) \
	SPEC
#define KUEUE_POD                                                                                \
	META("labels: {kueue.x-k8s.io/pod-group-name: grp, kueue.x-k8s.io/pod-group-pod-index: " \
	     "'5', kueue.x-k8s.io/managed: 'true'}")                                             \
	SPEC
#define JOB_POD                                                                      \
	META("labels: {job-name: solo, controller-uid: c9}, annotations: "           \
	     "{batch.kubernetes.io/job-completion-index: '7'}, " OWNER("Job", "c9")) \
	SPEC

static const struct {
	const char *pod, *kind, *value, *uid, *select;
	int rank;
} frameworks[] = {
	{ JOBSET_POD, "jobset", "llama", "js1", "jobset.sigs.k8s.io/jobset-name=llama", 3 },
	{ LWS_POD, "lws", "vllm/2", "k2",
	  "leaderworkerset.sigs.k8s.io/name=vllm,leaderworkerset.sigs.k8s.io/group-index=2", 1 },
	{ KUBEFLOW_POD, "kubeflow", "bert", "pt1", "training.kubeflow.org/job-name=bert", 0 },
	{ VOLCANO_POD, "volcano", "vj-pg", "v1", NULL, 0 },
	{ META("labels: {volcano.sh/job-name: vj, volcano.sh/task-index: '4'}") SPEC, "volcano",
	  "vj", "", "volcano.sh/job-name=vj", 4 },
	{ KUEUE_POD, "kueue", "grp", "", "kueue.x-k8s.io/pod-group-name=grp", 5 },
	{ META("annotations: {kueue.x-k8s.io/workload: pod-a1}") SPEC, "kueue", "pod-a1", "", NULL,
	  -1 },
	{ META("labels: {ray.io/cluster: rc, ray.io/node-type: worker}, " OWNER("RayCluster", "r1"))
		  SPEC,
	  "ray", "rc", "r1", "ray.io/cluster=rc", -1 },
	{ META("labels: {batch.kubernetes.io/job-name: j, "
	       "batch.kubernetes.io/controller-uid: c7,"
	       " batch.kubernetes.io/job-completion-index: '2'}, " OWNER("Job", "c7")) SPEC,
	  "job", "j", "c7", "batch.kubernetes.io/job-name=j", 2 },
	{ JOB_POD, "job", "solo", "c9", "job-name=solo", 7 },
	{ META(OWNER("StatefulSet", "s7")) SPEC, "owner", "s7", "s7", NULL, -1 },
	{ META("labels: {app: x}") ", spec: {nodeName: gpu-0, containers: [{name: m, env: "
				   "[{name: "
				   "NODE_RANK, value: '2'}]}]}}",
	  "pod", "u0", "", NULL, 2 },
	{ META("labels: {batch.kubernetes.io/job-name: j, "
	       "batch.kubernetes.io/job-completion-index: '2'}") ", spec: {nodeName: "
								 "gpu-0, "
								 "schedulingGroup: "
								 "{podGroupName: pg}}}",
	  "pod-group", "pg", "", NULL, 2 },
	{ META("labels: {a: b}") ", spec: {workloadRef: {name: w, podGroup: g}}}", "workload",
	  "w/g", "", NULL, -1 },
	/* What is there and empty says nothing. */
	{ META("labels: {job-name: ''}, " OWNER("Job", "c9")) SPEC, "owner", "c9", "c9", NULL, -1 },
};

static void each_framework_names_its_job(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(frameworks); i++) {
		CLEANUP(kube_pods_release) struct kube_pods pods = { 0 };
		CLEANUP(kube_job_release) struct kube_job job = { 0 };
		CLEANUP(kube_ranks_release) struct kube_ranks ranks = { 0 };

		add_pod(&pods, frameworks[i].pod);
		kube_job_of(NULL, &pods.items[0], &job);
		CHECK_STR(job.namespace, "ml");
		CHECK_STR(job.kind, frameworks[i].kind);
		CHECK_STR(job.value, frameworks[i].value);
		CHECK_STR(job.uid, frameworks[i].uid);
		CHECK_STR(job.select, frameworks[i].select);
		kube_ranks_of(NULL, &job, &pods, &ranks);
		CHECK_EQ(ranks.n, 1);
		/* Of a JobSet's second part whose first is not there the place in it is all we know. */
		CHECK_EQ(ranks.items[0].rank, frameworks[i].rank);
	}
}

/* --- ranks --- */

struct member {
	const char *pod, *node, *part, *in;
};

/* A pod of the Kubeflow job "j" of namespace ml. */
static void add_member(struct kube_pods *pods, const struct member *m)
{
	CLEANUP(json_freep)
	json_t *list = json_pack(
		"{s:[{s:{s:s, s:s, s:s, s:{s:s, s:s*, s:s}}, s:{s:s*}}]}", "items", "metadata",
		"name", m->pod, "namespace", "ml", "uid", m->pod, "labels",
		"training.kubeflow.org/job-name", "j", "training.kubeflow.org/replica-type",
		m->part, "training.kubeflow.org/replica-index", m->in, "spec", "nodeName", m->node);

	CHECK(list != NULL);
	CHECK_EQ(kube_pods_add(pods, list, NULL), 0);
}

/* "0:gpu-3 1:gpu-1 -1:gpu-7": the node of each rank. New memory. */
static char *ranks_text(const struct kube_pods *pods)
{
	CLEANUP(kube_job_release) struct kube_job job = { 0 };
	CLEANUP(kube_ranks_release) struct kube_ranks ranks = { 0 };
	char *text = xstrdup("");
	size_t i;

	kube_job_of(NULL, &pods->items[0], &job);
	kube_ranks_of(NULL, &job, pods, &ranks);
	for (i = 0; i < ranks.n; i++) {
		const struct kube_place *p = &ranks.items[i];
		char *more = xasprintf("%s%s%lld:%s", text, i ? " " : "", (long long)p->rank,
				       p->node ? p->node : "?");

		free(text);
		text = more;
	}
	return text;
}

static void ranks_are_counted_over_the_parts_of_a_job(void)
{
	static const struct {
		struct member members[5];
		const char *text;
	} table[] = {
		/* The master is rank 0, and worker i is rank i + 1. */
		{ { { "j-worker-1", "gpu-2", "worker", "1" },
		    { "j-master-0", "gpu-9", "master", "0" },
		    { "j-worker-0", "gpu-1", "worker", "0" } },
		  "0:gpu-9 1:gpu-1 2:gpu-2" },
		/* As older operators write it. */
		{ { { "a", "gpu-2", "Worker", "0" }, { "b", "gpu-9", "Master", "0" } },
		  "0:gpu-9 1:gpu-2" },
		/* Elastic: workers alone. */
		{ { { "b", "gpu-2", "worker", "1" }, { "a", "gpu-1", "worker", "0" } },
		  "0:gpu-1 1:gpu-2" },
		/* mpirun's launcher only starts the others. */
		{ { { "l", "cpu-0", "launcher", "0" },
		    { "a", "gpu-1", "worker", "0" },
		    { "b", NULL, "worker", "1" } },
		  "0:gpu-1 1:? -1:cpu-0" },
		/* One that is not there yet does not shift those that are. */
		{ { { "c", "gpu-3", "worker", "2" }, { "a", "gpu-1", "worker", "0" } },
		  "0:gpu-1 2:gpu-3" },
		/* Two that claim one rank: neither has it. */
		{ { { "a", "gpu-1", "worker", "0" },
		    { "b", "gpu-2", "worker", "1" },
		    { "c", "gpu-3", "worker", "1" } },
		  "0:gpu-1 -1:gpu-2 -1:gpu-3" },
		{ { { "a", "gpu-1", "worker", "x" }, { "b", "gpu-2", "worker", "-1" } },
		  "-1:gpu-1 -1:gpu-2" },
		{ { { "a", "gpu-1", "worker", "99999999999999999999" } }, "-1:gpu-1" },
	};
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		CLEANUP(kube_pods_release) struct kube_pods pods = { 0 };
		CLEANUP(freep) char *text = NULL;

		for (j = 0; j < ARRAY_SIZE(table[i].members) && table[i].members[j].pod; j++)
			add_member(&pods, &table[i].members[j]);
		text = ranks_text(&pods);
		CHECK_STR(text, table[i].text);
	}
}

/* A JobSet of two replicated jobs of two pods each. */
static void a_job_set_counts_its_jobs_one_after_another(void)
{
	CLEANUP(kube_pods_release) struct kube_pods pods = { 0 };
	CLEANUP(freep) char *text = NULL;
	int i;

	for (i = 3; i >= 0; i--) {
		CLEANUP(freep)
		char *pod = xasprintf("{metadata: {name: p%d, namespace: ml, uid: u%d, labels: "
				      "{jobset.sigs.k8s.io/jobset-name: s, "
				      "jobset.sigs.k8s.io/job-global-index: '%d', "
				      "batch.kubernetes.io/job-completion-index: '%d'}}, spec: "
				      "{nodeName: gpu-%d}}",
				      i, i, i / 2, i % 2, i);

		add_pod(&pods, pod);
	}
	text = ranks_text(&pods);
	CHECK_STR(text, "0:gpu-0 1:gpu-1 2:gpu-2 3:gpu-3");
}

static void other_jobs_and_what_has_finished_have_no_place_in_it(void)
{
	CLEANUP(kube_pods_release) struct kube_pods pods = { 0 };
	CLEANUP(freep) char *text = NULL;

	add_member(&pods, &(struct member){ "a", "gpu-1", "worker", "0" });
	add_pod(&pods, "{metadata: {name: b, namespace: ml, uid: b, labels: "
		       "{training.kubeflow.org/job-name: other, "
		       "training.kubeflow.org/replica-index: '1'}}, spec: {nodeName: gpu-2}}");
	/* The same name in another namespace is another job. */
	add_pod(&pods, "{metadata: {name: c, namespace: dev, uid: c, labels: "
		       "{training.kubeflow.org/job-name: j, training.kubeflow.org/replica-index: "
		       "'1'}}, spec: {nodeName: gpu-3}}");
	add_pod(&pods,
		"{metadata: {name: d, namespace: ml, uid: d, labels: "
		"{training.kubeflow.org/job-name: j, training.kubeflow.org/replica-type: "
		"worker, training.kubeflow.org/replica-index: '0'}}, spec: {nodeName: gpu-4}, "
		"status: {phase: Failed}}");
	text = ranks_text(&pods);
	CHECK_STR(text, "0:gpu-1");
}

/* --- the table of a site --- */

static int decode(const char *yaml, struct kube_job_table *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *doc = NULL;
	struct jval root;

	CHECK_EQ(yaml_parse(yaml, strlen(yaml), "c.yaml", &doc, err), 0);
	root = jval_root(doc, "c.yaml");
	return kube_job_table_decode(&root, ret, err);
}

static void rows_of_a_site_come_before_those_built_in(void)
{
	struct kube_job_table table = { 0 };
	CLEANUP(kube_pods_release) struct kube_pods pods = { 0 };
	CLEANUP(kube_job_release) struct kube_job job = { 0 };
	CLEANUP(kube_ranks_release) struct kube_ranks ranks = { 0 };
	CLEANUP(freep) char *text = NULL;
	struct err err = ERR_INIT;

	CHECK_EQ(decode("[{kind: ours, label: example.com/job, uid: example.com/uid, rank: "
			"[example.com/host]}, {kind: noted, annotation: example.com/note}]",
			&table, &err),
		 0);
	CHECK_STR(err.msg, "");
	add_pod(&pods, META("labels: {example.com/job: big, example.com/uid: u7, example.com/host: "
			    "'4', job-name: small}") SPEC);
	kube_job_of(&table, &pods.items[0], &job);
	text = kube_job_text(&job);
	CHECK_STR(text, "ml/big (ours)");
	CHECK_STR(job.uid, "u7");
	kube_ranks_of(&table, &job, &pods, &ranks);
	CHECK_EQ(ranks.n, 1);
	CHECK_EQ(ranks.items[0].rank, 4);
	kube_job_table_release(&table);
}

static void a_row_that_names_no_job_is_refused(void)
{
	static const struct {
		const char *yaml, *message;
	} table[] = {
		{ "[{label: a}]", "c.yaml: [0]" },
		{ "[{kind: a}]", "c.yaml: [0]: expected one of label and annotation" },
		{ "[{kind: a, label: b}, {kind: c, label: d, annotation: e}]",
		  "c.yaml: [1]: expected one of label and annotation" },
		{ "[{kind: a, label: b, ranks: [c]}]", "ranks" },
		{ "{kind: a}", "expected a list" },
		{ "[{kind: a, label: b, rank: [c, d, e, f]}]", "rank" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct kube_job_table rows = { 0 };
		struct err err = ERR_INIT;

		CHECK(decode(table[i].yaml, &rows, &err) < 0);
		CHECK_HAS(err.msg, table[i].message);
		CHECK(rows.rows == NULL);
	}
}

/* --- what counts --- */

static void only_what_a_node_less_would_hurt_counts_as_a_job(void)
{
	static const struct {
		const char *pod;
		bool counts;
	} table[] = {
		{ JOBSET_POD, true },
		{ META("labels: {a: b}") SPEC, true },
		{ META(OWNER("StatefulSet", "s1")) SPEC, true },
		{ META(OWNER("ReplicaSet", "r1")) SPEC, false },
		{ META("labels: {kueue.x-k8s.io/pod-group-name: g}, " OWNER("ReplicaSet", "r1"))
			  SPEC,
		  true },
		{ META(OWNER("DaemonSet", "d1")) SPEC, false },
		{ META("annotations: {kubernetes.io/config.mirror: x}") SPEC, false },
		{ META("labels: {job-name: j}") ", status: {phase: Succeeded}}", false },
		{ "{metadata: {name: a, namespace: kube-system, uid: b}}", false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		CLEANUP(kube_pods_release) struct kube_pods pods = { 0 };
		CLEANUP(kube_job_release) struct kube_job job = { 0 };

		add_pod(&pods, table[i].pod);
		kube_job_of(NULL, &pods.items[0], &job);
		CHECK_EQ(kube_job_counts(&pods.items[0], &job, &(struct kube_leave){ 0 }),
			 table[i].counts);
	}
}

static const struct test tests[] = {
	TEST(each_framework_names_its_job),
	TEST(ranks_are_counted_over_the_parts_of_a_job),
	TEST(a_job_set_counts_its_jobs_one_after_another),
	TEST(other_jobs_and_what_has_finished_have_no_place_in_it),
	TEST(rows_of_a_site_come_before_those_built_in),
	TEST(a_row_that_names_no_job_is_refused),
	TEST(only_what_a_node_less_would_hurt_counts_as_a_job),
};

TEST_SUITE(tests);
