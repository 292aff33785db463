/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/auth/kube_identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/identity_world.h"
#include "tests/unit/jwt.h"
#include "tests/unit/test.h"

static void an_agent_is_the_node_of_its_pod(void)
{
	CLEANUP(freep) char *token = NULL;
	struct told told = { 0 };

	begin();
	token = token_of(1, USEC_PER_HOUR);
	ask(token, &told);
	CHECK_EQ(server.n, 1);
	CHECK_STR(server.sent[0].method, "POST");
	CHECK_STR(server.sent[0].path, "/apis/authentication.k8s.io/v1/tokenreviews");
	CHECK_HAS(server.sent[0].body, token);
	answer_with(CLUSTER_DONE, AGENT, 0);
	CHECK_EQ(server.n, 2);
	CHECK_STR(server.sent[1].method, "GET");
	CHECK_STR(server.sent[1].path, "/api/v1/namespaces/assay/pods/agent-x");
	CHECK_EQ(told.n, 0);
	answer_with(CLUSTER_DONE, POD, 0);
	CHECK_EQ(told.n, 1);
	CHECK_EQ(told.status, 0);
	CHECK_EQ(told.role, ROLE_NODE);
	CHECK_STR(told.node, "gpu-1");
	/* Once more, of what is kept. */
	ask(token, &told);
	CHECK_EQ(told.n, 2);
	CHECK_STR(told.node, "gpu-1");
	CHECK_EQ(server.n, 2);
	CHECK_EQ(token_review->ops->counts(token_review).known, 1);
	end();
}

static void what_is_known_counts_for_a_while_and_not_past_the_tokens_end(void)
{
	static const struct {
		uint64_t ends_us, counts_us;
	} rows[] = {
		{ USEC_PER_HOUR, AUTHZ_FOR_US },
		{ 100 * USEC_PER_SEC, 90 * USEC_PER_SEC },
		{ 5 * USEC_PER_SEC, 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *token = NULL;
		struct told told = { 0 };

		begin();
		token = token_of(1, rows[i].ends_us);
		ask_and_answer(token, AGENT, POD, &told);
		CHECK_EQ(told.status, 0);
		if (rows[i].counts_us) {
			server.now_us += rows[i].counts_us - 1;
			ask(token, &told);
			CHECK_EQ(server.n, 2);
			server.now_us++;
		}
		ask(token, &told);
		CHECK_EQ(server.n, 3);
		end();
	}
}

static void a_refusal_counts_ten_seconds(void)
{
	CLEANUP(freep) char *token = NULL;
	struct told told = { 0 };

	begin();
	token = token_of(1, USEC_PER_HOUR);
	ask_and_answer(token, UNKNOWN, NULL, &told);
	CHECK_EQ(told.status, 401);
	CHECK_HAS(told.words, "does not know this token: expired");
	server.now_us += KUBE_IDENTITY_REFUSED_US - 1;
	ask(token, &told);
	CHECK_EQ(told.n, 2);
	CHECK_EQ(told.status, 401);
	CHECK_EQ(server.n, 1);
	server.now_us++;
	ask(token, &told);
	CHECK_EQ(server.n, 2);
	end();
}

/* Who reads it has to know whether a new token helps, and where it comes from. */
static void a_stranger_is_told_what_to_do(void)
{
	static const struct {
		uint64_t later_us;
		const char *words, *not ;
	} rows[] = {
		{ 0, "expected a token of this cluster for the audience assay", "it expired at" },
		{ 2 * USEC_PER_HOUR, "so read the file again; a person gets one by kubectl create",
		  "expected one of" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *token = NULL;
		struct told told = { 0 };

		begin();
		token = token_of(1, USEC_PER_HOUR);
		server.now_us += rows[i].later_us;
		ask_and_answer(token, UNKNOWN, NULL, &told);
		CHECK_EQ(told.status, 401);
		CHECK_HAS(told.words, "does not know this token: expired");
		CHECK_HAS(told.words, rows[i].words);
		CHECK(!strstr(told.words, rows[i].not ));
		end();
	}
}

static void each_refusal_has_its_status(void)
{
	static const struct {
		const char *review, *pod;
		unsigned status;
		const char *words;
	} rows[] = {
		{ UNKNOWN, NULL, 401, "does not know" },
		{ "{\"status\":{\"authenticated\":true,\"audiences\":[\"api\"]}}", NULL, 401,
		  "audience" },
		{ REVIEW("system:serviceaccount:default:default"), NULL, 403,
		  "'system:serviceaccount:default:default' is not an agent" },
		{ "{\"status\":{\"authenticated\":true,\"audiences\":[\"assay\"],\"user\":"
		  "{\"username\":\"system:serviceaccount:assay:assay-agent\"}}}",
		  NULL, 403, "not bound to a pod" },
		{ AGENT, "{\"metadata\":{\"uid\":\"u-2\"},\"spec\":{\"nodeName\":\"gpu-1\"}}", 403,
		  "another pod has its name" },
		{ AGENT, "{\"metadata\":{\"uid\":\"u-1\"},\"spec\":{}}", 403, "on no node" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *token = NULL;
		struct told told = { 0 };

		begin();
		token = token_of(1, USEC_PER_HOUR);
		ask_and_answer(token, rows[i].review, rows[i].pod, &told);
		CHECK_EQ(told.n, 1);
		CHECK_EQ(told.status, rows[i].status);
		CHECK_HAS(told.words, rows[i].words);
		end();
	}
}

static void the_token_of_a_pod_that_is_gone_is_nobodys(void)
{
	CLEANUP(freep) char *token = NULL;
	struct told told = { 0 };

	begin();
	token = token_of(1, USEC_PER_HOUR);
	ask_and_answer(token, AGENT, NULL, &told);
	answer_with(CLUSTER_GONE, NULL, 0);
	CHECK_EQ(told.status, 401);
	CHECK_HAS(told.words, "the pod of this token is gone");
	end();
}

static void what_is_no_token_for_us_is_never_sent(void)
{
	CLEANUP(freep) char *other = jwt_of("{\"aud\":[\"api\"]}");
	CLEANUP(freep) char *broken = jwt_of("{");
	struct told told = { 0 };

	begin();
	CHECK(token_review->ops->takes(other));
	CHECK(!token_review->ops->takes("node-token"));
	ask(other, &told);
	CHECK_EQ(told.status, 401);
	ask(broken, &told);
	CHECK_EQ(told.n, 2);
	CHECK_EQ(told.status, 401);
	CHECK_EQ(server.n, 0);
	end();
}

static void others_have_the_roles_of_the_settings(void)
{
	static const struct {
		const char *review;
		int role;
		const char *name;
	} rows[] = {
		{ REVIEW("system:serviceaccount:ops:robot"), ROLE_OPERATE, "robot@ops" },
		{ REVIEW("ann"), ROLE_READ, "ann" },
		{ REVIEW("bob@example"), ROLE_ADMIN, "bobby" },
		{ REVIEW("o:idc"), ROLE_READ, "-" },
	};
	static const char identities[] =
		"[{user: 'system:serviceaccount:ops:robot', role: operate},"
		"{user: ann, role: read},"
		"{user: bob@example, role: admin, name: bobby},"
		"{user: 'o:idc', role: read}]";
	CLEANUP(json_freep) json_t *list = NULL;
	struct err err = ERR_INIT;
	struct jval root;
	unsigned i;

	begin();
	CHECK_EQ(yaml_parse(identities, strlen(identities), "f", &list, &err), 0);
	root = jval_root(list, "f");
	CHECK_EQ(authz_decode_identities(&root, &authz, &err), 0);
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *token = token_of(i, USEC_PER_HOUR);
		struct told told = { 0 };

		ask_and_answer(token, rows[i].review, NULL, &told);
		CHECK_EQ(told.status, 0);
		CHECK_EQ(told.role, rows[i].role);
		CHECK_STR(told.name, rows[i].name);
		CHECK_STR(told.node, "-");
	}
	CHECK_EQ(server.n, ARRAY_SIZE(rows));
	end();
}

static void calls_with_one_token_share_its_question(void)
{
	CLEANUP(freep) char *token = NULL;
	CLEANUP(freep) char *other = NULL;
	struct told told = { 0 }, told_other = { 0 };
	int i;

	begin();
	token = token_of(1, USEC_PER_HOUR);
	other = token_of(2, USEC_PER_HOUR);
	for (i = 0; i < 10; i++)
		ask(token, &told);
	ask(other, &told_other);
	CHECK_EQ(server.n, 2);
	CHECK_EQ(token_review->ops->counts(token_review).waiting, 11);
	answer_with(CLUSTER_DONE, AGENT, 0);
	answer_with(CLUSTER_DONE, UNKNOWN, 0);
	CHECK_EQ(told.n, 0);
	CHECK_EQ(told_other.status, 401);
	ask(token, &told);
	CHECK_EQ(server.n, 3);
	answer_with(CLUSTER_DONE, POD, 0);
	CHECK_EQ(told.n, 11);
	CHECK_EQ(told.status, 0);
	CHECK_EQ(token_review->ops->counts(token_review).waiting, 0);
	end();
}

static void a_server_that_does_not_say_is_left_alone_for_a_while(void)
{
	static const struct {
		enum cluster_result result;
		const char *review, *pod; /* NULL: this one is answered with `result` */
		uint64_t retry_us, rest_us;
	} rows[] = {
		{ CLUSTER_AGAIN, NULL, NULL, 0, KUBE_IDENTITY_REST_US },
		{ CLUSTER_AGAIN, NULL, NULL, 7 * USEC_PER_SEC, 7 * USEC_PER_SEC },
		{ CLUSTER_AGAIN, NULL, NULL, USEC_PER_HOUR, USEC_PER_MIN },
		{ CLUSTER_REFUSED, NULL, NULL, 0, USEC_PER_MIN / 2 },
		{ CLUSTER_GONE, NULL, NULL, 0, KUBE_IDENTITY_REST_US },
		{ CLUSTER_DONE, "[]", NULL, 0, KUBE_IDENTITY_REST_US },
		{ CLUSTER_AGAIN, AGENT, NULL, 0, KUBE_IDENTITY_REST_US },
		{ CLUSTER_REFUSED, AGENT, NULL, 0, USEC_PER_MIN / 2 },
		{ CLUSTER_DONE, AGENT, "{}", 0, KUBE_IDENTITY_REST_US },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *token = NULL;
		CLEANUP(freep) char *kept = NULL;
		struct told told = { 0 }, told_kept = { 0 };
		size_t sent;

		begin();
		token = token_of(1, USEC_PER_HOUR);
		kept = token_of(2, USEC_PER_HOUR);
		ask_and_answer(kept, AGENT, POD, &told_kept);
		ask(token, &told);
		if (rows[i].review)
			answer_with(CLUSTER_DONE, rows[i].review, 0);
		if (rows[i].result != CLUSTER_DONE)
			answer_with(rows[i].result, NULL, rows[i].retry_us);
		else if (rows[i].pod)
			answer_with(CLUSTER_DONE, rows[i].pod, 0);
		CHECK_EQ(told.n, 1);
		CHECK_EQ(told.status, 503);
		CHECK(told.retry_s >= rows[i].rest_us / USEC_PER_SEC);
		sent = server.n;
		server.now_us += rows[i].rest_us - 1;
		ask(token, &told);
		CHECK_EQ(told.n, 2);
		CHECK_EQ(told.status, 503);
		CHECK(told.retry_s > 0);
		CHECK_EQ(server.n, sent);
		/* What is known stays so. */
		ask(kept, &told_kept);
		CHECK_EQ(told_kept.n, 2);
		CHECK_EQ(told_kept.status, 0);
		server.now_us++;
		ask(token, &told);
		CHECK_EQ(server.n, sent + 1);
		end();
	}
}

static void what_cannot_be_sent_is_told_at_once(void)
{
	CLEANUP(freep) char *token = NULL;
	struct told told = { 0 };

	begin();
	token = token_of(1, USEC_PER_HOUR);
	server.broken = ENOENT;
	ask(token, &told);
	CHECK_EQ(told.n, 1);
	CHECK_EQ(told.status, 503);
	CHECK_EQ(token_review->ops->counts(token_review).under_way, 0);
	/* And the second question, too. */
	server.broken = 0;
	server.now_us += KUBE_IDENTITY_REST_US;
	ask(token, &told);
	server.broken = ENOENT;
	answer_with(CLUSTER_DONE, AGENT, 0);
	CHECK_EQ(told.n, 2);
	CHECK_EQ(told.status, 503);
	end();
}

static void who_waits_is_answered_when_it_closes(void)
{
	CLEANUP(freep) char *token = NULL;
	struct told told = { 0 };

	begin();
	token = token_of(1, USEC_PER_HOUR);
	ask(token, &told);
	ask(token, &told);
	token_review_close(TAKE(token_review));
	CHECK_EQ(told.n, 2);
	CHECK_EQ(told.status, 503);
	CHECK(server.sent[0].cancelled);
	end();
}

static const struct test tests[] = {
	TEST(an_agent_is_the_node_of_its_pod),
	TEST(what_is_known_counts_for_a_while_and_not_past_the_tokens_end),
	TEST(a_refusal_counts_ten_seconds),
	TEST(a_stranger_is_told_what_to_do),
	TEST(each_refusal_has_its_status),
	TEST(the_token_of_a_pod_that_is_gone_is_nobodys),
	TEST(what_is_no_token_for_us_is_never_sent),
	TEST(others_have_the_roles_of_the_settings),
	TEST(calls_with_one_token_share_its_question),
	TEST(a_server_that_does_not_say_is_left_alone_for_a_while),
	TEST(what_cannot_be_sent_is_told_at_once),
	TEST(who_waits_is_answered_when_it_closes),
};

TEST_SUITE(tests);
