/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube_error.h"

#include <errno.h>
#include <strings.h>

#include "controller/cluster/kube/kube.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/json/json.h"
#include "lib/net/http.h"

enum { PLAIN_MAX = 200 }; /* bytes shown of a body other than a Status */

static const struct meaning {
	unsigned status;
	enum cluster_result result;
	const char *hint;
} meanings[] = {
	{ 401, CLUSTER_REFUSED,
	  " (is the token or certificate for this cluster, and still valid?)" },
	{ 408, CLUSTER_AGAIN, "" },
	{ 409, CLUSTER_CONFLICT, "" },
	{ 410, CLUSTER_AGAIN, "" },
	{ 429, CLUSTER_AGAIN, "" },
};

/* Never resolves itself, whatever its status. */
static const char two_budgets[] = "more than one PodDisruptionBudget";

static bool is_json(const char *content_type)
{
	static const char json[] = "application/json";
	const char end = content_type && strncasecmp(content_type, json, strlen(json)) == 0
				 ? content_type[strlen(json)]
				 : '?';

	return end == '\0' || end == ';' || end == ' ';
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool is_status(const json_t *body)
{
	return streq(text_of(body, "kind"), "Status");
}

/*
 * Servers say 404 for missing objects, but also for unknown paths: the node is gone only if the
 * answer names what is missing. For a query of what an API serves, either will do.
 */
static bool is_gone(const struct kube_raw *raw, const json_t *body)
{
	const char *version = strchr(raw->path + 1, '/');

	if (*text_of(json_object_get(body, "details"), "name"))
		return is_status(body);
	if (version && starts_with(raw->path, "/apis/"))
		version = strchr(version + 1, '/');
	return !version || !strchr(version + 1, '/');
}

static enum cluster_result result_of(const struct kube_raw *raw, const json_t *body,
				     const char **ret_hint)
{
	size_t i;

	*ret_hint = "";
	for (i = 0; i < ARRAY_SIZE(meanings); i++) {
		if (meanings[i].status == raw->status) {
			*ret_hint = meanings[i].hint;
			return meanings[i].result;
		}
	}
	if (raw->status == 404) {
		if (is_gone(raw, body))
			return CLUSTER_GONE;
		*ret_hint = " (this API server does not serve that resource)";
		return CLUSTER_REFUSED;
	}
	if (raw->status >= 500 && !strstr(text_of(body, "message"), two_budgets))
		return CLUSTER_AGAIN;
	return CLUSTER_REFUSED;
}

static uint64_t retry_of(const struct kube_raw *raw, const json_t *body)
{
	const json_int_t s = json_integer_value(
		json_object_get(json_object_get(body, "details"), "retryAfterSeconds"));

	if (raw->retry_after_us || s <= 0)
		return raw->retry_after_us;
	return (uint64_t)MIN(s, HTTP_RETRY_AFTER_MAX_S) * USEC_PER_SEC;
}

static void read_failure(const struct kube_raw *raw, struct kube_reading *ret)
{
	const char *hint;
	const enum cluster_result result = result_of(raw, ret->body, &hint);

	ret->answer.result = result;
	ret->answer.retry_us = retry_of(raw, ret->body);
	if (is_status(ret->body)) {
		ret->answer.reason = text_of(ret->body, "reason");
		(void)err_set(&ret->words, EIO, "%s %s: %u %s: %s%s", raw->method, raw->path,
			      raw->status, ret->answer.reason, text_of(ret->body, "message"), hint);
		return;
	}
	(void)err_set(&ret->words, EIO, "%s %s: %u: %.*s%s", raw->method, raw->path, raw->status,
		      (int)MIN(strcspn(raw->body, "\r\n"), (size_t)PLAIN_MAX), raw->body, hint);
}

/* Not the answer of a Kubernetes API: something else answered, or it was cut. */
static void not_kubernetes(const struct kube_raw *raw, const char *what, struct kube_reading *ret)
{
	ret->answer.result = CLUSTER_AGAIN;
	ret->answer.r = -EPROTO;
	ret->answer.status = 0;
	(void)err_set(&ret->words, EPROTO, "%s %s: %u: %s", raw->method, raw->path, raw->status,
		      what);
}

static void read_none(const struct kube_raw *raw, struct kube_reading *ret)
{
	/* An unusable URL or certificate of ours does not fix itself. */
	ret->answer.result = raw->r == -EINVAL ? CLUSTER_REFUSED : CLUSTER_AGAIN;
	ret->answer.r = raw->r;
	(void)err_set(&ret->words, -raw->r, "%s", raw->why ? raw->why : "no answer");
}

void kube_answer_read(const struct kube_raw *raw, struct kube_reading *ret)
{
	struct err why = ERR_INIT;
	const bool json = is_json(raw->content_type);

	*ret = (struct kube_reading){ .answer = { .reason = "", .audit = raw->audit } };
	ret->answer.words = ret->words.msg;
	if (raw->r < 0) {
		read_none(raw, ret);
		return;
	}
	ret->answer.status = raw->status;
	if (json && raw->len)
		(void)json_parse(raw->body, raw->len, "the answer", &ret->body, &why);
	ret->answer.body = ret->body;
	if (raw->status < 200 || raw->status > 299)
		read_failure(raw, ret);
	else if (!ret->body && !raw->streamed && (json || starts_with(raw->path, "/api")))
		not_kubernetes(raw, why.code ? why.msg : "not JSON: is this an API server?", ret);
}

void kube_reading_release(struct kube_reading *reading)
{
	json_decref(reading->body);
	*reading = (struct kube_reading){ 0 };
}
