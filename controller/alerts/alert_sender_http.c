/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/alerts/alert_sender_http.h"

#include <errno.h>
#include <stdlib.h>

#include "controller/config/settings_alerts.h"
#include "lib/base/base64.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"
#include "lib/base/xalloc.h"
#include "lib/net/http.h"

enum {
	ANSWER_MAX = 16 * 1024, /* empty, or a line with the error */
	WORDS_MAX = 200,	/* bytes of it in a log line */
};

struct sender {
	const struct settings_alertmanager *to; /* borrowed */
	struct http *http;
	char *url;
	alert_sent_fn *done;
	void *context;
};

static int check(struct err *err UNUSED)
{
	return 0;
}

static void close_sender(void *context)
{
	struct sender *s = context;

	if (!s)
		return;
	http_free(s->http);
	free(s->url);
	free(s);
}

static int open_sender(struct sd_event *loop, const struct settings_alertmanager *to, void **ret,
		       struct err *err)
{
	const struct http_options options = { .ca_file = to->cacert,
					      .token_file = to->token_file,
					      .user_agent = "assay-controller/" PACKAGE_VERSION,
					      .kept_connections = 1 };
	struct sender *s = xcalloc(1, sizeof(*s));
	int r = http_new(loop, &options, &s->http, err);

	if (r < 0) {
		close_sender(s);
		return r;
	}
	s->to = to;
	s->url = xasprintf("%s/api/v2/alerts", to->url);
	*ret = s;
	return 0;
}

/* Without an answer: can the post have arrived? */
static enum alert_result result_of_failure(int r)
{
	static const int unsent[] = { -ECONNREFUSED, -EHOSTUNREACH, -ENETUNREACH, -EKEYREJECTED,
				      -EINVAL };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(unsent); i++) {
		if (r == unsent[i])
			return ALERT_UNSENT;
	}
	return ALERT_LOST;
}

static enum alert_result result_of_status(unsigned status)
{
	if (status / 100 == 2)
		return ALERT_TAKEN;
	if (status == 400 || status == 413 || status == 422)
		return ALERT_REFUSED;
	return status / 100 == 4 ? ALERT_UNSENT : ALERT_LOST;
}

static void on_answer(void *context, const struct http_answer *answer)
{
	const struct sender *s = context;
	CLEANUP(freep) char *body = utf8_clean(answer->body);
	CLEANUP(freep)
	char *words = xasprintf("POST %s: %u%s%.*s", s->url, answer->status, *body ? ": " : "",
				(int)WORDS_MAX, body);
	struct alert_sent sent = { .retry_after_us = answer->retry_after_us };

	sent.result = answer->r < 0 ? result_of_failure(answer->r)
				    : result_of_status(answer->status);
	sent.why = answer->r < 0 ? answer->why : words;
	s->done(s->context, &sent);
}

/* The header is made for each post, so that a password can be changed without a restart. */
static int authorize(const struct sender *s, char **ret_header, struct err *err)
{
	CLEANUP(freep) char *password = NULL, *encoded = NULL;
	int r;

	if (!s->to->basic_auth_file)
		return 0;
	r = settings_alerts_read_password(s->to->basic_auth_file, &password, err);
	if (r < 0)
		return r;
	encoded = base64_encode(password, strlen(password));
	*ret_header = xasprintf("Authorization: Basic %s", encoded);
	return 0;
}

static int post(void *context, const char *body, alert_sent_fn *done, void *done_context,
		struct err *err)
{
	struct sender *s = context;
	CLEANUP(freep) char *authorization = NULL;
	const char *headers[3] = { "Content-Type: application/json" };
	int r = authorize(s, &authorization, err);

	if (r < 0)
		return r;
	headers[1] = authorization;
	s->done = done;
	s->context = done_context;
	return http_send(s->http,
			 &(struct http_call){ .method = "POST",
					      .url = s->url,
					      .headers = headers,
					      .body = body,
					      .body_len = strlen(body),
					      .timeout_us = ALERT_POST_US,
					      .answer_max = ANSWER_MAX,
					      .done = on_answer,
					      .context = s },
			 NULL, err);
}

const struct alert_sender alert_sender_http = {
	.check = check, .open = open_sender, .post = post, .close = close_sender
};
