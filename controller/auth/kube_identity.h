/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies bearers of tokens issued by the cluster: the API server tells whose a token is and
 * which pod it is bound to (TokenReview), the pod tells which node it is on, and that is the only
 * node the bearer may act for.
 *
 *   asking --knows it--> role in settings --agent--> asking for its pod --> known: NODE
 *      |                    |         `--other role--> known: ROLE
 *      |                    `--none--> refused: 403
 *      `--knows it not--> refused: 401
 *   anything else (no answer, 429, 5xx, we may not ask) --> forgotten: 503
 *
 * Answers are cached by the SHA-256 of the token: known ones for a while, but not past the token's
 * expiry; refused ones for KUBE_IDENTITY_REFUSED_US. Calls with the same token share a request.
 *
 * Unknown clients cost the API server little: a request takes one from an allowance per address and
 * a global one, and returns it unless the answer is a refusal; the number of requests in flight is
 * limited; and there are none while the server asks for a pause. Cached answers remain valid
 * meanwhile.
 *
 * Nothing here reads a clock or waits: requests have their own deadlines.
 */
#pragma once

#include <stdint.h>

#include "controller/auth/authz.h"
#include "controller/auth/token_review.h"
#include "controller/cluster/kube/kube.h"

enum {
	KUBE_IDENTITY_UNDER_WAY_MAX = 32,
	KUBE_IDENTITY_KNOWN_MAX = 32768,
	KUBE_IDENTITY_REFUSED_MAX = 1024, /* separate, so that strangers evict nobody else */
	KUBE_IDENTITY_WAITING_MAX = 4096, /* calls, in total */
	KUBE_IDENTITY_BURST = 32,	  /* burst of refusals per address */
	KUBE_IDENTITY_BURST_ALL = 256,
	KUBE_IDENTITY_ORIGINS_MAX = 4096, /* addresses with an allowance */
};

#define KUBE_IDENTITY_RATE 1.0	    /* refusals per second and address */
#define KUBE_IDENTITY_RATE_ALL 20.0 /* in total */
#define KUBE_IDENTITY_REFUSED_US (10 * USEC_PER_SEC)
#define KUBE_IDENTITY_END_US (10 * USEC_PER_SEC) /* ask again this long before a token expires */
#define KUBE_IDENTITY_REST_US USEC_PER_SEC	 /* minimum pause after no answer */

struct kube_identity_options {
	const struct authz *authz; /* borrowed */
	/* kube_send() and kube_cancel() on `kube`, and the clocks; replaceable for tests. */
	int (*send)(struct kube *kube, const struct kube_call *call,
		    struct kube_request **ret_request, struct err *err);
	void (*cancel)(struct kube_request *request);
	struct kube *kube; /* borrowed, outlives it */
	uint64_t (*mono_us)(void);
	uint64_t (*real_us)(void);
	/* Called at the end, when `authz` and `kube` are no longer used; or NULL. */
	void (*closed)(void *context);
	void *context;
};

struct token_review *kube_identity_new(const struct kube_identity_options *options);
