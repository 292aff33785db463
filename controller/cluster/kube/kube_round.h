/* SPDX-License-Identifier: Apache-2.0 */
/* Begin and end of rounds. */
#pragma once

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_drain.h"
#include "controller/cluster/kube/kube_pod_list.h"
#include "controller/cluster/kube/kube_pods.h"
#include "lib/base/duration.h"

/* Retry interval for callers that cannot be served now. */
#define KUBE_NOT_NOW_US USEC_PER_SEC

/* Waits requested for the pods of a node, kept between rounds. */
struct kube_round_held {
	char *uid;
	unsigned failures;
	uint64_t again_us; /* monotonic */
};

struct kube_round_kept {
	struct kube_round_kept *next;
	char *node;
	uint64_t used_us; /* monotonic */
	struct kube_round_held *held;
	size_t n;
};

/* What happened to a pod in a round. */
enum kube_told { KUBE_TOLD_NOT, KUBE_TOLD_GOES, KUBE_TOLD_GONE, KUBE_TOLD_WAITS };

struct kube_round_pod {
	struct kube_round *round;
	size_t index; /* in `pods` */
	struct kube_request *request;
	int fate; /* enum kube_fate */
	int told; /* enum kube_told */
};

/* A task in progress: a round of a drain, an annotation, or a query for jobs. */
struct kube_round {
	struct kube_round *next;
	struct kube_drains *drains;
	char *node;
	struct cluster_call call;
	struct kube_leave leave;
	bool dry_run, jobs_only;
	char *note; /* text of the annotation, or NULL */
	struct kube_pod_list *list;
	struct kube_request *request;
	struct kube_pods pods;
	struct kube_round_pod *asked;
	size_t at, out; /* next pod to evict; requests in flight */
	bool refused, lapsed;
	char *words; /* about the first pod that may not go */
};

struct kube_drains {
	struct kube_drains_options options;
	struct kube_round *rounds;
	size_t n_rounds;
	struct kube_round_kept *kept;
	char *version; /* of Eviction, "policy/v1"; NULL: unknown */
};

/* Returns a new round, or NULL after answering the call because there are too many. */
struct kube_round *kube_round_new(struct kube_drains *drains, const char *node, bool jobs_only,
				  const struct cluster_call *call);

/* Answer and free it. */
void kube_round_end(struct kube_round *round, const struct cluster_answer *answer);
void kube_round_fail(struct kube_round *round, enum cluster_result result, const char *words,
		     uint64_t retry_us);
