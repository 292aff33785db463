/* SPDX-License-Identifier: Apache-2.0 */
#include "agents/assayd/topology_link.h"

#include <stdio.h>
#include <stdlib.h>

#include "agents/assayd/delivery.h"
#include "agents/assayd/gzip.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/log.h"
#include "lib/base/xalloc.h"
#include "lib/net/http.h"
#include "lib/topology/topology_file.h"

#define TIMEOUT_US (60 * USEC_PER_SEC)

enum { ANSWER_MAX = 64 * 1024 };

struct topology_link {
	struct http *http;
	struct http_request *request; /* for the first of `wanted` */
	char *url;
	char wanted[TOPOLOGY_LINK_MAX][TOPOLOGY_DIGEST_LEN + 1];
	size_t n;
	char *body;
	size_t body_len;
	bool packed;
	struct err told; /* the last error logged: one line is enough, every answer asks again */
};

static void send_first(struct topology_link *l);

static void complain(struct topology_link *l, const struct err *why)
{
	if (!streq(l->told.msg, why->msg))
		log_warning("cannot send the topology that the controller asked for: %s", why->msg);
	l->told = *why;
}

static void drop_first(struct topology_link *l)
{
	free(l->body);
	l->body = NULL;
	l->n--;
	memmove(l->wanted[0], l->wanted[1], l->n * sizeof(l->wanted[0]));
}

static void on_answer(void *context, const struct http_answer *answer)
{
	struct topology_link *l = context;
	struct err why = ERR_INIT;

	l->request = NULL;
	if (answer->r < 0) {
		(void)err_set(&why, -answer->r, "%s", answer->why);
		complain(l, &why);
	} else if (answer->status != 200 && answer->status != 201) {
		(void)delivery_judge(answer->status, answer->body, answer->len, &why);
		complain(l, &why);
	} else {
		log_info("topology sent digest=%s", l->wanted[0]);
		l->told = (struct err)ERR_INIT;
	}
	drop_first(l);
	send_first(l);
}

static int put(struct topology_link *l, struct err *err)
{
	const char *const headers[] = { "Content-Type: application/json",
					l->packed ? "Content-Encoding: gzip" : NULL, NULL };
	CLEANUP(freep) char *url = xasprintf("%s/v1/topologies/%s", l->url, l->wanted[0]);
	const struct http_call call = {
		.method = "PUT",
		.url = url,
		.headers = headers,
		.body = l->body,
		.body_len = l->body_len,
		.timeout_us = TIMEOUT_US,
		.answer_max = ANSWER_MAX,
		.done = on_answer,
		.context = l,
	};

	return http_send(l->http, &call, &l->request, err);
}

static int read_first(struct topology_link *l, struct err *err)
{
	CLEANUP(freep) char *text = NULL;
	size_t len;
	int r = topology_file_read(l->wanted[0], &text, &len, err);

	if (r < 0)
		return r;
	l->packed = gzip_pack(text, len, &l->body, &l->body_len) == 0;
	if (!l->packed) {
		l->body = TAKE(text);
		l->body_len = len;
	}
	return 0;
}

static void send_first(struct topology_link *l)
{
	while (l->n > 0) {
		struct err err = ERR_INIT;
		int r = read_first(l, &err);

		if (r == 0)
			r = put(l, &err);
		if (r == 0)
			return;
		complain(l, &err);
		drop_first(l);
	}
}

void topology_link_want(struct topology_link *l, const char *digest)
{
	size_t i;

	for (i = 0; i < l->n; i++) {
		if (streq(l->wanted[i], digest))
			return;
	}
	if (l->n == TOPOLOGY_LINK_MAX)
		return;
	(void)snprintf(l->wanted[l->n++], sizeof(l->wanted[0]), "%s", digest);
	if (!l->request)
		send_first(l);
}

struct topology_link *topology_link_new(struct http *http, const char *url)
{
	struct topology_link *l = xcalloc(1, sizeof(*l));

	l->http = http;
	l->url = xstrdup(url);
	return l;
}

void topology_link_free(struct topology_link *l)
{
	if (!l)
		return;
	http_cancel(l->request);
	free(l->body);
	free(l->url);
	free(l);
}
