/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to a Kubernetes API server: who we are, how it is asked, and what an
 * answer means. One request is one call; what it means for a node or a Lease is
 * known to who asks.
 *
 *	kube_config_load(path_or_null, &config, &err);   a kubeconfig, or the pod we run in
 *	kube_open(loop, &config, &kube, &err);
 *	kube_send(kube, &(struct kube_call){ .method = "GET", .path = path,
 *		.done = on_node, .context = self }, &request, &err);
 *
 * A 401 reads the token again and asks once more; nothing else is repeated here: a
 * write is only ever repeated by who has read the object again and decided again.
 * While a server asks to be left alone (429, 503 with Retry-After) the answer says
 * for how long.
 *
 * Of many requests at once only some are under way, and the others wait for them
 * (kube_lanes.h), within their own timeout: what could not be sent by then never is.
 * Watches and Leases wait for nobody.
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

/* Behind the server's `/`: its part before '/' is the default field manager, too. */
#define KUBE_FIELD_MANAGER "assay"

enum {
	KUBE_TIMEOUT_S = 30,		    /* of one request, unless the call says less */
	KUBE_WRITE_TIMEOUT_S = 5,	    /* of a write under the Lease: 10 + 5 <= 15 */
	KUBE_ANSWER_MAX = 64 * 1024 * 1024, /* bytes of one answer */
	KUBE_LINE_MAX = 4 * 1024 * 1024,    /* bytes of one watch event */
	KUBE_PATH_MAX = 1024,		    /* of path and query */
};

/* `config` is copied. */
int kube_open(struct sd_event *loop, const struct kube_config *config, struct kube **ret,
	      struct err *err);

/* Cancels what is under way: nobody is told. Not from within `done` or `line`. */
void kube_close(struct kube *kube);
DEFINE_CLEANUP(struct kube *, kube_close, kube_closep);

const char *kube_namespace(const struct kube *kube);

/* As the prefix of the configuration makes them. Borrowed until kube_close(). */
const struct cluster_names *kube_names(const struct kube *kube);

enum kube_content {
	KUBE_NO_BODY,
	KUBE_JSON,
	KUBE_MERGE,	/* application/merge-patch+json */
	KUBE_STRATEGIC, /* application/strategic-merge-patch+json */
};

/* What came back. All borrowed until `done` returns. */
struct kube_answer {
	enum cluster_result result; /* see kube_answer_read() */
	int r;			    /* negative errno: no whole answer came */
	unsigned status;	    /* 0: no whole answer */
	const char *reason;	    /* of a Status: "Conflict", "Expired", ...; else "" */
	const char *
		words; /* one line when it is not CLUSTER_DONE: "PATCH /api/v1/nodes/a: 403: ..." */
	const json_t *body; /* what was answered when it is JSON, a Status too; or NULL */
	uint64_t retry_us;  /* not before so long; 0: as you like */
	const char *audit;  /* Audit-Id, or "" */
};
typedef void kube_done(void *context, const struct kube_answer *answer);

struct kube_call {
	const char *method;
	const char *path;  /* of kube_path(); copied */
	const char *query; /* encoded, without '?', or NULL; copied. Writes get fieldManager. */
	enum kube_content content;
	const json_t *body;  /* encoded before kube_send() returns */
	bool dry_run;	     /* dryRun=All */
	uint64_t timeout_us; /* 0: KUBE_TIMEOUT_S */
	/*
	 * A watch: called with every whole line of an answer of status 200, without its '\n', as it
	 * comes; `done` then ends it. Returns false to cut it off: `done` is called with -ECANCELED.
	 */
	bool (*line)(void *context, const char *line, size_t len);
	kube_done *done;
	void *context;
};

/* Negative when it cannot even start; `done` is then never called. Never calls `done` itself. */
int kube_send(struct kube *kube, const struct kube_call *call, struct kube_request **ret_request,
	      struct err *err);

/* `done` is not called any more; also from within it or `line`. NULL is fine. */
void kube_cancel(struct kube_request *request);
