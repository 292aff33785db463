/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "controller/cluster/kube/kube.h"
#include "controller/cluster/kube/kube_error.h"
#include "lib/base/duration.h"
#include "tests/unit/test.h"

#define JSON "application/json"
#define NODE "/api/v1/nodes/gpu-0"
#define EVICTION "/api/v1/namespaces/a/pods/p/eviction"

/* As a kube-apiserver 1.20 said it. */
static const struct row {
	unsigned status;
	const char *path, *content_type, *body;
	enum cluster_result result;
	const char *reason, *words;
} rows[] = {
	{ 200, NODE, JSON, "{\"kind\":\"Node\"}", CLUSTER_DONE, "", "" },
	{ 200, NODE, "application/json; charset=utf-8", "{}", CLUSTER_DONE, "", "" },
	{ 200, NODE, "Application/JSON", "{}", CLUSTER_DONE, "", "" },
	{ 201, EVICTION, JSON, "{\"kind\":\"Status\",\"status\":\"Success\"}", CLUSTER_DONE, "",
	  "" },
	{ 200, "/readyz", "text/plain; charset=utf-8", "ok", CLUSTER_DONE, "", "" },
	{ 401, NODE,
	  JSON, "{\"kind\":\"Status\",\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\",\"code\":401}",
	  CLUSTER_REFUSED, "Unauthorized",
	  "GET /api/v1/nodes/gpu-0: 401 Unauthorized: Unauthorized (is" },
	{ 403, NODE, JSON,
	  "{\"kind\":\"Status\",\"message\":\"nodes \\\"gpu-0\\\" is forbidden: User \\\"x\\\" "
	  "cannot get "
	  "resource\",\"reason\":\"Forbidden\",\"details\":{\"name\":\"gpu-0\",\"kind\":\"nodes\"}"
	  "}",
	  CLUSTER_REFUSED, "Forbidden", "403 Forbidden: nodes \"gpu-0\" is forbidden: User \"x\"" },
	{ 404, NODE, JSON,
	  "{\"kind\":\"Status\",\"message\":\"nodes \\\"gpu-0\\\" not "
	  "found\",\"reason\":\"NotFound\","
	  "\"details\":{\"name\":\"gpu-0\",\"kind\":\"nodes\"},\"code\":404}",
	  CLUSTER_GONE, "NotFound", "nodes \"gpu-0\" not found" },
	{ 404, NODE, "text/plain; charset=utf-8", "404 page not found\n", CLUSTER_REFUSED, "",
	  "404: 404 page not found (this API server does not serve that resource)" },
	{ 404, "/apis/x/v1/nodes/gpu-0", JSON,
	  "{\"kind\":\"Status\",\"message\":\"the server could not find the requested resource\","
	  "\"reason\":\"NotFound\",\"details\":{},\"code\":404}",
	  CLUSTER_REFUSED, "NotFound", "(this API server does not serve that resource)" },
	{ 404, "/apis/policy/v1", "text/plain", "404 page not found\n", CLUSTER_GONE, "",
	  "not found" },
	{ 404, "/apis/policy", "text/plain", "404 page not found\n", CLUSTER_GONE, "", "not found" },
	{ 404, "/api/v2", "text/plain", "404 page not found\n", CLUSTER_GONE, "", "not found" },
	{ 409, NODE, JSON,
	  "{\"kind\":\"Status\",\"reason\":\"Conflict\",\"message\":\"Operation cannot be "
	  "fulfilled on "
	  "nodes \\\"gpu-0\\\": the object has been modified\"}",
	  CLUSTER_CONFLICT, "Conflict", "the object has been modified" },
	{ 409, NODE, JSON, "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\"}", CLUSTER_CONFLICT,
	  "AlreadyExists", "409 AlreadyExists" },
	{ 410, "/api/v1/nodes", JSON, "{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410}",
	  CLUSTER_AGAIN, "Expired", "410 Expired" },
	{ 415, NODE, JSON, "{\"kind\":\"Status\",\"reason\":\"UnsupportedMediaType\"}",
	  CLUSTER_REFUSED, "UnsupportedMediaType", "415" },
	{ 422, NODE, JSON,
	  "{\"kind\":\"Status\",\"reason\":\"Invalid\",\"message\":\"the server rejected our "
	  "request due "
	  "to an error in our request\"}",
	  CLUSTER_REFUSED, "Invalid", "422 Invalid: the server rejected" },
	{ 429, NODE, "text/plain; charset=utf-8", "Too many requests, please try again later.\n",
	  CLUSTER_AGAIN, "", "429: Too many requests, please try again later." },
	{ 429, NODE, "text/plain", "{\"kind\":\"Status\",\"reason\":\"no, it is text\"}",
	  CLUSTER_AGAIN, "", "429: {" },
	{ 500, EVICTION, JSON,
	  "{\"kind\":\"Status\",\"reason\":\"InternalError\",\"message\":\"This pod has more than "
	  "one "
	  "PodDisruptionBudget, which the eviction subresource does not support.\"}",
	  CLUSTER_REFUSED, "InternalError", "more than one" },
	{ 500, NODE, JSON, "{\"kind\":\"Status\",\"reason\":\"InternalError\"}", CLUSTER_AGAIN,
	  "InternalError", "500" },
	{ 502, NODE, "text/html", "<html>\r\nBad Gateway</html>", CLUSTER_AGAIN, "", "502: <html>" },
	{ 503, NODE, "", "", CLUSTER_AGAIN, "", "503: " },
	{ 301, NODE, "text/html", "<a>", CLUSTER_REFUSED, "", "301: <a>" },
	{ 400, NODE, JSON, "not json at all", CLUSTER_REFUSED, "", "400: not json at all" },
	{ 400, NODE, JSON, "[1]", CLUSTER_REFUSED, "", "400: [1]" },
	{ 429, NODE, JSON, "{\"kind\":\"Other\",\"reason\":\"R\"}", CLUSTER_AGAIN, "", "429: {" },
};

static struct kube_raw raw_of(const struct row *row)
{
	return (struct kube_raw){ .method = "GET",
				  .path = row->path,
				  .status = row->status,
				  .content_type = row->content_type,
				  .body = row->body,
				  .len = strlen(row->body),
				  .audit = "a-1" };
}

static void every_answer_has_its_meaning(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct kube_raw raw = raw_of(&rows[i]);
		struct kube_reading reading;

		kube_answer_read(&raw, &reading);
		CHECK_EQ(reading.answer.result, rows[i].result);
		CHECK_EQ(reading.answer.status, rows[i].status);
		CHECK_EQ(reading.answer.r, 0);
		CHECK_STR(reading.answer.reason, rows[i].reason);
		CHECK_HAS(reading.answer.words, rows[i].words);
		CHECK_EQ(reading.answer.words[0] == '\0', rows[i].result == CLUSTER_DONE);
		CHECK(!strpbrk(reading.answer.words, "\r\n"));
		CHECK_STR(reading.answer.audit, "a-1");
		kube_reading_release(&reading);
	}
}

static void only_what_says_that_it_is_json_is_read_as_json(void)
{
	const struct {
		const char *content_type;
		bool json;
	} types[] = { { "application/json", true },
		      { "application/json;charset=utf-8", true },
		      { "application/jsonp", false },
		      { "text/plain", false },
		      { "", false },
		      { NULL, false } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(types); i++) {
		const struct kube_raw raw = { .method = "GET",
					      .path = "/version",
					      .status = 200,
					      .content_type = types[i].content_type,
					      .body = "{\"a\":1}",
					      .len = 7 };
		struct kube_reading reading;

		kube_answer_read(&raw, &reading);
		CHECK_EQ(reading.answer.result, CLUSTER_DONE);
		CHECK_EQ(reading.answer.body != NULL, types[i].json);
		kube_reading_release(&reading);
	}
}

/* Nobody may take them for an object without fields. */
static void an_answer_that_is_none_of_kubernetes_is_no_success(void)
{
	static const struct row none[] = {
		{ 200, NODE, JSON, "{\"kind\":\"Node\",\"spec\":{", 0, "",
		  "200: the answer: line 1" },
		{ 200, NODE, JSON, "{\"a\":1,\"a\":2}", 0, "", "200: " },
		{ 200, NODE, "text/html", "<html>log in", 0, "",
		  "200: not JSON: is this an API server?" },
		{ 200, NODE, "", "", 0, "", "not JSON" },
		{ 200, NODE, JSON, "", 0, "", "not JSON" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(none); i++) {
		const struct kube_raw raw = raw_of(&none[i]);
		struct kube_reading reading;

		kube_answer_read(&raw, &reading);
		CHECK_EQ(reading.answer.result, CLUSTER_AGAIN);
		CHECK_EQ(reading.answer.r, -EPROTO);
		CHECK_EQ(reading.answer.status, 0);
		CHECK(!reading.answer.body);
		CHECK_HAS(reading.answer.words, none[i].words);
		kube_reading_release(&reading);
	}
}

static void a_wait_that_was_asked_for_is_told(void)
{
	static const struct {
		uint64_t header_us;
		const char *body;
		uint64_t retry_us;
	} waits[] = {
		{ 0, "{\"kind\":\"Status\"}", 0 },
		{ 1 * USEC_PER_SEC, "{}", 1 * USEC_PER_SEC },
		{ 0, "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":10}}",
		  10 * USEC_PER_SEC },
		{ 2 * USEC_PER_SEC, "{\"details\":{\"retryAfterSeconds\":10}}", 2 * USEC_PER_SEC },
		{ 0, "{\"details\":{\"retryAfterSeconds\":-5}}", 0 },
		{ 0, "{\"details\":{\"retryAfterSeconds\":9223372036854775807}}",
		  3600 * USEC_PER_SEC },
		{ 0, "{\"details\":{\"retryAfterSeconds\":\"10\"}}", 0 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(waits); i++) {
		const struct kube_raw raw = { .method = "POST",
					      .path = EVICTION,
					      .status = 429,
					      .content_type = JSON,
					      .body = waits[i].body,
					      .len = strlen(waits[i].body),
					      .retry_after_us = waits[i].header_us };
		struct kube_reading reading;

		kube_answer_read(&raw, &reading);
		CHECK_EQ(reading.answer.retry_us, waits[i].retry_us);
		kube_reading_release(&reading);
	}
}

static void no_answer_is_to_be_tried_again_unless_it_is_ours_to_mend(void)
{
	static const struct {
		int r;
		enum cluster_result result;
	} none[] = { { -ECONNREFUSED, CLUSTER_AGAIN }, { -ETIMEDOUT, CLUSTER_AGAIN },
		     { -ECONNRESET, CLUSTER_AGAIN },   { -EKEYREJECTED, CLUSTER_AGAIN },
		     { -ECANCELED, CLUSTER_AGAIN },    { -EINVAL, CLUSTER_REFUSED } };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(none); i++) {
		const struct kube_raw raw = {
			.method = "GET", .path = NODE, .r = none[i].r, .why = "GET x: so"
		};
		struct kube_reading reading;

		kube_answer_read(&raw, &reading);
		CHECK_EQ(reading.answer.result, none[i].result);
		CHECK_EQ(reading.answer.r, none[i].r);
		CHECK_EQ(reading.answer.status, 0);
		CHECK_STR(reading.answer.words, "GET x: so");
		kube_reading_release(&reading);
	}
}

static const struct test tests[] = {
	TEST(every_answer_has_its_meaning),
	TEST(only_what_says_that_it_is_json_is_read_as_json),
	TEST(an_answer_that_is_none_of_kubernetes_is_no_success),
	TEST(a_wait_that_was_asked_for_is_told),
	TEST(no_answer_is_to_be_tried_again_unless_it_is_ours_to_mend),
};

TEST_SUITE(tests);
