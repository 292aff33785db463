/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_identity between a server that answers what a test says, a clock that the test moves,
 * and calls that note what they were told. One world at a time.
 */
#pragma once

#include "controller/auth/kube_identity.h"

enum { SENT_MAX = 2000 };

/* One request that the server has. */
struct kube_request {
	char method[8], path[KUBE_PATH_MAX];
	char *body;
	kube_done *done;
	void *context;
	bool cancelled;
};

struct identity_server {
	struct kube_request sent[SENT_MAX];
	size_t n, at; /* sent; the next to be answered */
	int broken;   /* errno: nothing can be sent */
	uint64_t now_us;
};
extern struct identity_server server;
extern struct authz authz;
extern struct token_review *token_review;

/* What a call was told. */
struct told {
	unsigned n, status, retry_s;
	int role;
	char node[64], name[64], words[256];
};

void begin(void);
void end(void);

/* Token number `i`, that ends so long from now. New memory. */
char *token_of(unsigned i, uint64_t ends_us);

void ask_from(const char *token, const char *origin, struct told *told);
void ask(const char *token, struct told *told);

/* The oldest request that was not answered gets this; `body` may be NULL. */
void answer_with(enum cluster_result result, const char *body, uint64_t retry_us);

/* ask(), and the answers; `pod` NULL: its question is not answered. */
void ask_and_answer(const char *token, const char *review, const char *pod, struct told *told);

#define REVIEW(user)                                                                            \
	"{\"status\":{\"authenticated\":true,\"audiences\":[\"assay\"],\"user\":{\"username\":" \
	"\"" user "\",\"extra\":{\"authentication.kubernetes.io/pod-name\":[\"agent-x\"],"      \
	"\"authentication.kubernetes.io/pod-uid\":[\"u-1\"]}}}}"
#define AGENT REVIEW("system:serviceaccount:assay:assay-agent")
#define POD "{\"metadata\":{\"uid\":\"u-1\"},\"spec\":{\"nodeName\":\"gpu-1\"}}"
#define UNKNOWN "{\"status\":{\"authenticated\":false,\"error\":\"expired\"}}"
