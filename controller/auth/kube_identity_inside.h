/* SPDX-License-Identifier: Apache-2.0 */
/* What kube_identity.c keeps of each token, and of those who wait for it. */
#pragma once

#include <sys/queue.h>

#include "controller/auth/kube_identity.h"
#include "controller/http/limiter.h"
#include "controller/http/notice.h"
#include "lib/base/sha256.h"

/* One call that waits. */
struct waiter {
	vouch_done *done;
	void *context;
	STAILQ_ENTRY(waiter) waiters;
};

enum bearer_state { BEARER_ASKING, BEARER_KNOWN, BEARER_REFUSED };

/* One token. */
struct bearer {
	unsigned char sum[SHA256_SIZE]; /* first: the key of the tree */
	struct kube_identity *owner;
	enum bearer_state state;
	STAILQ_HEAD(, waiter) waiters; /* while it is asked for */
	struct kube_request *request;
	char origin[CALL_ORIGIN_SIZE]; /* whose allowance the question took */
	uint64_t expires_us;	       /* real time: the token's end */
	char *pod_uid, *pod_node;      /* as the TokenReview said */
	uint64_t until_us;	       /* monotonic: how long the answer counts */
	struct identity who;
	char *node, *name; /* those of `who` */
	unsigned status;   /* of a refusal */
	char *words;
	TAILQ_ENTRY(bearer) bearers; /* of its state, the one last used first */
};

TAILQ_HEAD(bearer_list, bearer);

struct kube_identity {
	struct vouch vouch; /* first */
	struct kube_identity_options options;
	void *tree; /* of struct bearer, by sum */
	struct bearer_list lists[BEARER_REFUSED + 1];
	size_t n[BEARER_REFUSED + 1];
	size_t n_waiting;
	struct limiter by_origin, all;
	uint64_t rest_until_us; /* monotonic: the server is left alone until then */
	struct notice notice;
	struct vouch_counts counts;
};

/* NULL: nothing is kept of it. */
struct bearer *bearer_find(struct kube_identity *k, const unsigned char sum[static SHA256_SIZE]);

/* One that is asked for. */
struct bearer *bearer_new(struct kube_identity *k, const unsigned char sum[static SHA256_SIZE]);

/* It was used, and is in `state` now; of too many there the one unused for longest goes. */
void bearer_move(struct bearer *b, enum bearer_state state);

/* Nobody waits for it. */
void bearer_free(struct bearer *b);

void bearer_wait(struct bearer *b, const struct vouch_question *question);

/* Answer those who wait. */
void bearer_give(struct bearer *b, const struct vouch_answer *answer);

/* What is kept; borrows of `b`. */
struct vouch_answer bearer_answer(const struct bearer *b);
