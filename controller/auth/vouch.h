/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody outside who vouches for the bearers of tokens that tokens.yaml does not know: the API
 * server of the cluster (kube/kube_identity.h). A seam, so that the service knows no Kubernetes.
 */
#pragma once

#include <stdint.h>

#include "controller/http/api.h"
#include "lib/base/macro.h"

struct err;
struct sd_event;
struct settings;
struct vouch;

/* Who it is, or why that cannot be said. All borrowed until `done` returns. */
struct vouch_answer {
	unsigned status; /* 0: `who` it is; else 401, 403, 429 or 503 with `words` */
	const char *words;
	unsigned retry_s; /* of 429 and 503: come again within so many seconds; 0: as usual */
	struct identity who;
};
typedef void vouch_done(void *context, const struct vouch_answer *answer);

struct vouch_question {
	const char *token;
	const char *origin; /* where it came from: call_origin() */
	vouch_done *done;   /* called once, perhaps before ask() returns, within VOUCH_US */
	void *context;
};

/* What anybody waits at most: for two requests. */
#define VOUCH_REQUEST_US (5 * USEC_PER_SEC)
#define VOUCH_US (2 * VOUCH_REQUEST_US)

struct vouch_counts {
	uint64_t asked;	  /* tokens that were asked about */
	uint64_t known;	  /* calls answered of what is kept */
	uint64_t refused; /* tokens */
	uint64_t limited; /* calls that came to nothing: too many */
	uint64_t failed;  /* tokens nothing was said about */
	uint64_t kept, waiting, under_way;
};

struct vouch_ops {
	/* Is it a token of the kind that is asked for? Others never leave the controller. */
	bool (*takes)(const char *token);
	void (*ask)(struct vouch *v, const struct vouch_question *question);
	struct vouch_counts (*counts)(const struct vouch *v);
	/* Who still waits is answered with 503. */
	void (*close)(struct vouch *v);
};

/* Begins every implementation's own struct. */
struct vouch {
	const struct vouch_ops *ops;
};

/* NULL stands for a build or settings without one. */
typedef int vouch_open(const struct settings *settings, struct sd_event *loop, struct vouch **ret,
		       struct err *err);

static inline void vouch_close(struct vouch *v)
{
	if (v)
		v->ops->close(v);
}
