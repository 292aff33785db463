/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call, as the library sees it: its header, pieces of its body, its end,
 * and again when a held one is resumed.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/epoll.h>

#include "controller/api_inside.h"
#include "lib/clock.h"
#include "lib/random.h"
#include "lib/xalloc.h"

/* At random, so that those who are refused together do not come back together. */
enum { RETRY_WITHIN_S = 8 };

/* Memory that a body has at once, as its header announces it: of a larger one not all may come. */
enum { BODY_FIRST_MAX = 64 * 1024 };

const char *call_header(const struct call *call, const char *name)
{
	return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, name);
}

const char *call_segment(const struct call *call)
{
	return call->segment ? call->segment : "";
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

/* Takes `response`. A held call goes on at the next turn of the loop. */
void call_go_on(struct call *call)
{
	call->known = true;
	if (call->held)
		end_hold(call);
}

static void set_answer(struct call *call, unsigned status, struct MHD_Response *response)
{
	if (call->answer) { /* only the first counts */
		MHD_destroy_response(response);
		return;
	}
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

void call_reply_text(struct call *call, unsigned status, const char *type, char *text)
{
	set_answer(call, status, response_of(text, strlen(text), type));
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
	set_answer(call, status, response_of(xstrdup(""), 0, NULL));
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

	say_refusal(call, status, detail);
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
	set_answer(call, status, response);
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

static bool body_has_room(const struct call *call, size_t more)
{
	return call->api->counts.body_bytes + more <= API_BODIES_MAX &&
	       call->link->from->body_bytes + more <= API_BODIES_PEER_MAX;
}

static void release_body(struct call *call)
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
	release_body(call);
	call->gone = gone;
	call->data = data;
	if (!call->held) { /* else it waited for its turn, and is held on */
		call->held = call->suspended = true;
		LIST_INSERT_HEAD(&call->api->held, call, calls);
		call->api->counts.held++;
		MHD_suspend_connection(call->connection);
	}
	/* The library does not look at a suspended connection: we do. */
	if (gone && !call->watch)
		(void)sd_event_add_io(call->api->loop, &call->watch, call->link->fd, EPOLLRDHUP,
				      on_peer, call);
}

/* --- steps --- */

static bool says_gzip(struct call *call)
{
	const char *coding = call_header(call, "Content-Encoding");

	if (coding && strcasecmp(coding, "gzip") != 0 && strcasecmp(coding, "identity") != 0)
		call_refuse(call, 415, "Content-Encoding '%.40s': want gzip or none", coding);
	return coding && strcasecmp(coding, "gzip") == 0;
}

/* Bytes the header announces; SIZE_MAX when it says none that is a number. */
static size_t announced(const struct call *call)
{
	const char *text = call_header(call, "Content-Length");
	char *end = NULL;
	unsigned long long value;

	if (!text)
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	return errno || *end ? SIZE_MAX : value;
}

static void check_length(struct call *call)
{
	size_t limit = call->route->body_max;

	if (announced(call) > limit)
		call_refuse(call, 413, "more than %zu bytes", limit);
	else if (!body_has_room(call, announced(call)))
		call_refuse(call, 503, "too many requests at once");
}

static struct call *call_new(struct api *api, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct call *call = xcalloc(1, sizeof(*call));

	call->api = api;
	call->connection = connection;
	call->link = info ? info->socket_context : NULL;
	if (call->link) {
		call->link->call = call;
		call->link->asked = true;
		call->link->since_us = clock_mono_us();
	}
	return call;
}

static enum MHD_Result send_answer(struct call *call)
{
	return MHD_queue_response(call->connection, call->status, call->answer);
}

/*
 * A refused body that is small is read before it is refused: a peer that still writes would see
 * a reset, and not the answer. Not one whose end is not known for sure.
 */
static enum MHD_Result go_on_to_body(struct call *call)
{
	if (call->answer &&
	    (call->close || announced(call) > API_SWALLOW_MAX || call_header(call, "Expect")))
		return send_answer(call);
	return MHD_YES;
}

/*
 * The library comes with the header once more, or at once with the body or its end: which of them
 * is not documented. Asking to go on is right in all cases, but only where a body is to come is it
 * needed.
 */
static bool is_header_again(struct call *call, size_t data_size)
{
	bool again = call->again;

	call->again = false;
	return again && data_size == 0 &&
	       (announced(call) > 0 || call_header(call, "Transfer-Encoding"));
}

/* The header is there: who, what, how much. */
static enum MHD_Result begin(struct call *call, const char *method, const char *url,
			     const char *version)
{
	if (!call->link)
		return MHD_NO;
	(void)snprintf(call->method, sizeof(call->method), "%s", method);
	(void)snprintf(call->path, sizeof(call->path), "%s", url);
	call_check_header(call, version);
	if (!call->answer && call->api->closing)
		call_refuse(call, 503, "the controller is stopping");
	if (!call->answer)
		call_find_route(call, method, url);
	if (!call->answer)
		call_identify(call);
	if (!call->answer)
		check_length(call);
	if (!call->answer)
		call->gzip = says_gzip(call);
	if (call->route)
		call->body.limit = call->route->body_max;
	if (!call->answer && call->unknown)
		call_ask(call);
	return call->held || call->again ? MHD_YES : go_on_to_body(call);
}

static enum MHD_Result take_body(struct call *call, const char *data, size_t size)
{
	if (call->answer) {
		call->swallowed += size;
		return call->swallowed > API_SWALLOW_MAX ? MHD_NO : MHD_YES;
	}
	/* It comes in pieces as small as the library's memory for a connection. */
	if (call->body.len == 0)
		(void)strbuf_reserve(&call->body, MIN(announced(call), (size_t)BODY_FIRST_MAX));
	if (!body_has_room(call, size)) {
		call_refuse(call, 503, "too many requests at once");
	} else if (strbuf_add(&call->body, data, size) < 0) {
		call_refuse(call, 413, "more than %zu bytes", call->body.limit);
	} else {
		call->api->counts.body_bytes += size;
		call->link->from->body_bytes += size;
	}
	return MHD_YES;
}

enum MHD_Result call_step(void *context, struct MHD_Connection *connection, const char *url,
			  const char *method, const char *version, const char *data,
			  size_t *data_size, void **state)
{ /* lint: allow parameters: the library's callback */
	struct call *call = *state;
	enum MHD_Result result;

	((struct api *)context)->steps++;
	if (!call) {
		*state = call = call_new(context, connection);
		return begin(call, method, url, version);
	}
	if (is_header_again(call, *data_size))
		return go_on_to_body(call);
	if (*data_size > 0) {
		result = take_body(call, data, *data_size);
		*data_size = 0;
		return result;
	}
	if (!call->answer && call->api->closing)
		call_refuse(call, 503, "the controller is stopping"); /* nobody would end a hold */
	if (!call->answer && !call->handled) {
		call->handled = true;
		if (is_question(call))
			question_put(call);
		else
			call->route->handle(call->api->options.context, call);
		if (call->suspended) /* even when it is answered by now: we come again */
			return MHD_YES;
	}
	return call->answer ? send_answer(call) : MHD_NO;
}

void call_done(void *context, struct MHD_Connection *connection, void **state,
	       enum MHD_RequestTerminationCode code)
{
	struct call *call = *state;

	(void)context;
	(void)connection;
	(void)code;
	if (!call)
		return;
	if (call->link) {
		call->link->call = NULL;
		call->link->used = true;
		call->link->since_us = clock_mono_us();
	}
	release_body(call);
	if (call->answer)
		MHD_destroy_response(call->answer);
	free(call->segment);
	if (call->token) /* nobody is to find it in what is left of us */
		explicit_bzero(call->token, strlen(call->token));
	free(call->token);
	free(call->node);
	free(call->name);
	free(call);
	*state = NULL;
}
