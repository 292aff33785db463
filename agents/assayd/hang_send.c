/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/hang_send.h"

#include <stdlib.h>

#include "agents/assayd/delivery.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/net/http.h"

#define TIMEOUT_US (30 * USEC_PER_SEC)

enum { ANSWER_MAX = 64 * 1024, NO_CONTENT = 204, NOT_FOUND = 404 };

struct hang_send {
	struct http *http;
	struct http_request *request;
	char *url;
	char *body, *job; /* of the running request */
	uint64_t not_before_us;
	struct err told; /* the last error logged: one line per error is enough */
};

static void complain(struct hang_send *s, const struct err *why)
{
	if (!streq(s->told.msg, why->msg))
		log_warning("cannot report where the ranks of a job are: %s", why->msg);
	s->told = *why;
}

static void on_answer(void *context, const struct http_answer *answer)
{
	struct hang_send *s = context;
	CLEANUP(freep) char *job = TAKE(s->job);
	CLEANUP(freep) char *body = TAKE(s->body);
	struct err why = ERR_INIT;

	s->request = NULL;
	if (answer->r < 0) {
		(void)err_set(&why, -answer->r, "%s", answer->why);
		complain(s, &why);
		return;
	}
	if (answer->status == NO_CONTENT) {
		log_info("reported where the ranks of a job are: job=%s bytes=%zu", job,
			 strlen(body));
		s->told = (struct err)ERR_INIT;
		return;
	}
	(void)delivery_judge(answer->status, answer->body, answer->len, &why);
	complain(s, &why);
	if (answer->status == NOT_FOUND)
		s->not_before_us = clock_mono_us() + HANG_SEND_OLD_US;
}

void hang_send_document(struct hang_send *s, const char *job, const char *text)
{
	static const char *const headers[] = { "Content-Type: application/json", NULL };
	struct http_call call = {
		.method = "PUT",
		.url = s->url,
		.headers = headers,
		.timeout_us = TIMEOUT_US,
		.answer_max = ANSWER_MAX,
		.done = on_answer,
		.context = s,
	};
	struct err err = ERR_INIT;

	if (s->request || clock_mono_us() < s->not_before_us)
		return;
	s->job = xstrdup(job);
	s->body = xstrdup(text);
	call.body = s->body;
	call.body_len = strlen(s->body);
	if (http_send(s->http, &call, &s->request, &err) < 0) {
		complain(s, &err);
		free(TAKE(s->job));
		free(TAKE(s->body));
	}
}

struct hang_send *hang_send_new(struct http *http, const char *url, const char *node)
{
	struct hang_send *s = xcalloc(1, sizeof(*s));

	s->http = http;
	s->url = xasprintf("%s/v1/nodes/%s/hang", url, node);
	return s;
}

void hang_send_free(struct hang_send *s)
{
	if (!s)
		return;
	http_cancel(s->request);
	free(s->body);
	free(s->job);
	free(s->url);
	free(s);
}
