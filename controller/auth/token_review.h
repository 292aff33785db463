/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interface to a service that vouches for the bearers of tokens not in tokens.yaml: the API server
 * of the cluster (kube/kube_identity.h). The service itself need not know Kubernetes.
 */
#pragma once

#include <stdint.h>

#include "controller/http/api.h"
#include "lib/base/macro.h"

struct err;
struct sd_event;
struct settings;
struct token_review;

/* The identity, or why it is unknown. All borrowed until `done` returns. */
struct token_review_answer {
	unsigned status; /* 0: `who` is set; else 401, 403, 429 or 503 with `words` */
	const char *words;
	unsigned retry_s; /* for 429 and 503: retry within this time; 0: default */
	struct identity who;
};
typedef void token_review_done(void *context, const struct token_review_answer *answer);

struct token_review_question {
	const char *token;
	const char *origin;	 /* its origin: call_origin() */
	token_review_done *done; /* called once, maybe before ask() returns, within TOKEN_REVIEW_US */
	void *context;
};

/* Longest wait for an answer: two requests. */
#define TOKEN_REVIEW_REQUEST_US (5 * USEC_PER_SEC)
#define TOKEN_REVIEW_US (2 * TOKEN_REVIEW_REQUEST_US)

struct token_review_counts {
	uint64_t asked;	  /* tokens that were asked about */
	uint64_t known;	  /* calls answered from the cache */
	uint64_t refused; /* tokens */
	uint64_t limited; /* calls refused by rate limits */
	uint64_t failed;  /* tokens without an answer */
	uint64_t kept, waiting, under_way;
};

struct token_review_ops {
	/* Is it a token of the right kind? Others never leave the controller. */
	bool (*takes)(const char *token);
	void (*ask)(struct token_review *v, const struct token_review_question *question);
	struct token_review_counts (*counts)(const struct token_review *v);
	/* Answers pending calls with 503. */
	void (*close)(struct token_review *v);
};

/* First member of every implementation's struct. */
struct token_review {
	const struct token_review_ops *ops;
};

/* NULL if the build or the settings have none. */
typedef int token_review_open(const struct settings *settings, struct sd_event *loop,
			      struct token_review **ret, struct err *err);

static inline void token_review_close(struct token_review *v)
{
	if (v)
		v->ops->close(v);
}
