/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/auth/kube_token.h"

#include <errno.h>
#include <math.h>

#include "lib/base/base64.h"
#include "lib/base/duration.h"
#include "lib/base/err.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/report/node_name.h"

enum { PARTS = 3, DIGITS_OF_GROUP = 4, PADDING_MAX = 3, WORDS_MAX = 200 };

/* Limit to fit microseconds: the year 2500. */
#define EXPIRES_MOST_S 16725225600.0

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* The next '.' or the end; NULL without base64url before it. */
static const char *part_end(const char *part)
{
	size_t length = strspn(part, digits);

	return length > 0 && (part[length] == '.' || part[length] == '\0') ? part + length : NULL;
}

bool kube_token_looks_like_one(const char *token)
{
	const char *at = token;
	int i;

	if (strnlen(token, KUBE_TOKEN_MAX + 1) > KUBE_TOKEN_MAX)
		return false;
	for (i = 1; i <= PARTS; i++) {
		const char *end = part_end(at);

		if (!end || (*end == '\0') != (i == PARTS))
			return false;
		at = end + 1;
	}
	return true;
}

/* Decode `length` characters of unpadded base64url, into new memory. */
static int decode(const char *part, size_t length, char **ret_bytes, size_t *ret_length)
{
	char text[KUBE_TOKEN_MAX + PADDING_MAX + 1] = "";
	size_t i;

	for (i = 0; i < length; i++)
		text[i] = (char)(part[i] == '-' ? '+' : part[i] == '_' ? '/' : part[i]);
	while (i % DIGITS_OF_GROUP)
		text[i++] = '=';
	return base64_decode(text, ret_bytes, ret_length);
}

/* A string, or a list of strings. */
static bool has_audience(const json_t *audiences)
{
	size_t n = MIN(json_array_size(audiences), (size_t)KUBE_TOKEN_AUDIENCES_MAX), i;

	if (json_is_string(audiences))
		return streq(json_string_value(audiences), KUBE_AUDIENCE);
	for (i = 0; i < n; i++) {
		if (streq(json_string_value(json_array_get(audiences, i)), KUBE_AUDIENCE))
			return true;
	}
	return false;
}

int kube_token_claims(const char *token, struct kube_claims *ret, struct err *err)
{
	CLEANUP(json_freep) json_t *claims = NULL;
	CLEANUP(freep) char *text = NULL;
	const char *middle;
	size_t length;
	const json_t *expires;
	double seconds;
	int r;

	if (!kube_token_looks_like_one(token))
		return err_set(err, EINVAL, "not a token of this cluster");
	middle = strchr(token, '.') + 1;
	r = decode(middle, strcspn(middle, "."), &text, &length);
	if (r < 0)
		return err_set(err, EINVAL, "the token's claims are not base64url");
	r = json_parse(text, length, "the token's claims", &claims, err);
	if (r < 0)
		return r;
	if (!json_is_object(claims))
		return err_set(err, EINVAL, "the token's claims: expected an object");
	expires = json_object_get(claims, "exp");
	seconds = json_number_value(expires);
	if (expires && (!json_is_number(expires) || !isfinite(seconds) || seconds < 0))
		return err_set(err, EINVAL, "the token's claims: exp: expected a time");
	*ret = (struct kube_claims){
		.for_us = has_audience(json_object_get(claims, "aud")),
		.expires_us = expires && seconds < EXPIRES_MOST_S
				      ? (uint64_t)(seconds * (double)USEC_PER_SEC)
				      : UINT64_MAX,
	};
	return 0;
}

json_t *kube_token_review(const char *token)
{
	return json_pack("{s:s, s:s, s:{s:s, s:[s]}}", "apiVersion", "authentication.k8s.io/v1",
			 "kind", "TokenReview", "spec", "token", token, "audiences", KUBE_AUDIENCE);
}

/* A string member of at most `max` bytes, else "". */
static const char *text_of(const json_t *object, const char *key, size_t max)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text && strlen(text) <= max ? text : "";
}

/* The only string in a list, else "". */
static const char *extra_of(const json_t *extra, const char *key)
{
	const json_t *list = json_object_get(extra, key);
	const char *text = json_string_value(json_array_get(list, 0));

	return json_array_size(list) == 1 && text && strlen(text) <= KUBE_TOKEN_NAME_MAX ? text
											 : "";
}

int kube_token_reviewed(const json_t *answer, struct kube_review *ret, struct err *err)
{
	const json_t *status = json_object_get(answer, "status");
	const json_t *user = json_object_get(status, "user"), *extra;
	const char *why = json_string_value(json_object_get(status, "error"));

	if (!json_is_object(status))
		return err_set(err, EBADMSG, "the TokenReview has no status");
	if (!json_is_true(json_object_get(status, "authenticated")))
		return err_set(err, EACCES, "the cluster does not know this token%s%.*s",
			       why && *why ? ": " : "", WORDS_MAX, why ? why : "");
	if (!has_audience(json_object_get(status, "audiences")))
		return err_set(err, EACCES, "this token is not for the audience " KUBE_AUDIENCE);
	extra = json_object_get(user, "extra");
	*ret = (struct kube_review){
		.user = text_of(user, "username", KUBE_TOKEN_TEXT_MAX),
		.pod = extra_of(extra, "authentication.kubernetes.io/pod-name"),
		.pod_uid = extra_of(extra, "authentication.kubernetes.io/pod-uid"),
		.node = extra_of(extra, "authentication.kubernetes.io/node-name"),
	};
	return *ret->user ? 0 : err_set(err, EBADMSG, "the TokenReview names no user");
}

int kube_token_node(const json_t *answer, const char *uid, const char *node, const char **ret_node,
		    struct err *err)
{
	const json_t *metadata = json_object_get(answer, "metadata");
	const char *pod_uid = text_of(metadata, "uid", KUBE_TOKEN_NAME_MAX);
	const char *on = text_of(json_object_get(answer, "spec"), "nodeName", KUBE_TOKEN_NAME_MAX);

	if (!*pod_uid)
		return err_set(err, EBADMSG, "the answer is not a pod");
	if (!streq(pod_uid, uid))
		return err_set(err, EACCES,
			       "the pod of this token is gone: another pod has its name");
	if (!node_name_ok(on))
		return err_set(err, EACCES, "the pod of this token is on no node yet");
	if (*node && !streq(node, on))
		return err_set(err, EACCES, "this token belongs to '%.80s', its pod to '%.80s'",
			       node, on);
	*ret_node = on;
	return 0;
}
