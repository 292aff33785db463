/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/auth/kube_token.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "tests/unit/jwt.h"
#include "tests/unit/test.h"

static void only_what_looks_like_a_token_is_one(void)
{
	static const struct {
		const char *text;
		bool is;
	} rows[] = {
		{ "a.b.c", true },   { "eyJ-_9.x.y", true },	{ "", false },
		{ "a", false },	     { "a.b", false },		{ "a.b.c.d", false },
		{ "a.b.c.", false }, { ".b.c", false },		{ "a..c", false },
		{ "a.b.", false },   { "a.b.c=", false },	{ "a.b.c+", false },
		{ "a.b.c ", false }, { "a.b.\xc3\xa4", false }, { "node-token", false },
	};
	char *huge = xcalloc(KUBE_TOKEN_MAX + 2, 1);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(kube_token_looks_like_one(rows[i].text), rows[i].is);
	memset(huge, 'a', KUBE_TOKEN_MAX);
	huge[1] = huge[3] = '.';
	CHECK(kube_token_looks_like_one(huge));
	huge[KUBE_TOKEN_MAX] = 'a';
	CHECK(!kube_token_looks_like_one(huge));
	free(huge);
}

static void claims_say_for_whom_and_until_when(void)
{
	static const struct {
		const char *claims;
		bool for_us;
		uint64_t expires_us;
	} rows[] = {
		{ "{\"aud\":[\"assay\"],\"exp\":1700000000}", true, UINT64_C(1700000000000000) },
		{ "{\"aud\":\"assay\",\"exp\":1.5}", true, UINT64_C(1500000) },
		{ "{\"aud\":[\"api\",\"assay\"]}", true, UINT64_MAX },
		{ "{\"aud\":[\"api\"],\"exp\":0}", false, 0 },
		{ "{\"aud\":[7,null,{}],\"exp\":1e300}", false, UINT64_MAX },
		{ "{\"aud\":{\"assay\":1}}", false, UINT64_MAX },
		{ "{}", false, UINT64_MAX },
		{ "{\"a\":\"\xc3\xa4\xc3\xb6?>~\",\"aud\":\"assay\"}", true, UINT64_MAX },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *token = jwt_of(rows[i].claims);
		struct kube_claims claims = { 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(kube_token_claims(token, &claims, &err), 0);
		CHECK_EQ(claims.for_us, rows[i].for_us);
		CHECK(claims.expires_us == rows[i].expires_us);
	}
}

static void claims_that_are_none_are_refused(void)
{
	static const char *const rows[][2] = {
		{ "", "not a token of this cluster" },
		{ "[]", "expected an object" },
		{ "7", "expected an object" },
		{ "{", "the token's claims" },
		{ "{\"exp\":\"1\"}", "exp: expected a time" },
		{ "{\"exp\":-1}", "exp: expected a time" },
		{ "{\"exp\":true}", "exp: expected a time" },
		{ "{\"aud\":1,\"aud\":2}", "the token's claims" },
		{ "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
		  "nested" },
	};
	struct kube_claims claims = { true, 7 };
	struct err err = ERR_INIT;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(freep) char *token = jwt_of(rows[i][0]);

		err = (struct err)ERR_INIT;
		CHECK_EQ(kube_token_claims(token, &claims, &err), -EINVAL);
		CHECK_HAS(err.msg, rows[i][1]);
	}
	/* A length that no bytes have. */
	CHECK_EQ(kube_token_claims("a.bcdef.g", &claims, &err), -EINVAL);
	CHECK(claims.for_us && claims.expires_us == 7);
}

static json_t *json_of(const char *text)
{
	json_t *value = NULL;
	struct err err = ERR_INIT;

	CHECK_EQ(json_parse(text, strlen(text), "test", &value, &err), 0);
	return value;
}

static void the_question_is_a_token_review_for_our_audience(void)
{
	CLEANUP(json_freep) json_t *review = kube_token_review("a.b.c");
	CLEANUP(freep) char *text = json_line(review);

	CHECK_STR(text, "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenReview\","
			"\"spec\":{\"token\":\"a.b.c\",\"audiences\":[\"assay\"]}}");
}

#define EXTRA(pod, uid, more)                                       \
	"\"extra\":{\"authentication.kubernetes.io/pod-name\":" pod \
	",\"authentication.kubernetes.io/pod-uid\":" uid more "}"
#define STATUS(audiences, user) \
	"{\"status\":{\"authenticated\":true,\"audiences\":" audiences ",\"user\":{" user "}}}"

static void a_known_token_names_its_pod(void)
{
	static const struct {
		const char *answer, *user, *pod, *uid, *node;
	} rows[] = {
		{ STATUS("[\"assay\"]",
			 "\"username\":\"u\"," EXTRA("[\"agent-1\"]", "[\"u-1\"]", "")),
		  "u", "agent-1", "u-1", "" },
		{ STATUS("[\"x\",\"assay\"]",
			 "\"username\":\"u\"," EXTRA(
				 "[\"p\"]", "[\"u-1\"]",
				 ",\"authentication.kubernetes.io/node-name\":[\"gpu-1\"]")),
		  "u", "p", "u-1", "gpu-1" },
		{ STATUS("[\"assay\"]", "\"username\":\"ann\""), "ann", "", "", "" },
		/* What has not its type is not there. */
		{ STATUS("[\"assay\"]", "\"username\":\"u\",\"extra\":[1]"), "u", "", "", "" },
		{ STATUS("[\"assay\"]", "\"username\":\"u\"," EXTRA("\"p\"", "[7]", "")), "u", "",
		  "", "" },
		{ STATUS("[\"assay\"]", "\"username\":\"u\"," EXTRA("[\"a\",\"b\"]", "[]", "")),
		  "u", "", "", "" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep) json_t *answer = json_of(rows[i].answer);
		struct kube_review review = { 0 };
		struct err err = ERR_INIT;

		CHECK_EQ(kube_token_reviewed(answer, &review, &err), 0);
		CHECK_STR(review.user, rows[i].user);
		CHECK_STR(review.pod, rows[i].pod);
		CHECK_STR(review.pod_uid, rows[i].uid);
		CHECK_STR(review.node, rows[i].node);
	}
}

static void other_answers_let_nobody_in(void)
{
	static const struct {
		const char *answer;
		int r;
		const char *words;
	} rows[] = {
		{ "{}", -EBADMSG, "has no status" },
		{ "[]", -EBADMSG, "has no status" },
		{ "7", -EBADMSG, "has no status" },
		{ "{\"status\":\"Failure\"}", -EBADMSG, "has no status" },
		{ "{\"status\":{}}", -EACCES, "does not know this token" },
		{ "{\"status\":{\"authenticated\":\"true\",\"audiences\":[\"assay\"],"
		  "\"user\":{\"username\":\"u\"}}}",
		  -EACCES, "does not know this token" },
		{ "{\"status\":{\"authenticated\":1}}", -EACCES, "does not know this token" },
		{ "{\"status\":{\"error\":\"invalid bearer token\"}}", -EACCES,
		  "does not know this token: invalid bearer token" },
		{ "{\"status\":{\"error\":[\"x\"]}}", -EACCES, "does not know this token" },
		{ STATUS("[\"api\"]", "\"username\":\"u\""), -EACCES, "audience assay" },
		{ STATUS("[]", "\"username\":\"u\""), -EACCES, "audience assay" },
		{ STATUS("null", "\"username\":\"u\""), -EACCES, "audience assay" },
		{ "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"u\"}}}", -EACCES,
		  "audience assay" },
		{ STATUS("[\"assay\"]", ""), -EBADMSG, "names no user" },
		{ STATUS("[\"assay\"]", "\"username\":\"\""), -EBADMSG, "names no user" },
		{ STATUS("[\"assay\"]", "\"username\":[\"u\"]"), -EBADMSG, "names no user" },
		{ "{\"status\":{\"authenticated\":true,\"audiences\":[\"assay\"]}}", -EBADMSG,
		  "names no user" },
		{ "{\"status\":{\"authenticated\":true,\"audiences\":[\"assay\"],\"user\":[]}}",
		  -EBADMSG, "names no user" },
	};
	struct kube_review review = { .user = "before" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep) json_t *answer = json_of(rows[i].answer);
		struct err err = ERR_INIT;

		CHECK_EQ(kube_token_reviewed(answer, &review, &err), rows[i].r);
		CHECK_HAS(err.msg, rows[i].words);
	}
	CHECK_EQ(kube_token_reviewed(NULL, &review, NULL), -EBADMSG);
}

static void huge_texts_count_as_absent(void)
{
	CLEANUP(json_freep)
	json_t *answer = json_of(STATUS("[\"assay\"]", "\"username\":\"u\"," EXTRA("[]", "[]", "")));
	json_t *user = json_object_get(json_object_get(answer, "status"), "user");
	json_t *extra = json_object_get(user, "extra");
	char *huge = xcalloc(100001, 1);
	struct kube_review review = { 0 };
	struct err err = ERR_INIT;

	memset(huge, 'a', 100000);
	(void)json_object_set_new(extra, "authentication.kubernetes.io/pod-name",
				  json_pack("[s]", huge));
	CHECK_EQ(kube_token_reviewed(answer, &review, &err), 0);
	CHECK_STR(review.pod, "");
	(void)json_object_set_new(user, "username", json_string(huge));
	CHECK_EQ(kube_token_reviewed(answer, &review, &err), -EBADMSG);
	free(huge);
}

#define POD(uid, node) "{\"metadata\":{\"uid\":" uid "},\"spec\":{\"nodeName\":" node "}}"

static void the_pod_says_where_it_is(void)
{
	static const struct {
		const char *answer, *token_node;
		int r;
		const char *says; /* the node, or the words */
	} rows[] = {
		{ POD("\"u-1\"", "\"gpu-1\""), "", 0, "gpu-1" },
		{ POD("\"u-1\"", "\"gpu-1\""), "gpu-1", 0, "gpu-1" },
		{ POD("\"u-1\"", "\"gpu-1\""), "gpu-2", -EACCES, "to 'gpu-2', its pod to 'gpu-1'" },
		{ POD("\"u-2\"", "\"gpu-1\""), "", -EACCES, "another pod has its name" },
		{ POD("\"u-1\"", "\"\""), "", -EACCES, "on no node yet" },
		{ POD("\"u-1\"", "null"), "", -EACCES, "on no node yet" },
		{ POD("\"u-1\"", "[\"gpu-1\"]"), "", -EACCES, "on no node yet" },
		{ POD("\"u-1\"", "\"../x\""), "", -EACCES, "on no node yet" },
		{ POD("7", "\"gpu-1\""), "", -EBADMSG, "is not a pod" },
		{ POD("\"\"", "\"gpu-1\""), "", -EBADMSG, "is not a pod" },
		{ "{\"metadata\":[]}", "", -EBADMSG, "is not a pod" },
		{ "[]", "", -EBADMSG, "is not a pod" },
		{ "{\"metadata\":{\"uid\":\"u-1\"},\"spec\":7}", "", -EACCES, "on no node yet" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(json_freep) json_t *answer = json_of(rows[i].answer);
		const char *node = "before";
		struct err err = ERR_INIT;

		CHECK_EQ(kube_token_node(answer, "u-1", rows[i].token_node, &node, &err), rows[i].r);
		CHECK_HAS(rows[i].r ? err.msg : node, rows[i].says);
	}
}

static const struct test tests[] = {
	TEST(only_what_looks_like_a_token_is_one),
	TEST(claims_say_for_whom_and_until_when),
	TEST(claims_that_are_none_are_refused),
	TEST(the_question_is_a_token_review_for_our_audience),
	TEST(a_known_token_names_its_pod),
	TEST(other_answers_let_nobody_in),
	TEST(huge_texts_count_as_absent),
	TEST(the_pod_says_where_it_is),
};

TEST_SUITE(tests);
