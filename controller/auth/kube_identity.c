/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/auth/kube_identity.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "controller/auth/kube_token.h"
#include "controller/auth/tokens.h"
#include "controller/cluster/kube/kube_path.h"
#include "controller/http/token_buckets.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/log_limit.h"
#include "lib/base/sha256.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"

/* A waiting call. */
struct waiter {
	token_review_done *done;
	void *context;
	STAILQ_ENTRY(waiter) waiters;
};

enum bearer_state { BEARER_ASKING, BEARER_KNOWN, BEARER_REFUSED };

/* State of one token. */
struct bearer {
	unsigned char sum[SHA256_SIZE]; /* first: key of the tree */
	struct kube_identity *owner;
	enum bearer_state state;
	STAILQ_HEAD(, waiter) waiters; /* during a request */
	struct kube_request *request;
	char origin[CALL_ORIGIN_SIZE]; /* whose allowance was used */
	uint64_t expires_us;	       /* real time: expiry of the token */
	char *pod_uid, *pod_node;      /* from the TokenReview */
	uint64_t until_us;	       /* monotonic: validity of the answer */
	struct identity who;
	char *node, *name; /* storage for `who` */
	unsigned status;   /* of a refusal */
	char *words;
	TAILQ_ENTRY(bearer) bearers; /* per state, most recently used first */
};

TAILQ_HEAD(bearer_list, bearer);

struct kube_identity {
	struct token_review token_review; /* first */
	struct kube_identity_options options;
	void *tree; /* struct bearer, by sum */
	struct bearer_list lists[BEARER_REFUSED + 1];
	size_t n[BEARER_REFUSED + 1];
	size_t n_waiting;
	struct token_buckets by_origin, all;
	uint64_t rest_until_us; /* monotonic: no requests until then */
	struct log_limit limit; /* log lines of failed reviews */
	struct token_review_counts counts;
};

static const size_t most[] = {
	[BEARER_ASKING] = KUBE_IDENTITY_UNDER_WAY_MAX,
	[BEARER_KNOWN] = KUBE_IDENTITY_KNOWN_MAX,
	[BEARER_REFUSED] = KUBE_IDENTITY_REFUSED_MAX,
};

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, SHA256_SIZE);
}

/* No call may be waiting. */
static void bearer_free(struct bearer *b)
{
	struct kube_identity *k = b->owner;

	(void)tdelete(b, &k->tree, compare);
	TAILQ_REMOVE(&k->lists[b->state], b, bearers);
	k->n[b->state]--;
	free(b->pod_uid);
	free(b->pod_node);
	free(b->node);
	free(b->name);
	free(b->words);
	free(b);
}

/* NULL: not cached. */
static struct bearer *bearer_find(struct kube_identity *k,
				  const unsigned char sum[static SHA256_SIZE])
{
	struct bearer **found = tfind(sum, &k->tree, compare);

	return found ? *found : NULL;
}

/* One whose review is requested. */
static struct bearer *bearer_new(struct kube_identity *k,
				 const unsigned char sum[static SHA256_SIZE])
{
	struct bearer *b = xcalloc(1, sizeof(*b));

	memcpy(b->sum, sum, sizeof(b->sum));
	b->owner = k;
	STAILQ_INIT(&b->waiters);
	if (!tsearch(b, &k->tree, compare))
		abort(); /* out of memory */
	TAILQ_INSERT_HEAD(&k->lists[BEARER_ASKING], b, bearers);
	k->n[BEARER_ASKING]++;
	return b;
}

/* It was used and is now in `state`; if there are too many, the least recently used is evicted. */
static void bearer_move(struct bearer *b, enum bearer_state state)
{
	struct kube_identity *k = b->owner;

	TAILQ_REMOVE(&k->lists[b->state], b, bearers);
	k->n[b->state]--;
	if (k->n[state] >= most[state])
		bearer_free(TAILQ_LAST(&k->lists[state], bearer_list));
	b->state = state;
	TAILQ_INSERT_HEAD(&k->lists[state], b, bearers);
	k->n[state]++;
}

static void bearer_wait(struct bearer *b, const struct token_review_question *q)
{
	struct waiter *w = xcalloc(1, sizeof(*w));

	*w = (struct waiter){ .done = q->done, .context = q->context };
	STAILQ_INSERT_TAIL(&b->waiters, w, waiters);
	b->owner->n_waiting++;
}

/* Answer the waiting calls. */
static void bearer_give(struct bearer *b, const struct token_review_answer *answer)
{
	struct kube_identity *k = b->owner;
	struct waiter *w;

	while ((w = STAILQ_FIRST(&b->waiters))) {
		STAILQ_REMOVE_HEAD(&b->waiters, waiters);
		k->n_waiting--;
		w->done(w->context, answer);
		free(w);
	}
}

/* The cached answer; borrows from `b`. */
static struct token_review_answer bearer_answer(const struct bearer *b)
{
	return (struct token_review_answer){ .status = b->status,
					     .words = b->words ? b->words : "",
					     .who = b->who };
}

enum { STATUS_STRANGER = 401, STATUS_FORBIDDEN = 403, STATUS_OFTEN = 429, STATUS_BUSY = 503 };

/* Callers told to retry come back at different times. */
enum { SPREAD_S = 8 };

/* --- answers --- */

/* It was a legitimate request: return its allowance. */
static void give_back(struct bearer *b)
{
	token_buckets_give(&b->owner->by_origin, b->origin);
	token_buckets_give(&b->owner->all, "");
}

static void known(struct bearer *b)
{
	struct kube_identity *k = b->owner;
	const struct kube_identity_options *o = &k->options;
	uint64_t now_real_us = o->real_us() + KUBE_IDENTITY_END_US;
	uint64_t left_us = b->expires_us > now_real_us ? b->expires_us - now_real_us : 0;
	struct token_review_answer answer;

	give_back(b);
	b->who.node = b->node;
	b->who.name = b->name;
	b->until_us = o->mono_us() + MIN(left_us, o->authz->for_us);
	bearer_move(b, BEARER_KNOWN);
	answer = bearer_answer(b);
	bearer_give(b, &answer);
}

static void refused(struct bearer *b, unsigned status, const char *words)
{
	struct kube_identity *k = b->owner;
	struct token_review_answer answer;

	k->counts.refused++;
	b->status = status;
	b->words = xstrdup(words);
	b->until_us = k->options.mono_us() + KUBE_IDENTITY_REFUSED_US;
	bearer_move(b, BEARER_REFUSED);
	answer = bearer_answer(b);
	bearer_give(b, &answer);
}

static unsigned seconds_of(uint64_t us)
{
	return (unsigned)((us + USEC_PER_SEC - 1) / USEC_PER_SEC);
}

/* No answer: nothing is known about the token, and the server gets a pause. */
static void failed(struct bearer *b, const char *why, uint64_t rest_us)
{
	struct kube_identity *k = b->owner;
	uint64_t now_us = k->options.mono_us();
	struct token_review_answer answer = { .status = STATUS_BUSY };

	k->counts.failed++;
	give_back(b);
	rest_us = MIN(MAX(rest_us, KUBE_IDENTITY_REST_US), USEC_PER_MIN);
	k->rest_until_us = now_us + rest_us;
	(void)log_limit_end(&k->limit, now_us);
	if (log_limit_take(&k->limit, now_us))
		log_warning("TokenReview failed: %s", why);
	answer.words = "the API server cannot review this token now";
	answer.retry_s = seconds_of(rest_us) + SPREAD_S;
	bearer_give(b, &answer);
	bearer_free(b);
}

/* A person has to grant us the right: no use in retrying soon. */
static uint64_t rest_of(const struct kube_answer *answer)
{
	return answer->result == CLUSTER_REFUSED ? USEC_PER_MIN / 2 : answer->retry_us;
}

/* --- requests --- */

static int send(struct bearer *b, const struct kube_call *call, struct err *err)
{
	struct kube_call mine = *call;

	mine.timeout_us = TOKEN_REVIEW_REQUEST_US;
	mine.context = b;
	return b->owner->options.send(b->owner->options.kube, &mine, &b->request, err);
}

static void on_pod(void *context, const struct kube_answer *answer)
{
	struct bearer *b = context;
	struct err err = ERR_INIT;
	const char *node = NULL;
	int r;

	b->request = NULL;
	if (answer->result == CLUSTER_GONE) {
		refused(b, STATUS_STRANGER, "the pod of this token is gone");
		return;
	}
	if (answer->result != CLUSTER_DONE) {
		failed(b, answer->words, rest_of(answer));
		return;
	}
	r = kube_token_node(answer->body, b->pod_uid, b->pod_node, &node, &err);
	if (r == -EACCES) {
		refused(b, STATUS_FORBIDDEN, err.msg);
	} else if (r < 0) {
		failed(b, err.msg, 0);
	} else {
		b->node = xstrdup(node);
		known(b);
	}
}

/* The bearer is an agent: look up the node of its pod. */
static void ask_for_pod(struct bearer *b, const struct kube_review *review)
{
	CLEANUP(freep) char *namespace = NULL;
	CLEANUP(freep) char *name = NULL;
	char path[KUBE_PATH_MAX];
	struct err err = ERR_INIT;

	if (!*review->pod || !*review->pod_uid || !authz_account(review->user, &namespace, &name)) {
		refused(b, STATUS_FORBIDDEN,
			"this token is not bound to a pod, so its host is unknown");
		return;
	}
	b->pod_uid = xstrdup(review->pod_uid);
	b->pod_node = xstrdup(review->node);
	if (kube_path(path, &err, "/api/v1/namespaces/%s/pods/%s", namespace, review->pod) < 0 ||
	    send(b, &(struct kube_call){ .method = "GET", .path = path, .done = on_pod }, &err) < 0)
		failed(b, err.msg, 0);
}

/* For the records: from the settings, else derived from the user name. */
static char *name_of(const struct trusted *trusted, const char *user)
{
	CLEANUP(freep) char *namespace = NULL;
	CLEANUP(freep) char *account = NULL;
	CLEANUP(freep) char *name = xstrdup(trusted->name ? trusted->name : user);

	if (!trusted->name && authz_account(user, &namespace, &account)) {
		free(name);
		name = xasprintf("%s@%s", account, namespace);
	}
	return tokens_name_ok(name) ? TAKE(name) : NULL;
}

static void on_reviewed(struct bearer *b, const struct kube_review *review)
{
	const struct trusted *trusted = authz_find(b->owner->options.authz, review->user);
	struct err err = ERR_INIT;

	if (!trusted) {
		(void)err_set(&err, EACCES,
			      "'%.200s' is not an agent and has no role: see kubernetes.agents and "
			      "kubernetes.identities in controller.yaml",
			      review->user);
		refused(b, STATUS_FORBIDDEN, err.msg);
		return;
	}
	b->who.role = trusted->role;
	if (trusted->role == ROLE_NODE) {
		ask_for_pod(b, review);
		return;
	}
	b->name = name_of(trusted, review->user);
	known(b);
}

/*
 * Why a token is not valid, and what to do. The claims are unverified, and our clock may be wrong:
 * they only select the advice. New memory.
 */
static char *stranger_words(const struct bearer *b, const char *why)
{
	char stamp[CLOCK_STAMP_SIZE];

	if (b->expires_us == 0 || b->expires_us > b->owner->options.real_us())
		return xasprintf(
			"%s: expected a token of this cluster for the audience " KUBE_AUDIENCE
			", as a projected volume or kubectl create token gives it",
			why);
	clock_stamp(b->expires_us, stamp);
	return xasprintf(
		"%s: it expired at %s; the kubelet puts a new one into a projected "
		"volume, so read the file again; a person gets one by kubectl create token "
		"--audience " KUBE_AUDIENCE,
		why, stamp);
}

static void on_review(void *context, const struct kube_answer *answer)
{
	struct bearer *b = context;
	CLEANUP(freep) char *words = NULL;
	struct kube_review review;
	struct err err = ERR_INIT;
	int r;

	b->request = NULL;
	if (answer->result != CLUSTER_DONE) {
		failed(b, answer->words, rest_of(answer));
		return;
	}
	r = kube_token_reviewed(answer->body, &review, &err);
	if (r == -EACCES)
		words = stranger_words(b, err.msg);
	if (words)
		refused(b, STATUS_STRANGER, words);
	else if (r < 0)
		failed(b, err.msg, 0);
	else
		on_reviewed(b, &review);
}

static void answer_now(const struct token_review_question *q, unsigned status, const char *words,
		       unsigned retry_s)
{
	q->done(q->context, &(struct token_review_answer){ status, words, retry_s, { 0 } });
}

/* May an unknown token be reviewed? Else the question is answered. */
static bool may_ask(struct kube_identity *k, const struct token_review_question *q, uint64_t now_us)
{
	if (now_us < k->rest_until_us) {
		answer_now(q, STATUS_BUSY, "the API server cannot review this token now",
			   seconds_of(k->rest_until_us - now_us) + SPREAD_S);
		return false;
	}
	if (k->n[BEARER_ASKING] >= KUBE_IDENTITY_UNDER_WAY_MAX) {
		k->counts.limited++;
		answer_now(q, STATUS_BUSY, "too many token reviews at once", 0);
		return false;
	}
	if (k->by_origin.n >= k->by_origin.max) /* beyond it nobody would be limited */
		token_buckets_release(&k->by_origin);
	if (!token_buckets_take(&k->by_origin, q->origin, now_us)) {
		k->counts.limited++;
		answer_now(q, STATUS_OFTEN, "too many tokens from your address were refused", 0);
		return false;
	}
	if (!token_buckets_take(&k->all, "", now_us)) {
		token_buckets_give(&k->by_origin, q->origin);
		k->counts.limited++;
		answer_now(q, STATUS_BUSY, "too many tokens were refused", 0);
		return false;
	}
	return true;
}

static void ask_anew(struct kube_identity *k, const struct token_review_question *q,
		     const unsigned char *sum, const struct kube_claims *claims)
{
	CLEANUP(json_freep) json_t *body = kube_token_review(q->token);
	struct bearer *b = bearer_new(k, sum);
	struct err err = ERR_INIT;

	b->expires_us = claims->expires_us;
	(void)snprintf(b->origin, sizeof(b->origin), "%s", q->origin);
	bearer_wait(b, q);
	k->counts.asked++;
	if (send(b,
		 &(struct kube_call){ .method = "POST",
				      .path = "/apis/authentication.k8s.io/v1/tokenreviews",
				      .content = KUBE_JSON,
				      .body = body,
				      .done = on_review },
		 &err) < 0)
		failed(b, err.msg, 0);
}

/* Cached and still valid answer for the token; NULL: none. */
static struct bearer *kept_of(struct kube_identity *k, const unsigned char *sum, uint64_t now_us)
{
	struct bearer *b = bearer_find(k, sum);

	if (!b || b->state == BEARER_ASKING || now_us < b->until_us)
		return b;
	bearer_free(b);
	return NULL;
}

static void ask(struct token_review *v, const struct token_review_question *q)
{
	struct kube_identity *k = (struct kube_identity *)v;
	uint64_t now_us = k->options.mono_us();
	unsigned char sum[SHA256_SIZE];
	struct kube_claims claims;
	struct err err = ERR_INIT;
	struct sha256 hash;
	struct bearer *b;

	sha256_init(&hash);
	sha256_add(&hash, q->token, strlen(q->token));
	sha256_digest(&hash, sum);
	b = kept_of(k, sum, now_us);
	if (b && b->state != BEARER_ASKING) {
		const struct token_review_answer answer = bearer_answer(b);

		k->counts.known++;
		bearer_move(b, b->state);
		q->done(q->context, &answer);
	} else if (b && k->n_waiting < KUBE_IDENTITY_WAITING_MAX) {
		bearer_wait(b, q);
	} else if (b) {
		answer_now(q, STATUS_BUSY, "too many requests are waiting for a token review", 0);
	} else if (kube_token_claims(q->token, &claims, &err) < 0) {
		answer_now(q, STATUS_STRANGER, err.msg, 0);
	} else if (!claims.for_us) {
		answer_now(q, STATUS_STRANGER, "this token is not for the audience " KUBE_AUDIENCE,
			   0);
	} else if (may_ask(k, q, now_us)) {
		ask_anew(k, q, sum, &claims);
	}
}

/* --- life cycle --- */

static void release(struct token_review *v)
{
	struct kube_identity *k = (struct kube_identity *)v;
	const struct token_review_answer stopping = {
		STATUS_BUSY, "the controller is stopping", 0, { 0 }
	};
	struct bearer *b;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(k->lists); i++) {
		while ((b = TAILQ_FIRST(&k->lists[i]))) {
			if (b->request)
				k->options.cancel(b->request);
			bearer_give(b, &stopping);
			bearer_free(b);
		}
	}
	token_buckets_release(&k->by_origin);
	token_buckets_release(&k->all);
	if (k->options.closed)
		k->options.closed(k->options.context);
	free(k);
}

static struct token_review_counts counts(const struct token_review *v)
{
	const struct kube_identity *k = (const struct kube_identity *)v;
	struct token_review_counts counts = k->counts;

	counts.kept = k->n[BEARER_KNOWN] + k->n[BEARER_REFUSED];
	counts.waiting = k->n_waiting;
	counts.under_way = k->n[BEARER_ASKING];
	return counts;
}

struct token_review *kube_identity_new(const struct kube_identity_options *options)
{
	static const struct token_review_ops ops = { kube_token_looks_like_one, ask, counts,
						     release };
	struct kube_identity *k = xcalloc(1, sizeof(*k));
	size_t i;

	k->token_review.ops = &ops;
	k->options = *options;
	for (i = 0; i < ARRAY_SIZE(k->lists); i++)
		TAILQ_INIT(&k->lists[i]);
	k->by_origin = (struct token_buckets){ .rate = KUBE_IDENTITY_RATE,
					       .burst = KUBE_IDENTITY_BURST,
					       .max = KUBE_IDENTITY_ORIGINS_MAX };
	k->all = (struct token_buckets){ .rate = KUBE_IDENTITY_RATE_ALL,
					 .burst = KUBE_IDENTITY_BURST_ALL,
					 .max = 1 };
	return &k->token_review;
}
