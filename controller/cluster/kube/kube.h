/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a Kubernetes API server: authentication, transport, and the meaning of answers. One
 * request per call; what it means for a node or a Lease is up to the caller.
 *
 *         kube_config_load(path_or_null, &config, &err);   a kubeconfig, or the pod we run in
 *         kube_open(loop, &config, &kube, &err);
 *         kube_send(kube, &(struct kube_call){ .method = "GET", .path = path,
 *                 .done = on_node, .context = self }, &request, &err);
 *
 * After a 401 the token is read again and the request repeated once. Nothing else is repeated here:
 * writes are only repeated by callers that have read the object and decided again. If a server asks
 * for a pause (429, 503 with Retry-After) the answer says how long.
 *
 * Only a limited number of requests is in flight (kube_lanes.h); others wait, within their own
 * timeout, and are never sent if it expires. Watches and Leases do not wait.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "controller/cluster/cluster.h"
#include "controller/cluster/kube/kube_config.h"
#include "lib/base/macro.h"

struct err;
struct kube;
struct kube_request;
struct sd_event;

/* First part of the user agent, up to '/', and the fieldManager of our writes. */
#define KUBE_FIELD_MANAGER "assay"

enum {
	KUBE_TIMEOUT_S = 30,		    /* per request, unless the call says less */
	KUBE_WRITE_TIMEOUT_S = 5,	    /* of a write under the Lease: 10 + 5 <= 15 */
	KUBE_ANSWER_MAX = 64 * 1024 * 1024, /* bytes per answer */
	KUBE_LINE_MAX = 4 * 1024 * 1024,    /* bytes per watch event */
	KUBE_PATH_MAX = 1024,		    /* path and query */
};

/* Copies `config`. */
int kube_open(struct sd_event *loop, const struct kube_config *config, struct kube **ret,
	      struct err *err);

/* Cancels requests in flight without calling `done`. Not from within `done` or `line`. */
void kube_close(struct kube *kube);
DEFINE_CLEANUP(struct kube *, kube_close, kube_closep);

const char *kube_namespace(const struct kube *kube);

/* Made from the configuration's prefix. Borrowed until kube_close(). */
const struct cluster_names *kube_names(const struct kube *kube);

enum kube_content {
	KUBE_NO_BODY,
	KUBE_JSON,
	KUBE_MERGE,	/* application/merge-patch+json */
	KUBE_STRATEGIC, /* application/strategic-merge-patch+json */
};

/* The answer. All borrowed until `done` returns. */
struct kube_answer {
	enum cluster_result result; /* see kube_answer_read() */
	int r;			    /* negative errno: no complete answer */
	unsigned status;	    /* 0: no complete answer */
	const char *reason;	    /* of a Status: "Conflict", "Expired", ...; else "" */
	const char *words;	    /* unless CLUSTER_DONE: "PATCH /api/v1/nodes/a: 403: ..." */
	const json_t *body;	    /* the body if it is JSON, including a Status; or NULL */
	uint64_t retry_us;	    /* wait at least this long; 0: any time */
	const char *audit;	    /* Audit-Id, or "" */
};
typedef void kube_done(void *context, const struct kube_answer *answer);

struct kube_call {
	const char *method;
	const char *path;  /* from kube_path(); copied */
	const char *query; /* encoded, without '?', or NULL; copied. Writes get fieldManager. */
	enum kube_content content;
	const json_t *body;  /* encoded before kube_send() returns */
	bool dry_run;	     /* dryRun=All */
	uint64_t timeout_us; /* 0: KUBE_TIMEOUT_S */
	/*
	 * For a watch: called with every complete line of an answer with status 200, without its
	 * '\n', as it arrives; `done` is called at the end. Return false to cut it off; `done` then
	 * has -ECANCELED.
	 */
	bool (*line)(void *context, const char *line, size_t len);
	kube_done *done;
	void *context;
};

/* Returns negative if it cannot start; `done` is then not called. Never calls `done` itself. */
int kube_send(struct kube *kube, const struct kube_call *call, struct kube_request **ret_request,
	      struct err *err);

/* `done` will not be called any more. Allowed from within `done` and `line`. NULL is allowed. */
void kube_cancel(struct kube_request *request);
