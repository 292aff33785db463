/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who bears a token that the cluster has issued: the API server says whose it is and to which pod
 * it is bound (TokenReview), the pod says on which node it is, and that node is the only one the
 * bearer may speak for.
 *
 *	asking --knows it--> role of the settings --agent--> asking for its pod --> known: NODE
 *	   |                    |         `--other role--> known: ROLE
 *	   |                    `--none--> refused: 403
 *	   `--knows it not--> refused: 401
 *	anything else (no answer, 429, 5xx, we may not ask) --> forgotten: 503
 *
 * What the server said is kept by the SHA-256 of the token: who is known for a while, but not past
 * the token's end; who was refused for KUBE_IDENTITY_REFUSED_US. Calls with one token share its
 * question.
 *
 * A stranger costs the API server little: a question takes one of an allowance by address and in
 * all, and gives it back unless the answer is a refusal; only so many questions are under way; and
 * none is asked while the server wants to be left alone. What is known stays so meanwhile.
 *
 * Nothing here reads a clock or waits: requests have deadlines of their own.
 */
#pragma once

#include <stdint.h>

#include "controller/auth/authz.h"
#include "controller/auth/token_review.h"
#include "controller/cluster/kube/kube.h"

enum {
	KUBE_IDENTITY_UNDER_WAY_MAX = 32,
	KUBE_IDENTITY_KNOWN_MAX = 32768,
	KUBE_IDENTITY_REFUSED_MAX = 1024, /* of their own, so that strangers push out nobody */
	KUBE_IDENTITY_WAITING_MAX = 4096, /* calls, all together */
	KUBE_IDENTITY_BURST = 32,	  /* refusals at once, of an address */
	KUBE_IDENTITY_BURST_ALL = 256,
	KUBE_IDENTITY_ORIGINS_MAX = 4096, /* addresses with an allowance */
};

#define KUBE_IDENTITY_RATE 1.0	    /* refusals a second, of an address */
#define KUBE_IDENTITY_RATE_ALL 20.0 /* in all */
#define KUBE_IDENTITY_REFUSED_US (10 * USEC_PER_SEC)
#define KUBE_IDENTITY_END_US (10 * USEC_PER_SEC) /* before a token ends it is asked for again */
#define KUBE_IDENTITY_REST_US USEC_PER_SEC	 /* of a server that did not answer, at least */

struct kube_identity_options {
	const struct authz *authz; /* borrowed */
	/* kube_send() and kube_cancel() on `kube`, and the clocks: others in tests. */
	int (*send)(struct kube *kube, const struct kube_call *call,
		    struct kube_request **ret_request, struct err *err);
	void (*cancel)(struct kube_request *request);
	struct kube *kube; /* borrowed, outlives it */
	uint64_t (*mono_us)(void);
	uint64_t (*real_us)(void);
	/* At its end, when nothing of `trust` and `kube` is needed any more; or NULL. */
	void (*closed)(void *context);
	void *context;
};

struct token_review *kube_identity_new(const struct kube_identity_options *options);
