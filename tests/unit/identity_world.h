/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_identity with a server that gives the test's answers, a clock that the test advances,
 * and calls that record the result they got. One world at a time.
 */
#pragma once

#include "controller/auth/kube_identity.h"

enum { SENT_MAX = 2000 };

/* A request at the server. */
struct kube_request {
	char method[8], path[KUBE_PATH_MAX];
	char *body;
	kube_done *done;
	void *context;
	bool cancelled;
};

struct identity_server {
	struct kube_request sent[SENT_MAX];
	size_t n, at; /* at: index of the next one to answer */
	int broken;   /* errno of kube_send(); 0: it works */
	uint64_t now_us;
};
extern struct identity_server server;
extern struct authz authz;
extern struct token_review *token_review;

/* The result of a call. */
struct told {
	unsigned n, status, retry_s;
	int role;
	char node[64], name[64], words[256];
};

void begin(void);
void end(void);

/* Returns token number `i`, which expires in `ends_us`. The caller frees it. */
char *token_of(unsigned i, uint64_t ends_us);

void ask_from(const char *token, const char *origin, struct told *told);
void ask(const char *token, struct told *told);

/* Answers the oldest pending request; `body` may be NULL. */
void answer_with(enum cluster_result result, const char *body, uint64_t retry_us);

/* ask(), then answers the review and the pod request. `pod` NULL: the latter is left pending. */
void ask_and_answer(const char *token, const char *review, const char *pod, struct told *told);

#define REVIEW(user)                                                                            \
	"{\"status\":{\"authenticated\":true,\"audiences\":[\"assay\"],\"user\":{\"username\":" \
	"\"" user "\",\"extra\":{\"authentication.kubernetes.io/pod-name\":[\"agent-x\"],"      \
	"\"authentication.kubernetes.io/pod-uid\":[\"u-1\"]}}}}"
#define AGENT REVIEW("system:serviceaccount:assay:assay-agent")
#define POD "{\"metadata\":{\"uid\":\"u-1\"},\"spec\":{\"nodeName\":\"gpu-1\"}}"
#define UNKNOWN "{\"status\":{\"authenticated\":false,\"error\":\"expired\"}}"
