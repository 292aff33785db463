/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/identity_world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/jwt.h"
#include "tests/unit/test.h"

#define START_US UINT64_C(1000000000000000)

struct identity_server server;
struct authz authz;
struct token_review *token_review;

static int fake_send(struct kube *kube UNUSED, const struct kube_call *call,
		     struct kube_request **ret_request, struct err *err)
{
	struct kube_request *r = &server.sent[server.n];

	if (server.broken)
		return err_set(err, server.broken, "it cannot be sent");
	CHECK(server.n < SENT_MAX);
	CHECK(call->timeout_us > 0);
	(void)snprintf(r->method, sizeof(r->method), "%s", call->method);
	(void)snprintf(r->path, sizeof(r->path), "%s", call->path);
	r->body = call->body ? json_line(call->body) : NULL;
	r->done = call->done;
	r->context = call->context;
	*ret_request = r;
	server.n++;
	return 0;
}

static void fake_cancel(struct kube_request *request)
{
	request->cancelled = true;
}

static uint64_t mono_us(void)
{
	return server.now_us;
}

static uint64_t real_us(void)
{
	return START_US + server.now_us;
}

void begin(void)
{
	const struct kube_identity_options options = { &authz,	fake_send, fake_cancel, NULL,
						       mono_us, real_us,   NULL,	NULL };

	log_init("test", LOG_EMERG);
	memset(&server, 0, sizeof(server));
	server.now_us = USEC_PER_HOUR;
	authz = (struct authz){ .for_us = AUTHZ_FOR_US };
	authz_usual(&authz, "assay");
	token_review = kube_identity_new(&options);
}

void end(void)
{
	size_t i;

	token_review_close(TAKE(token_review));
	for (i = 0; i < server.n; i++)
		free(server.sent[i].body);
	authz_release(&authz);
}

static void on_told(void *context, const struct token_review_answer *answer)
{
	struct told *told = context;

	told->n++;
	told->status = answer->status;
	told->retry_s = answer->retry_s;
	told->role = answer->who.role;
	(void)snprintf(told->node, sizeof(told->node), "%s",
		       answer->who.node ? answer->who.node : "-");
	(void)snprintf(told->name, sizeof(told->name), "%s",
		       answer->who.name ? answer->who.name : "-");
	(void)snprintf(told->words, sizeof(told->words), "%s", answer->status ? answer->words : "");
}

char *token_of(unsigned i, uint64_t ends_us)
{
	CLEANUP(freep)
	char *claims = xasprintf("{\"aud\":[\"assay\"],\"exp\":%llu,\"n\":%u}",
				 (unsigned long long)((real_us() + ends_us) / USEC_PER_SEC), i);

	return jwt_of(claims);
}

void ask_from(const char *token, const char *origin, struct told *told)
{
	token_review->ops->ask(token_review,
			       &(struct token_review_question){ token, origin, on_told, told });
}

void ask(const char *token, struct told *told)
{
	ask_from(token, "a", told);
}

void answer_with(enum cluster_result result, const char *body, uint64_t retry_us)
{
	CLEANUP(json_freep) json_t *value = NULL;
	struct kube_request *r = &server.sent[server.at++];
	struct err err = ERR_INIT;

	CHECK(server.at <= server.n);
	if (body)
		CHECK_EQ(json_parse(body, strlen(body), "test", &value, &err), 0);
	r->done(r->context, &(struct kube_answer){ .result = result,
						   .reason = "",
						   .words = "as the test wants it",
						   .body = value,
						   .retry_us = retry_us,
						   .audit = "" });
}

void ask_and_answer(const char *token, const char *review, const char *pod, struct told *told)
{
	ask(token, told);
	answer_with(CLUSTER_DONE, review, 0);
	if (pod)
		answer_with(CLUSTER_DONE, pod, 0);
}
