/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An API server with one node's pods and disruption budgets, as far as a drain sees it: kube_send()
 * and its friends answer from here. Its rules are those seen on a kube-apiserver 1.20.2.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_drain.h"

enum { SERVER_PODS = 512, SERVER_BUDGETS = 4 };

/* One pod. Texts are borrowed. */
struct server_pod {
	char name[32], uid[32];
	const char *namespace, *phase, *owner; /* kind of its controller, or NULL: bare */
	const char *labels;		       /* the inside of a JSON object, or NULL */
	bool scratch, leaving, gone;
	unsigned budgets; /* bits: which cover it */
	unsigned asked;	  /* evictions asked for */
};

struct kube {
	struct server_pod pods[SERVER_PODS];
	size_t n;
	unsigned allowed[SERVER_BUDGETS];
	const char *version;	 /* of Eviction: "v1beta1" */
	const char *fault;	 /* the body of each eviction's answer, with... */
	unsigned fault_status;	 /* ... this status; 0: none */
	uint64_t fault_retry_us; /* ... and Retry-After */
	const char *fault_name;	 /* ... about this; NULL: it names nothing */
	bool cordoned;		 /* the node has our mark */
	char note[256];		 /* its annotation of drains */
	unsigned conflicts;	 /* patches that meet one */
	/* what was seen */
	struct kube_request *first;
	size_t out, most_out, evictions, lists, discoveries;
	/* the other side */
	struct kube_drains *drains;
	const char *stopped;
	struct cluster_answer answer; /* the last one; its texts are copies */
	char words[512], jobs[512];
	size_t answers;
};

extern uint64_t server_now_us; /* the monotonic clock */

void server_open(struct kube *server);
void server_close(struct kube *server);

/* Add a running pod "p<i>" of a Job in namespace default. */
struct server_pod *server_add(struct kube *server);

/* Answer what is asked, and what is asked then, until nothing is. */
void server_run(struct kube *server);

/* The kubelet: what is leaving is gone. */
void server_reap(struct kube *server);

/* One round; it has been answered when this returns. */
enum cluster_result server_round(struct kube *server, const struct cluster_drain *how);
