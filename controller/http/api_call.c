/* SPDX-License-Identifier: Apache-2.0 */
/* One call: its request, its answer, and holding it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>

#include "controller/http/api_accepts.h"
#include "controller/http/api_body.h"
#include "controller/http/api_gzip.h"
#include "controller/http/api_inside.h"
#include "controller/http/api_say.h"
#include "lib/base/clock.h"
#include "lib/base/random.h"
#include "lib/base/xalloc.h"

/* Random, so that calls refused together do not come back together. */
enum { RETRY_WITHIN_S = 8 };

const char *call_header(const struct call *call, const char *name)
{
	return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, name);
}

struct counting {
	const char *name;
	unsigned n;
};

static enum MHD_Result count_line(void *context, enum MHD_ValueKind kind UNUSED, const char *name,
				  const char *value UNUSED)
{
	struct counting *c = context;

	c->n += strcasecmp(name, c->name) == 0;
	return MHD_YES;
}

unsigned api_header_count(const struct call *call, const char *name)
{
	struct counting c = { .name = name };

	(void)MHD_get_connection_values(call->connection, MHD_HEADER_KIND, count_line, &c);
	return c.n;
}

const char *api_peer_name(const struct call *call)
{
	return call->link->peer;
}

const char *api_cookie(const struct call *call, const char *name)
{
	return MHD_lookup_connection_value(call->connection, MHD_COOKIE_KIND, name);
}

const char *api_method(const struct call *call)
{
	return call->method;
}

bool api_is_tls(const struct call *call)
{
	return call->api->options.tls_cert != NULL;
}

const char *call_segment(const struct call *call)
{
	return call->segments[0] ? call->segments[0] : "";
}

const char *api_second_segment(const struct call *call)
{
	return call->segments[1] ? call->segments[1] : "";
}

const char *call_argument(const struct call *call, const char *name)
{
	return MHD_lookup_connection_value(call->connection, MHD_GET_ARGUMENT_KIND, name);
}

const void *call_body(const struct call *call, size_t *ret_length, bool *ret_gzip)
{
	*ret_length = call->body.len;
	*ret_gzip = call->gzip;
	return strbuf_text(&call->body);
}

const struct identity *call_identity(const struct call *call)
{
	return &call->identity;
}

/* --- answers --- */

static void end_hold(struct call *call)
{
	call->watch = sd_event_source_disable_unref(call->watch);
	LIST_REMOVE(call, calls);
	call->held = false;
	call->api->counts.held--;
	call->link->since_us = clock_mono_us();
	if (!call->handled) {
		call->suspended = false;
		call->again = true;
	}
	MHD_resume_connection(call->connection);
	(void)sd_event_source_set_enabled(call->api->resume, SD_EVENT_ONESHOT);
}

/* A held call resumes in the next turn of the loop. */
void call_go_on(struct call *call)
{
	call->known = true;
	if (call->held)
		end_hold(call);
}

void api_add_header(struct call *call, const char *name, const char *value)
{
	if (!call->lines)
		call->lines = xcalloc(CALL_HEADERS_MAX, sizeof(*call->lines));
	if (call->n_lines < CALL_HEADERS_MAX)
		call->lines[call->n_lines++] = (struct call_line){ name, xstrdup(value) };
}

void api_drop_lines(struct call *call)
{
	size_t i;

	for (i = 0; i < call->n_lines; i++)
		free(call->lines[i].value);
	free(TAKE(call->lines));
	call->n_lines = 0;
}

static void add_lines(const struct call *call, struct MHD_Response *response)
{
	size_t i;

	for (i = 0; i < call->n_lines; i++)
		(void)MHD_add_response_header(response, call->lines[i].name, call->lines[i].value);
}

void api_set_answer(struct call *call, unsigned status, struct MHD_Response *response)
{
	if (call->answer) { /* only the first counts */
		MHD_destroy_response(response);
		return;
	}
	add_lines(call, response);
	call->answer = response;
	call->status = status;
	call->api->counts.answers[MIN(status / 100, 5U)]++;
	if (call->held)
		end_hold(call);
}

static struct MHD_Response *response_of(char *text, size_t length, const char *type)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE);

	if (!response)
		abort(); /* out of memory */
	if (type)
		(void)MHD_add_response_header(response, "Content-Type", type);
	return response;
}

/* Compressed, if the client accepts that and it is worth it. */
static struct MHD_Response *response_for(const struct call *call, char *text, const char *type)
{
	const size_t length = strlen(text);
	size_t packed_length = 0;
	struct MHD_Response *response;
	char *packed = NULL;

	if (length >= API_GZIP_LEAST &&
	    api_accepts_gzip(call_header(call, MHD_HTTP_HEADER_ACCEPT_ENCODING)))
		packed = api_gzip(text, length, API_GZIP_ONE, &packed_length);
	if (!packed)
		return response_of(text, length, type);
	free(text);
	response = response_of(packed, packed_length, type);
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	(void)MHD_add_response_header(response, MHD_HTTP_HEADER_VARY,
				      MHD_HTTP_HEADER_ACCEPT_ENCODING);
	return response;
}

void call_reply_text(struct call *call, unsigned status, const char *type, char *text)
{
	api_set_answer(call, status, response_for(call, text, type));
}

void api_reply_bytes(struct call *call, unsigned status, const char *type, const void *bytes,
		     size_t length)
{
	api_set_answer(call, status, response_of(xalloc_copy(bytes, length), length, type));
}

void call_reply(struct call *call, unsigned status, json_t *value)
{
	char *text = value ? json_dumps(value, JSON_COMPACT) : NULL;

	json_decref(value);
	if (text)
		call_reply_text(call, status, "application/json", text);
	else
		call_refuse(call, 500, "the answer could not be written");
}

void call_reply_empty(struct call *call, unsigned status)
{
	api_set_answer(call, status, response_of(xstrdup(""), 0, NULL));
}

static const char *title_of(unsigned status)
{
	static const struct {
		unsigned status;
		const char *title;
	} rows[] = {
		{ 400, "Malformed" },
		{ 401, "Who are you?" },
		{ 403, "Not allowed" },
		{ 404, "Not found" },
		{ 405, "Method not allowed" },
		{ 409, "Conflict" },
		{ 413, "Too large" },
		{ 415, "Unsupported coding" },
		{ 422, "Bad content" },
		{ 429, "Too many requests" },
		{ 503, "Not now" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].status == status)
			return rows[i].title;
	}
	return "Error";
}

void call_retry_within(struct call *call, unsigned seconds)
{
	call->retry_within_s = seconds;
}

void call_close(struct call *call)
{
	call->close = true;
}

static void add_retry_after(const struct call *call, struct MHD_Response *response)
{
	unsigned range = call->retry_within_s ? call->retry_within_s : RETRY_WITHIN_S;
	char seconds[16];

	(void)snprintf(seconds, sizeof(seconds), "%u", 1 + (unsigned)(random_u64() % range));
	(void)MHD_add_response_header(response, "Retry-After", seconds);
}

void call_refuse_with(struct call *call, unsigned status, json_t *more, const char *detail)
{
	struct MHD_Response *response;
	json_t *problem;
	char *text;

	api_say_refusal(call, status, detail);
	problem = json_pack("{s:s, s:s, s:i, s:s+}", "type", "about:blank", "title",
			    title_of(status), "status", (int)status, "detail", detail, "");
	if (problem && more)
		(void)json_object_update_missing(problem, more);
	json_decref(more);
	text = problem ? json_dumps(problem, JSON_COMPACT) : NULL;
	json_decref(problem);
	if (!text)
		text = xstrdup("{\"type\":\"about:blank\",\"title\":\"Error\",\"status\":500,"
			       "\"detail\":\"\"}");
	response = response_of(text, strlen(text), "application/problem+json");
	if (status == 429 || status == 503)
		add_retry_after(call, response);
	if (call->close)
		(void)MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	if (status == 405)
		(void)MHD_add_response_header(response, "Allow", call->allow);
	if (status == 401)
		(void)MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
	api_set_answer(call, status, response);
}

void call_refuse(struct call *call, unsigned status, const char *fmt, ...)
{
	char detail[600];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	call_refuse_with(call, status, NULL, detail);
}

/* --- bodies --- */

void call_drop_body(struct call *call)
{
	if (call->link) {
		call->api->counts.body_bytes -= call->body.len;
		call->link->from->body_bytes -= call->body.len;
	}
	strbuf_release(&call->body);
}

/* --- holding --- */

static int on_peer(sd_event_source *source, int fd, uint32_t events, void *context)
{
	struct call *call = context;

	(void)fd;
	(void)events;
	(void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
	if (call->gone)
		call->gone(call->api->options.context, call);
	return 0;
}

void *call_data(const struct call *call)
{
	return call->data;
}

void call_hold(struct call *call, void (*gone)(void *context, struct call *call), void *data)
{
	call_drop_body(call);
	call->gone = gone;
	call->data = data;
	if (!call->held) { /* otherwise it was queued, and stays held */
		call->held = call->suspended = true;
		LIST_INSERT_HEAD(&call->api->held, call, calls);
		call->api->counts.held++;
		MHD_suspend_connection(call->connection);
	}
	/* The library does not watch suspended connections: do it here. */
	if (gone && !call->watch)
		(void)sd_event_add_io(call->api->loop, &call->watch, call->link->fd, EPOLLRDHUP,
				      on_peer, call);
}
