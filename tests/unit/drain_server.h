/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake API server with one node's pods and disruption budgets, as much as a drain needs. It
 * implements kube_send() and the rest of kube.h, with the behaviour of kube-apiserver 1.20.2.
 */
#pragma once

#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_drain.h"

enum { SERVER_PODS = 512, SERVER_BUDGETS = 4 };

/* A pod. Strings are borrowed. */
struct server_pod {
	char name[32], uid[32];
	const char *namespace, *phase, *owner; /* owner: kind of its controller; NULL: none */
	const char *labels;		       /* members of a JSON object, or NULL */
	bool scratch, leaving, gone;
	unsigned budgets; /* bitmask of the budgets that cover it */
	unsigned asked;	  /* evictions requested */
};

struct kube {
	struct server_pod pods[SERVER_PODS];
	size_t n;
	unsigned allowed[SERVER_BUDGETS];
	const char *version;	 /* of Eviction: "v1beta1" */
	const char *fault;	 /* body of the response to every eviction, with... */
	unsigned fault_status;	 /* ... this status; 0: no fault */
	uint64_t fault_retry_us; /* ... this Retry-After */
	const char *fault_name;	 /* ... and this name in it; NULL: none */
	bool cordoned;		 /* the node has our cordon annotation */
	char note[256];		 /* the node's drain annotation */
	unsigned conflicts;	 /* patches still to fail with a conflict */
	/* counts of requests */
	struct kube_request *first;
	size_t out, most_out, evictions, lists, discoveries;
	/* the client */
	struct kube_drains *drains;
	const char *stopped;
	struct cluster_answer answer; /* the latest; its strings are copies below */
	char words[512], jobs[512];
	size_t answers;
};

extern uint64_t server_now_us; /* the monotonic clock */

void server_open(struct kube *server);
void server_close(struct kube *server);

/* Adds a running pod "p<i>" of a Job in namespace default. */
struct server_pod *server_add(struct kube *server);

/* Answers requests, including follow-up requests, until none is pending. */
void server_run(struct kube *server);

/* Acts as the kubelet: removes terminating pods. */
void server_reap(struct kube *server);

/* Runs one drain round to its answer. */
enum cluster_result server_round(struct kube *server, const struct cluster_drain *how);
