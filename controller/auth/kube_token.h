/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a token says, what is asked about it, and what the answers mean. A token is
 * "HEADER.CLAIMS.SIGNATURE" in base64url (RFC 7519); what its claims say is true only once the
 * API server has said that it knows the token, and until then good for refusing it alone.
 *
 * Nothing of an answer is believed to have the type that it should have. Pure.
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

/* Three texts of base64url with '.' between them? Only such a token is ever sent on. */
bool kube_token_looks_like_one(const char *token);

struct kube_claims {
	bool for_us;	     /* the audience is among them */
	uint64_t expires_us; /* real time; UINT64_MAX: never */
};

/* -EINVAL with a sentence for claims that are none. */
int kube_token_claims(const char *token, struct kube_claims *ret, struct err *err);

/* The TokenReview that asks about it; new reference. */
json_t *kube_token_review(const char *token);

/* What a TokenReview said. All borrowed from the answer; "" when it is not there. */
struct kube_review {
	const char *user;
	const char *pod, *pod_uid; /* what the token is bound to */
	const char *node;	   /* newer servers say that, too */
};

/*
 * 0: the server knows the token, and it is for us. -EACCES with a sentence: it does not, or it is
 * not. -EBADMSG: the answer is none.
 */
int kube_token_reviewed(const json_t *answer, struct kube_review *ret, struct err *err);

/*
 * The node of the pod in `answer`, borrowed. -EACCES with a sentence: it is another pod by
 * that name, is on no node, or the token says another one. -EBADMSG: it is no pod.
 */
int kube_token_node(const json_t *answer, const char *uid, const char *node, const char **ret_node,
		    struct err *err);
