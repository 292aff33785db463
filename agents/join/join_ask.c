/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/join/join_ask.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/net/http.h"
#include "lib/net/http_once.h"
#include "lib/net/pem_sum.h"

/* 0: a complete answer. Release it in any case. */
static int ask(const struct http_options *options, struct http_call *call, struct http_once *ret,
	       struct err *err)
{
	int r;

	call->timeout_us = JOIN_TIMEOUT_US;
	call->answer_max = JOIN_CA_MAX;
	r = http_once(options, call, ret, err);
	if (r == 0 && ret->r < 0)
		return err_set(err, -ret->r, "%s", ret->why);
	return r;
}

/* The controller's message about a refusal, or the status. */
static char *words_of(const struct http_once *answer)
{
	char *detail = http_once_detail(answer);

	return detail ? detail : xasprintf("it answers %u", answer->status);
}

int join_ask_ca(const char *controller, const char *sum, char **ret_pem, struct err *err)
{
	/* The server is not authenticated: only bytes with the right checksum are accepted. */
	const struct http_options options = { .insecure = true,
					      .user_agent = "assay-join/" PACKAGE_VERSION };
	CLEANUP(freep) char *url = xasprintf("%s/v1/ca", controller);
	struct http_call call = { .method = "GET", .url = url };
	CLEANUP(http_once_release) struct http_once a = { 0 };
	char found[SHA256_HEX_SIZE];
	int r = ask(&options, &call, &a, err);

	if (r < 0)
		return r;
	if (a.status != 200) {
		CLEANUP(freep) char *words = words_of(&a);

		return err_set(err, EACCES, "%s: %s", url, words);
	}
	r = pem_sum(a.body, found, err);
	if (r < 0)
		return err_wrap(err, r, "%s", url);
	if (!streq(found, sum))
		return err_set(err, EKEYREJECTED,
			       "%s: the certificate authority has the SHA-256 %s, not the one that "
			       "was given: another controller answers, or its authority was "
			       "replaced; nothing was sent",
			       controller, found);
	*ret_pem = TAKE(a.body);
	return 0;
}

int join_ask(const struct join_request *q, char **ret_sentence, struct err *err)
{
	static const char *const headers[] = { "Content-Type: application/json", NULL };
	const struct http_options options = { .ca_pem = q->ca_pem,
					      .user_agent = "assay-join/" PACKAGE_VERSION };
	CLEANUP(freep) char *url = xasprintf("%s/v1/join", q->controller);
	CLEANUP(json_freep)
	json_t *body = json_pack("{s:s, s:s, s:s}", "node", q->node, "token", q->join_token,
				 "sha256", q->sha256);
	CLEANUP(freep) char *text = json_line(body);
	struct http_call call = { .method = "POST", .url = url, .headers = headers, .body = text };
	CLEANUP(json_freep) json_t *said = NULL;
	CLEANUP(http_once_release) struct http_once a = { 0 };
	CLEANUP(freep) char *words = NULL;
	int r;

	call.body_len = strlen(text);
	r = ask(&options, &call, &a, err);
	if (r < 0)
		return r;
	if (a.status == 200) {
		(void)json_parse(a.body, strlen(a.body), "answer", &said, NULL);
		*ret_sentence =
			utf8_clean(json_string_value(json_object_get(said, "sentence"))
					   ? json_string_value(json_object_get(said, "sentence"))
					   : "joined");
		return 0;
	}
	words = words_of(&a);
	return err_set(err, a.status == 429 || a.status >= 500 ? EAGAIN : EACCES, "%s: %s",
		       q->controller, words);
}
