/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Content of tokens, the review request, and the meaning of its answers. A token is
 * "HEADER.CLAIMS.SIGNATURE" in base64url (RFC 7519). Its claims can be trusted only once the API
 * server has confirmed the token; until then they may only be used to refuse it.
 *
 * No member of an answer is assumed to have the expected type. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct err;

#define KUBE_AUDIENCE "assay"

enum {
	KUBE_TOKEN_MAX = 8192,	   /* bytes of a token */
	KUBE_TOKEN_NAME_MAX = 253, /* of an object's name: RFC 1123 */
	KUBE_TOKEN_TEXT_MAX = 512, /* of a user's name, a uid */
	KUBE_TOKEN_AUDIENCES_MAX = 64,
};

/* Is it three base64url texts separated by '.'? Only such tokens are ever sent on. */
bool kube_token_looks_like_one(const char *token);

struct kube_claims {
	bool for_us;	     /* our audience is among them */
	uint64_t expires_us; /* real time; UINT64_MAX: never */
};

/* -EINVAL with a sentence for invalid claims. */
int kube_token_claims(const char *token, struct kube_claims *ret, struct err *err);

/* The TokenReview for it. New reference. */
json_t *kube_token_review(const char *token);

/* Content of a TokenReview's answer. All borrowed from it; "" if missing. */
struct kube_review {
	const char *user;
	const char *pod, *pod_uid; /* what the token is bound to */
	const char *node;	   /* from newer servers */
};

/*
 * Returns 0 if the server knows the token and it is for us; -EACCES with a sentence if not;
 * -EBADMSG if the answer is invalid.
 */
int kube_token_reviewed(const json_t *answer, struct kube_review *ret, struct err *err);

/*
 * The node of the pod in `answer`, borrowed. -EACCES with a sentence: a different pod of that name,
 * not on a node, or on another one than the token says. -EBADMSG: not a pod.
 */
int kube_token_node(const json_t *answer, const char *uid, const char *node, const char **ret_node,
		    struct err *err);
