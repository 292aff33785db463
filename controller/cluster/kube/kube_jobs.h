/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which job a pod belongs to, and which rank it has. Pure.
 *
 * Frameworks mark the pods of a job in different ways: a table of rows, in order; the first whose
 * key is on the pod identifies the job. A site's own rows precede the built-in ones:
 *
 *         jobs:
 *           - {kind: my-operator, label: example.com/job, uid: example.com/job-uid,
 *              rank: [example.com/host-index]}
 *
 * A rank here is that of a node of the job, not of a process. It is a pair: the part of the job (a
 * replicated job of a JobSet, Master before Worker), and the pod within it. Counted over the parts
 * in order it is the node rank of torchrun and Trainer. If two pods claim the same rank neither has
 * one, as no rank is better than a wrong one.
 *
 * Ranks are used to map the workers in the trace of a job to hosts (kube_places.h); drains and
 * budgets only need the job.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/kube/kube_pods.h"
#include "lib/base/macro.h"

struct err;
struct jval;

enum {
	KUBE_JOB_ROWS_MAX = 32, /* of the site */
	KUBE_RANK_KEYS = 3,	/* per row */
	KUBE_RANK_MAX = 1 << 20,
};

/* Where a row finds its key. */
enum kube_job_from {
	KUBE_FROM_LABEL,
	KUBE_FROM_ANNOTATION,
	KUBE_FROM_POD_GROUP, /* spec.schedulingGroup.podGroupName */
	KUBE_FROM_WORKLOAD,  /* spec.workloadRef: name/podGroup */
	KUBE_FROM_OWNER,     /* UID of its controller */
	KUBE_FROM_POD,	     /* not part of a job: its own UID */
};

struct kube_job_row {
	char *kind; /* for people and as part of the key: "jobset" */
	int from;   /* enum kube_job_from */
	char *key;  /* label or annotation */
	char *part; /* label that distinguishes groups of one name, or NULL */
	char *uid;  /* label with the job's UID, or NULL: that of the pod's controller */
	char *rank_part[KUBE_RANK_KEYS]; /* labels with the part; the first found counts */
	char *rank[KUBE_RANK_KEYS];	 /* labels or annotations with the index in the part */
};

struct kube_job_table {
	struct kube_job_row *rows; /* of the site; built-in ones follow */
	size_t n;
};

/* Fill an empty table from the site's list. Returns -EINVAL with "FILE: jobs[0].kind: what". */
int kube_job_table_decode(const struct jval *v, struct kube_job_table *ret, struct err *err);
void kube_job_table_release(struct kube_job_table *table);

/* A job: identified by all four members. Owned. */
struct kube_job {
	char *namespace, *kind, *value, *uid;
	bool alone; /* identified only by the owner's UID or the pod itself */
	char *select; /* "key=value" for a label selector, or NULL: look at every pod of the namespace */
};

/* The job of a pod; always set. `table` NULL: built-in rows only. */
void kube_job_of(const struct kube_job_table *table, const struct kube_pod *pod,
		 struct kube_job *ret);
void kube_job_release(struct kube_job *job);
bool kube_job_same(const struct kube_job *a, const struct kube_job *b);

/* "default/train (jobset)". New memory. */
char *kube_job_text(const struct kube_job *job);

/*
 * Does the pod count as a job on its node? Not if it has finished, belongs to the node or is in one
 * of the cluster's own namespaces; nor if it is a replica of a service (ReplicaSet), any of which
 * may be lost.
 */
bool kube_job_counts(const struct kube_pod *pod, const struct kube_job *job,
		     const struct kube_leave *leave);

/*
 * The labels that may identify jobs with numbered pods, in the order of the rows, without
 * duplicates. Borrowed. Returns their number.
 */
enum { KUBE_JOB_LABELS_MAX = KUBE_JOB_ROWS_MAX + 16 };
size_t kube_job_labels(const struct kube_job_table *table,
		       const char *ret[static KUBE_JOB_LABELS_MAX]);

/* A pod of a job and its node. Names are borrowed from the pods. */
struct kube_place {
	const struct kube_pod *of;
	const char *pod, *node; /* node NULL: not scheduled yet */
	int64_t rank;		/* -1: unknown */
};

/* Pods of a job by rank, those without one last. */
struct kube_ranks {
	struct kube_place *items;
	size_t n;
};

/* From those of `pods` that belong to `job` and have not finished; `pods` must outlive it. */
void kube_ranks_of(const struct kube_job_table *table, const struct kube_job *job,
		   const struct kube_pods *pods, struct kube_ranks *ret);
void kube_ranks_release(struct kube_ranks *ranks);
