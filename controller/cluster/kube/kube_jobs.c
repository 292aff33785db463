/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* Row `i`: first the site's, then the built-in ones; NULL at the end. */
static const struct kube_job_row *kube_job_row_at(const struct kube_job_table *table, size_t i);
/* Is the key of the row on the pod? */
static bool kube_job_row_is(const struct kube_job_row *row, const struct kube_pod *pod);

/* Maps the pods of a job to its ranks. */

/* A pod's rank before those of others are known. */
struct claim {
	struct kube_place place;
	int64_t part, in; /* -1: none */
};

/* A non-negative integer below the limit, or -1. */
static int64_t number_of(const char *text)
{
	int64_t value = 0;
	const char *c = text;

	if (!text || !text[0])
		return -1;
	for (; *c >= '0' && *c <= '9'; c++) {
		value = value * 10 + (*c - '0');
		if (value > KUBE_RANK_MAX)
			return -1;
	}
	return *c == '\0' ? value : -1;
}

/*
 * Parts of a job by name: the leader has rank 0, workers follow. A launcher only starts the others.
 */
static int64_t part_of(const char *text)
{
	static const struct {
		const char *name;
		int64_t part;
	} parts[] = { { "master", 0 },	{ "chief", 0 },	    { "leader", 0 }, { "worker", 1 },
		      { "workers", 1 }, { "launcher", -1 }, { "ps", -1 },    { "evaluator", -1 } };
	int64_t number = number_of(text);
	size_t i;

	for (i = 0; number < 0 && i < ARRAY_SIZE(parts); i++) {
		if (strcasecmp(text, parts[i].name) == 0)
			return parts[i].part;
	}
	return number >= 0 ? number : 1;
}

static const char *find_key(const struct kube_pod *pod, char *const keys[KUBE_RANK_KEYS])
{
	const char *found = NULL;
	size_t i;

	for (i = 0; !found && i < KUBE_RANK_KEYS && keys[i]; i++) {
		found = kube_pod_label(pod, keys[i]);
		if (!found)
			found = kube_pod_annotation(pod, keys[i]);
	}
	return found;
}

/* The first row with its key on the pod and a rank; else the literal in its environment. */
static void claim_rank(const struct kube_job_table *table, const struct kube_pod *pod,
		       struct claim *claim)
{
	const struct kube_job_row *row;
	size_t i;

	claim->part = 0;
	for (i = 0; (row = kube_job_row_at(table, i)); i++) {
		const char *in = find_key(pod, row->rank), *part = find_key(pod, row->rank_part);

		if (!in || !kube_job_row_is(row, pod))
			continue;
		claim->in = number_of(in);
		claim->part = part ? part_of(part) : 0;
		return;
	}
	claim->in = number_of(pod->rank_env);
}

static bool has_rank(const struct claim *c)
{
	return c->part >= 0 && c->in >= 0;
}

/* By part and index; without a rank last, by name. */
static int by_claim(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (has_rank(x) != has_rank(y))
		return has_rank(x) ? -1 : 1;
	if (has_rank(x) && x->part != y->part)
		return x->part < y->part ? -1 : 1;
	if (has_rank(x) && x->in != y->in)
		return x->in < y->in ? -1 : 1;
	return strcmp(x->place.pod, y->place.pod);
}

static bool same_rank(const struct claim *a, const struct claim *b)
{
	return a->part == b->part && a->in == b->in;
}

/* Each part starts where the previous one ends. */
static void count(struct claim *claims, size_t n, struct kube_ranks *ret)
{
	int64_t first = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		struct claim *c = &claims[i];
		bool twice = has_rank(c) && ((i > 0 && same_rank(c, c - 1)) ||
					     (i + 1 < n && has_rank(c + 1) && same_rank(c, c + 1)));

		if (i > 0 && has_rank(c) && c->part != claims[i - 1].part)
			first += claims[i - 1].in + 1;
		c->place.rank = has_rank(c) && !twice ? first + c->in : -1;
		ret->items[ret->n++] = c->place;
	}
}

static int by_rank(const void *a, const void *b)
{
	const struct kube_place *x = a, *y = b;

	if ((x->rank < 0) != (y->rank < 0))
		return x->rank < 0 ? 1 : -1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strcmp(x->pod, y->pod);
}

void kube_ranks_of(const struct kube_job_table *table, const struct kube_job *job,
		   const struct kube_pods *pods, struct kube_ranks *ret)
{
	CLEANUP(freep) struct claim *claims = xcalloc(MAX(pods->n, (size_t)1), sizeof(*claims));
	size_t n = 0, i;

	for (i = 0; i < pods->n; i++) {
		const struct kube_pod *pod = &pods->items[i];
		CLEANUP(kube_job_release) struct kube_job its = { 0 };

		kube_job_of(table, pod, &its);
		if (kube_pod_finished(pod) || !kube_job_same(job, &its))
			continue;
		claims[n].place = (struct kube_place){ pod, pod->name, pod->node, -1 };
		claim_rank(table, pod, &claims[n++]);
	}
	*ret = (struct kube_ranks){ .items = xcalloc(MAX(n, (size_t)1), sizeof(*ret->items)) };
	if (n > 1)
		qsort(claims, n, sizeof(*claims), by_claim);
	count(claims, n, ret);
	if (n > 1)
		qsort(ret->items, n, sizeof(*ret->items), by_rank);
}

void kube_ranks_release(struct kube_ranks *ranks)
{
	free(ranks->items);
	*ranks = (struct kube_ranks){ 0 };
}

#define COMPLETION "batch.kubernetes.io/job-completion-index"
#define JOBSET "jobset.sigs.k8s.io/"
#define LWS "leaderworkerset.sigs.k8s.io/"
#define KUBEFLOW "training.kubeflow.org/"
#define TEXT(literal) ((char *)(uintptr_t)(literal))
#define LABEL(kind_, key_) .kind = TEXT(kind_), .from = KUBE_FROM_LABEL, .key = TEXT(key_)
#define ANNOTATION(kind_, key_) .kind = TEXT(kind_), .from = KUBE_FROM_ANNOTATION, .key = TEXT(key_)

/* Labels of each framework according to its documentation; the order matters. */
static const struct kube_job_row built_in[] = {
	{ .kind = TEXT("pod-group"), .from = KUBE_FROM_POD_GROUP },
	{ .kind = TEXT("workload"), .from = KUBE_FROM_WORKLOAD },
	{ LABEL("jobset", JOBSET "jobset-name"), .uid = TEXT(JOBSET "jobset-uid"),
	  .rank_part = { TEXT(JOBSET "job-global-index"), TEXT(JOBSET "job-index") },
	  .rank = { TEXT(COMPLETION) } },
	{ LABEL("lws", LWS "name"), .part = TEXT(LWS "group-index"), .uid = TEXT(LWS "group-key"),
	  .rank = { TEXT(LWS "worker-index") } },
	{ LABEL("kubeflow", KUBEFLOW "job-name"), .rank_part = { TEXT(KUBEFLOW "replica-type") },
	  .rank = { TEXT(KUBEFLOW "replica-index") } },
	{ ANNOTATION("volcano", "scheduling.k8s.io/group-name"),
	  .rank_part = { TEXT("volcano.sh/task-spec") }, .rank = { TEXT("volcano.sh/task-index") } },
	{ LABEL("volcano", "volcano.sh/job-name"), .rank_part = { TEXT("volcano.sh/task-spec") },
	  .rank = { TEXT("volcano.sh/task-index") } },
	{ LABEL("kueue", "kueue.x-k8s.io/pod-group-name"),
	  .rank = { TEXT("kueue.x-k8s.io/pod-group-pod-index") } },
	{ ANNOTATION("kueue", "kueue.x-k8s.io/workload"),
	  .rank = { TEXT("kueue.x-k8s.io/pod-group-pod-index") } },
	{ LABEL("ray", "ray.io/cluster") },
	{ LABEL("job", "batch.kubernetes.io/job-name"),
	  .uid = TEXT("batch.kubernetes.io/controller-uid"), .rank = { TEXT(COMPLETION) } },
	{ LABEL("job", "job-name"), .uid = TEXT("controller-uid"), .rank = { TEXT(COMPLETION) } },
	{ .kind = TEXT("owner"), .from = KUBE_FROM_OWNER },
	{ .kind = TEXT("pod"), .from = KUBE_FROM_POD },
};

/* --- the table of a site --- */

/* A site's row before it was checked. */
struct said {
	char *kind, *label, *annotation, *uid;
	char **part, **rank;
};

#define SAID(m) offsetof(struct said, m)

static const struct jfield said_fields[] = {
	{ "kind", J_STRING, SAID(kind), J_REQUIRED },
	{ "label", J_STRING, SAID(label), 0 },
	{ "annotation", J_STRING, SAID(annotation), 0 },
	{ "uid", J_STRING, SAID(uid), 0 },
	{ "rank_part", J_STRV, SAID(part), 0, .max = KUBE_RANK_KEYS },
	{ "rank", J_STRV, SAID(rank), 0, .max = KUBE_RANK_KEYS },
};

static void said_release(struct said *said)
{
	free(said->kind);
	free(said->label);
	free(said->annotation);
	free(said->uid);
	strv_free(said->part);
	strv_free(said->rank);
}

static void take_keys(char *ret[KUBE_RANK_KEYS], char *const *keys)
{
	size_t i;

	for (i = 0; keys && keys[i] && i < KUBE_RANK_KEYS; i++)
		ret[i] = xstrdup(keys[i]);
}

static int decode_row(const struct jval *v, struct kube_job_row *ret, struct err *err)
{
	CLEANUP(said_release) struct said said = { 0 };
	int r = jval_decode(v, said_fields, ARRAY_SIZE(said_fields), JVAL_STRICT, &said, err);

	if (r == 0 && !said.label == !said.annotation)
		r = jval_fail(v, err, "expected one of label and annotation: what names the job");
	if (r < 0)
		return r;
	*ret = (struct kube_job_row){
		.kind = TAKE(said.kind),
		.from = said.label ? KUBE_FROM_LABEL : KUBE_FROM_ANNOTATION,
		.key = said.label ? TAKE(said.label) : TAKE(said.annotation),
		.uid = TAKE(said.uid),
	};
	take_keys(ret->rank_part, said.part);
	take_keys(ret->rank, said.rank);
	return 0;
}

int kube_job_table_decode(const struct jval *v, struct kube_job_table *ret, struct err *err)
{
	struct kube_job_table table = { 0 };
	size_t n = json_array_size(v->value), i;
	int r = jval_need_array(v, err);

	if (r == 0 && n > KUBE_JOB_ROWS_MAX)
		r = jval_fail(v, err, "%zu rows, more than %d", n, KUBE_JOB_ROWS_MAX);
	if (r < 0)
		return r;
	table.rows = xcalloc(MAX(n, (size_t)1), sizeof(*table.rows));
	for (i = 0; r == 0 && i < n; i++) {
		const struct jval item = jval_at(v, i);

		r = decode_row(&item, &table.rows[table.n], err);
		table.n += r == 0;
	}
	if (r < 0)
		kube_job_table_release(&table);
	else
		*ret = table;
	return r;
}

static void row_release(struct kube_job_row *row)
{
	size_t i;

	free(row->kind);
	free(row->key);
	free(row->part);
	free(row->uid);
	for (i = 0; i < KUBE_RANK_KEYS; i++) {
		free(row->rank_part[i]);
		free(row->rank[i]);
	}
}

void kube_job_table_release(struct kube_job_table *table)
{
	while (table->n > 0)
		row_release(&table->rows[--table->n]);
	free(TAKE(table->rows));
}

static const struct kube_job_row *kube_job_row_at(const struct kube_job_table *table, size_t i)
{
	const size_t own = table ? table->n : 0;

	if (i < own)
		return &table->rows[i];
	return i - own < ARRAY_SIZE(built_in) ? &built_in[i - own] : NULL;
}

size_t kube_job_labels(const struct kube_job_table *table,
		       const char *ret[static KUBE_JOB_LABELS_MAX])
{
	const struct kube_job_row *row;
	size_t n = 0, i, j;

	for (i = 0; (row = kube_job_row_at(table, i)) && n < KUBE_JOB_LABELS_MAX; i++) {
		if (row->from != KUBE_FROM_LABEL || !row->rank[0])
			continue;
		for (j = 0; j < n && !streq(ret[j], row->key); j++)
			;
		if (j == n)
			ret[n++] = row->key;
	}
	return n;
}

/* --- job of a pod --- */

/* Value of the row's key on the pod, or NULL. New memory. */
static char *value_of(const struct kube_job_row *row, const struct kube_pod *pod)
{
	switch (row->from) {
	case KUBE_FROM_LABEL:
		return xstrdup(kube_pod_label(pod, row->key));
	case KUBE_FROM_ANNOTATION:
		return xstrdup(kube_pod_annotation(pod, row->key));
	case KUBE_FROM_POD_GROUP:
		return xstrdup(pod->pod_group);
	case KUBE_FROM_WORKLOAD:
		return pod->workload ? xasprintf("%s/%s", pod->workload,
						 pod->workload_group ? pod->workload_group : "")
				     : NULL;
	case KUBE_FROM_OWNER:
		return xstrdup(pod->owner_uid);
	default:
		return xstrdup(pod->uid);
	}
}

static bool kube_job_row_is(const struct kube_job_row *row, const struct kube_pod *pod)
{
	CLEANUP(freep) char *value = value_of(row, pod);

	return value && value[0];
}

/* The controller of a JobSet's pods is the Job, not the JobSet; such rows name a label. */
static const char *uid_of(const struct kube_job_row *row, const struct kube_pod *pod)
{
	const char *uid = row->uid ? kube_pod_label(pod, row->uid) : NULL;

	if (uid || row->uid || row->from == KUBE_FROM_POD_GROUP || row->from == KUBE_FROM_WORKLOAD)
		return uid ? uid : "";
	return pod->owner_uid ? pod->owner_uid : "";
}

static void set_value(struct kube_job *job, const struct kube_job_row *row,
		      const struct kube_pod *pod, char *value)
{
	const char *part = row->part ? kube_pod_label(pod, row->part) : NULL;

	if (row->from == KUBE_FROM_LABEL)
		job->select = part ? xasprintf("%s=%s,%s=%s", row->key, value, row->part, part)
				   : xasprintf("%s=%s", row->key, value);
	job->value = part ? xasprintf("%s/%s", value, part) : xstrdup(value);
}

void kube_job_of(const struct kube_job_table *table, const struct kube_pod *pod,
		 struct kube_job *ret)
{
	const struct kube_job_row *row;
	size_t i;

	for (i = 0; (row = kube_job_row_at(table, i)); i++) {
		CLEANUP(freep) char *value = value_of(row, pod);

		if (!value || !value[0])
			continue;
		*ret = (struct kube_job){
			.namespace = xstrdup(pod->namespace),
			.kind = xstrdup(row->kind),
			.uid = xstrdup(uid_of(row, pod)),
			.alone = row->from == KUBE_FROM_OWNER || row->from == KUBE_FROM_POD,
		};
		set_value(ret, row, pod, value);
		return;
	}
	*ret = (struct kube_job){ .namespace = xstrdup(pod->namespace),
				  .kind = xstrdup("pod"),
				  .value = xstrdup(pod->name),
				  .uid = xstrdup(""),
				  .alone = true };
}

void kube_job_release(struct kube_job *job)
{
	free(job->namespace);
	free(job->kind);
	free(job->value);
	free(job->uid);
	free(job->select);
	*job = (struct kube_job){ 0 };
}

bool kube_job_same(const struct kube_job *a, const struct kube_job *b)
{
	return streq(a->namespace, b->namespace) && streq(a->kind, b->kind) &&
	       streq(a->value, b->value) && streq(a->uid, b->uid);
}

char *kube_job_text(const struct kube_job *job)
{
	return xasprintf("%s/%s (%s)", job->namespace, job->value, job->kind);
}

bool kube_job_counts(const struct kube_pod *pod, const struct kube_job *job,
		     const struct kube_leave *leave)
{
	if (kube_pod_of_node(pod) || kube_pod_finished(pod) || kube_pod_system(pod, leave))
		return false;
	return !job->alone || !streq(pod->owner_kind, "ReplicaSet");
}
