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
struct token_review;

/* Who it is, or why that cannot be said. All borrowed until `done` returns. */
struct token_review_answer {
	unsigned status; /* 0: `who` it is; else 401, 403, 429 or 503 with `words` */
	const char *words;
	unsigned retry_s; /* of 429 and 503: come again within so many seconds; 0: as usual */
	struct identity who;
};
typedef void token_review_done(void *context, const struct token_review_answer *answer);

struct token_review_question {
	const char *token;
	const char *origin; /* where it came from: call_origin() */
	token_review_done
		*done; /* called once, perhaps before ask() returns, within TOKEN_REVIEW_US */
	void *context;
};

/* What anybody waits at most: for two requests. */
#define TOKEN_REVIEW_REQUEST_US (5 * USEC_PER_SEC)
#define TOKEN_REVIEW_US (2 * TOKEN_REVIEW_REQUEST_US)

struct token_review_counts {
	uint64_t asked;	  /* tokens that were asked about */
	uint64_t known;	  /* calls answered of what is kept */
	uint64_t refused; /* tokens */
	uint64_t limited; /* calls that came to nothing: too many */
	uint64_t failed;  /* tokens nothing was said about */
	uint64_t kept, waiting, under_way;
};

struct token_review_ops {
	/* Is it a token of the kind that is asked for? Others never leave the controller. */
	bool (*takes)(const char *token);
	void (*ask)(struct token_review *v, const struct token_review_question *question);
	struct token_review_counts (*counts)(const struct token_review *v);
	/* Who still waits is answered with 503. */
	void (*close)(struct token_review *v);
};

/* Begins every implementation's own struct. */
struct token_review {
	const struct token_review_ops *ops;
};

/* NULL stands for a build or settings without one. */
typedef int token_review_open(const struct settings *settings, struct sd_event *loop,
			      struct token_review **ret, struct err *err);

static inline void token_review_close(struct token_review *v)
{
	if (v)
		v->ops->close(v);
}
