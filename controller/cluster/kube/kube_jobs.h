/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose pod is it, and which rank has it. Pure.
 *
 * What runs one job says so on each pod of it, each framework in its own way: a table of
 * rows, in order; the first whose key is on the pod says which job it is. Rows of a site's
 * own come before those that are built in:
 *
 *	jobs:
 *	  - {kind: my-operator, label: example.com/job, uid: example.com/job-uid,
 *	     rank: [example.com/host-index]}
 *
 * A rank here is that of a node of the job, not of a process of it. It is a pair: which part of the
 * job (a replicated job of a JobSet, Master before Worker), and which pod of that. Counted over the
 * parts in order it is the node rank of torchrun and of Trainer. Two pods
 * that claim one rank have none: better none than a wrong one.
 *
 * The ranks are there for who joins the trace of a job, which names workers by rank, with hosts
 * (kube_places.h); drains and budgets need only whose a pod is.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/kube/kube_pods.h"
#include "lib/base/macro.h"

struct err;
struct jval;

enum {
	KUBE_JOB_ROWS_MAX = 32, /* of a site's own */
	KUBE_RANK_KEYS = 3,	/* that a row may name */
	KUBE_RANK_MAX = 1 << 20,
};

/* Where a row finds its key. */
enum kube_job_from {
	KUBE_FROM_LABEL,
	KUBE_FROM_ANNOTATION,
	KUBE_FROM_POD_GROUP, /* spec.schedulingGroup.podGroupName */
	KUBE_FROM_WORKLOAD,  /* spec.workloadRef: name/podGroup */
	KUBE_FROM_OWNER,     /* its controller's uid */
	KUBE_FROM_POD,	     /* it is alone: its uid */
};

struct kube_job_row {
	char *kind; /* for people and as a part of the key: "jobset" */
	int from;   /* enum kube_job_from */
	char *key;  /* label or annotation */
	char *part; /* a label that tells groups of one name apart, or NULL */
	char *uid;  /* a label with the job's uid, or NULL: that of the pod's controller */
	char *rank_part[KUBE_RANK_KEYS]; /* labels of the part, first found counts */
	char *rank[KUBE_RANK_KEYS];	 /* labels or annotations of the place in it */
};

struct kube_job_table {
	struct kube_job_row *rows; /* of the site; those built in follow */
	size_t n;
};

/* Fill an empty table from a list that people wrote. -EINVAL with "FILE: jobs[0].kind: what". */
int kube_job_table_decode(const struct jval *v, struct kube_job_table *ret, struct err *err);
void kube_job_table_release(struct kube_job_table *table);

/* One job: equal in all four is the same one. Owned. */
struct kube_job {
	char *namespace, *kind, *value, *uid;
	bool alone; /* nobody but the owner's uid, or the pod itself, says so */
	char *select; /* "key=value" of a label selector, or NULL: look at every pod of the namespace */
};

/* Of a pod; always finds one. `table` NULL: what is built in. */
void kube_job_of(const struct kube_job_table *table, const struct kube_pod *pod,
		 struct kube_job *ret);
void kube_job_release(struct kube_job *job);
bool kube_job_same(const struct kube_job *a, const struct kube_job *b);

/* "default/train (jobset)". New memory. */
char *kube_job_text(const struct kube_job *job);

/*
 * Does the pod count as a job on its node? What has finished, is of the node or of the
 * cluster's own namespaces does not; neither do the replicas of a service (ReplicaSet), of which
 * any may be lost.
 */
bool kube_job_counts(const struct kube_pod *pod, const struct kube_job *job,
		     const struct kube_leave *leave);

/*
 * The labels by whose value a job that numbers its pods goes, in the order of the rows, each once.
 * Borrowed; returns how many.
 */
enum { KUBE_JOB_LABELS_MAX = KUBE_JOB_ROWS_MAX + 16 };
size_t kube_job_labels(const struct kube_job_table *table,
		       const char *ret[static KUBE_JOB_LABELS_MAX]);

/* A pod of a job and where it is. Names are borrowed from the pods. */
struct kube_place {
	const struct kube_pod *of;
	const char *pod, *node; /* node NULL: not bound yet */
	int64_t rank;		/* -1: not known */
};

/* The ranks of one job, by rank, those without one last. */
struct kube_ranks {
	struct kube_place *items;
	size_t n;
};

/* Of those pods that are of `job` and have not finished; `pods` must outlive it. */
void kube_ranks_of(const struct kube_job_table *table, const struct kube_job *job,
		   const struct kube_pods *pods, struct kube_ranks *ret);
void kube_ranks_release(struct kube_ranks *ranks);
