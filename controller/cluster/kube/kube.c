/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cluster/kube/kube.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/utsname.h>

#include "controller/cluster/kube/kube_config.h"
#include "controller/cluster/kube/kube_credentials.h"
#include "controller/cluster/kube/kube_error.h"
#include "controller/cluster/kube/kube_lanes.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/xalloc.h"
#include "lib/json/json.h"
#include "lib/net/http.h"

enum {
	REQUESTS_MAX = 1024,   /* at a time */
	KEPT_CONNECTIONS = 32, /* after a burst; idle ones are cheaper than handshakes */
};

struct kube_request {
	struct kube_turn turn; /* first, as requests are found by it */
	LIST_ENTRY(kube_request) link;
	struct kube *kube;
	struct http_request *http; /* NULL: waiting, or answered */
	char method[16];
	char *path, *url;
	char *body; /* or NULL */
	enum kube_content content;
	uint64_t deadline_us;
	struct strbuf rest; /* of an incomplete line */
	bool too_long;	    /* a line exceeded the limit */
	bool asked_again;
	struct err why; /* why it could not start */
	bool (*line)(void *context, const char *line, size_t len);
	kube_done *done;
	void *context;
};

struct kube {
	struct http *http;
	struct kube_lanes lanes;
	struct kube_credentials credentials;
	char *server, *namespace;
	struct cluster_names names;
	LIST_HEAD(, kube_request) requests;
	unsigned n_requests;
	struct kube_request *telling; /* whose callback runs; NULL if it was cancelled */
	bool closing;
};

static const char *const content_types[] = {
	[KUBE_NO_BODY] = NULL,
	[KUBE_JSON] = "Content-Type: application/json",
	[KUBE_MERGE] = "Content-Type: application/merge-patch+json",
	[KUBE_STRATEGIC] = "Content-Type: application/strategic-merge-patch+json",
};

static void request_free(struct kube_request *request)
{
	struct kube *kube = request->kube;

	if (kube->telling == request)
		kube->telling = NULL;
	LIST_REMOVE(request, link);
	kube->n_requests--;
	http_cancel(request->http);
	kube_lanes_leave(&kube->lanes, &request->turn);
	free(request->path);
	free(request->url);
	free(request->body);
	strbuf_release(&request->rest);
	free(request);
}

/* --- a watch --------------------------------------------------------------- */

/* Returns false if it was cut off, or if `request` was freed, as `ret_alive` tells. */
static bool tell_line(struct kube_request *request, const char *line, size_t len, bool *ret_alive)
{
	struct kube *kube = request->kube;
	bool more;

	if (len == 0)
		return true;
	kube->telling = request;
	more = request->line(request->context, line, len);
	*ret_alive = kube->telling == request;
	kube->telling = NULL;
	return more && *ret_alive;
}

static bool keep_rest(struct kube_request *request, const char *bytes, size_t len)
{
	request->too_long = strbuf_add(&request->rest, bytes, len) < 0;
	return !request->too_long;
}

/* A line whose beginning came earlier; we own it during the callback. */
static bool tell_rest(struct kube_request *request, bool *ret_alive)
{
	CLEANUP(strbuf_release) struct strbuf line = request->rest;

	request->rest = (struct strbuf)STRBUF_INIT(KUBE_LINE_MAX);
	return tell_line(request, strbuf_text(&line), line.len, ret_alive);
}

static bool on_piece(void *context, const char *bytes, size_t len)
{
	struct kube_request *request = context;
	const char *end;
	bool more = true, alive = true;

	while (more && (end = memchr(bytes, '\n', len))) {
		const size_t n = (size_t)(end - bytes);

		if (n > KUBE_LINE_MAX || request->rest.len)
			more = keep_rest(request, bytes, n) && tell_rest(request, &alive);
		else
			more = tell_line(request, bytes, n, &alive);
		bytes += n + 1;
		len -= n + 1;
	}
	return more && alive && keep_rest(request, bytes, len);
}

/* --- answers --------------------------------------------------------------- */

static int ask(struct kube_request *request, struct err *err);

/* Retry once, and only if our credentials may have changed: a 401 has had no effect. */
static bool asks_again(struct kube_request *request, const struct http_answer *answer)
{
	struct kube *kube = request->kube;
	const uint64_t now_us = clock_mono_us();
	bool changed = false;

	if (request->asked_again || now_us >= request->deadline_us)
		return false;
	if (answer->status == 401)
		changed = kube_credentials_refused(&kube->credentials, now_us);
	if (answer->r == -EKEYREJECTED && kube_credentials_ca(&kube->credentials, true, now_us)) {
		http_trust(kube->http, kube->credentials.ca_pem);
		changed = true;
	}
	request->asked_again = changed;
	return changed;
}

static void tell(struct kube_request *request, const struct kube_raw *raw)
{
	struct kube *kube = request->kube;
	struct kube_reading reading;

	kube_answer_read(raw, &reading);
	kube_lanes_leave(&kube->lanes, &request->turn);
	kube->telling = request;
	request->done(request->context, &reading.answer);
	if (kube->telling)
		request_free(request);
	kube->telling = NULL;
	kube_reading_release(&reading);
}

static void on_answer(void *context, const struct http_answer *answer)
{
	struct kube_request *request = context;
	struct kube_raw raw = {
		.method = request->method,
		.path = request->path,
		.r = answer->r,
		.why = answer->why,
		.status = answer->status,
		.content_type = answer->content_type,
		.body = answer->body,
		.len = answer->len,
		.retry_after_us = answer->retry_after_us,
		.audit = answer->wanted,
		.streamed = request->line != NULL,
	};
	struct err why = ERR_INIT;

	request->http = NULL;
	if (asks_again(request, answer) && ask(request, &why) == 0)
		return;
	if (request->too_long) {
		raw.r = err_set(&why, EFBIG, "%s %s: a line of more than %d bytes", request->method,
				request->path, KUBE_LINE_MAX);
		raw.why = why.msg;
	}
	tell(request, &raw);
}

/* --- turns ------------------------------------------------------------------ */

static void on_turn(struct kube_turn *turn)
{
	struct kube_request *request = (void *)turn;

	if (!request->kube->closing && ask(request, &request->why) < 0)
		kube_lanes_fail(&request->kube->lanes, turn);
}

/* Also for one whose turn came but that could not start. */
static void on_expired(struct kube_turn *turn)
{
	struct kube_request *request = (void *)turn;
	struct kube_raw raw = { .method = request->method, .path = request->path, .audit = "" };

	if (!request->why.code)
		(void)err_set(&request->why, ETIMEDOUT, "%s %s: waited too long for a free slot",
			      request->method, request->path);
	raw.r = -request->why.code;
	raw.why = request->why.msg;
	tell(request, &raw);
}

/* --- requests -------------------------------------------------------------- */

static int ask(struct kube_request *request, struct err *err)
{
	struct kube *kube = request->kube;
	const uint64_t now_us = clock_mono_us();
	const char *headers[4] = { "Accept: application/json" };
	struct http_call call = {
		.method = request->method,
		.url = request->url,
		.headers = headers,
		.want = "Audit-Id",
		.body = request->body,
		.body_len = request->body ? strlen(request->body) : 0,
		.timeout_us = MAX(clock_left_us(request->deadline_us), USEC_PER_MSEC),
		.answer_max = KUBE_ANSWER_MAX,
		.piece = request->line ? on_piece : NULL,
		.done = on_answer,
		.context = request,
	};
	size_t n = 1;

	if (kube_credentials_ca(&kube->credentials, false, now_us))
		http_trust(kube->http, kube->credentials.ca_pem);
	if (request->body)
		headers[n++] = content_types[request->content];
	headers[n] = kube_credentials_header(&kube->credentials, now_us);
	return http_send(kube->http, &call, &request->http, err);
}

static bool is_write(const char *method)
{
	return streq(method, "POST") || streq(method, "PUT") || streq(method, "PATCH");
}

static char *url_of(const struct kube *kube, const struct kube_call *call)
{
	const char *const parts[] = { call->query,
				      is_write(call->method) ? "fieldManager=" KUBE_FIELD_MANAGER
							     : NULL,
				      call->dry_run ? "dryRun=All" : NULL };
	struct strbuf url = STRBUF_INIT(HTTP_URL_MAX + 1);
	char separator = '?';
	size_t i;

	(void)strbuf_printf(&url, "%s%s", kube->server, call->path);
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		if (!parts[i] || !*parts[i])
			continue;
		(void)strbuf_printf(&url, "%c%s", separator, parts[i]);
		separator = '&';
	}
	if (!strbuf_ok(&url)) {
		strbuf_release(&url);
		return NULL;
	}
	return url.data;
}

int kube_send(struct kube *kube, const struct kube_call *call, struct kube_request **ret_request,
	      struct err *err)
{
	const uint64_t timeout_us = call->timeout_us ? call->timeout_us
						     : KUBE_TIMEOUT_S * USEC_PER_SEC;
	CLEANUP(freep) char *url = url_of(kube, call);
	struct kube_request *request;
	int r = 0;

	if (kube->n_requests >= REQUESTS_MAX)
		return err_set(err, EBUSY, "%s %s: %d requests are in progress", call->method,
			       call->path, REQUESTS_MAX);
	if (!url || call->path[0] != '/' || !call->body != (call->content == KUBE_NO_BODY))
		return err_set(err, EINVAL, "%s %s: cannot make such a request", call->method,
			       call->path);
	request = xcalloc(1, sizeof(*request));
	*request = (struct kube_request){
		.kube = kube,
		.path = xstrdup(call->path),
		.url = TAKE(url),
		.body = call->body ? json_line(call->body) : NULL,
		.content = call->content,
		.deadline_us = clock_mono_us() + timeout_us,
		.rest = STRBUF_INIT(KUBE_LINE_MAX),
		.line = call->line,
		.done = call->done,
		.context = call->context,
	};
	(void)snprintf(request->method, sizeof(request->method), "%s", call->method);
	LIST_INSERT_HEAD(&kube->requests, request, link);
	kube->n_requests++;
	if (kube_lanes_enter(&kube->lanes, &request->turn,
			     call->line ? KUBE_LANE_FREE : kube_lane_of(call->path),
			     request->deadline_us))
		r = ask(request, err);
	if (r < 0) {
		request_free(request);
		return r;
	}
	if (ret_request)
		*ret_request = request;
	return 0;
}

void kube_cancel(struct kube_request *request)
{
	if (request)
		request_free(request);
}

/* --- life cycle -------------------------------------------------------------- */

const char *kube_namespace(const struct kube *kube)
{
	return kube->namespace;
}

const struct cluster_names *kube_names(const struct kube *kube)
{
	return &kube->names;
}

void kube_close(struct kube *kube)
{
	struct kube_request *request;

	if (!kube)
		return;
	kube->closing = true;
	while ((request = LIST_FIRST(&kube->requests)))
		request_free(request);
	http_free(kube->http);
	kube_lanes_release(&kube->lanes);
	kube_credentials_release(&kube->credentials);
	free(kube->server);
	free(kube->namespace);
	free(kube);
}

/* With the machine name as in Go, as audit logs show other clients. */
static char *user_agent(void)
{
	static const struct {
		const char *machine, *name;
	} names[] = { { "x86_64", "amd64" }, { "aarch64", "arm64" } };
	struct utsname host;
	const char *name;
	size_t i;

	if (uname(&host) < 0)
		return xstrdup(KUBE_FIELD_MANAGER "/" PACKAGE_VERSION);
	name = host.machine;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (streq(host.machine, names[i].machine))
			name = names[i].name;
	}
	return xasprintf(KUBE_FIELD_MANAGER "/" PACKAGE_VERSION " (linux/%s)", name);
}

int kube_open(struct sd_event *loop, const struct kube_config *config, struct kube **ret,
	      struct err *err)
{
	CLEANUP(kube_closep) struct kube *kube = xcalloc(1, sizeof(*kube));
	CLEANUP(freep) char *agent = user_agent();
	struct http_options options = {
		.cert_file = config->cert_file,
		.key_file = config->key_file,
		.cert_pem = config->cert_pem,
		.key_pem = config->key_pem,
		.user_agent = agent,
		.server_name = config->server_name,
		.insecure = config->insecure,
		.kept_connections = KEPT_CONNECTIONS,
	};
	int r = kube_credentials_init(&kube->credentials, config, clock_mono_us(), err);

	if (r < 0)
		return r;
	options.ca_pem = kube->credentials.ca_pem;
	kube->lanes.start = on_turn;
	kube->lanes.expired = on_expired;
	r = http_new(loop, &options, &kube->http, err);
	if (r == 0)
		r = kube_lanes_init(&kube->lanes, loop, err);
	if (r < 0)
		return r;
	kube->server = xstrdup(config->server);
	kube->namespace = xstrdup(config->namespace);
	kube->names = cluster_names_of(config->prefix);
	*ret = TAKE(kube);
	return 0;
}
