/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/join/join_ask.h"

#include <errno.h>
#include <stdlib.h>

#include <systemd/sd-event.h>

#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/net/http.h"
#include "lib/net/pem_sum.h"

DEFINE_CLEANUP(struct sd_event *, sd_event_unref, event_unrefp);

/* One question under way, and its answer. */
struct asking {
	sd_event *event;
	int r;
	unsigned status;
	char *body; /* owned */
	struct err err;
};

static void on_answer(void *context, const struct http_answer *answer)
{
	struct asking *a = context;

	a->r = answer->r;
	a->status = answer->status;
	if (answer->r < 0)
		(void)err_set(&a->err, -answer->r, "%s", answer->why);
	else
		a->body = xstrndup(answer->body, answer->len);
	(void)sd_event_exit(a->event, 0);
}

/* 0: there is a whole answer. */
static int ask(const struct http_options *options, struct http_call *call, struct asking *a,
	       struct err *err)
{
	CLEANUP(event_unrefp) sd_event *event = NULL;
	CLEANUP(http_freep) struct http *http = NULL;
	int r = sd_event_new(&event);

	if (r < 0)
		return err_errno(err, -r, "event loop");
	a->event = event;
	call->timeout_us = JOIN_TIMEOUT_US;
	call->answer_max = JOIN_CA_MAX;
	call->done = on_answer;
	call->context = a;
	r = http_new(event, options, &http, err);
	if (r == 0)
		r = http_send(http, call, NULL, err);
	if (r < 0)
		return r;
	r = sd_event_loop(event);
	if (r < 0)
		return err_errno(err, -r, "event loop");
	if (a->r < 0)
		*err = a->err;
	return a->r;
}

/* What the controller says of a refusal, or its status. */
static char *words_of(const struct asking *a)
{
	CLEANUP(json_freep) json_t *object = NULL;
	const char *detail;

	(void)json_parse(a->body, strlen(a->body), "answer", &object, NULL);
	detail = json_string_value(json_object_get(object, "detail"));
	return detail ? utf8_clean(detail) : xasprintf("it answers %u", a->status);
}

int join_ask_ca(const char *controller, const char *sum, char **ret_pem, struct err *err)
{
	/* Whoever answers: its word is taken for nothing but the bytes that have the sum. */
	const struct http_options options = { .insecure = true,
					      .user_agent = "assay-join/" PACKAGE_VERSION };
	CLEANUP(freep) char *url = xasprintf("%s/v1/ca", controller);
	struct http_call call = { .method = "GET", .url = url };
	struct asking a = { .err = ERR_INIT };
	char found[SHA256_HEX_SIZE];
	int r = ask(&options, &call, &a, err);
	CLEANUP(freep) char *body = a.body;

	if (r < 0)
		return r;
	if (a.status != 200) {
		CLEANUP(freep) char *words = words_of(&a);

		return err_set(err, EACCES, "%s: %s", url, words);
	}
	r = pem_sum(body, found, err);
	if (r < 0)
		return err_wrap(err, r, "%s", url);
	if (!streq(found, sum))
		return err_set(err, EKEYREJECTED,
			       "%s: the certificate authority has the sum %s, not the one that was "
			       "given: another controller answers, or its authority was replaced; "
			       "nothing was sent",
			       controller, found);
	*ret_pem = TAKE(body);
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
	struct asking a = { .err = ERR_INIT };
	CLEANUP(freep) char *answer = NULL;
	CLEANUP(freep) char *words = NULL;
	int r;

	call.body_len = strlen(text);
	r = ask(&options, &call, &a, err);
	answer = a.body;
	if (r < 0)
		return r;
	if (a.status == 200) {
		(void)json_parse(answer, strlen(answer), "answer", &said, NULL);
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
